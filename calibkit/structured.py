"""Answers that are JSON, compared field by field with a reference that is JSON.

Fields are named by JSON Pointers (RFC 6901), where `*` stands for each element of an array. A strategy says how a
field is compared; a field without one is compared by the default, or else by the type of the reference's value.
Key order and spacing never matter. Every hard field must pass; the others add to a score.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import BeforeValidator, Field, model_validator

from calibkit.checks import Weighed, cut, nearest, read_options
from calibkit.normalize import normalize
from calibkit.pairs import AnswerPair, InputError
from calibkit.scorers import LEXICAL_SCORERS, Scores
from calibkit.values.reading import LONGEST, Reading, decimal_text

FIELDS_VERSION: Final = 1
"""Raised with every change by which a structured answer is decided differently; policies record it."""

LARGEST: Final = 1_000_000
"""Characters that a JSON text may have."""
DEEPEST: Final = 64
"""How deep its arrays and objects may be nested."""
_LARGEST_EXPONENT: Final = 1_000

Json = Any
"""None, a bool, a Fraction, a str, a list or a dict."""
Outcome = Literal["pass", "fail", "missing", "extra", "ambiguous", "unreadable", "scored", "not_applicable"]
"""What a field's comparison gives; "scored": a text without a threshold, whose score is all that is said."""
ScoreTexts = Callable[[str, Sequence[AnswerPair]], Scores]
"""Scores pairs by a scorer's name, as `lambda name, pairs: score_pairs(pairs, name)` does."""

# --- JSON: exact numbers, no key twice, bounded -----------------------------------------------------------


class _NotReadable(ValueError):
    pass


_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*+"?|([\[{])|[\]}]', re.DOTALL)


def _read_json(text: str) -> Json:
    text = text.strip().removeprefix("\ufeff")
    if len(text) > LARGEST:
        raise _NotReadable(f"{len(text):,} characters, {LARGEST:,} are read at most")
    depth = 0
    for found in _STRING_OR_BRACKET.finditer(text):
        if found[0][0] != '"':
            depth += 1 if found[1] else -1
            if depth > DEEPEST:
                raise _NotReadable(f"nested more than {DEEPEST} deep")
    try:
        value = json.loads(
            text, object_pairs_hook=_object, parse_int=_number, parse_float=_number, parse_constant=_no_constant
        )
    except json.JSONDecodeError as error:
        raise _NotReadable(f"{error.msg} at line {error.lineno}, column {error.colno}") from None
    for part in _texts(value):
        if not part.isascii() and any("\ud800" <= character <= "\udfff" for character in part):
            raise _NotReadable("a text holds half of a surrogate pair, which is no character")
    return value


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise _NotReadable(f"the key {cut(twice)} stands twice")
    return found


def _number(text: str) -> Fraction:
    exponent = text.lower().partition("e")[2]
    if len(text) > LONGEST or abs(int(exponent or 0)) > _LARGEST_EXPONENT:
        raise _NotReadable(f"the number {cut(text)} has too many digits")
    return Fraction(text)


def _no_constant(name: str) -> Json:
    raise _NotReadable(f"{name} is no JSON number")


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part)
    elif isinstance(value, dict):
        for key, part in value.items():
            yield key
            yield from _texts(part)


_INFO = re.compile(r"\s*([a-zA-Z]\w*)?")


def _read_candidate(text: str) -> Json:
    """A text that is JSON as a whole, or that holds one fenced block of it."""
    parts = text.split("```")
    if len(parts) < 3:
        return _read_json(text)
    if parts[0].lstrip().startswith(("{", "[")):
        with suppress(_NotReadable):
            return _read_json(text)  # the fences stand in its texts
    labelled: dict[str, list[str]] = defaultdict(list)
    for block in parts[1 : len(parts) - 1 : 2]:
        info = _INFO.match(block)
        assert info is not None
        labelled[(info[1] or "").lower()].append(block[info.end() :])
    blocks = labelled["json"] or labelled[""]
    if len(blocks) != 1:
        raise _NotReadable(f"{len(blocks)} fenced blocks of JSON, one is due")
    return _read_json(blocks[0])


