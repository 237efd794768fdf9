"""Hard rules: what the reference states as a value, the answer must state with the same value.

A rule fails an answer only where a value stands against another. Where the texts can be read in several ways, or a
value is only more or less precise, the rule says so, and decides nothing unless the settings tell it to.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from calibkit import polarity
from calibkit.abstention import is_abstention, stance
from calibkit.normalize import normalize
from calibkit.pairs import AnswerPair
from calibkit.values import Kind, Value, find_values
from calibkit.values.dates import contains, differs_in_zone_only

RULES_VERSION: Final = 1
"""Raised with every change of a rule or its tables by which an answer is decided differently; policies record it."""

ValueRule = Literal["number", "money", "percent", "date", "time", "quantity", "identifier"]
RuleName = Literal[
    "abstention", "identifier", "date", "time", "money", "percent", "quantity", "number", "negation", "swapped"
]
RULE_NAMES: Final[tuple[RuleName, ...]] = (
    "abstention", "identifier", "date", "time", "money", "percent", "quantity", "number", "negation", "swapped",
)  # fmt: skip
"""All rules, in the order in which they are tried."""

DEFAULT_RULES: Final[tuple[RuleName, ...]] = RULE_NAMES
"""The rules that calibrating applies unless told otherwise."""

_VALUE_RULES: Final = frozenset({"identifier", "date", "time", "money", "percent", "quantity", "number"})

RuleOutcome = Literal["pass", "fail", "not_applicable", "ambiguous", "unreadable", "undecided"]
Decision = Literal["fail", "undecided", "pass"]

_RULE_OF: Final[dict[Kind, ValueRule]] = {
    "number": "number", "ordinal": "number", "range": "number", "percent": "percent", "money": "money",
    "date": "date", "time": "time", "quantity": "quantity", "identifier": "identifier",
}  # fmt: skip


class RuleSettings(BaseModel):
    """What the value rules do where two texts differ in something else than the value."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    missing_value: Decision = "undecided"
    """The answer lacks a value of the reference, and states no other in its place."""
    precision_mismatch: Decision = "undecided"
    """March 2026 for 12 March 2026, 5.9 million for 5,912,345."""
    missing_unit: Decision = "undecided"
    """5 for $5, 5 km or 5 %."""
    missing_zone: Decision = "undecided"
    """14:30 for 14:30 UTC."""
    tolerance: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Relative difference up to which two magnitudes are the same."""
    extra_values: Literal["allowed", "contradicting", "forbidden"] = "allowed"
    """Values that only the answer states; contradicting: another value in the unit of one that the reference states."""


@dataclass(frozen=True, slots=True)
class RuleResult:
    """What a rule says of one answer."""

    rule: str
    outcome: RuleOutcome
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Fact:
    """A value that a text states."""

    rule: ValueRule
    text: str
    values: tuple[Value, ...]
    """All readings: one is a value, several are ambiguous, none is unreadable."""
    why: str
    weak: bool
    """A word that often counts nothing ("one", "first")."""


_LONG_ANSWER: Final = 30
"""Words; chosen on answers to TriviaQA questions."""
_WEAK: Final = frozenset({"one", "first", "second", "third", "a", "an", "once", "half", "a half", "a couple", "noon"})


_LOCAL_TIME: Final = re.compile(r"(?:^|(?<=\.\.))([-\d]+)(T[\d:.]*\d)(?=\.\.|$)")


@lru_cache(maxsize=8192)
def _facts(text: str, locale: str | None) -> tuple[_Fact, ...]:
    levelled = normalize(text, 1)
    facts = []
    for found in find_values(levelled, locale):
        written = levelled[found.start : found.end]
        weak = written.casefold() in _WEAK and normalize(levelled, 3) != normalize(written, 3)
        values = found.reading.values
        parts = _LOCAL_TIME.findall(values[0].canonical) if len(values) == 1 and found.kind == "date" else []
        if parts and len({day for day, _ in parts}) == 1:  # a day and a clock time, or a span of them
            facts.append(_Fact("date", written, (Value("date", parts[0][0]),), "", False))
            facts.append(_Fact("time", written, (Value("time", "..".join(clock for _, clock in parts)),), "", False))
        else:
            facts.append(_Fact(_RULE_OF[found.kind], written, values, found.reading.reason, weak))
    return tuple(facts)


# --- comparing two values ---------------------------------------------------------------------------

_Relation = Literal["same", "ambiguous", "precision", "unit", "zone", "other"]
"""From near to far."""
_NEARNESS: Final[tuple[_Relation, ...]] = ("same", "ambiguous", "precision", "unit", "zone", "other")


def _relate(reference: Value, candidate: Value, tolerance: float) -> _Relation:
    """How two values compare: the same, other ones, or different only in what a setting decides about."""
    if reference.kind == "date" or candidate.kind == "date":
        return _relate_dates(reference, candidate)
    if "time" in (reference.kind, candidate.kind):
        if reference.kind != candidate.kind:
            return "other"
        return _relate_moments(reference.canonical, candidate.canonical)
    if "identifier" in (reference.kind, candidate.kind):
        if reference.kind == candidate.kind:
            return "same" if reference.canonical == candidate.canonical else "other"
        same = reference.stated is not None and reference.stated == candidate.stated
        return "same" if same and {reference.unit, candidate.unit} == {None} else "other"
    if reference.unit == candidate.unit or (reference.unit is None and candidate.low == reference.low):
        return _relate_magnitudes(reference, candidate, tolerance)
    if reference.unit is None or candidate.unit is None:
        stated = [value.stated if value.unit else value.low for value in (reference, candidate)]
        if stated[0] is not None and stated[0] == stated[1] and reference.low == reference.high:
            return "same" if reference.unit is None else "unit"
    return "other"


def _relate_magnitudes(reference: Value, candidate: Value, tolerance: float) -> _Relation:
    ends = ((reference.low, candidate.low), (reference.high, candidate.high))
    if all(_near(one, other, tolerance) for one, other in ends):
        return "same"
    single = reference.low == reference.high and candidate.low == candidate.high
    if single and (_rounds_to(reference, candidate) or _rounds_to(candidate, reference)):
        return "precision"
    return "precision" if _within(reference, candidate) or _within(candidate, reference) else "other"


def _within(value: Value, span: Value) -> bool:
    ends = (span.low, value.low, value.high, span.high)
    low, first, last, high = ends
    if low is None or first is None or last is None or high is None or low == high or first != last:
        return False
    return low <= first <= high


def _near(one: Fraction | None, other: Fraction | None, tolerance: float) -> bool:
    if one is None or other is None:
        return False
    return one == other or abs(one - other) <= Fraction(tolerance) * max(abs(one), abs(other))


def _rounds_to(exact: Value, rounded: Value) -> bool:
    """Whether one magnitude is the other to fewer places; thousands may be round, tens and hundreds are exact."""
    if exact.low is None or rounded.low is None or not rounded.stated or not exact.low:
        return False
    stated = rounded.stated
    place = Fraction(1)
    if stated.denominator == 1:
        whole, zeros = stated.numerator, 0
        while whole and whole % 10 == 0:
            whole, zeros = whole // 10, zeros + 1
        place = Fraction(10) ** zeros if zeros >= 3 else Fraction(1)
    else:
        while (stated / place).denominator != 1 and place > Fraction(1, 10**12):
            place /= 10
    step = place * abs(rounded.low / stated)
    return 0 < abs(exact.low - rounded.low) < step < abs(exact.low)  # rounded or cut off


def _relate_dates(reference: Value, candidate: Value) -> _Relation:
    if reference.kind == candidate.kind:
        return _relate_moments(reference.canonical, candidate.canonical)
    date, number = (reference, candidate) if reference.kind == "date" else (candidate, reference)
    if number.unit is not None or number.low is None or number.low.denominator != 1:
        return "other"
    if number.low != number.high:
        ends = {f"{end.numerator:04}" for end in (number.low, number.high) if end is not None}
        return "precision" if any(contains(end, date.canonical) for end in ends) else "other"
    year = f"{number.low.numerator:04}"
    if date.canonical == year:
        return "same"
    return "precision" if contains(year, date.canonical) or contains(date.canonical, year) else "other"


def _relate_moments(one: str, other: str) -> _Relation:
    """How two canonical dates, times or spans compare."""
    if one == other:
        return "same"
    if differs_in_zone_only(one, other):
        return "zone"
    ends, others = one.split(".."), other.split("..")
    if len(ends) == len(others) == 2:
        alike = all(_relate_moments(a, b) != "other" for a, b in zip(ends, others, strict=True))
        return "precision" if alike else "other"
    if contains(one, other) or contains(other, one):
        return "precision"
    if len(ends) != len(others) and any(_relate_moments(a, b) != "other" for a in ends for b in others):
        return "precision"  # the beginning for the whole
    return "other"


# --- the value rules --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Texts:
    """The facts of one reference and an answer to it."""

    reference: tuple[_Fact, ...]
    candidate: tuple[_Fact, ...]
    question: tuple[_Fact, ...]
    answer: str
    says_much_else: bool
    """Whether the answer is so much longer that its other values may be about other things."""


def _best(fact: _Fact, others: Iterable[_Fact], settings: RuleSettings) -> _Relation:
    """The nearest relation that any reading of a fact has to any reading of other facts."""
    nearest: _Relation = "other"
    for other in others:
        for one in fact.values:
            for value in other.values:
                relation = _relate(one, value, settings.tolerance)
                if len(fact.values) == len(other.values) == 1:
                    if relation == "same":
                        return "same"
                elif relation != "other":  # of several magnitudes one that only comes near says nothing
                    relation = "ambiguous" if relation == "same" or value.low is None else "other"
                nearest = min(nearest, relation, key=_NEARNESS.index)
    return nearest


def _check_values(rule: ValueRule, texts: _Texts, settings: RuleSettings) -> RuleResult:
    required = [fact for fact in texts.reference if fact.rule == rule]
    if not required:
        return RuleResult(rule, "not_applicable")
    unsure: RuleResult | None = None
    for fact in required:
        result = _check_fact(fact, rule, texts, settings)
        if result.outcome == "fail":
            return result
        if result.outcome != "pass":
            unsure = unsure or result
    return unsure or _check_extra(rule, required, texts, settings)


def _check_fact(fact: _Fact, rule: ValueRule, texts: _Texts, settings: RuleSettings) -> RuleResult:
    if any(fact.text == other.text for other in texts.candidate):  # with its case: kB is not kb
        return RuleResult(rule, "pass")
    if not fact.values:
        return RuleResult(rule, "unreadable", f"the reference's {fact.text!r} cannot be read ({fact.why})")
    relation = _best(fact, texts.candidate, settings)
    if relation == "same":
        return RuleResult(rule, "pass")
    others = [other for other in texts.candidate if _stands_against(other, fact, texts, settings)]
    shown = ", ".join(repr(other.text) for other in others[:3])
    told = f"the reference says {fact.text!r}, the answer {shown or f'no {rule}'}"
    if relation == "ambiguous":
        return RuleResult(rule, "ambiguous", f"{told}: one has several readings")
    if relation != "other":
        contradicts = relation == "precision" and any(_spans(other, fact) for other in others)
        if contradicts and settings.extra_values != "allowed":
            return RuleResult(rule, "fail", told)
        decision = {
            "precision": settings.precision_mismatch, "unit": settings.missing_unit, "zone": settings.missing_zone,
        }[relation]  # fmt: skip
        return RuleResult(rule, decision, f"{told} ({_TOLD[relation]})")
    if _stands_glued(fact.text, texts.answer):
        return RuleResult(rule, "undecided", f"{fact.text!r} stands in the answer, but not by itself")
    if fact.weak or _best(fact, texts.question, settings) != "other":
        return RuleResult(rule, "undecided", f"{fact.text!r} is not in the answer, and may not need to be")
    if not others:
        return RuleResult(rule, settings.missing_value, told)
    unread = next((other for other in others if not other.values), None)
    if unread is not None:
        return RuleResult(rule, "unreadable", f"the answer's {unread.text!r} cannot be read ({unread.why})")
    if texts.says_much_else:
        return RuleResult(rule, "undecided", f"{told}, among much else")
    return RuleResult(rule, "fail", told)


_ENDS_IN_YEAR: Final = re.compile(r"(?<!\d)[12]\d{3}$")


def _stands_glued(text: str, answer: str) -> bool:
    """Whether a value stands in an answer whole, but stuck to letters, or to the number of a footnote ("in19831")."""
    start = answer.find(text)
    while start >= 0:
        end = start + len(text)
        behind = re.match(r"\d*", answer[end : end + 3])
        more = len(behind.group()) if behind else 0
        before = answer[start - 1 : start]
        if not (before.isdigit() or before in (".", ",")) and more <= (2 if _ENDS_IN_YEAR.search(text) else 0):
            return True
        start = answer.find(text, end)
    return False


def _spans(other: _Fact, fact: _Fact) -> bool:
    """Whether the answer gives a span where the reference gives a value in it."""
    return any(_within(value, span) for value in fact.values for span in other.values)


_TOLD: Final = {"precision": "more or less precise", "unit": "without the unit", "zone": "without the zone"}


def _stands_against(other: _Fact, fact: _Fact, texts: _Texts, settings: RuleSettings) -> bool:
    """Whether a fact of the answer stands where the reference's should: of its kind, and no other fact of it."""
    if other.rule != fact.rule or other.weak:
        return False
    if fact.rule == "quantity" and not {value.unit for value in fact.values} & {value.unit for value in other.values}:
        return False  # another quantity altogether
    if len(other.values) != 1:
        return True
    return _best(other, (*texts.reference, *texts.question), settings) != "same"


