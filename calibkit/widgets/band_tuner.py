"""The tuner on the screen: two handles on a curve, and at once what they promise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import anywidget
import traitlets

from calibkit.bands import Bands
from calibkit.pairs import InputError
from calibkit.policy import RulesStage
from calibkit.rules import DEFAULT_RULES, RuleName
from calibkit.scorers import scorer_names
from calibkit.tuning import Mistake, Mistakes, Prices, Tuning
from calibkit.tuning.figures import SIDES
from calibkit.tuning.kinds import tell_cure

_MOST_CHANGES: Final = 20
"""Answers with another outcome that are listed."""


class BandTuner(anywidget.AnyWidget):
    """A tuning on the screen.

    The thresholds can be watched: `tuner.observe(function, "pass_at")`. After moving in Python (`tuner.tuning`), call
    `refresh()`.

    Nothing but the drawing code is kept in the notebook: texts and figures come from Python when the widget is shown.

    Parameters
    ----------
    tuning
        What is tuned.
    policy
        The file that exporting proposes.
    on_label
        Called with a list of ids when a person sends mistakes to labelling; None: there is no such button.
    on_reference
        Called with the id of an accepted answer that a person adds to the references; None: there is no such button.
    """

    _esm = Path(__file__).with_name("band_tuner.js")
    _css = Path(__file__).with_name("band_tuner.css")

    pass_at = traitlets.Float(None, allow_none=True, read_only=True)
    """Where the pass handle stands; None: nothing passes by its score."""
    fail_below = traitlets.Float(None, allow_none=True, read_only=True)
    """Where the fail handle stands; None: nothing fails by its score."""

    def __init__(
        self,
        tuning: Tuning,
        *,
        policy: str = "policy.yaml",
        on_label: Callable[[list[str]], object] | None = None,
        on_reference: Callable[[str], object] | None = None,
    ) -> None:
        self.tuning = tuning
        self._policy = policy
        self._on_label, self._on_reference = on_label, on_reference
        self._rules: RulesStage | Sequence[RuleName] = DEFAULT_RULES
        self._table: object = None
        self._revision = 0
        self._heard: dict[str, int] = {}
        super().__init__()
        self.on_msg(self._receive)
        self._note_bands()

    def __repr__(self) -> str:
        return f"BandTuner({self.tuning.bands}): {self.tuning.figures.sentence}"

    def refresh(self) -> None:
        """Show the tuning as it is now, wherever the widget is on the screen."""
        self._note_bands()
        self.send(self._shown())

    # --- what the browser is told ---

    def _note_bands(self) -> None:
        bands = self.tuning.bands
        self.set_trait("pass_at", bands.pass_at_or_above)
        self.set_trait("fail_below", bands.fail_below)

    def _shown(self) -> dict[str, Any]:
        tuning, setup = self.tuning, self.tuning.setup
        if tuning.table is not self._table:  # steps of an earlier table mean something else
            self._table, self._revision = tuning.table, self._revision + 1
        rules = tuning.calibration.policy.rules_stage
        self._rules = rules or self._rules  # what switching them on again brings back
        scorers = dict.fromkeys([setup.scorer_name, *scorer_names()])
        prices = {name: getattr(tuning.prices, name) for name in ("call", "false_pass", "false_fail", "votes")}
        return {
            "kind": "show",
            "revision": self._revision,
            "table": tuning.table.to_record(),
            "place": [tuning.place.pass_step, tuning.place.fail_step],
            "standing": tuning.standing,
            "declared": tuning.declared,
            "notes": list(tuning.notes),
            "prices": tuning.prices.in_millionths(),
            "prices_shown": prices,
            "setup": {
                "scorer": setup.scorer_name,
                "tag": setup.tag,
                "exact_rung": setup.exact_rung,
                "rules": rules is not None,
                "precision": round(100 * setup.precision, 10),
                "fail_precision": None if setup.fail_precision is None else round(100 * setup.fail_precision, 10),
            },
            "scorers": list(scorers),
            "tags": [[tag, f"{tag} ({n})"] for tag, n in tuning.tags.items()],
            "policy": self._policy,
            "labels": self._on_label is not None,
            "references": self._on_reference is not None,
        }

    def _mistakes(self) -> dict[str, Any]:
        sides = [self._mistakes_record(self.tuning.mistakes(side)) for side in SIDES]
        return {"kind": "mistakes", "revision": self._revision, "sides": sides}

    def _mistakes_record(self, mistakes: Mistakes) -> dict[str, Any]:
        rules_on = self.tuning.calibration.policy.rules_stage is not None
        kinds = [
            {"kind": kind, "cure": tell_cure(kind, rules_on), "items": [_mistake_record(one) for one in some]}
            for kind, some in mistakes.by_kind().items()
        ]
        return {"side": mistakes.side, "title": mistakes.title, "kinds": kinds}

    # --- what it asks for ---

    def _receive(self, _: object, message: Mapping[str, Any], buffers: object) -> None:
        seq = message["seq"]
        try:
            said = self._do(message)
        except InputError as error:
            said = str(error)
            self.send({"kind": "said", "seq": seq, "text": said, "problem": True})
        except Exception as error:
            self.send({"kind": "said", "seq": seq, "text": f"{type(error).__name__}: {error}", "problem": True})
            raise
        else:
            self.send({"kind": "said", "seq": seq, "text": said, "problem": False})

    def _do(self, message: Mapping[str, Any]) -> str:
        """Do one thing; gives what to tell about it, empty for nothing."""
        tuning = self.tuning
        self._follow(message)
        match message["do"]:
            case "ready":
                self.send(self._shown())
                said = ""
            case "rest":
                self._tell_place(message["client"])
                return ""
            case "goal":
                said = tuning.aim(message["goal"], message.get("most", 0))
                self._tell_place(None)
                return said
            case "prices":
                tuning.prices = Prices(**message["prices"])
                said = ""
            case "switch":
                tuning.switch(**self._changes(message["changes"]))
                said = ""
            case "declare":
                tuning.declare()
                said = "Declared, and noted in the ledger." if tuning.declared else ""
            case "export":
                said = self._export(message)
            case "load":
                tuning.load(message["path"])
                said = f"The handles are where {message['path']} has its thresholds."
            case "compare":
                return self._compare(message["path"])
            case "label" if self._on_label is not None:
                ids = list(message["ids"])
                self._on_label(ids)
                return f"Sent to labelling: {', '.join(ids)}."
            case "reference" if self._on_reference is not None:
                self._on_reference(message["id"])
                return f"Added to the references: the answer of {message['id']}. Its question certifies no more."
            case other:
                raise InputError(f"there is no such thing to do here: {other!r}")
        self.refresh()
        self.send(self._mistakes())
        return said

    def _tell_place(self, client: str | None) -> None:
        """Tell all views but the one that knows already where the handles stand, and what is wrong beside them."""
        self._note_bands()
        place = [self.tuning.place.pass_step, self.tuning.place.fail_step]
        self.send({"kind": "moved", "client": client, "revision": self._revision, "place": place})
        self.send(self._mistakes())

    def _follow(self, message: Mapping[str, Any]) -> None:
        """Take over where the browser's handles stand; messages may come out of order, and after another table."""
        client, seq = str(message["client"]), int(message["seq"])
        newest = seq > self._heard.get(client, -1)
        if newest:
            self._heard[client] = seq
        if newest and message.get("revision") == self._revision and self.tuning.table is self._table:
            self.tuning.move(*message["place"])

    def _changes(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        changes = dict(asked)
        if "rules" in changes:
            changes["rules"] = self._rules if changes["rules"] else ()
        for name in ("precision", "fail_precision"):
            if changes.get(name) is not None:
                changes[name] = round(changes[name] / 100, 12)
        return changes

    def _export(self, message: Mapping[str, Any]) -> str:
        policy = self.tuning.export(message["path"], because=message["because"], set_by=message["set_by"])
        assert policy.evidence is not None
        side = "certified" if policy.certified else "not certified"
        return f"Written: {message['path']} (pass at or above {_cut(self.tuning.bands)[0]}, {side})."

    def _compare(self, path: str) -> str:
        found = self.tuning.compare(path)
        changes = [[one.id, one.before.outcome, one.after.outcome, one.after.reason] for one in found.changes]
        counts = [[*outcomes, n] for outcomes, n in found.outcomes.items() if outcomes[0] != outcomes[1]]
        self.send({"kind": "changes", "path": path, "counts": counts, "changes": changes[:_MOST_CHANGES]})
        return f"{len(changes)} of {found.both} answers have another outcome than by {path}."


def _cut(bands: Bands) -> Sequence[str]:
    return ["none" if cut is None else f"{cut:.10g}" for cut in (bands.pass_at_or_above, bands.fail_below)]


def _mistake_record(mistake: Mistake) -> dict[str, Any]:
    pair = mistake.pair
    reference, answer = mistake.texts()
    label = {True: "acceptable", False: "not acceptable", None: "cannot say"}[pair.acceptable]
    decided = "" if mistake.stage == "bands" else f" by {mistake.stage.removeprefix('rule:')}"
    return {
        "id": pair.id,
        "question": pair.question[:600],
        "reference": [list(piece) for piece in reference],
        "answer": [list(piece) for piece in answer],
        "facts": f"{f'score {mistake.place:.4g}' if not decided else f'decided{decided}'}; a person says: {label}",
        "why": mistake.why,
        "acceptable": pair.acceptable is True,
    }