def _key(value: Json, rung: int, locale: str | None) -> Hashable:
    """Equal for equal values: types apart (true is not 1), texts levelled, keys of objects in any order."""
    if isinstance(value, str):
        return "text", normalize(value, rung, locale) if rung == 4 else normalize(value, rung)
    if isinstance(value, list):
        return "array", tuple(_key(part, rung, locale) for part in value)
    if isinstance(value, dict):
        return "object", frozenset((key, _key(part, rung, locale)) for key, part in value.items())
    return type(value).__name__, value


def _same(one: Json, other: Json) -> bool:
    """Whether two values are written alike, whatever they mean."""
    return _key(one, 1, None) == _key(other, 1, None)


def _shown(value: Json) -> str:
    written = _written(value)
    return written if len(written) <= 60 else written[:59] + "…"


def _written(value: Json) -> str:
    if isinstance(value, Fraction):
        return decimal_text(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_written(key)}: {_written(part)}" for key, part in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False)


# --- strategies -----------------------------------------------------------------------------------------

Compared = tuple[Outcome, str]
"""An outcome and its reason."""


class _Strategy(Weighed):
    name: ClassVar[str]

    def compare(self, reference: Json, candidate: Json, locale: str | None) -> Compared:
        """Compare two values."""
        raise NotImplementedError


class _Read(_Strategy):
    """Strategies that read a value, and compare what was read."""

    def read(self, value: Json, locale: str | None) -> tuple[Any, ...] | str | None:
        """What a value may be; a reason where that cannot be told, None where it is nothing of the kind."""
        raise NotImplementedError

    def equal(self, reference: Any, candidate: Any) -> bool | None:
        """Whether two readings are the same value; None where that is open."""
        return bool(reference == candidate)

    def compare(self, reference: Json, candidate: Json, locale: str | None) -> Compared:
        """Compare every reading of both."""
        if _same(reference, candidate):
            return "pass", ""
        due, here = self.read(reference, locale), self.read(candidate, locale)
        if due is None or isinstance(due, str):
            return "unreadable", f"the reference {_shown(reference)}: {due or f'no {self.name}'}"
        if isinstance(here, str):
            return "unreadable", f"{_shown(reference)} was due, {_shown(candidate)}: {here}"
        found = {self.equal(one, other) for one in due for other in here or ()}
        if found <= {False}:
            return "fail", f"{_shown(reference)} was due, here is {_shown(candidate)}"
        if found == {True}:
            return "pass", f"{_shown(candidate)} is {_shown(reference)}"
        return "ambiguous", f"{_shown(candidate)} may be {_shown(reference)}, or not"


class Exact(_Read):
    """The same value, texts levelled to a rung; objects and arrays as a whole."""

    name: ClassVar[str] = "exact"

    rung: Annotated[int, Field(ge=1, le=4)] = 3

    def read(self, value: Json, locale: str | None) -> tuple[Any, ...]:
        """The value, levelled."""
        return (_key(value, self.rung, locale),)


def _readings(reading: Reading | None, text: str, kind: str) -> tuple[Any, ...] | str | None:
    if reading is None:
        # What holds a digit may be a value that is written in an unknown way.
        return f"no {kind} that can be read" if any(character.isdigit() for character in text) else None
    return reading.values or reading.reason


class Number(_Read):
    """The same number, as a JSON number or as a text; within the larger of two tolerances, both ends included."""

    name: ClassVar[str] = "number"

    absolute: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0
    relative: Annotated[float, Field(ge=0, lt=1)] = 0
    """To the reference."""

    def read(self, value: Json, locale: str | None) -> tuple[Any, ...] | str | None:
        """The number."""
        from calibkit.values.numbers import read_number

        if isinstance(value, Fraction):
            return (value,)
        if not isinstance(value, str):
            return None
        found = _readings(read_number(normalize(value, 1), locale), value, "number")
        return tuple(number.low for number in found) if isinstance(found, tuple) else found

    def equal(self, reference: Fraction, candidate: Fraction) -> bool:
        """Whether the numbers are near enough."""
        return abs(candidate - reference) <= max(_exactly(self.absolute), _exactly(self.relative) * abs(reference))


