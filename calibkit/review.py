"""Which pairs to label and in which order, which labels may certify, and references that grow.

A queue is fixed before any of its labels and recorded as an event. Random and region queues certify, in their completed
prefix; the others find faults. Every order follows from the set's salt: there is no seed to shop for.
"""

from __future__ import annotations

import hashlib
import json
import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cached_property
from itertools import islice, pairwise, zip_longest
from typing import Annotated, Any, Final, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StrictBool

from calibkit.agreement import Resolved
from calibkit.cascade import Verdict
from calibkit.normalize import normalize
from calibkit.pairs import AnswerPair, InputError, PairSet, _hash, counted, fingerprint

MOST_ADDED: Final = 20
"""How many references may be added to one question: a list that takes in every answer checks nothing."""


class Event(BaseModel):
    """One line of a log."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    uid: Annotated[str, Field(min_length=1, max_length=200)]
    """What makes the event the same one wherever it stands."""
    seq: Annotated[int, Field(ge=0)] = 0
    """Its place among the events of its log; given by the log."""
    at: AwareDatetime

    @property
    def order(self) -> tuple[int, Any, str]:
        """What decides which of two events is the later one, whatever their lines."""
        return self.seq, self.at, self.uid


class Region(BaseModel):
    """The part of the pool that ranks at or above a cut (pass side), or at or below it (fail side)."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    ranking: str
    """What ranks, as in the key of a configuration: a region of another ranking is another region."""
    cut: float
    side: Literal["pass", "fail"] = "pass"

    def holds(self, place: float) -> bool:
        """Whether an answer ranked there lies in the region; an unscored one (NaN) lies in none."""
        return place >= self.cut if self.side == "pass" else place <= self.cut

    def within(self, other: Region) -> bool:
        """Whether the other region covers this one, so that a random part of it is one of this, too."""
        return (self.ranking, self.side) == (other.ranking, other.side) and other.holds(self.cut)


_Kind = Literal["random", "region", "stratified", "trigger", "uncertainty"]


class Queue(Event):
    """The pairs to label, in order, and how they were chosen."""

    event: Literal["draw"] = "draw"
    kind: _Kind
    parameters: dict[str, Any] = {}
    region: Region | None = None
    """Of a region queue."""
    salt: str
    pool: str
    """Hash of the ids and groups that it was drawn from: of a pool that grew it is no sample."""
    planned: Annotated[int, Field(ge=1)]
    """How many were asked for."""
    ids: tuple[str, ...]
    answers: tuple[str, ...]
    """Short hashes of the pairs as they were then, in the same order."""

    @property
    def certifies(self) -> bool:
        """Whether its completed prefix may certify."""
        return self.kind in ("random", "region")


class Adjudicated(Event):
    """What was decided on a pair that people disagreed on."""

    event: Literal["adjudicated"] = "adjudicated"
    pair_id: str
    acceptable: StrictBool | None
    by: str
    comment: str | None = None


class ReferenceAdded(Event):
    """An accepted answer that joins the references of its question; undoing it leaves the group retired."""

    event: Literal["reference_added"] = "reference_added"
    pair_id: str
    text: Annotated[str, Field(pattern=r"\S")]
    by: str
    expires: date | None = None
    """The last day on which it holds."""


