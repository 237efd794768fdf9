"""Answer pairs: what a record must hold, what makes pairs dependent, which pair speaks for its group."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from calibkit.normalize import normalize

KNOWN_KEYS: Final = (
    "id",
    "group",
    "question",
    "references",
    "candidate",
    "acceptable",
    "tags",
    "fields",
    "checks",
    "meta",
)

ACCEPTABLE_WORDS: Final = frozenset({"yes", "true", "1", "1.0"})
NOT_ACCEPTABLE_WORDS: Final = frozenset({"no", "false", "0", "0.0"})
CANNOT_SAY_WORDS: Final = frozenset({"cannot say", "cannot_say", "cannot-say"})
# What exports write where there was nothing: no label, and worth a remark.
_EMPTY_WORDS: Final = frozenset({"nan", "na", "n/a", "none", "null"})


class InputError(ValueError):
    """A fault that the user can mend: one line that says what is wrong, where, and the cure."""


class SetupError(InputError):
    """A package or a model is missing: a fault of no single answer, so grading stops."""


class RowFault(ValueError):
    """One record that is no usable pair.

    `malformed` tells a record of the wrong shape (the file needs mending) from one that has nothing to
    grade (it is left out and counted).
    """

    def __init__(self, field: str, reason: str, *, malformed: bool) -> None:
        super().__init__(f"{field} {reason}")
        self.field = field
        self.reason = reason
        self.malformed = malformed


class UnknownLabel(RowFault):
    """A label value that no word list knows."""

    def __init__(self, value: object) -> None:
        super().__init__("acceptable", f"{value!r} is no known label", malformed=True)
        self.value = str(value)


@dataclass(frozen=True, slots=True)
class AnswerPair:
    """One question, its references and one candidate answer."""

    id: str
    """Unique within its set."""
    references: tuple[str, ...]
    """Acceptable texts; empty where the question has no answer."""
    candidate: str
    """The answer to grade."""
    question: str = ""
    group: str | None = None
    """What makes pairs dependent; None: the question does, or else the references."""
    labelled: bool = False
    """Whether a person judged the pair."""
    acceptable: bool | None = None
    """What the person said; None means "cannot say" where the pair is labelled."""
    tags: tuple[str, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """How the fields of a structured answer are compared, by JSON Pointer."""
    checks: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """Plain checks of this case, as in {"max_length": 200}."""
    meta: Mapping[str, Any] = field(default_factory=dict, compare=False)
    extra: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """The record's other keys, kept as they were."""

    @property
    def cannot_say(self) -> bool:
        """Whether a person judged the pair and could not tell."""
        return self.labelled and self.acceptable is None

    @property
    def counts_as_rejected(self) -> bool:
        """The label on the pass side, where "cannot say" counts against."""
        return self.labelled and self.acceptable is not True

    @property
    def counts_as_accepted(self) -> bool:
        """The label on the fail side, where "cannot say" counts against."""
        return self.labelled and self.acceptable is not False

    @property
    def group_key(self) -> str:
        """The group, else the normalised question, else the normalised references."""
        if self.group is not None:
            return f"group:{self.group}"
        if question := normalize(self.question, 2):
            return f"question:{question}"
        return "references:" + json.dumps(sorted(normalize(text, 2) for text in self.references))


def read_label(value: object, words: Mapping[str, str] | None = None) -> tuple[bool, bool | None]:
    """Read a label cell.

    Parameters
    ----------
    value
        A bool, 1 or 0, None (the person could not say) or a word such as yes, no, cannot say; blank: no label.
    words
        Further label words, each with "yes", "no" or "cannot say".

    Returns
    -------
    (labelled, acceptable)

    Raises
    ------
    RowFault
        For a value that says nothing ("nan"), and UnknownLabel for one that is not known.

    Examples
    --------
    >>> read_label("Yes"), read_label(0), read_label(None), read_label(" ")
    ((True, True), (True, False), (True, None), (False, None))
    >>> read_label("good", {"good": "yes"})
    (True, True)
    """
    if value is None:
        return True, None
    word = str(value).strip().casefold()
    if words:
        word = words.get(word, word)
    if not word:
        return False, None
    if word in ACCEPTABLE_WORDS:
        return True, True
    if word in NOT_ACCEPTABLE_WORDS:
        return True, False
    if word in CANNOT_SAY_WORDS:
        return True, None
    if word in _EMPTY_WORDS:
        raise RowFault("acceptable", f"is the text {str(value)!r}", malformed=False)
    raise UnknownLabel(value)