def _exactly(number: float) -> Fraction:
    return Fraction(repr(number))  # the decimal that was written, not the binary number next to it


class Date(_Read):
    """The same date or time, however it is written."""

    name: ClassVar[str] = "date"

    def read(self, value: Json, locale: str | None) -> tuple[Any, ...] | str | None:
        """The date's canonical text."""
        from calibkit.values.dates import read_date

        if not isinstance(value, str):
            return None
        found = _readings(read_date(normalize(value, 1), locale), value, "date")
        return tuple(date.canonical for date in found) if isinstance(found, tuple) else found

    def equal(self, reference: str, candidate: str) -> bool | None:
        """Whether they are the same; open where only one has a zone."""
        from calibkit.values.dates import differs_in_zone_only

        return reference == candidate or (None if differs_in_zone_only(reference, candidate) else False)


class Identifier(_Read):
    """The same identifier, but for separators."""

    name: ClassVar[str] = "identifier"

    def read(self, value: Json, locale: str | None) -> tuple[Any, ...] | str | None:
        """The identifier's canonical text."""
        from calibkit.values.identifiers import read_identifier

        if isinstance(value, Fraction):
            value = decimal_text(value)
        if not isinstance(value, str):
            return None
        found = _readings(read_identifier(normalize(value, 1), locale), value, "identifier")
        return tuple(identifier.canonical for identifier in found) if isinstance(found, tuple) else found


def _element(value: object) -> object:
    if isinstance(value, _Read):
        return value
    strategy = _strategy(value, "of", (Exact, Number, Date, Identifier))
    if not strategy.hard:
        raise InputError("of: the weight is that of the whole array; give it there")
    return strategy


class Ordered(_Strategy):
    """Arrays of the same elements in the same order."""

    name: ClassVar[str] = "ordered"

    of: Annotated[Exact | Number | Date | Identifier, BeforeValidator(_element)] = Exact()
    """How elements are compared."""

    def compare(self, reference: Json, candidate: Json, locale: str | None) -> Compared:
        """Compare the elements."""
        if _same(reference, candidate):
            return "pass", ""
        if not isinstance(reference, list):
            return "unreadable", f"the reference {_shown(reference)}: no array"
        if not isinstance(candidate, list):
            return "fail", f"an array was due, here is {_shown(candidate)}"
        if len(reference) != len(candidate):
            return "fail", f"{len(reference):,} elements were due, here are {len(candidate):,}: {_shown(candidate)}"
        return self._compare_elements(reference, candidate, locale)

    def _compare_elements(self, reference: list[Json], candidate: list[Json], locale: str | None) -> Compared:
        worst: Compared = ("pass", "")
        for due, here in zip(reference, candidate, strict=True):
            outcome, reason = self.of.compare(due, here, locale)
            if outcome == "fail":
                return outcome, reason
            if outcome != "pass":
                worst = outcome, reason
        return worst


class Set(Ordered):
    """Arrays of the same elements, each as often, in any order."""

    name: ClassVar[str] = "set"

    def _compare_elements(self, reference: list[Json], candidate: list[Json], locale: str | None) -> Compared:
        due, due_open = self._readings(reference, locale)
        here, here_open = self._readings(candidate, locale)
        if Counter(due_open) != Counter(here_open):
            return "ambiguous", f"{_shown(reference)} was due; not every element of {_shown(candidate)} is one value"
        if isinstance(self.of, Number):
            # Both ends of a tolerance grow with the number, so that neighbours in order are the best match.
            wrong = not all(map(self.of.equal, sorted(due), sorted(here)))
        else:
            wrong = Counter(due) != Counter(here)
        if wrong:
            return "fail", f"{_shown(reference)} was due in any order, here is {_shown(candidate)}"
        return "pass", ""

    def _readings(self, values: list[Json], locale: str | None) -> tuple[list[Any], list[Hashable]]:
        """What the elements are, and those that are not exactly one value."""
        found, left = [], []
        for value in values:
            reading = self.of.read(value, locale)
            if isinstance(reading, tuple) and len(reading) == 1:
                found.append(reading[0])
            else:
                left.append(_key(value, 1, None))
        return found, left


