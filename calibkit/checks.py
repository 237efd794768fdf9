"""Plain checks of one answer: patterns, texts, length, tool calls, latency.

A check says pass, fail, "not applicable" (the data does not say) or "unreadable" (it cannot be told); only the
first is a pass. A hard check must pass; one with a weight adds to a score instead.
"""

from __future__ import annotations

import difflib
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Final, Literal, TypeVar

import regex
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator, model_validator

from calibkit.normalize import normalize
from calibkit.pairs import AnswerPair, InputError

LONGEST_PATTERN: Final = 1_000
"""Characters that a pattern, or a text to look for, may have."""
LONGEST_MATCHED: Final = 100_000
"""Characters of an answer that is searched; longer ones are unreadable."""
SECONDS: Final = 1.0
"""How long a match may take before it is unreadable."""
_MOST_REPEATS: Final = 10_000

Outcome = Literal["pass", "fail", "not_applicable", "unreadable"]
Finding = tuple[Outcome, str]
"""An outcome and its reason."""


# --- options: shared by all that is hard or has a weight ----------------------------------------------


class Weighed(BaseModel):
    """Hard (the default), or soft with a weight."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    weight: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    """None: hard."""

    @model_validator(mode="before")
    @classmethod
    def _read_hard(cls, options: Any) -> Any:
        if not isinstance(options, Mapping) or "hard" not in options:
            return options
        hard, rest = options["hard"], {key: value for key, value in options.items() if key != "hard"}
        if not isinstance(hard, bool):
            raise ValueError(f"hard is {cut(hard)}; say true or false")
        if hard and rest.get("weight") is not None:
            raise ValueError("hard: true has no weight; leave out one of them")
        return rest if hard else {"weight": 1, **rest}

    @property
    def hard(self) -> bool:
        """Whether failing it fails the answer."""
        return self.weight is None


_Options = TypeVar("_Options", bound=Weighed)


def read_options(model: type[_Options], options: Mapping[Any, object], where: str) -> _Options:
    """Read the options of a check or a strategy.

    Raises
    ------
    InputError
        With where, the option, what is wrong and the cure.
    """
    try:
        return model.model_validate(dict(options))
    except ValidationError as error:
        fault = error.errors()[0]
    option = ".".join(map(str, fault["loc"]))
    if fault["type"] == "extra_forbidden":
        what = f"there is no option {cut(option)}; the nearest: {nearest(option, [*model.model_fields, 'hard'])}"
    elif fault["type"] == "missing":
        what = f"the option {option!r} is missing; add it"
    elif fault["type"] == "value_error":
        what = str(fault["ctx"]["error"])
    else:
        message = fault["msg"]
        what = f"{option} is {cut(fault['input'])}: {message[:1].lower()}{message[1:]}; mend it"
    raise InputError(f"{where}: {what}")


def nearest(name: object, names: Iterable[str]) -> str:
    """The known name that is most like a given one."""
    known = list(names)
    return (difflib.get_close_matches(str(name)[:60], known, n=1, cutoff=0) or known)[0]


def cut(value: object, most: int = 60) -> str:
    """A value as a reason shows it.

    >>> cut("a" * 100, 8)
    "'aaaaaa…"
    """
    try:
        shown = repr(value[: most + 1] if isinstance(value, str) else value)
    except (RecursionError, ValueError):  # nested too deep, or a number of too many digits
        shown = f"a very large {type(value).__name__}"
    return shown if len(shown) <= most else shown[: most - 1] + "…"


# --- the checks ---------------------------------------------------------------------------------------


def _one_or_more(value: object) -> object:
    return (value,) if isinstance(value, str) else value


class _Check(Weighed):
    name: ClassVar[str]
    plain: ClassVar[str]
    """The option that a plain value is read as."""

    def look(self, pair: AnswerPair) -> Finding:
        """Check one answer."""
        raise NotImplementedError


class MustMatch(_Check):
    """A regular expression (of the `regex` module) is found in the answer, white space round it left out."""

    name: ClassVar[str] = "must_match"
    plain: ClassVar[str] = "pattern"
    wanted: ClassVar[bool] = True

    pattern: str

    @field_validator("pattern")
    @classmethod
    def _check_pattern(cls, pattern: str) -> str:
        if not 0 < len(pattern) <= LONGEST_PATTERN:
            raise ValueError(f"the pattern has {len(pattern):,} characters; give 1 to {LONGEST_PATTERN:,}")
        if _least_repeats(pattern) > _MOST_REPEATS:
            raise ValueError(f"the pattern {cut(pattern)} asks for too many repeats; {_MOST_REPEATS:,} may be")
        try:
            _compiled(pattern)
        except (regex.error, RecursionError, ValueError, OverflowError, MemoryError) as error:
            raise ValueError(f"the pattern {cut(pattern)} is no regular expression ({error}); mend it") from None
        return pattern

    def look(self, pair: AnswerPair) -> Finding:
        """Match within a bound of time; what takes longer is unreadable."""
        if len(pair.candidate) > LONGEST_MATCHED:
            return _too_long(pair)
        found = _searched(_compiled(self.pattern), pair.candidate.strip())
        if isinstance(found, str):
            return "unreadable", found
        if found is self.wanted:
            return "pass", ""
        return "fail", f"{'nothing' if self.wanted else 'something'} matches {cut(self.pattern)}"


class MustNotMatch(MustMatch):
    """A regular expression is not found in the answer."""

    name: ClassVar[str] = "must_not_match"
    wanted: ClassVar[bool] = False


class MustContain(_Check):
    """All texts stand in the answer, as whole words and numbers: 12 is not in 312, 12.5 or -12."""

    name: ClassVar[str] = "must_contain"
    plain: ClassVar[str] = "texts"
    wanted: ClassVar[bool] = True

    texts: Annotated[tuple[str, ...], Field(min_length=1, strict=False), BeforeValidator(_one_or_more)]
    rung: Annotated[int, Field(ge=1, le=3)] = 3
    """How far answer and texts are levelled first."""

    @field_validator("texts")
    @classmethod
    def _check_texts(cls, texts: tuple[str, ...]) -> tuple[str, ...]:
        for text in texts:
            if not normalize(text, 1) or len(text) > LONGEST_PATTERN:
                raise ValueError(f"the text {cut(text)} is blank or too long; give 1 to {LONGEST_PATTERN:,} characters")
        return texts

    def look(self, pair: AnswerPair) -> Finding:
        """Look for each text."""
        if len(pair.candidate) > LONGEST_MATCHED:
            return _too_long(pair)
        wrong = []
        for text in self.texts:
            found = self._found(text, pair.candidate)
            if isinstance(found, str):
                return "unreadable", found
            if found is not self.wanted:
                wrong.append(text)
        return ("fail", f"{'lacks' if self.wanted else 'contains'} {_listed(wrong)}") if wrong else ("pass", "")

    def _found(self, text: str, answer: str) -> bool | str:
        found: bool | str = False
        for rung in range(self.rung, 0, -1):  # rung 3 takes away what may be all of a text: "the", "?!"
            found = _searched(_whole(normalize(text, rung)), normalize(answer, rung))
            if found is not False:
                break
        return found


class MustNotContain(MustContain):
    """None of the texts stands in the answer, as whole words and numbers."""

    name: ClassVar[str] = "must_not_contain"
    wanted: ClassVar[bool] = False


class MinLength(_Check):
    """The answer has at least so many characters or words."""

    name: ClassVar[str] = "min_length"
    plain: ClassVar[str] = "characters"
    most: ClassVar[bool] = False

    characters: Annotated[int, Field(ge=0)] | None = None
    """Without the white space round the answer; what a plain number means."""
    words: Annotated[int, Field(ge=0)] | None = None
    """Runs between white space; in scripts without spaces, each character."""

    @model_validator(mode="after")
    def _check_one(self) -> MinLength:
        if (self.characters is None) == (self.words is None):
            raise ValueError("a length is in characters or in words; give one of them")
        return self

    def look(self, pair: AnswerPair) -> Finding:
        """Count."""
        text = pair.candidate.strip()
        if self.words is not None:
            length, limit, what = len(_UNSPACED_CHARACTER.sub(" x ", text).split()), self.words, "words"
        else:
            length, limit, what = len(text), self.characters or 0, "characters"
        if length <= limit if self.most else length >= limit:
            return "pass", ""
        return "fail", f"has {length:,} {what}; at {'most' if self.most else 'least'} {limit:,} are due"


class MaxLength(MinLength):
    """The answer has at most so many characters or words."""

    name: ClassVar[str] = "max_length"
    most: ClassVar[bool] = True


class RequiredTools(_Check):
    """Tools that the agent must have called, by `meta["tools"]`; a name that stands twice is due twice."""

    name: ClassVar[str] = "tools"
    plain: ClassVar[str] = "names"

    names: Annotated[
        tuple[Annotated[str, Field(min_length=1)], ...],
        Field(min_length=1, strict=False),
        BeforeValidator(_one_or_more),
    ]
    in_order: bool = False
    """Whether they are due in this order; other calls may stand between them."""

    def look(self, pair: AnswerPair) -> Finding:
        """Compare with the calls that the data names."""
        if pair.meta.get("tools") is None:
            return "not_applicable", "the answer's meta has no 'tools'"
        called = _tool_names(pair.meta["tools"])
        if called is None:
            return (
                "unreadable",
                f"meta 'tools' is {cut(pair.meta['tools'])}, no list of names or of objects with a name",
            )
        lacking = list((Counter(self.names) - Counter(called)).elements())
        if lacking:
            return "fail", f"did not call {_listed(lacking)}"
        if self.in_order:
            calls = iter(called)
            for name in self.names:
                if name not in calls:  # consumes the calls up to this one
                    return "fail", f"called {cut(name)} out of order: {_listed(called)}"
        return "pass", ""


class MaxLatency(_Check):
    """The answer took at most so many seconds, by `meta["latency"]`."""

    name: ClassVar[str] = "max_latency"
    plain: ClassVar[str] = "seconds"

    seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)]

    def look(self, pair: AnswerPair) -> Finding:
        """Compare with the latency that the data names."""
        latency = pair.meta.get("latency")
        if latency is None:
            return "not_applicable", "the answer's meta has no 'latency'"
        if isinstance(latency, bool) or not isinstance(latency, (int, float)) or not 0 <= latency < math.inf:
            return "unreadable", f"meta 'latency' is {cut(latency)}, no number of seconds"
        if latency <= self.seconds:
            return "pass", ""
        return "fail", f"took {cut(latency)} s; at most {self.seconds:g} are due"


Check = MustMatch | MustContain | MinLength | RequiredTools | MaxLatency
"""Any check; the opposite ones are kinds of these."""

CHECKS: Final[dict[str, type[Check]]] = {
    check.name: check
    for check in (
        MustMatch,
        MustNotMatch,
        MustContain,
        MustNotContain,
        MinLength,
        MaxLength,
        RequiredTools,
        MaxLatency,
    )
}
"""The checks by name."""


# --- running and reading them -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What one check says of one answer."""

    name: str
    outcome: Outcome
    weight: float | None
    """None: hard."""
    reason: str
    """Why it is no pass."""

    @property
    def hard(self) -> bool:
        """Whether failing it fails the answer."""
        return self.weight is None


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What all checks say of one answer, in their order."""

    results: tuple[CheckResult, ...]

    @property
    def failed(self) -> tuple[str, ...]:
        """The names of the checks that failed, hard and soft."""
        return tuple(result.name for result in self.results if result.outcome == "fail")

    @property
    def first_failed(self) -> CheckResult | None:
        """The first hard check that failed."""
        return next((result for result in self.results if result.hard and result.outcome == "fail"), None)

    @property
    def first_unreadable(self) -> CheckResult | None:
        """The first hard check that cannot be told, so that the answer passes none."""
        return next((result for result in self.results if result.hard and result.outcome == "unreadable"), None)

    @property
    def score(self) -> float | None:
        """The weighted share of passes among the soft checks that say pass or fail; None where none does."""
        told = [(r.weight, r.outcome == "pass") for r in self.results if r.weight and r.outcome in ("pass", "fail")]
        return math.fsum(weight for weight, passed in told if passed) / math.fsum(w for w, _ in told) if told else None


def run_checks(pair: AnswerPair, checks: Sequence[Check]) -> CheckReport:
    r"""Check one answer.

    Examples
    --------
    >>> checks = parse_checks({"must_match": r"FW-\d{5}", "max_length": {"words": 4, "weight": 2}}, "case 7")
    >>> report = run_checks(AnswerPair("a", (), "It is the order FW-48213."), checks)
    >>> report.failed, report.first_failed, report.score
    (('max_length',), None, 0.0)
    """
    return CheckReport(tuple(CheckResult(check.name, *_told(check, pair)) for check in checks))


def _told(check: Check, pair: AnswerPair) -> tuple[Outcome, float | None, str]:
    outcome, reason = check.look(pair)
    return outcome, check.weight, reason


def parse_checks(value: object, where: str) -> tuple[Check, ...]:
    """Read checks from plain values, as JSON and YAML give them.

    Parameters
    ----------
    value
        A mapping from a check's name to its main option (`{"max_length": 200}`) or to all of its options
        (`{"max_length": {"words": 40, "weight": 2}}`); or a list of such mappings, where a check is due twice.
    where
        Where the value stands, for error messages.

    Raises
    ------
    InputError
        With where, what is wrong and the cure.

    Examples
    --------
    >>> parse_checks({"must_not_contain": ["sorry"]}, "case 7")[0].texts
    ('sorry',)
    >>> parse_checks({"must_mach": "FW"}, "case 7")
    Traceback (most recent call last):
    calibkit.pairs.InputError: case 7: there is no check 'must_mach'; the nearest: must_match
    """
    groups = value if isinstance(value, (list, tuple)) else [value]
    checks = []
    for group in groups:
        if not isinstance(group, Mapping):
            raise InputError(f"{where}: checks are {cut(group)}; give a mapping of names, as in max_length: 200")
        for name, options in group.items():
            if name not in CHECKS:
                raise InputError(f"{where}: there is no check {cut(name)}; the nearest: {nearest(name, CHECKS)}")
            model = CHECKS[name]
            named = options if isinstance(options, Mapping) else {model.plain: options}
            checks.append(read_options(model, named, f"{where}: {name}"))
    return tuple(checks)


# --- patterns and texts -------------------------------------------------------------------------------

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_UNSPACED_CHARACTER = regex.compile(rf"[{_UNSPACED}]\p{{M}}*+")
_WORD = regex.compile(rf"[[\p{{L}}\p{{M}}\p{{N}}_]--[{_UNSPACED}]]", regex.V1)
_GAP = r"(?:\s|\#[^\n]*+)*+"
_REPEAT = regex.compile(rf"(\)?){_GAP}\{{{_GAP}(\d++)")


def _least_repeats(pattern: str) -> int:
    """At most how often a part of the pattern must repeat: `regex` writes those repeats out when it compiles."""
    of_groups, of_others = 1, 1
    for after_group, count in _REPEAT.findall(pattern):
        number = max(int(count), 1)
        if after_group:
            of_groups = min(of_groups * number, _MOST_REPEATS + 1)
        else:
            of_others += number
    return of_groups * of_others


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> regex.Pattern[str]:
    return regex.compile(pattern)


@lru_cache(maxsize=256)
def _whole(form: str) -> regex.Pattern[str]:
    """A levelled text, neither cut from a longer word nor from a longer number."""
    before, after = "", ""
    if _WORD.match(form[0]):
        before = rf"(?<!{_WORD.pattern})(?<!\p{{L}}')"
    if form[0].isdigit():
        before += rf"(?<!\p{{Nd}}[.,:/\-^])(?<!(?<!{_WORD.pattern})[\-.])"
    if _WORD.match(form[-1]):
        after = rf"(?!{_WORD.pattern})(?!'\p{{L}})"
    if form[-1].isdigit():
        after += r"(?![.,:/\-^]\p{Nd})"
    return regex.compile(before + regex.escape(form) + after, regex.V1)


def _too_long(pair: AnswerPair) -> Finding:
    return "unreadable", f"the answer has {len(pair.candidate):,} characters; {LONGEST_MATCHED:,} are searched at most"


def _searched(pattern: regex.Pattern[str], text: str) -> bool | str:
    """Whether the pattern is found; a text says why that cannot be told."""
    try:
        return pattern.search(text, timeout=SECONDS) is not None
    except TimeoutError:
        return f"matching took longer than {SECONDS:g} s"
    except MemoryError:
        return "matching took too much memory"


def _listed(texts: Sequence[str]) -> str:
    shown = ", ".join(cut(text) for text in texts[:3])
    return shown if len(texts) <= 3 else f"{shown} and {len(texts) - 3} more"


def _tool_names(tools: object) -> list[str] | None:
    if not isinstance(tools, (list, tuple)):
        return None
    found = [tool.get("name") if isinstance(tool, Mapping) else tool for tool in tools]
    names = [name for name in found if isinstance(name, str)]
    return names if len(names) == len(found) else None