def _check_extra(rule: ValueRule, required: Sequence[_Fact], texts: _Texts, settings: RuleSettings) -> RuleResult:
    if settings.extra_values == "allowed":
        return RuleResult(rule, "pass")
    units = {fact.values[0].unit for fact in required if len(fact.values) == 1}
    further = [
        other
        for other in texts.candidate
        if len(other.values) == 1
        and _stands_against(other, required[0], texts, settings)
        and (settings.extra_values == "forbidden" or other.values[0].unit in units)
    ]
    if further:
        return RuleResult(rule, "fail", f"the answer also says {further[0].text!r}, the reference does not")
    return RuleResult(rule, "pass")


# --- values that changed places ---------------------------------------------------------------------

_JOINED: Final = re.compile(r"(?:,|;|and|or|&|\s)*", re.IGNORECASE)


@lru_cache(maxsize=8192)
def _template(text: str, locale: str | None) -> tuple[str, tuple[tuple[ValueRule, str, str], ...], tuple[str, ...]]:
    """The text with a mark for each value, the values in order, and what stands between them."""
    levelled = normalize(text, 1)
    pieces, values, end = [], [], 0
    for found in find_values(levelled, locale):
        value = found.reading.value
        if value is not None:
            pieces.append(levelled[end : found.start])
            values.append((_RULE_OF[found.kind], value.canonical, levelled[found.start : found.end]))
            end = found.end
    pieces.append(levelled[end:])
    return normalize(" \ue000 ".join(pieces), 3), tuple(values), tuple(pieces[1:-1])


