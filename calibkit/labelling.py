"""Labelling without its screen: which pair is shown, what may be seen of it, in which order what comes back is saved.

The screen runs ahead of the disk. It numbers what was said and sends it again until it is acknowledged; here it is put
in order, saved once, and acknowledged when it is on the disk.
"""

from __future__ import annotations

import hashlib
import math
import os
import statistics
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Protocol

import regex

from calibkit import store
from calibkit.agreement import disagreements
from calibkit.event_log import Refused, Undone, live
from calibkit.label_log import (
    DecisionLog,
    Labelled,
    LabelLog,
    append_queue,
    check_annotator,
    read_rule,
    read_set_labels,
)
from calibkit.mistakes import Segments, compare, nearest_reference
from calibkit.pairs import AnswerPair, InputError, PairSet, fingerprint
from calibkit.review import Adjudicated, Event, Pool, Queue

RUBRIC: Final = ("accuracy", "completeness", "politeness", "actionability")
"""The usual dimensions of a rubric of one to five points."""
LONGEST: Final = 100_000
"""Characters of a text that are shown."""
_COMPARED: Final = 10_000
"""Characters of answer and reference up to which differing words are marked."""
_MOST_SENT: Final = 300_000
"""Characters that go to the screen at once; servers drop larger bursts."""
_AHEAD: Final = 100
"""Pairs that are sent at once: so many can be labelled while no Python answers."""
_RECENT: Final = 20
"""Labels that the pace is taken from."""