class Text(_Strategy):
    """Texts by the score of a lexical scorer: never hard, scored only where no hard field fails."""

    name: ClassVar[str] = "text"

    scorer: str = "token_f1"
    threshold: Annotated[float, Field(allow_inf_nan=False)] | None = None
    """From which score the field passes; None: only the score counts."""
    weight: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1

    @model_validator(mode="before")
    @classmethod
    def _check_scorer(cls, options: Any) -> Any:
        scorer = options.get("scorer", "token_f1")
        if isinstance(scorer, str) and scorer not in LEXICAL_SCORERS:
            raise ValueError(
                f"there is no lexical scorer {cut(scorer)}; the nearest: {nearest(scorer, LEXICAL_SCORERS)}"
            )
        if options.get("hard") is True:
            raise ValueError("a text is compared by its score, which is never hard; give it a weight")
        return options


class Ignore(_Strategy):
    """Not compared, and free to be there or not."""

    name: ClassVar[str] = "ignore"

    def compare(self, reference: Json, candidate: Json, locale: str | None) -> Compared:
        """Say nothing."""
        return "not_applicable", "ignored"


Strategy = Exact | Number | Date | Identifier | Ordered | Text | Ignore
"""How a field is compared; a Set is a kind of Ordered."""

STRATEGIES: Final[dict[str, type[Strategy]]] = {
    strategy.name: strategy for strategy in (Exact, Number, Date, Identifier, Set, Ordered, Text, Ignore)
}
"""The strategies by name."""

_ALL: Final = tuple(STRATEGIES.values())
_EXACT, _NUMBER = Exact(), Number()


def _of_type(reference: Json) -> Strategy:
    return _NUMBER if isinstance(reference, Fraction) else _EXACT


def parse_strategies(value: object, where: str) -> dict[str, Strategy]:
    """Read strategies from plain values, as JSON and YAML give them.

    Parameters
    ----------
    value
        A mapping from JSON Pointers to a strategy's name, or to a mapping with the key `strategy` and its options.
    where
        Where the value stands, for error messages.

    Raises
    ------
    InputError
        With where, what is wrong and the cure.

    Examples
    --------
    >>> found = parse_strategies({"/total": {"strategy": "number", "absolute": 0.5}, "/ids": "set"}, "policy")
    >>> found["/total"].absolute, found["/ids"].of.rung
    (0.5, 3)
    >>> parse_strategies({"/total": "numbr"}, "policy")
    Traceback (most recent call last):
    calibkit.pairs.InputError: policy: /total: there is no strategy 'numbr' here; the nearest: number
    """
    if not isinstance(value, Mapping):
        raise InputError(f"{where}: strategies are {cut(value)}; give a mapping of pointers, as in /total: number")
    found = {}
    for pointer, options in value.items():
        if not isinstance(pointer, str):
            raise InputError(f"{where}: the pointer {cut(pointer)} is no text; write it as in /items/0")
        found[pointer] = _strategy(options, f"{where}: {pointer or 'the root'}", _ALL)
    _tree(found, where)
    return found


def parse_strategy(value: object, where: str) -> Strategy:
    """Read one strategy, such as the default, from a name or a mapping.

    Raises
    ------
    InputError
        As `parse_strategies` does.
    """
    return _strategy(value, where, _ALL)


def _strategy(value: object, where: str, kinds: Sequence[type[Strategy]]) -> Strategy:
    options = dict(value) if isinstance(value, Mapping) else {"strategy": value}
    if "strategy" not in options:
        raise InputError(f"{where}: the key 'strategy' is missing; add it")
    name = options.pop("strategy")
    known = {kind.name: kind for kind in kinds}
    if not isinstance(name, str) or name not in known:
        cure = (
            f"the nearest: {nearest(name, known)}"
            if kinds == _ALL and isinstance(name, str)
            else f"give {' or '.join(known)}"
        )
        raise InputError(f"{where}: there is no strategy {cut(name)} here; {cure}")
    return read_options(known[name], options, where)