# --- queues -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pool:
    """What queues are drawn from.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> pairs = PairSet([AnswerPair(f"a{n}", ("4",), "four", question=f"q{n // 2}") for n in range(8)])
    >>> queue = Pool(pairs, "salt").random(3, at=datetime(2026, 1, 1, tzinfo=UTC))
    >>> queue.kind, len(queue.ids), certifying_prefix(queue, {queue.ids[0]: True, queue.ids[2]: None}) == queue.ids[:1]
    ('random', 3, True)
    """

    pairs: PairSet
    salt: str
    earlier: Sequence[Queue] = ()
    """The set's queues so far: a further one goes on where those that it may be pooled with end."""
    retired: Collection[str] = ()
    """Keys of groups that certify no more."""

    @cached_property
    def name(self) -> str:
        """The hash of the ids and groups."""
        content = sorted((pair.id, pair.group_key) for pair in self.pairs)
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]

    @cached_property
    def speakers(self) -> Mapping[str, AnswerPair]:
        """Group -> the pair that speaks for it, in the set's random order of groups.

        That order is not the one by which groups are kept for exploring, or those would all come first.
        """
        smallest: dict[str, tuple[int, str, AnswerPair]] = {}
        for pair in self.pairs:
            key = pair.group_key
            place = (_hash(self.salt, "pair", pair.id), pair.id, pair)
            if key not in smallest or place[:2] < smallest[key][:2]:
                smallest[key] = place
        return {key: smallest[key][2] for key in sorted(smallest, key=self._group_order)}

    def random(self, n: int, *, at: datetime) -> Queue:
        """Draw one pair for each of n questions, at random.

        Raises
        ------
        InputError
            Where nothing is left to draw, or n is below 1; so do the other kinds.
        """
        drawn = self._drawn(lambda queue: queue.kind == "random")
        return self._queue("random", n, (pair for pair in self._open() if pair.id not in drawn), at)

    def region(self, n: int, region: Region, place: Mapping[str, float], *, at: datetime) -> Queue:
        """Draw one pair for each of n questions among those whose pair ranks in a region.

        Parameters
        ----------
        place
            Id -> where the answer ranks: inf for a deterministic pass, -inf for a deterministic fail, else its
            score; NaN or no entry where it is unscored.
        """
        if not math.isfinite(region.cut):
            raise InputError(f"the region's cut must be a finite score, not {region.cut}")
        drawn = self._drawn(lambda queue: _covers(queue, region))
        inside = (p for p in self._open() if region.holds(place.get(p.id, math.nan)) and p.id not in drawn)
        return self._queue("region", n, inside, at, region=region)

    def stratified(self, n: int, strata: Mapping[str, Collection[str]], *, at: datetime, by: str = "stratum") -> Queue:
        """Take pairs without a label from each stratum in turn, one a question; it finds faults.

        Parameters
        ----------
        strata
            Name -> ids, as `by_tag`, `by_model` and `by_band` give them.
        by
            What the strata are, for the record.
        """
        free = self._unlabelled()
        lines = [_one_a_question(pair for pair in free if pair.id in ids) for ids in strata.values()]
        turns = {pair.id: pair for turn in zip_longest(*lines) for pair in turn if pair is not None}
        return self._queue("stratified", n, turns.values(), at, parameters={"by": by, "strata": list(strata)})

    def trigger(self, n: int, reasons: Mapping[str, str], *, at: datetime) -> Queue:
        """Take the pairs that something pointed at, the gravest first; it finds faults.

        Parameters
        ----------
        reasons
            Id -> what pointed at it, as `find_triggers` gives them.
        """
        grave = {reason: rank for rank, reason in enumerate(TRIGGERS)}
        pointed = [pair for pair in self._unlabelled() if pair.id in reasons]
        pointed.sort(key=lambda pair: grave.get(reasons[pair.id], len(grave)))
        counts = Counter(reasons[pair.id] for pair in pointed)
        return self._queue("trigger", n, pointed, at, parameters={"reasons": dict(sorted(counts.items()))})

    def uncertainty(self, n: int, scores: Mapping[str, float], thresholds: Sequence[float], *, at: datetime) -> Queue:
        """Take the pairs whose score is nearest to a threshold, one a question; it finds faults."""
        if not thresholds or not all(map(math.isfinite, thresholds)):
            raise InputError(f"uncertainty is the distance to a threshold; give one or more, not {list(thresholds)}")
        far = {name: min(abs(score - cut) for cut in thresholds) for name, score in scores.items()}
        near = [pair for pair in self._unlabelled() if math.isfinite(far.get(pair.id, math.nan))]
        near.sort(key=lambda pair: far[pair.id])
        return self._queue("uncertainty", n, _one_a_question(near), at, parameters={"thresholds": list(thresholds)})

    def in_order(self, queue: Queue) -> bool:
        """Whether a random or region queue holds speakers of the pool in its order, as it must."""
        places = {pair.id: at for at, pair in enumerate(self.speakers.values())}
        found = [places.get(name, -1) for name in queue.ids]
        return all(a < b for a, b in zip([-1, *found], found, strict=False))

    def _group_order(self, key: str) -> tuple[int, str]:
        return _hash(self.salt, "order", key), key

    def _open(self) -> Iterator[AnswerPair]:
        return (pair for key, pair in self.speakers.items() if key not in self.retired)

    def _unlabelled(self) -> list[AnswerPair]:
        free = [pair for pair in self.pairs if not pair.labelled]
        return sorted(free, key=lambda pair: (_hash(self.salt, "pair", pair.id), pair.id))

    def _drawn(self, poolable: Callable[[Queue], bool]) -> set[str]:
        same = (queue for queue in self.earlier if (queue.pool, queue.salt) == (self.name, self.salt))
        return {name for queue in same if poolable(queue) for name in queue.ids}

    def _queue(self, kind: _Kind, n: int, pairs: Iterable[AnswerPair], at: datetime, **more: Any) -> Queue:
        if n < 1:
            raise InputError(f"a queue needs at least 1 pair, not {n}")
        chosen = list(islice(pairs, n))
        if not chosen:
            raise InputError(
                f"{self.pairs.name}: nothing is left to draw ({kind}); finish the queues there are, or collect answers "
                "to further questions"
            )
        ids = tuple(pair.id for pair in chosen)
        what = json.dumps([kind, ids, self.name, self.salt, at.isoformat(), len(self.earlier)])
        return Queue(
            uid=hashlib.sha256(what.encode()).hexdigest()[:16],
            at=at,
            kind=kind,
            salt=self.salt,
            pool=self.name,
            planned=n,
            ids=ids,
            answers=tuple(map(_answer_hash, chosen)),
            **more,
        )