class Log(Protocol):
    """What keeps what is said: `LabelLog` or `DecisionLog`."""

    annotator: str
    path: Path

    @property
    def events(self) -> Sequence[Event]:
        """Everything in it."""
        ...

    def label(
        self,
        pair_id: str,
        acceptable: bool | None,
        *,
        uid: str,
        at: datetime | None,
        seconds: float | None,
        comment: str | None,
        flag: bool,
        rubric: Mapping[str, int] | None,
    ) -> Event:
        """Save what was said; when this returns it is on the disk."""
        ...

    def undo(self, of: str, *, uid: str, at: datetime | None) -> Undone:
        """Take back what was said."""
        ...


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the labelling is; nothing of it depends on what the labels say."""

    planned: int
    done: int
    pace: float | None
    """Seconds a label: the median of the last 20; None before the first."""

    @property
    def left(self) -> float | None:
        """Seconds that the rest takes at this pace."""
        return None if self.pace is None else self.pace * (self.planned - self.done)


@dataclass
class _Sender:
    """One screen, and what came from it too early."""

    due: int
    """The number to be saved next."""
    waiting: dict[int, Mapping[str, Any]] = field(default_factory=dict)


class LabelSession:
    """One person labelling some pairs, one after the other.

    Parameters
    ----------
    pairs
        The set.
    ids
        What to label, in this order.
    log
        Where labels go.
    rule
        The labelling rule.
    rubric
        Dimensions to rate from one to five, such as `RUBRIC`.
    again
        Whether pairs that have a label are asked for once more.

    Raises
    ------
    InputError
        For ids that are no pairs of the set, or none at all.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> pairs = [AnswerPair("a", ("4",), "four", question="2 + 2?"), AnswerPair("b", ("5",), "six")]
    >>> with TemporaryDirectory() as folder, LabelLog(folder, "zoe") as log:
    ...     session = LabelSession(pairs, ["a", "b"], log)
    ...     said = {"kind": "label", "uid": "u1", "pair_id": "a", "acceptable": True, "seconds": 3.0}
    ...     reply = session.receive({"type": "event", "client": "c", "seq": 0, "first": 0, "event": said})
    ...     reply[0]["type"], session.current, session.progress
    ('saved', 'b', Progress(planned=2, done=1, pace=3.0))
    """

    def __init__(
        self,
        pairs: Iterable[AnswerPair],
        ids: Iterable[str],
        log: Log,
        *,
        rule: str | None = None,
        rubric: Sequence[str] = (),
        again: bool = False,
    ) -> None:
        self.ids = tuple(dict.fromkeys(ids))
        self.log = log
        self.rule = rule
        self.rubric = tuple(rubric)
        self._pairs = {pair.id: pair for pair in pairs}
        self._asked = frozenset(self.ids)
        if not self.ids:
            raise InputError("there is no pair to label; name some, or draw a queue")
        if strange := [name for name in self.ids if name not in self._pairs]:
            raise InputError(f"the set holds no pair {strange[0]!r}; name pairs of the set")
        if twice := [name for name in self.rubric if not name.strip() or self.rubric.count(name) > 1]:
            raise InputError(
                f"the rubric's dimension {twice[0]!r} is blank or stands twice; give each a name of its own"
            )
        self._mutex = threading.RLock()  # a frontend's messages come on several threads
        self._senders: dict[str, _Sender] = {}
        self._after = max((event.seq for event in log.events), default=0) if again else -1

    # --- where it stands ---

    @property
    def current(self) -> str | None:
        """The pair to label next; None where all are labelled."""
        done = {event.pair_id for event in self._said()}
        return next((name for name in self.ids if name not in done), None)

    @property
    def progress(self) -> Progress:
        """How far the labelling is."""
        said = self._said()
        took = [event.seconds for event in said if isinstance(event, Labelled) and event.seconds is not None]
        pace = statistics.median(took[-_RECENT:]) if took else None
        return Progress(len(self.ids), len({event.pair_id for event in said}), pace)

    @property
    def flagged(self) -> tuple[str, ...]:
        """The pairs that the person marked to come back to, in their order."""
        last = {event.pair_id: event for event in self._said()}
        return tuple(name for name in self.ids if isinstance(at := last.get(name), Labelled) and at.flag)

    def _said(self) -> list[Labelled | Adjudicated]:
        return [
            event
            for event in live(self.log.events)
            if isinstance(event, Labelled | Adjudicated) and event.pair_id in self._asked and event.seq > self._after
        ]

    # --- what the screen may know ---

    def start(self) -> dict[str, Any]:
        """What a screen begins with: the person's own labels and the first pairs, nobody's scores or labels else."""
        with self._mutex:
            said = self._said()
            done = {event.pair_id for event in said}
            ahead = [name for name in self.ids if name not in done]
            return {
                "key": hashlib.sha256(f"{self.log.path.absolute()}\0{self.log.annotator}".encode()).hexdigest()[:16],
                "annotator": self.log.annotator,
                "ids": self.ids,
                "said": [_mirror(event) for event in said],
                "items": self._items([*ahead[:_AHEAD], *(event.pair_id for event in said[:-4:-1])]),
                "rule": None if self.rule is None else _clean(self.rule),
                "rubric": self.rubric,
                "flags": not isinstance(self.log, DecisionLog),
                "pace": self.progress.pace,
            }

    def _items(self, ids: Iterable[object]) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = []
        room = _MOST_SENT
        for name in ids:
            if not isinstance(name, str) or name not in self._asked:
                continue
            item = show(self._pairs[name])
            room -= sum(len(text) for parts in (*item["references"], item["candidate"]) for text, _ in parts)
            if room < 0 and items:
                break
            items.append(item)
        return items

    # --- what comes back ---

    def receive(self, message: object) -> list[dict[str, Any]]:
        """Take a message of a screen, save what is its turn, and say what to answer.

        Parameters
        ----------
        message
            `{"type": "event", "client": ..., "seq": ..., "first": ..., "event": ...}`, where `seq` numbers the events
            of a client and all below `first` were acknowledged to it. An event is `{"kind": "label", "uid": ...,
            "pair_id": ..., "acceptable": ...}`, to which `at`, `seconds`, `comment`, `flag` and `rubric` may come, or
            `{"kind": "undo", "uid": ..., "of": ...}`. Or `{"type": "show", "ids": [...]}`.

        Returns
        -------
        list of dict
            "saved" for each event that is on the disk, "refused" for one that never will be, "trouble" for one that
            should be sent again, "items" for pairs to show; none for what waits for an earlier one.
        """
        if not isinstance(message, Mapping):
            return []
        with self._mutex:
            ids = message.get("ids")
            if message.get("type") == "show" and isinstance(ids, list):
                return [{"type": "items", "items": self._items(ids[:_AHEAD])}]
            client, event = message.get("client"), message.get("event")
            seq, first = _read_number(message.get("seq")), _read_number(message.get("first"))
            if not isinstance(client, str) or not isinstance(event, Mapping) or seq is None or first is None:
                return []
            sender = self._senders.setdefault(client, _Sender(first))
            sender.due = max(sender.due, first)
            sender.waiting[seq] = event
            replies: list[dict[str, Any]] = []
            # One that was due before is saved already: its acknowledgement got lost, and saving it again gives another.
            at = min(seq, sender.due)
            while at in sender.waiting:
                reply = {"client": client, "seq": at, **self._take(sender.waiting[at])}
                replies.append(reply)
                if reply["type"] == "trouble":
                    break
                del sender.waiting[at]
                at = sender.due = max(sender.due, at + 1)
            return replies

    def _take(self, event: Mapping[str, Any]) -> dict[str, Any]:
        try:
            saved = self._save(event)
            said = {"undone": saved.of} if isinstance(saved, Undone) else {"said": _mirror(saved)}
            return {"type": "saved", "pace": self.progress.pace, **said}
        except Refused as error:
            return {"type": "refused", "uid": event.get("uid"), "reason": str(error)}
        except InputError as error:
            return {"type": "trouble", "reason": str(error)}

    def _save(self, event: Mapping[str, Any]) -> Event:
        kind, uid, comment, rubric = (event.get(key) for key in ("kind", "uid", "comment", "rubric"))
        if not isinstance(uid, str) or not uid:
            raise Refused(f"an event needs a uid, not {uid!r}; reload the page")
        at = _read_time(event.get("at"))
        if kind == "undo" and isinstance(event.get("of"), str):
            return self.log.undo(str(event["of"]), uid=uid, at=at)
        if kind != "label" or "acceptable" not in event:
            raise Refused("this is neither a label nor an undo; reload the page")
        pair_id = event.get("pair_id")
        if not isinstance(pair_id, str) or pair_id not in self._pairs:
            raise Refused(f"the set holds no pair {pair_id!r} any more, so its label was not saved; restore the pair")
        if not isinstance(comment, str | None):
            raise Refused(f"a comment is a text, not {comment!r}; reload the page")
        if rubric is not None and not (isinstance(rubric, Mapping) and set(rubric) <= set(self.rubric)):
            raise Refused(f"the rubric's dimensions are {', '.join(self.rubric) or 'none'}; reload the page")
        return self.log.label(
            pair_id,
            event["acceptable"],
            uid=uid,
            at=at,
            seconds=event.get("seconds"),
            comment=comment or None,
            flag=event.get("flag", False),
            rubric=rubric or None,
        )


def _mirror(event: Event) -> dict[str, Any]:
    """A label as its own author's screen needs it, to take it back."""
    kept = ("uid", "pair_id", "acceptable", "comment", "flag", "rubric")
    return {key: value for key in kept if (value := getattr(event, key, None)) is not None or key == "acceptable"}