def read_pair(
    record: Mapping[str, Any], *, with_label: bool = True, label_words: Mapping[str, str] | None = None
) -> AnswerPair:
    """Check one record and make it a pair.

    Parameters
    ----------
    record
        The keys of the file format; unknown ones are kept in `extra`. Without an `id` the pair is named by
        the hash of its texts.
    with_label
        False leaves `acceptable` unread, for a record whose label is of no use.

    Raises
    ------
    RowFault
        Naming the field and what is wrong with it.

    Examples
    --------
    >>> pair = read_pair({"id": "q1", "references": "4", "candidate": "four", "acceptable": "yes", "author": "kb"})
    >>> pair.references, pair.acceptable, dict(pair.extra)
    (('4',), True, {'author': 'kb'})
    """
    references = _references(record)
    candidate = _text(record, "candidate")
    question = record.get("question")
    if question is None:
        question = ""
    _check_text("question", question)
    labelled, acceptable = False, None
    if with_label and "acceptable" in record:
        labelled, acceptable = read_label(record["acceptable"], label_words)
    return AnswerPair(
        id=_name(record, "id") or _content_id(question, references, candidate),
        references=references,
        candidate=candidate,
        question=question,
        group=_name(record, "group"),
        labelled=labelled,
        acceptable=acceptable,
        tags=_tags(record.get("tags")),
        fields=_mapping(record, "fields"),
        checks=_mapping(record, "checks"),
        meta=_mapping(record, "meta"),
        extra={key: value for key, value in record.items() if key not in KNOWN_KEYS},
    )