def _find_swap(reference: str, candidate: str, locale: str | None) -> tuple[ValueRule, str] | None:
    """The first value that changed its place with another one in otherwise equal words; not within a list."""
    (one, values, between), (other, moved, _) = _template(reference, locale), _template(candidate, locale)
    if one != other or len(values) != len(moved):
        return None
    kinds = [value[0] for value in values]
    if [value[0] for value in moved] != kinds or sorted(value[1] for value in values) != sorted(v[1] for v in moved):
        return None
    places = [at for at, (was, now) in enumerate(zip(values, moved, strict=True)) if was[1] != now[1]]
    if not places or all(
        _JOINED.fullmatch(between[at]) for first, last in pairwise(places) for at in range(first, last)
    ):
        return None
    at = places[0]
    return kinds[at], f"values changed places: {values[at][2]!r} in the reference is {moved[at][2]!r} in the answer"


# --- all rules --------------------------------------------------------------------------------------


def check_rules(
    pair: AnswerPair,
    rules: Sequence[RuleName],
    *,
    locale: str | None = None,
    settings: RuleSettings | None = None,
    abstentions: Sequence[str] = (),
) -> list[RuleResult]:
    """Apply rules to an answer, each to all references: a rule holds if it holds for one of them.

    Parameters
    ----------
    pair
        The answer.
    rules
        Which rules; they are tried in the order of `RULE_NAMES`.
    locale
        Of the texts, as in en_US; None: whatever has two readings is ambiguous, words are English.
    settings
        What to do where texts differ in something else than the value.
    abstentions
        Further texts by which an answer says that it is not known.

    Returns
    -------
    list of RuleResult
        One a rule.

    Examples
    --------
    >>> pair = AnswerPair("a", ("The order ships on 12 March 2026.",), "It ships on March 13th, 2026.")
    >>> for result in check_rules(pair, ["date", "money"], locale="en_US"):
    ...     print(f"{result.rule}: {result.outcome} ({result.reason or 'no amount in the reference'})")
    date: fail (the reference says '12 March 2026', the answer 'March 13th, 2026')
    money: not_applicable (no amount in the reference)
    """
    settings = settings or RuleSettings()
    chosen = [name for name in RULE_NAMES if name in rules]
    results: dict[str, RuleResult] = {}
    wanted = [name for name in chosen if name in _VALUE_RULES]
    if wanted and pair.references:
        results = _value_rules(pair, wanted, locale, settings)
    for name in chosen:
        if name == "abstention":
            results[name] = _check_abstention(pair, locale, abstentions)
        elif name == "negation":
            results[name] = _check_polarity(pair, locale)
        elif name == "swapped":
            results[name] = _check_swapped(pair)
    return [results.get(name) or RuleResult(name, "not_applicable") for name in chosen]