def _one_a_question(pairs: Iterable[AnswerPair]) -> list[AnswerPair]:
    first: dict[str, AnswerPair] = {}
    for pair in pairs:
        first.setdefault(pair.group_key, pair)
    return list(first.values())


def _covers(queue: Queue, region: Region) -> bool:
    """Whether the queue's pairs, cut to the region, are a random part of the region."""
    return queue.kind == "random" or (queue.region is not None and region.within(queue.region))


def _answer_hash(pair: AnswerPair) -> str:
    return fingerprint([pair]).removeprefix("sha256:")[:12]


# --- what to look at: strata and triggers -----------------------------------------------------------

TRIGGERS: Final = ("complaint", "error", "judge disagreement", "rule failure", "gray zone")
"""The gravest first."""

_NO: Final = frozenset({"", "0", "no", "none", "false"})


def by_tag(pairs: Iterable[AnswerPair]) -> dict[str, set[str]]:
    """Tag -> ids; a pair with several tags stands in several strata.

    >>> by_tag([AnswerPair("a", (), "x", tags=("date", "money")), AnswerPair("b", (), "x", tags=("date",))])["money"]
    {'a'}
    """
    return _gather((tag, pair.id) for pair in pairs for tag in pair.tags or ("no tag",))


def by_model(pairs: Iterable[AnswerPair]) -> dict[str, set[str]]:
    """Model (`meta`) -> ids."""
    return _gather((str(pair.meta.get("model") or "no model"), pair.id) for pair in pairs)


def by_band(places: Mapping[str, float], edges: Sequence[float]) -> dict[str, set[str]]:
    """Score band -> ids, from below; pairs that are unscored stand in none.

    >>> by_band({"a": 0.1, "b": 0.9, "c": float("nan"), "d": 0.5}, [0.5, 0.8]) == {
    ...     "below 0.5": {"a"}, "0.5 to 0.8": {"d"}, "0.8 or above": {"b"}}
    True
    """
    cuts = sorted(edges)
    if not cuts or any(map(math.isnan, cuts)):
        raise InputError(f"score bands need one edge or more, and none that is NaN, not {list(edges)}")
    names = [
        f"below {cuts[0]:g}",
        *(f"{low:g} to {high:g}" for low, high in pairwise(cuts)),
        f"{cuts[-1]:g} or above",
    ]
    found = _gather((names[bisect_right(cuts, at)], name) for name, at in places.items() if not math.isnan(at))
    return {name: found[name] for name in names if name in found}