# --- pointers -------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class _Node:
    """Strategies by the segments of their pointers."""

    pointer: str = ""
    strategy: Strategy | None = None
    children: dict[str, _Node] = field(default_factory=dict)
    used: bool = False


_BAD_ESCAPE = re.compile(r"~(?![01])")


def _tree(strategies: Mapping[str, Strategy], where: str) -> tuple[_Node, list[_Node]]:
    root, named = _Node(), []
    for pointer, strategy in strategies.items():
        if (pointer and not pointer.startswith("/")) or _BAD_ESCAPE.search(pointer):
            raise InputError(
                f"{where}: {cut(pointer)} is no JSON Pointer; write /a/0/b, with ~1 for / and ~0 for ~ within a name"
            )
        node = root
        for segment in pointer.split("/")[1:]:
            node = node.children.setdefault(segment.replace("~1", "/").replace("~0", "~"), _Node())
        node.pointer, node.strategy = pointer, strategy
        named.append(node)
    for pointer in strategies:
        node = root
        for segment in pointer.split("/")[1:]:
            if node.strategy is not None:
                raise InputError(
                    f"{where}: {cut(pointer)} lies within {node.pointer or 'the root'!r}, which is compared as a whole "
                    f"({node.strategy.name}); leave out one of them"
                )
            node = node.children[segment.replace("~1", "/").replace("~0", "~")]
    return root, named


def _segment(name: str) -> str:
    return "/" + name.replace("~", "~0").replace("/", "~1")


# --- comparing ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FieldResult:
    """What became of one field."""

    pointer: str
    strategy: str
    outcome: Outcome
    hard: bool
    """Whether the answer needs it to pass."""
    weight: float | None
    """Of a soft field that counts."""
    score: float | None
    """Of a soft field: 1 for a pass, 0 for a failure, a text's score; None where there is none."""
    reason: str

    @property
    def failed(self) -> bool:
        """Whether it fails the answer."""
        return self.hard and self.outcome in ("fail", "missing", "extra")


@dataclass(frozen=True, slots=True)
class StructuredReport:
    """What became of all fields, in the order of the reference."""

    results: tuple[FieldResult, ...]

    @property
    def first_failed(self) -> FieldResult | None:
        """The first hard field that fails the answer."""
        return next((result for result in self.results if result.failed), None)

    @property
    def first_undecided(self) -> FieldResult | None:
        """The first hard field that cannot be told."""
        return next((r for r in self.results if r.hard and r.outcome in ("ambiguous", "unreadable")), None)

    @property
    def outcome(self) -> Literal["pass", "fail", "undecided"]:
        """Fail where a hard field fails, pass where there are hard fields and all pass."""
        if self.first_failed:
            return "fail"
        some = any(result.hard and result.outcome == "pass" for result in self.results)
        return "pass" if some and not self.first_undecided else "undecided"

    @property
    def score(self) -> float | None:
        """The weighted mean of the soft fields that have a score; None where none has."""
        scored = [(r.weight, r.score) for r in self.results if r.weight is not None and r.score is not None]
        if not scored:
            return None
        return math.fsum(weight * score for weight, score in scored) / math.fsum(weight for weight, _ in scored)