def _value_rules(
    pair: AnswerPair, rules: Sequence[str], locale: str | None, settings: RuleSettings
) -> dict[str, RuleResult]:
    candidate, question = _facts(pair.candidate, locale), _facts(pair.question, locale)
    answer = normalize(pair.candidate, 1)
    n_words = len(answer.split())
    by_rule: dict[str, list[RuleResult]] = {rule: [] for rule in rules}
    for reference in pair.references:
        much_else = n_words > max(_LONG_ANSWER, 3 * len(reference.split()))
        texts = _Texts(_facts(reference, locale), candidate, question, answer, much_else)
        swap = _find_swap(reference, pair.candidate, locale) if len(texts.reference) > 1 else None
        for rule in rules:
            result = _check_values(rule, texts, settings)  # type: ignore[arg-type]
            if swap is not None and swap[0] == rule and result.outcome != "fail":
                result = RuleResult(rule, "fail", swap[1])
            by_rule[rule].append(result)
    return {rule: _over_references(results) for rule, results in by_rule.items()}


_MERGED: Final[tuple[RuleOutcome, ...]] = ("pass", "ambiguous", "unreadable", "undecided", "not_applicable", "fail")


def _over_references(results: Sequence[RuleResult]) -> RuleResult:
    """A rule holds if it holds for one reference, and fails if it fails for all."""
    return min(results, key=lambda result: _MERGED.index(result.outcome))


