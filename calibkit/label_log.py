"""The logs of a set: the labels of each annotator, the queues, what was decided and added."""

from __future__ import annotations

import os
import re
import unicodedata
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import Discriminator, Field, StrictBool, Tag, TypeAdapter, ValidationError

from calibkit.agreement import Label, Resolved, resolve
from calibkit.event_log import EventFile, Refused, Undone, live, parse_events, tell_fault
from calibkit.pairs import InputError, PairSet, Remark
from calibkit.review import Adjudicated, Event, Queue, ReferenceAdded

_E = TypeVar("_E", bound=Event)


class Labelled(Event):
    """What one person said of one pair; a later one for the same pair takes its place."""

    event: Literal["label"] = "label"
    pair_id: Annotated[str, Field(min_length=1)]
    acceptable: StrictBool | None
    """None: the person could not say. There is no default: a missing key is a bad line."""
    seconds: Annotated[float, Field(ge=0)] | None = None
    """How long the person took."""
    comment: str | None = None
    flag: StrictBool = False
    """Marked by the person to come back to."""
    rubric: dict[str, Annotated[int, Field(ge=1, le=5)]] | None = None
    """Dimension -> points, where a rubric was asked for."""


def _kind(record: Any) -> str:
    kind = record.get("event", "label") if isinstance(record, Mapping) else getattr(record, "event", "label")
    return kind if isinstance(kind, str) else "label"


_LABEL_EVENTS: Final[TypeAdapter[Any]] = TypeAdapter(
    Annotated[
        Annotated[Labelled, Tag("label")] | Annotated[Undone, Tag("undo")],
        Discriminator(_kind, "event", "this is neither a label nor an undo"),
    ]
)
_QUEUES: Final[TypeAdapter[Any]] = TypeAdapter(Queue)
_SET_EVENTS: Final[TypeAdapter[Any]] = TypeAdapter(
    Annotated[Adjudicated | ReferenceAdded | Undone, Field(discriminator="event")]
)


def replay(events: Iterable[Labelled | Undone]) -> dict[str, Labelled]:
    """What a person's events come to: pair id -> the last label that was not taken back.

    >>> now = datetime(2026, 1, 1, tzinfo=UTC)
    >>> first = Labelled(uid="1", seq=1, at=now, pair_id="a", acceptable=True)
    >>> again = Labelled(uid="2", seq=2, at=now, pair_id="a", acceptable=False)
    >>> undo = Undone(uid="3", seq=3, at=now, of="2")
    >>> [event.uid for event in replay([undo, again, first, again]).values()]
    ['1']
    """
    return {event.pair_id: event for event in live(events)}


# --- labels -----------------------------------------------------------------------------------------

_RESERVED: Final = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)
_LONGEST_NAME: Final = 64


def check_annotator(name: str) -> str:
    """Check that an annotator's name can name a file on every system.

    Returns
    -------
    str
        The name, in Unicode's composed form.

    Raises
    ------
    InputError
        With a name that would do.

    Examples
    --------
    >>> check_annotator("zoë.k")
    'zoë.k'
    >>> check_annotator("../zoe")
    Traceback (most recent call last):
    calibkit.pairs.InputError: the annotator '../zoe' cannot name a file; use letters, digits, '-', '_', '.' and '@' ...
    """
    name = unicodedata.normalize("NFC", name)
    good = bool(name) and all(_may_stand(char) for char in name) and name[0] not in ".-" and name[-1] != "."
    if good and len(name.encode("utf-8", "replace")) <= _LONGEST_NAME and not _RESERVED.fullmatch(name):
        return name
    cured = "".join(char if _may_stand(char) else "-" for char in name).strip(".-")[:16]
    if not cured or _RESERVED.fullmatch(cured):
        cured = "annotator-1"
    raise InputError(
        f"the annotator {name[:40]!r} cannot name a file; use letters, digits, '-', '_', '.' and '@' within "
        f"{_LONGEST_NAME} bytes, as in {cured!r}"
    )


def _may_stand(char: str) -> bool:
    return char in "-_.@" or unicodedata.category(char)[0] in "LNM"