def compare_structured(
    reference: str,
    candidate: str,
    strategies: Mapping[str, Strategy],
    default: Strategy | None = None,
    *,
    locale: str | None,
    scorer: ScoreTexts,
    extra: Literal["allowed", "forbidden"] = "allowed",
) -> StructuredReport | None:
    """Compare an answer with a reference, field by field.

    Parameters
    ----------
    reference
        A text that is JSON as a whole.
    candidate
        The same, or one fenced block of JSON with other text round it.
    strategies
        How fields are compared, by JSON Pointer; `*` stands for each element of an array.
    default
        How other values are compared, objects and arrays part by part; None: numbers as numbers, all else exactly.
        `Ignore()` compares nothing but the fields that are named.
    locale
        Of the texts, as in en_US.
    scorer
        Scores the texts that are compared by a score; not called where a hard field fails.
    extra
        Whether the candidate's objects may hold more fields than the reference's.

    Returns
    -------
    StructuredReport or None
        None where the reference is no JSON object or array.

    Raises
    ------
    InputError
        For a key of `strategies` that is no pointer, or lies within another one.

    Examples
    --------
    >>> from calibkit.scorers import score_pairs
    >>> report = compare_structured(
    ...     '{"total": 5.0, "ids": ["A-1", "B-2"]}',
    ...     '{"ids": ["B-2", "a-1"], "total": "6"}',
    ...     {"/ids": Set()},
    ...     locale="en_US",
    ...     scorer=lambda name, pairs: score_pairs(pairs, name),
    ... )
    >>> report.outcome, report.first_failed.pointer, report.first_failed.reason
    ('fail', '/total', '5 was due, here is "6"')
    """
    root, named = _tree(strategies, "strategies")
    try:
        due = _read_json(reference)
    except _NotReadable:
        return None
    if not isinstance(due, (dict, list)):
        return None
    try:
        here = _read_candidate(candidate)
    except _NotReadable as error:
        reason = f"the answer is not readable JSON: {error}"
        return StructuredReport((FieldResult("", "json", "fail", True, None, None, reason),))
    comparison = _Comparison(default, locale, extra)
    comparison.compare([root], "", due, here)
    for node in named:
        if node.strategy is not None and not node.used:
            reason = "the reference has no such field"
            comparison.results.append(
                FieldResult(node.pointer, node.strategy.name, "not_applicable", False, None, None, reason)
            )
    return StructuredReport(tuple(comparison.scored(scorer)))