def _gather(members: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    strata: dict[str, set[str]] = {}
    for stratum, name in members:
        strata.setdefault(stratum, set()).add(name)
    return dict(sorted(strata.items()))


def find_triggers(
    pairs: Iterable[AnswerPair], verdicts: Iterable[Verdict] = (), second: Iterable[Verdict] = ()
) -> dict[str, str]:
    """Say which pairs something points at, and the gravest thing that does.

    Parameters
    ----------
    pairs
        Their `meta` may mark a complaint: `{"complaint": true}` or its text.
    verdicts
        What a policy said.
    second
        What a judge said, or another run of it: a pass against a fail is a disagreement.

    Examples
    --------
    >>> pair = AnswerPair("a", ("4",), "5", meta={"complaint": "wrong sum"})
    >>> find_triggers([pair], [Verdict("b", "fail", "rule:number", None, "5 is not 4")])
    {'a': 'complaint', 'b': 'rule failure'}
    """
    pointed: list[tuple[int, str]] = []
    outcomes: dict[str, str] = {}
    for pair in pairs:
        if str(pair.meta.get("complaint") or "").strip().casefold() not in _NO:
            pointed.append((0, pair.id))
    for verdict in verdicts:
        outcomes[verdict.id] = verdict.outcome
        if verdict.outcome == "error":
            pointed.append((1, verdict.id))
        elif verdict.outcome == "fail" and (verdict.stage or "").startswith("rule"):
            pointed.append((3, verdict.id))
        elif verdict.outcome == "review":
            pointed.append((4, verdict.id))
    for verdict in second:
        if {verdict.outcome, outcomes.get(verdict.id)} == {"pass", "fail"}:
            pointed.append((2, verdict.id))
    gravest: dict[str, str] = {}
    for rank, name in sorted(pointed, key=lambda found: found[0]):
        gravest.setdefault(name, TRIGGERS[rank])
    return gravest


# --- which labels certify ---------------------------------------------------------------------------


def certifying_prefix(queue: Queue, labels: Container[str], skip: Container[str] = ()) -> tuple[str, ...]:
    """The longest beginning of a random or region queue whose pairs are all labelled.

    Parameters
    ----------
    labels
        Ids with a label; "cannot say" is one.
    skip
        Ids that certify no more: they are neither waited for nor given.
    """
    prefix: list[str] = []
    if not queue.certifies:
        return ()
    for name in queue.ids:
        if name in skip:
            continue
        if name not in labels:
            break
        prefix.append(name)
    return tuple(prefix)


@dataclass(frozen=True)
class Certifying:
    """The labels that may certify, and why others may not."""

    ids: tuple[str, ...]
    """In the order of their queues."""
    retired: tuple[str, ...] = ()
    """Labelled ones that would, had their question stayed what it was. Most were accepted: without them the fail
    side sees fewer of its mistakes."""
    notes: tuple[str, ...] = ()


def certifying(
    pairs: PairSet,
    queues: Iterable[Queue],
    labels: Container[str],
    *,
    salt: str,
    retired: Collection[str] = (),
    region: Region | None = None,
    place: Mapping[str, float] | None = None,
) -> Certifying:
    """Find the labels that are a random sample of the pool, or of a region of it.

    Parameters
    ----------
    pairs
        The set as its file holds it, without the references that were added.
    queues
        What was drawn.
    labels
        Ids with a label.
    salt
        The set's own: queues drawn by another are not heard.
    retired
        Keys of groups that certify no more, as `grown_groups` gives them.
    region, place
        For labels of a region; random labels in it count, too. They certify thresholds inside the region only.
    """
    pool = Pool(pairs, salt)
    now = {pair.id: pair for pair in pairs}
    ids: dict[str, None] = {}
    lost: dict[str, None] = {}
    notes: list[str] = []
    for queue in queues:
        usable = queue.kind == "random" if region is None else _covers(queue, region)
        if not usable:
            continue
        named = f"the {queue.kind} queue of {queue.at:%Y-%m-%d %H:%M} certifies nothing: "
        if queue.salt != salt:
            notes.append(named + "it was drawn by another salt than the set's")
        elif queue.pool != pool.name:
            notes.append(named + "pairs or groups of the set changed since; draw again, labels that are there count")
        elif not pool.in_order(queue) or len(queue.answers) != len(queue.ids):
            notes.append(named + "its pairs do not stand in the set's order; restore draws.jsonl")
        else:
            gone = {
                name
                for name, answer in zip(queue.ids, queue.answers, strict=True)
                if now[name].group_key in retired or _answer_hash(now[name]) != answer
            }
            inside = dict.fromkeys(
                name
                for name in certifying_prefix(queue, labels, gone)
                if region is None or region.holds((place or {}).get(name, math.nan))
            )
            ids |= inside
            lost |= dict.fromkeys(name for name in queue.ids if name in gone and name in labels)
    if lost:
        notes.append(
            f"{counted(len(lost), 'labelled question')} (first: {next(iter(lost))!r}) certifies no more: references or "
            "answer changed after it was drawn"
        )
    return Certifying(tuple(ids), tuple(lost), tuple(notes))


# --- references that grow ---------------------------------------------------------------------------


def add_reference(
    pairs: PairSet,
    added: Iterable[ReferenceAdded],
    labels: Mapping[str, Resolved],
    pair_id: str,
    *,
    by: str,
    at: datetime,
    expires: date | None = None,
) -> ReferenceAdded:
    """Make the event by which an accepted answer joins the references of its question.

    Its group certifies no more from then on.

    Parameters
    ----------
    added
        The references added so far.
    labels
        What people said.
    expires
        The last day on which the reference holds.

    Raises
    ------
    InputError
        For a pair that is not there or was not accepted, a text that is a reference already, a question that has
        taken in `MOST_ADDED` of them.
    """
    by_id = {pair.id: pair for pair in pairs}
    pair = by_id.get(pair_id)
    if pair is None:
        raise InputError(f"{pairs.name}: there is no pair {pair_id!r}; name one of the set")
    if pair_id not in labels or labels[pair_id].label is not True:
        raise InputError(f"{pairs.name}: the answer {pair_id!r} was not accepted by a person; label it first")
    texts = [e.text for e in added if e.pair_id in by_id and _question(by_id[e.pair_id]) == _question(pair)]
    if pair.candidate in (*pair.references, *texts):
        raise InputError(f"{pairs.name}: the answer {pair_id!r} is a reference of its question already")
    if len(texts) >= MOST_ADDED:
        raise InputError(
            f"{pairs.name}: {MOST_ADDED} references were added to the question of {pair_id!r} already; undo one"
        )
    uid = hashlib.sha256(json.dumps(["reference", pair_id, pair.candidate, at.isoformat()]).encode()).hexdigest()[:16]
    return ReferenceAdded(uid=uid, at=at, pair_id=pair_id, text=pair.candidate, by=by, expires=expires)


def grow_references(pairs: PairSet, added: Iterable[ReferenceAdded]) -> PairSet:
    """Give every pair the references that were added to its question, at most `MOST_ADDED`."""
    grown: dict[tuple[str, str], list[str]] = {}
    questions = {pair.id: _question(pair) for pair in pairs}
    for event in added:
        if event.pair_id in questions:
            texts = grown.setdefault(questions[event.pair_id], [])
            if event.text not in texts and len(texts) < MOST_ADDED:
                texts.append(event.text)
    if not grown:
        return pairs
    more = [
        replace(pair, references=tuple(dict.fromkeys((*pair.references, *grown[question]))))
        if (question := questions[pair.id]) in grown
        else pair
        for pair in pairs
    ]
    return replace(pairs, pairs=tuple(more))


def grown_groups(pairs: Iterable[AnswerPair], ever_added: Iterable[ReferenceAdded]) -> frozenset[str]:
    """Keys of the groups that certify no more, for references were added to them, were it undone since."""
    named = {event.pair_id for event in ever_added}
    return frozenset(pair.group_key for pair in pairs if pair.id in named)


def expired(added: Iterable[ReferenceAdded], today: date) -> list[str]:
    """Say which added references have passed their last day, a line each."""
    return [
        f"the reference {event.text[:60]!r} of {event.pair_id!r}, added by {event.by}, held until {event.expires}; "
        "undo it, or add it again with a later day"
        for event in added
        if event.expires is not None and event.expires < today
    ]


def _question(pair: AnswerPair) -> tuple[str, str]:
    text = normalize(pair.question, 2)
    return pair.group_key, text or json.dumps(sorted(pair.references))