_HERE: Final[dict[tuple[int, str], EventFile[Any]]] = {}
"""The logs of this process: two pads of one notebook share theirs."""


class LabelLog:
    """The labels of one annotator, written as they come.

    Parameters
    ----------
    folder
        The set.
    annotator
        Who labels.

    Raises
    ------
    InputError
        For a name that cannot name a file, a folder that cannot be written, and where another process labels for the
        same annotator.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, LabelLog(folder, "zoe") as log:
    ...     first = log.label("refund-1", True, uid="a")
    ...     again = log.label("refund-1", True, uid="a")
    ...     len(log.events), log.labels["refund-1"].acceptable, log.undo().of, dict(log.labels)
    (1, True, 'a', {})
    """

    def __init__(self, folder: str | os.PathLike[str], annotator: str) -> None:
        self.annotator = check_annotator(annotator)
        self.path = Path(folder) / "labels" / f"{self.annotator}.jsonl"
        for other in self.path.parent.glob("*.jsonl"):
            name = unicodedata.normalize("NFC", other.stem)
            if name != self.annotator and name.casefold() == self.annotator.casefold():
                raise InputError(
                    f"{other}: the annotator {self.annotator!r} differs from this log's in capitals only, which some "
                    f"systems do not tell apart; label as {name!r}, or take another name"
                )
        busy = f"somebody labels as {self.annotator!r} in another process; close that one, or take another name"
        key = (os.getpid(), str(self.path.absolute()))
        self._file: EventFile[Any] = _HERE.setdefault(key, EventFile(self.path, _LABEL_EVENTS, busy, wait=0.0))
        self._file.events()

    @property
    def events(self) -> tuple[Labelled | Undone, ...]:
        """All events of the log, each once."""
        return self._file.events()

    @property
    def labels(self) -> Mapping[str, Labelled]:
        """Pair id -> the label that counts."""
        return replay(self.events)

    @property
    def remarks(self) -> Sequence[Remark]:
        """What opening the log had to set aside."""
        return tuple(self._file.remarks)

    def label(
        self,
        pair_id: str,
        acceptable: Label,
        *,
        uid: str | None = None,
        at: datetime | None = None,
        seconds: float | None = None,
        comment: str | None = None,
        flag: bool = False,
        rubric: Mapping[str, int] | None = None,
    ) -> Labelled:
        """Save a label; when this returns it is on the disk.

        Parameters
        ----------
        pair_id, acceptable
            What is said of what; None for "cannot say".
        uid
            Makes the label the same one when it is sent again (default: a new one).
        at
            When (default: now).
        seconds, comment, flag, rubric
            See `Labelled`.

        Returns
        -------
        Labelled
            As it stands in the log: the earlier one where the same was saved before.
        """
        event = _made(
            Labelled,
            uid=uid or uuid.uuid4().hex,
            at=at or _now(),
            pair_id=pair_id,
            acceptable=acceptable,
            seconds=seconds,
            comment=None if comment is None else _whole_characters(comment),
            flag=flag,
            rubric=rubric,
        )
        saved: Labelled = self._file.append(lambda _: event)
        return saved

    def undo(self, of: str | None = None, *, uid: str | None = None, at: datetime | None = None) -> Undone:
        """Take a label back, the last one where none is named; the one before it for the same pair counts again.

        Raises
        ------
        InputError
            Where there is no such label.
        """

        def make(events: tuple[Any, ...]) -> Undone:
            sent = next((event for event in events if event.uid == uid), None)
            if isinstance(sent, Undone) and of in (None, sent.of):
                return sent  # sent again: it must not take back one more
            labels = {event.uid for event in events if isinstance(event, Labelled)}
            undone = {event.of: event for event in events if isinstance(event, Undone)}
            if of in undone:
                earlier: Undone = undone[of]
                return earlier
            last = next((event.uid for event in reversed(live(events))), None) if of is None else of
            if last not in labels:
                raise Refused(f"{self.path}: there is no label {last or ''!r} to take back; label again instead")
            return _made(Undone, uid=uid or uuid.uuid4().hex, at=at or _now(), of=last)

        saved: Undone = self._file.append(make)
        return saved

    def close(self) -> None:
        """Let another process label for the annotator."""
        self._file.close()

    def __enter__(self) -> LabelLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _now() -> datetime:
    now = datetime.now(UTC)
    return now.replace(microsecond=now.microsecond // 1000 * 1000)


def _whole_characters(text: str) -> str:
    """Half of a surrogate pair, as browsers cut them, becomes the replacement character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _made(kind: type[_E], **values: Any) -> _E:
    try:
        return kind.model_validate(values)
    except ValidationError as fault:
        raise Refused(f"this is no {kind.model_fields['event'].default}: {tell_fault(fault)}; mend it") from None


# --- queues and the set's events --------------------------------------------------------------------

_WAIT: Final = 10.0
"""Seconds that a writer of the shared files waits for another."""
_BUSY: Final = "another process is writing to it; try again"


def append_queue(folder: str | os.PathLike[str], queue: Queue) -> Queue:
    """Record a queue in the set's draws.jsonl, before any of its labels."""
    return _append(Path(folder) / "draws.jsonl", _QUEUES, queue)


def append_event(
    folder: str | os.PathLike[str], event: Adjudicated | ReferenceAdded | Undone
) -> Adjudicated | ReferenceAdded | Undone:
    """Record what was decided or added in the set's events.jsonl."""
    return _append(Path(folder) / "events.jsonl", _SET_EVENTS, event)


def _append(path: Path, adapter: TypeAdapter[Any], event: _E) -> _E:
    file: EventFile[_E] = EventFile(path, adapter, _BUSY, wait=_WAIT)
    try:
        return file.append(lambda _: event)
    finally:
        file.close()


class DecisionLog:
    """What one person decides on pairs that people disagree on: a log of labels, kept as events of the set.

    Parameters
    ----------
    folder
        The set.
    by
        Who decides.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     decided = DecisionLog(folder, "zoe").label("refund-1", False)
    ...     read_set_labels(folder).decided
    {'refund-1': False}
    """

    def __init__(self, folder: str | os.PathLike[str], by: str) -> None:
        self.annotator = check_annotator(by)
        self.path = Path(folder) / "events.jsonl"

    @property
    def events(self) -> tuple[Adjudicated | Undone, ...]:
        """What was decided, and taken back, by anybody."""
        try:
            content = parse_events(self.path.read_bytes(), self.path, _SET_EVENTS)
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read ({error.strerror}); mend that and try again") from None
        return tuple(event for event in content.events.values() if not isinstance(event, ReferenceAdded))

    def label(
        self,
        pair_id: str,
        acceptable: Label,
        *,
        uid: str | None = None,
        at: datetime | None = None,
        comment: str | None = None,
        **rest: Any,
    ) -> Adjudicated:
        """Save a decision; the rest of what a label may hold is not kept."""
        decided = _made(
            Adjudicated,
            uid=uid or uuid.uuid4().hex,
            at=at or _now(),
            pair_id=pair_id,
            acceptable=acceptable,
            by=self.annotator,
            comment=None if comment is None else _whole_characters(comment),
        )
        append_event(self.path.parent, decided)
        return decided

    def undo(self, of: str, *, uid: str | None = None, at: datetime | None = None) -> Undone:
        """Take a decision back."""
        if not any(isinstance(event, Adjudicated) and event.uid == of for event in self.events):
            raise Refused(f"{self.path}: there is no decision {of!r} to take back; decide again instead")
        undone = _made(Undone, uid=uid or uuid.uuid4().hex, at=at or _now(), of=of)
        append_event(self.path.parent, undone)
        return undone


# --- the labelling rule -----------------------------------------------------------------------------

_RULE: Final = re.compile(r"^(#+)[^\S\n]+.*labell?ing rule.*$", re.IGNORECASE | re.MULTILINE)


def read_rule(folder: str | os.PathLike[str]) -> str | None:
    """Read the section of a set's README.md whose heading names the labelling rule; None where there is none."""
    path = Path(folder) / "README.md"
    try:
        text = path.read_text(encoding="utf-8-sig", errors="replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); mend that and try again") from None
    heading = _RULE.search(text)
    if heading is None:
        return None
    after = text[heading.end() :]
    following = re.search(rf"^#{{1,{len(heading[1])}}}[^\S\n]", after, re.MULTILINE)
    # A line break within a paragraph is none; lists and tables keep theirs.
    section = re.sub(r"(?<!\n)\n(?![\n\s*+>|#\-\d])", " ", after[: following.start() if following else None])
    return section.strip() or None


# --- all of them ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SetLabels:
    """What the logs of a set say."""

    labels: Mapping[str, Mapping[str, Labelled]]
    """Annotator -> pair id -> label."""
    queues: tuple[Queue, ...] = ()
    adjudications: Mapping[str, Adjudicated] = field(default_factory=dict)
    """Pair id -> what was decided last."""
    added: tuple[ReferenceAdded, ...] = ()
    """References that count, the earliest first."""
    ever_added: tuple[ReferenceAdded, ...] = ()
    """Those that were taken back, too: their groups certify no more."""
    remarks: tuple[Remark, ...] = ()
    intact: bool = True
    """Whether every line but torn last ones could be read; where not, a label may be wrong, and none should certify."""

    @property
    def votes(self) -> Mapping[str, Mapping[str, Label]]:
        """Annotator -> pair id -> what was said, as `agreement` and `resolve` take it."""
        return {name: {at: event.acceptable for at, event in given.items()} for name, given in self.labels.items()}

    @property
    def decided(self) -> Mapping[str, Label]:
        """Pair id -> what was decided."""
        return {pair_id: event.acceptable for pair_id, event in self.adjudications.items()}

    def resolve(self) -> dict[str, Resolved]:
        """What counts as the label of each pair."""
        return resolve(self.votes, self.decided)

    def strays(self, pairs: PairSet) -> tuple[str, ...]:
        """Ids that were labelled and are no pairs of the set."""
        ids = {pair.id for pair in pairs}
        named = (*(pair_id for given in self.labels.values() for pair_id in given), *self.adjudications)
        return tuple(name for name in dict.fromkeys(named) if name not in ids)


def read_set_labels(folder: str | os.PathLike[str]) -> SetLabels:
    """Read the label logs, queues and events of a set; nothing is written, and what is torn stays where it is.

    Raises
    ------
    InputError
        For a file that cannot be read. Bad lines are remarks, with their file and line.
    """
    folder = Path(folder)
    remarks: list[Remark] = []
    intact = True

    def read(path: Path, adapter: TypeAdapter[Any]) -> list[Any]:
        nonlocal intact
        try:
            content = parse_events(path.read_bytes(), path, adapter)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror}); mend that and try again") from None
        remarks.extend(content.remarks)
        intact = intact and content.intact
        return list(content.events.values())

    labels: dict[str, Mapping[str, Labelled]] = {}
    owner: dict[str, str] = {}
    for path in sorted((folder / "labels").glob("[!.]*.jsonl")):
        try:
            name = check_annotator(path.stem)
        except InputError:
            reason = "no annotator has this name; if it is a copy, bring its lines into the log that it was made from"
            remarks.append(Remark(str(path), reason, "left out"))
            intact = False
            continue
        events = read(path, _LABEL_EVENTS)
        copied = [event for event in events if owner.setdefault(event.uid, name) != name]
        if copied:
            intact = False
            reason = f"{len(copied)} of its events stand in the log of {owner[copied[0].uid]!r}, too; remove the copies"
            remarks.append(Remark(str(path), reason, "left out"))
        labels[name] = replay(event for event in events if owner[event.uid] == name)
    set_events = read(folder / "events.jsonl", _SET_EVENTS)
    counting = live(set_events)
    return SetLabels(
        labels=labels,
        queues=tuple(live(read(folder / "draws.jsonl", _QUEUES))),
        adjudications={event.pair_id: event for event in counting if isinstance(event, Adjudicated)},
        added=tuple(event for event in counting if isinstance(event, ReferenceAdded)),
        ever_added=tuple(event for event in set_events if isinstance(event, ReferenceAdded)),
        remarks=tuple(remarks),
        intact=intact,
    )