def _check_abstention(pair: AnswerPair, locale: str | None, phrases: Sequence[str]) -> RuleResult:
    stands = stance(pair.candidate, locale, phrases)
    abstains = stands == "abstains"
    if not pair.references:
        if abstains:
            return RuleResult("abstention", "pass", "rightly abstains: the question has no answer")
        if stands == "hedges":
            return RuleResult("abstention", "undecided", "says that it is not known, and something beside it")
        return RuleResult("abstention", "fail", "answers a question that has no answer")
    if not abstains:
        return RuleResult("abstention", "not_applicable")
    if any(is_abstention(reference, locale, phrases) for reference in pair.references):
        return RuleResult("abstention", "pass", "abstains, as a reference does")
    return RuleResult("abstention", "fail", "abstained: the reference has an answer")


def _check_polarity(pair: AnswerPair, locale: str | None) -> RuleResult:
    found = []
    for reference in pair.references:
        compared = polarity.compare_polarity(reference, pair.candidate, pair.question, locale)
        found.append(RuleResult("negation", compared.outcome, compared.reason))
    return _over_references(found) if found else RuleResult("negation", "not_applicable")


_CLAUSES: Final = re.compile(r"[;,:]| but | while | whereas | and ")


def _check_swapped(pair: AnswerPair) -> RuleResult:
    results = []
    for reference in pair.references:
        exchanged = _find_exchange(reference, pair.candidate)
        told = f"{exchanged[0]!r} and {exchanged[1]!r} changed places" if exchanged else ""
        results.append(RuleResult("swapped", "fail" if exchanged else "undecided", told))
    return _over_references(results) if results else RuleResult("swapped", "not_applicable")


