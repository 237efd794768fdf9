"""The pad on which a person labels, pair by pair, with single keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anywidget
import traitlets

from calibkit.labelling import LabelSession


class LabelPad(anywidget.AnyWidget):
    """A labelling session on the screen.

    Keys: 1 acceptable, 2 not acceptable, 3 cannot say, u undo, c comment, f flag, r rubric, ? the rule and the keys.

    The screen moves on at once and keeps what was said until Python has it on the disk, over a restart of the kernel,
    too: run the cells again, and the pad goes on where it was.

    Parameters
    ----------
    session
        What is labelled, as `open_queue` gives it.
    """

    _esm = Path(__file__).with_name("label_pad.js")
    _css = Path(__file__).with_name("label_pad.css")
    # Made anew whenever a frontend asks: after a reload of the page it must not begin where the kernel began.
    _start = traitlets.Any().tag(sync=True, to_json=lambda _, pad: pad.session.start())

    def __init__(self, session: LabelSession) -> None:
        self.session = session
        super().__init__()
        self.on_msg(self._receive)

    def _receive(self, _: object, message: Any, buffers: Any) -> None:
        for reply in self.session.receive(message):
            self.send(reply)