def _check_text(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise RowFault(name, f"is {type(value).__name__}, not text", malformed=True)
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise RowFault(name, "holds half of a surrogate pair, which is no character", malformed=True) from None


def _text(record: Mapping[str, Any], name: str) -> str:
    if name not in record:
        raise RowFault(name, "is missing", malformed=True)
    value = record[name]
    if value is None:
        raise RowFault(name, "is null", malformed=False)
    _check_text(name, value)
    if not value.strip():
        raise RowFault(name, "is blank", malformed=False)
    return str(value)


def _references(record: Mapping[str, Any]) -> tuple[str, ...]:
    value = record.get("references")
    if not isinstance(value, (list, tuple)):
        return (_text(record, "references"),)
    for text in value:
        if text is None:
            raise RowFault("references", "holds a null", malformed=False)
        _check_text("references", text)
        if not text.strip():
            raise RowFault("references", "holds a blank text", malformed=False)
    return tuple(dict.fromkeys(value))


def _name(record: Mapping[str, Any], key: str) -> str | None:
    value = record.get(key)
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise RowFault(key, f"is {type(value).__name__}, not text", malformed=True)
    _check_text(key, str(value))
    return str(value)


def _tags(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        return tuple(tag.strip() for tag in value.split(",") if tag.strip())
    if isinstance(value, (list, tuple)) and all(isinstance(tag, str) for tag in value):
        return tuple(value)
    raise RowFault("tags", "is no list of texts", malformed=True)


def _mapping(record: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = record.get(key)
    if value is None or value == "":
        return {}
    if not isinstance(value, Mapping):
        raise RowFault(key, f"is {type(value).__name__}, not an object", malformed=True)
    return value


def _content_id(question: str, references: Sequence[str], candidate: str) -> str:
    return hashlib.sha256(json.dumps([question, *references, candidate]).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Remark:
    """Something that a load noticed about one row."""

    place: str
    """File and line, as in "pairs.csv:7"."""
    reason: str
    outcome: str
    """What became of the row: "left out", "label not used" or "worth a look"."""


@dataclass(frozen=True)
class PairSet:
    """Pairs, in the order of their file, and what loading them noticed.

    Examples
    --------
    >>> pairs = PairSet([AnswerPair("a", ("4",), "four", question="2 + 2?", labelled=True, acceptable=True)])
    >>> len(pairs), pairs[0].candidate, pairs.summary()
    (1, 'four', '1 pair of 1 question: 1 acceptable, 0 not acceptable, 0 cannot say, 0 without label')
    """

    pairs: Sequence[AnswerPair]
    name: str = "pairs"
    source: str | None = None
    """The file or folder that they came from; None for pairs made in Python."""
    remarks: Sequence[Remark] = ()
    filters: Sequence[str] = ()
    """The conditions under which rows were left out on request, as in "improper=true"."""
    grouping: str | None = None
    """Where the groups come from, as in "column topic" or "question"; None for pairs made in Python."""
    original: PairSet | None = None
    """The pairs as their file holds them, where references were added to the set since."""

    def __post_init__(self) -> None:
        twice = [name for name, count in Counter(pair.id for pair in self.pairs).items() if count > 1]
        if twice:
            raise InputError(
                f"{self.name}: the id {twice[0]!r} names {sum(p.id == twice[0] for p in self.pairs)} pairs "
                f"({counted(len(twice), 'such id')}); give each pair its own, or map the column to group"
            )

    def __len__(self) -> int:
        return len(self.pairs)

    def __iter__(self) -> Iterator[AnswerPair]:
        return iter(self.pairs)

    def __getitem__(self, index: int) -> AnswerPair:
        return self.pairs[index]

    def summary(self) -> str:
        """Count the pairs, questions and labels in a line."""
        labels = Counter((pair.labelled, pair.acceptable) for pair in self.pairs)
        groups = len({pair.group_key for pair in self.pairs})
        return (
            f"{counted(len(self), 'pair')} of {counted(groups, 'question')}: {labels[True, True]} acceptable, "
            f"{labels[True, False]} not acceptable, {labels[True, None]} cannot say, "
            f"{labels[False, None]} without label"
        )

    def remark_lines(self) -> list[str]:
        """Say what was left out and what lost its label, one line a reason, each with its first place."""
        grouped: dict[tuple[str, str], list[str]] = {}
        for remark in self.remarks:
            grouped.setdefault((remark.outcome, remark.reason), []).append(remark.place)
        return [
            f"{outcome}: {counted(len(places), 'row')} where {reason} (first: {places[0]})"
            for (outcome, reason), places in grouped.items()
        ]


def counted(number: int, noun: str) -> str:
    """A number with its noun: "1 pair", "2 pairs"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def fingerprint(pairs: Iterable[AnswerPair], *, labels: bool = False) -> str:
    """Hash the content of pairs, whatever their order.

    Parameters
    ----------
    pairs
        The pairs.
    labels
        Whether the labels are part of the content.

    Examples
    --------
    >>> one, two = AnswerPair("a", ("4",), "four"), AnswerPair("b", ("5",), "five")
    >>> fingerprint([one, two]) == fingerprint([two, one]) != fingerprint([one])
    True
    """
    digests = []
    for pair in pairs:
        content: list[object] = [pair.id, pair.group, pair.question, sorted(pair.references), pair.candidate]
        if pair.fields or pair.checks:
            content += [dict(pair.fields), dict(pair.checks)]
        if checked := {key: pair.meta[key] for key in ("latency", "tools") if key in pair.meta}:
            content.append(checked)
        if labels:
            content += [pair.labelled, pair.acceptable]
        digests.append(hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).digest())
    return "sha256:" + hashlib.sha256(b"".join(sorted(digests))).hexdigest()


@dataclass(frozen=True)
class Draw:
    """One labelled pair for each group, apart for certifying and for exploring.

    Both are positions in the set, in the order of their hash.
    """

    certifying: tuple[int, ...]
    development: tuple[int, ...]


def draw(pairs: PairSet, salt: str, development: float) -> Draw:
    """Choose the labelled pair that speaks for its group, and the groups that are for exploring.

    Both choices follow from the hash of the salt with the pair's id or the group's name: no seed to shop
    for, and what a label says has no say. (That a pair has a label does: of a file in which only some answers to
    a question are labelled, one of these speaks.)

    Parameters
    ----------
    pairs
        The set.
    salt
        The set's salt.
    development
        The share of the groups, from 0 to below 1, that is kept for exploring.

    Raises
    ------
    InputError
        For a share outside [0, 1).
    """
    if not 0 <= development < 1:
        raise InputError(f"development must be at least 0 and below 1, not {development}")
    smallest: dict[str, tuple[int, int]] = {}
    for position, pair in enumerate(pairs):
        if pair.labelled:
            place = (_hash(salt, "pair", pair.id), position)
            key = pair.group_key
            if key not in smallest or place < smallest[key]:
                smallest[key] = place
    chosen: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])
    for key, place in smallest.items():
        exploring = _hash(salt, "group", key) < development * 2**64
        chosen[exploring].append(place)
    certifying, exploring_part = (tuple(position for _, position in sorted(part)) for part in chosen)
    return Draw(certifying, exploring_part)


def _hash(salt: str, kind: str, name: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{salt}\x00{kind}\x00{name}".encode()).digest()[:8])