def _read_number(number: object) -> int | None:
    return number if isinstance(number, int) and not isinstance(number, bool) and number >= 0 else None


def _read_time(milliseconds: object) -> datetime | None:
    if not isinstance(milliseconds, int | float) or not math.isfinite(milliseconds):
        return None
    try:
        return datetime.fromtimestamp(milliseconds // 1 / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return None


# --- what is seen of a pair -------------------------------------------------------------------------

# What cannot be seen, or turns the writing direction so that a text reads as another; the marks that only say which
# direction a letter has stay, for texts from right to left need them.
_UNSEEN: Final = regex.compile(r"[[\p{Cc}\p{Cs}\p{Bidi_Control}]--[\n\t\u200e\u200f\u061c]]", flags=regex.V1)


def show(pair: AnswerPair) -> dict[str, Any]:
    """What a person who labels may see of a pair: texts in pieces, each with whether the other text lacks it.

    Neither labels nor tags, scores or what else the record holds.

    Examples
    --------
    >>> seen = show(AnswerPair("a", ("In 90 minutes.", "90 min"), "In 30 minutes.", tags=("wrong_quantity",)))
    >>> sorted(seen), seen["candidate"]
    (['candidate', 'id', 'question', 'references'], [('In ', False), ('30', True), (' minutes.', False)])
    """
    candidate: Segments = [(_clean(pair.candidate), False)]
    references: list[Segments] = []
    if pair.references:
        nearest = nearest_reference(pair)
        first: Segments = [(_clean(pair.references[nearest]), False)]
        if len(first[0][0]) + len(candidate[0][0]) <= _COMPARED:
            first, candidate = compare(first[0][0], candidate[0][0])
        others = [text for at, text in enumerate(pair.references) if at != nearest]
        references = [first, *_fitting(others)]
    return {"id": pair.id, "question": _clean(pair.question), "references": references, "candidate": candidate}


def _fitting(texts: Sequence[str]) -> list[Segments]:
    shown: list[Segments] = []
    room = LONGEST
    for number, text in enumerate(texts):
        room -= len(text)
        if room < 0 and shown:
            shown.append([(f"… ({len(texts) - number} further references)", False)])
            break
        shown.append([(_clean(text), False)])
    return shown


def _clean(text: str) -> str:
    seen = _UNSEEN.sub("\N{REPLACEMENT CHARACTER}", text[:LONGEST].replace("\r\n", "\n"))
    return seen if len(text) <= LONGEST else f"{seen} … (the first {LONGEST:,} of {len(text):,} characters)"


# --- sessions on a set ------------------------------------------------------------------------------


def start_set(pairs: PairSet, folder: str | os.PathLike[str]) -> Path:
    """Begin a set of the pairs that have no label yet; a set that is there already stays as it is.

    Parameters
    ----------
    pairs
        Of any file that `load_pairs` reads.
    folder
        The new set: `pairs.jsonl`, and the README.md of the old one, which holds the labelling rule.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    InputError
        Where every pair is labelled, or the folder cannot be written.
    """
    folder = Path(folder)
    if (folder / "pairs.jsonl").exists():
        return folder
    rest = [pair for pair in pairs if not pair.labelled]
    if not rest:
        raise InputError(f"{pairs.name}: every pair has a label already; collect further answers")
    readme = None if pairs.source is None else Path(pairs.source) / "README.md"
    if readme is not None and readme.is_file() and not (folder / "README.md").exists():
        with store.atomic_writer(folder / "README.md", binary=True) as copy:
            copy.write(readme.read_bytes())
    with store.atomic_writer(folder / "pairs.jsonl") as file:
        store.write_records(file, map(_record, rest))
    return folder


def _record(pair: AnswerPair) -> dict[str, Any]:
    values = {
        "id": pair.id,
        "group": pair.group,
        "question": pair.question,
        "references": list(pair.references),
        "candidate": pair.candidate,
        "tags": list(pair.tags),
        "fields": dict(pair.fields),
        "checks": dict(pair.checks),
        "meta": dict(pair.meta),
    }
    return {key: value for key, value in values.items() if value or key == "references"} | dict(pair.extra)


def open_queue(
    folder: str | os.PathLike[str], annotator: str, n: int = 200, *, rubric: Sequence[str] = ()
) -> LabelSession:
    """Go on with the first random queue of a set that a person has not finished, or draw one and record it.

    Parameters
    ----------
    folder
        The set.
    annotator
        Who labels.
    n
        How many pairs to draw, one a question, where nothing is left to finish.
    rubric
        Dimensions to rate from one to five, such as `RUBRIC`.

    Raises
    ------
    InputError
        For a set or a name that cannot be used, and where nothing is left to draw.
    """
    annotator = check_annotator(annotator)
    pairs = _load_set(folder)
    known = read_set_labels(folder)
    own = known.labels.get(annotator, {})
    salt = _salt(pairs, known.queues)
    pool = Pool(pairs, salt, known.queues)
    random = [queue for queue in known.queues if (queue.kind, queue.salt, queue.pool) == ("random", salt, pool.name)]
    queue = next((queue for queue in random if not own.keys() >= set(queue.ids)), None)
    log = LabelLog(folder, annotator)
    if queue is None:
        queue = append_queue(folder, pool.random(n, at=datetime.now(UTC)))
    return LabelSession(pairs, queue.ids, log, rule=read_rule(folder), rubric=rubric)


def open_pairs(
    folder: str | os.PathLike[str],
    annotator: str,
    ids: Iterable[str],
    *,
    rubric: Sequence[str] = (),
    again: bool = False,
) -> LabelSession:
    """Label given pairs of a set: those of a queue of another kind, or once more those that were flagged.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     made = start_set(PairSet([AnswerPair("a", ("4",), "four")]), folder)
    ...     session = open_pairs(folder, "zoe", ["a"], again=True)
    ...     session.log.close()
    >>> session.current
    'a'
    """
    pairs = _load_set(folder)
    return LabelSession(pairs, ids, LabelLog(folder, annotator), rule=read_rule(folder), rubric=rubric, again=again)


def open_adjudication(folder: str | os.PathLike[str], by: str) -> LabelSession:
    """Decide the pairs on which people disagree, without seeing who said what.

    Raises
    ------
    InputError
        Where nobody disagrees on anything that is not decided.
    """
    known = read_set_labels(folder)
    pairs = _load_set(folder)
    there = {pair.id for pair in pairs}
    open_ids = [name for name in disagreements(known.votes, known.decided) if name in there]
    if not open_ids:
        raise InputError(
            f"{folder}: there is no disagreement to decide; let a second person label the same queue first"
        )
    return LabelSession(pairs, open_ids, DecisionLog(folder, by), rule=read_rule(folder))


def _load_set(folder: str | os.PathLike[str]) -> PairSet:
    """The set as its file holds it, which is what queues are drawn from."""
    file = Path(folder) / "pairs.jsonl"
    if not file.is_file():
        raise InputError(
            f"{folder}: this is no set, for it holds no pairs.jsonl; make one: start_set(load_pairs(...), folder)"
        )
    pairs = store.load_pairs(file)
    return replace(pairs, source=str(Path(folder)))


def _salt(pairs: PairSet, queues: Sequence[Queue]) -> str:
    """The set's salt: its ledger's, else that of its first queue, else what a ledger begun now would have."""
    path = store.ledger_path(pairs)
    ledger = store.load_ledger(path) if path is not None else None
    if ledger is not None:
        return ledger.set.salt
    return queues[0].salt if queues else hashlib.sha256(fingerprint(pairs).encode()).hexdigest()[:16]