_LONGEST_PHRASE: Final = 5


def _find_exchange(reference: str, candidate: str) -> tuple[str, str] | None:
    """Two phrases that changed places between two clauses of otherwise equal words.

    Across a clause only: "Bob met Alice" may say what "Alice met Bob" does, and a list has no order.
    """
    one, other = (normalize(text, 3).split() for text in (reference, candidate))
    if len(one) != len(other) or one == other or sorted(one) != sorted(other):
        return None
    differ = [at for at, (left, right) in enumerate(zip(one, other, strict=True)) if left != right]
    start, end = differ[0], differ[-1] + 1
    ours, theirs = one[start:end], other[start:end]
    for first in range(1, min(_LONGEST_PHRASE, len(ours) - 2) + 1):
        for last in range(1, min(_LONGEST_PHRASE, len(ours) - first - 1) + 1):
            middle = ours[first : len(ours) - last]
            if len(middle) > 1 and theirs == [*ours[len(ours) - last :], *middle, *ours[:first]]:
                phrases = " ".join(ours[:first]), " ".join(ours[len(ours) - last :])
                return phrases if _CLAUSES.search(_between(reference, *phrases)) else None
    return None


def _between(text: str, first: str, last: str) -> str:
    """What stands between two phrases, with its marks."""
    folded = normalize(text, 2)
    start, end = folded.find(first.split()[-1]), folded.rfind(last.split()[0])
    return folded[start : max(end, 0)] if start >= 0 else ""


def faults_of_references(pair: AnswerPair, rules: Sequence[str], locale: str | None) -> list[str]:
    """What in the references of a pair can be read in no one way, a line each: a fault of the set.

    >>> pair = AnswerPair("a", ("On 03/04/2026.",), "whatever")
    >>> faults_of_references(pair, ["date"], None)
    ["a: the reference's '03/04/2026' is ambiguous (may be 2026-04-03 or 2026-03-04)"]
    """
    return [
        f"{pair.id}: the reference's {fact.text!r} is {'ambiguous' if fact.values else 'unreadable'} ({fact.why})"
        for reference in pair.references
        for fact in _facts(reference, locale)
        # A version beside a number, a code beside one: two kinds of one spelling, which its own text meets.
        if fact.rule in rules and len(fact.values) != 1 and len({value.kind for value in fact.values}) < 2
    ]


def check_languages(rules: Sequence[str], locale: str | None) -> None:
    """Refuse rules that do not know the language.

    Raises
    ------
    ValueError
        Naming the language and those that the rule knows.
    """
    if "negation" in rules:
        polarity.check_language(locale)