@dataclass(slots=True)
class _Comparison:
    default: Strategy | None
    locale: str | None
    extra: Literal["allowed", "forbidden"]
    results: list[FieldResult] = field(default_factory=list)
    texts: dict[int, tuple[Text, str, str]] = field(default_factory=dict)
    """By their place among the results: what is scored at the end."""

    def compare(self, nodes: Sequence[_Node], pointer: str, reference: Json, candidate: Json) -> None:
        strategy = self._named(nodes)
        if strategy is None and isinstance(reference, (dict, list)) and not self._whole(reference):
            if type(reference) is type(candidate):
                self._compare_parts(nodes, pointer, reference, candidate)
            elif any(node.children for node in nodes):
                self._miss(nodes, pointer, reference)
            else:
                kind = "an object" if isinstance(reference, dict) else "an array"
                outcome: Outcome = "not_applicable" if isinstance(self.default, Ignore) else "fail"
                self._add(pointer, self._fallback(reference), outcome, f"{kind} was due, here is {_shown(candidate)}")
            return
        strategy = strategy or self._fallback(reference)
        if isinstance(strategy, Text):
            self._compare_texts(strategy, pointer, reference, candidate)
        else:
            self._add(pointer, strategy, *strategy.compare(reference, candidate, self.locale))

    def _compare_parts(self, nodes: Sequence[_Node], pointer: str, reference: Json, candidate: Json) -> None:
        is_array = isinstance(reference, list)
        due, here = (dict(_parts(value)) for value in (reference, candidate))
        if not due and not here:
            self._add(pointer, self._fallback(reference), "pass", "")
        for name, value in due.items():
            below, place = _below(nodes, name, is_array), pointer + _segment(name)
            if name in here:
                self.compare(below, place, value, here[name])
            else:
                self._miss(below, place, value)
        for name, value in here.items():
            if name not in due:
                self._exceed(_below(nodes, name, is_array), pointer + _segment(name), value, is_array)

    def _miss(self, nodes: Sequence[_Node], pointer: str, reference: Json) -> None:
        strategy = self._named(nodes)
        if strategy is None and isinstance(reference, (dict, list)) and any(node.children for node in nodes):
            for name, value in _parts(reference):
                self._miss(_below(nodes, name, isinstance(reference, list)), pointer + _segment(name), value)
            return
        strategy = strategy or self._fallback(reference)
        if isinstance(strategy, Ignore):
            self._add(pointer, strategy, "not_applicable", "ignored")
        else:
            self._add(pointer, strategy, "missing", f"{_shown(reference)} was due, the field is missing")

    def _exceed(self, nodes: Sequence[_Node], pointer: str, candidate: Json, is_element: bool) -> None:
        strategy = self._named(nodes) or self.default or _EXACT
        if isinstance(strategy, Ignore):
            return
        reason = f"{_shown(candidate)} is more than was due"
        if is_element or self.extra == "forbidden":
            self._add(pointer, strategy, "extra", reason)
        else:
            self.results.append(FieldResult(pointer, "", "extra", False, None, None, reason))

    def _compare_texts(self, strategy: Text, pointer: str, reference: Json, candidate: Json) -> None:
        due, here = (decimal_text(v) if isinstance(v, Fraction) else v for v in (reference, candidate))
        if not isinstance(due, str) and reference != candidate:
            self._add(pointer, strategy, "fail", f"the reference has {_shown(reference)}, here is {_shown(candidate)}")
        elif not isinstance(due, str):
            self._add(pointer, strategy, "not_applicable", f"the reference {_shown(reference)}: no text")
        elif not isinstance(here, str):
            self._add(pointer, strategy, "fail", f"a text was due, here is {_shown(candidate)}")
        else:
            self.texts[len(self.results)] = strategy, due, here
            self._add(pointer, strategy, "not_applicable", "not scored: a hard field failed")

    def scored(self, scorer: ScoreTexts) -> list[FieldResult]:
        """The results, texts scored where no hard field failed."""
        if any(result.failed for result in self.results):
            return self.results
        by_scorer: dict[str, list[int]] = defaultdict(list)
        for place, (strategy, _, _) in self.texts.items():
            by_scorer[strategy.scorer].append(place)
        for name, places in by_scorer.items():
            pairs = [AnswerPair(self.results[at].pointer, (self.texts[at][1],), self.texts[at][2]) for at in places]
            scores = scorer(name, pairs)
            for at, score, why in zip(places, scores.values.tolist(), scores.reasons, strict=True):
                self.results[at] = self._with_score(at, score, why)
        return self.results

    def _with_score(self, at: int, score: float, why_not: str | None) -> FieldResult:
        strategy, due, here = self.texts[at]
        if why_not is not None:
            return replace(self.results[at], reason=f"unscored by {strategy.scorer}: {why_not}")
        outcome: Outcome = "scored"
        if strategy.threshold is not None:
            outcome = "pass" if score >= strategy.threshold else "fail"
        reason = f"{strategy.scorer} {score:.6g}: {_shown(due)} was due, here is {_shown(here)}"
        return replace(self.results[at], outcome=outcome, score=score, reason=reason)

    def _named(self, nodes: Sequence[_Node]) -> Strategy | None:
        """The strategy of the pointer that fits best."""
        for node in nodes:
            if node.strategy is not None:
                node.used = True
                return node.strategy
        return None

    def _fallback(self, reference: Json) -> Strategy:
        if self.default is None or (isinstance(self.default, Ordered) and not isinstance(reference, list)):
            return _of_type(reference)
        return self.default

    def _whole(self, reference: Json) -> bool:
        """Whether the default compares arrays as a whole."""
        return isinstance(self.default, Ordered) and isinstance(reference, list)

    def _add(self, pointer: str, strategy: Strategy, outcome: Outcome, reason: str) -> None:
        score = None
        if not strategy.hard:
            score = {"pass": 1.0, "fail": 0.0, "missing": 0.0, "extra": 0.0}.get(outcome)
        hard = strategy.hard and not isinstance(strategy, Ignore)
        self.results.append(FieldResult(pointer, strategy.name, outcome, hard, strategy.weight, score, reason))


def _parts(value: dict[str, Json] | list[Json]) -> Iterator[tuple[str, Json]]:
    if isinstance(value, dict):
        yield from value.items()
    else:
        yield from ((str(place), part) for place, part in enumerate(value))


def _below(nodes: Sequence[_Node], name: str, is_array: bool) -> list[_Node]:
    """What the pointers say below, the ones that name the segment before those with a wildcard."""
    found = [node.children[name] for node in nodes if name in node.children]
    if is_array:
        found += [node.children["*"] for node in nodes if "*" in node.children]
    return found
