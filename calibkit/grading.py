"""What verdicts add up to: shares with intervals, people beside them, the judge's cost, and what changed.

An error is counted and nothing else: it stands in no share of passes. Reviews are counted apart and pass nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, get_args

from calibkit.cascade import Outcome, Verdict
from calibkit.judge import JudgeQuality, measure
from calibkit.pairs import NOT_ACCEPTABLE_WORDS, AnswerPair, InputError
from calibkit.rates import CONFIDENCE, Corrected, Difference, Rate, corrected_rate, paired_difference, rate

OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)
SAMPLE: Final = "the labelled answers are a random sample of the graded ones"
"""What the corrected pass rate rests on."""

_NOT_CRITICAL: Final = NOT_ACCEPTABLE_WORDS | {"", "none", "null", "nan"}


# --- one answer and its verdict ----------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """An answer and what became of it."""

    verdict: Verdict
    pair: AnswerPair | None = None
    """None where the answer could not be read."""

    @property
    def id(self) -> str:
        """The answer's id."""
        return self.verdict.id

    @property
    def outcome(self) -> Outcome:
        """What became of it."""
        return self.verdict.outcome

    @property
    def place(self) -> str:
        """Where it ended: the stage that decided, else "review" or "error"."""
        return place(self.verdict)

    @cached_property
    def question(self) -> str:
        """What answers to the same question share."""
        return self.pair.group_key if self.pair else f"answer:{self.id}"

    @property
    def tags(self) -> tuple[str, ...]:
        """The answer's tags, each once."""
        return tuple(dict.fromkeys(self.pair.tags)) if self.pair else ()

    @property
    def model(self) -> str | None:
        """The model that answered, if `meta` or the record names one."""
        return _named(self.pair, "model")

    @property
    def run(self) -> str | None:
        """The run that the answer is from, if `meta` or the record names one."""
        return _named(self.pair, "run")

    @property
    def critical(self) -> bool:
        """Whether it must pass for itself: tagged "critical", or `critical` with anything but a no."""
        if self.pair is None:
            return False
        said = [self.pair.extra.get("critical"), self.pair.meta.get("critical")]
        marked = any(str(value).strip().casefold() not in _NOT_CRITICAL for value in said)
        return marked or any(tag.strip().casefold() == "critical" for tag in self.pair.tags)


def place(verdict: Verdict) -> str:
    """Where an answer ended: the stage that decided, else "review" or "error"."""
    return verdict.stage or verdict.outcome


def _named(pair: AnswerPair | None, key: str) -> str | None:
    if pair is None:
        return None
    value = pair.meta.get(key, pair.extra.get(key))
    return None if value is None or not str(value).strip() else str(value).strip()


# --- counts and shares -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tally:
    """Outcomes of some answers."""

    passed: int
    failed: int
    review: int
    error: int
    pass_rate: Rate
    """Passes among the answers that brought no error; what is left to review has not passed."""
    of_decided: Rate
    """Passes among passes and fails."""

    @property
    def answers(self) -> int:
        """All of them."""
        return self.passed + self.failed + self.review + self.error

    @property
    def review_share(self) -> float | None:
        """The share of all answers that is left to review."""
        return self.review / self.answers if self.answers else None

    @property
    def error_share(self) -> float | None:
        """The share of all answers that brought an error."""
        return self.error / self.answers if self.answers else None


@dataclass(frozen=True, slots=True)
class People:
    """The verdicts beside people's labels."""

    quality: JudgeQuality
    """Over all labelled answers."""
    by_stage: Mapping[str, JudgeQuality]
    """For each place where labelled answers ended."""
    corrected: Corrected
    """The share of the graded answers that people would accept, assuming `SAMPLE`; an answer of which a
    person could not say counts as not accepted."""


@dataclass(frozen=True, slots=True)
class JudgeUse:
    """What asking the judge took."""

    asked: int
    """Answers that went to the judge."""
    calls: int
    cached: int
    """Replies among them that were kept from earlier calls."""
    prompt_tokens: int
    completion_tokens: int
    unstable: int
    """Answers on which its votes disagreed."""
    models: Mapping[str, int]
    """Answers by the judge that was asked."""
    cost: float | None
    """In the currency of the prices; None without prices, or where a reply came without a count of tokens."""

    @property
    def unstable_share(self) -> float | None:
        """The share of the answers asked about on which votes disagreed."""
        return self.unstable / self.asked if self.asked else None


@dataclass(frozen=True, slots=True)
class Flip:
    """A question whose outcome is not the same in every run."""

    question: str
    model: str | None
    by_run: Mapping[str, str]
    """Run -> outcome."""
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stability:
    """How far outcomes hold when a question is asked again."""

    questions: int
    """Questions, counted for each model, that have an outcome in two runs or more."""
    flips: tuple[Flip, ...]

    @property
    def share(self) -> float | None:
        """The share of the questions that flip."""
        return len(self.flips) / self.questions if self.questions else None


@dataclass(frozen=True)
class Grading:
    """What the verdicts of one run add up to."""

    cases: tuple[Case, ...] = field(repr=False)
    total: Tally
    by_stage: Mapping[str, Mapping[Outcome, int]]
    """Outcomes by the place where they were reached."""
    by_tag: Mapping[str, Tally]
    by_model: Mapping[str, Tally]
    critical: tuple[Case, ...]
    people: People | None
    """None where no answer has a label."""
    judge: JudgeUse | None
    """None where no judge was asked."""
    stability: Stability | None
    """None where no question was asked in several runs."""


def add_up(
    pairs: Iterable[AnswerPair],
    verdicts: Iterable[Verdict],
    *,
    confidence: float = CONFIDENCE,
    price_in: float | None = None,
    price_out: float | None = None,
) -> Grading:
    """Add up the verdicts on some answers.

    Parameters
    ----------
    pairs
        The answers.
    verdicts
        Their verdicts, in any order. An answer without one counts as an error; an error without an answer is one of a
        row that could not be read.
    confidence
        Of the intervals.
    price_in, price_out
        What a million tokens of the judge's prompts and replies cost.

    Raises
    ------
    InputError
        For an id that stands twice, a verdict on an answer that is not there, an unknown outcome, or counts of the
        judge that are none.

    Examples
    --------
    >>> pairs = [AnswerPair(str(n), ("4",), "four", question=f"{n}?", tags=("sum",)) for n in range(4)]
    >>> outcomes = ["pass", "pass", "fail", "error"]
    >>> grading = add_up(pairs, [Verdict(str(n), it, None, None, "") for n, it in enumerate(outcomes)])
    >>> grading.total.pass_rate.part, grading.total.pass_rate.whole, grading.by_tag["sum"].error
    (2, 3, 1)
    """
    if any(price is not None and not 0 <= price < math.inf for price in (price_in, price_out)):
        raise InputError(f"the judge's prices are {price_in} and {price_out}; give numbers from 0 up")
    cases = _cases(pairs, verdicts)
    by_stage: dict[str, Counter[Outcome]] = {}
    for case in cases:
        by_stage.setdefault(case.place, Counter())[case.outcome] += 1
    tags = Counter(tag for case in cases for tag in case.tags)
    models = Counter(case.model for case in cases if case.model is not None)
    by_tag: dict[str, list[Case]] = {tag: [] for tag in _by_count(tags)}
    by_model: dict[str, list[Case]] = {model: [] for model in _by_count(models)}
    for case in cases:
        for tag in case.tags:
            by_tag[tag].append(case)
        if case.model is not None:
            by_model[case.model].append(case)
    return Grading(
        cases=cases,
        total=_tally(cases, confidence),
        by_stage={name: dict(by_stage[name]) for name in sorted(by_stage, key=_stage_order)},
        by_tag={tag: _tally(some, confidence) for tag, some in by_tag.items()},
        by_model={model: _tally(some, confidence) for model, some in by_model.items()},
        critical=tuple(case for case in cases if case.critical),
        people=_people(cases, confidence),
        judge=_judge_use(cases, price_in, price_out),
        stability=_stability(cases),
    )


def _cases(pairs: Iterable[AnswerPair], verdicts: Iterable[Verdict]) -> tuple[Case, ...]:
    answers, found = list(pairs), list(verdicts)
    given = _by_id(found, "verdicts")
    known = set()
    for pair in answers:
        if pair.id in known:
            raise InputError(f"the id {pair.id!r} names two answers; give each its own")
        known.add(pair.id)
    for verdict in found:
        if verdict.outcome not in OUTCOMES:
            raise InputError(f"the verdict on {verdict.id!r} is {verdict.outcome!r}; it must be {', '.join(OUTCOMES)}")
        if verdict.id not in known and verdict.outcome != "error":
            raise InputError(f"there is a verdict on {verdict.id!r} but no such answer; give all answers")
    none = "no verdict was given"
    cases = [Case(given.get(pair.id) or Verdict(pair.id, "error", None, None, none), pair) for pair in answers]
    return (*cases, *(Case(verdict) for verdict in found if verdict.id not in known))


def _by_id(verdicts: Sequence[Verdict], what: str) -> dict[str, Verdict]:
    given = {verdict.id: verdict for verdict in verdicts}
    if len(given) < len(verdicts):
        twice = Counter(verdict.id for verdict in verdicts).most_common(1)[0][0]
        raise InputError(f"{what}: the id {twice!r} has two verdicts; keep one")
    return given


def _by_count(counts: Counter[str]) -> list[str]:
    return sorted(counts, key=lambda name: (-counts[name], name))


def _stage_order(name: str) -> tuple[int, str]:
    """As answers travel: exact, rules, fields, the score, the judge; what nobody decided comes last."""
    known = ("exact", "rule", "field", "check", "bands", "judge", "review", "error")
    head = name.partition(":")[0]
    return (known.index(head) if head in known else known.index("judge"), name)


def _tally(cases: Sequence[Case], confidence: float) -> Tally:
    counts = Counter(case.outcome for case in cases)

    def share(wanted: Callable[[Case], bool]) -> Rate:
        whole = [case for case in cases if wanted(case)]
        return rate([case.outcome == "pass" for case in whole], [case.question for case in whole], confidence)

    return Tally(
        counts["pass"],
        counts["fail"],
        counts["review"],
        counts["error"],
        pass_rate=share(lambda case: case.outcome != "error"),
        of_decided=share(lambda case: case.outcome in ("pass", "fail")),
    )


def _people(cases: Sequence[Case], confidence: float) -> People | None:
    labelled = [case for case in cases if case.pair is not None and case.pair.labelled]
    if not labelled:
        return None

    def quality(some: Sequence[Case]) -> JudgeQuality:
        labels = [case.pair.acceptable for case in some if case.pair is not None]
        return measure([case.outcome for case in some], labels)

    by_stage: dict[str, list[Case]] = {}
    for case in labelled:
        by_stage.setdefault(case.place, []).append(case)
    graded = [case for case in cases if case.outcome != "error"]
    labels = [case.pair.acceptable is True if case.pair and case.pair.labelled else None for case in graded]
    corrected = corrected_rate(
        [case.outcome == "pass" for case in graded], labels, [case.question for case in graded], confidence
    )
    stages = sorted(by_stage, key=_stage_order)
    return People(quality(labelled), {name: quality(by_stage[name]) for name in stages}, corrected)


def _judge_use(cases: Sequence[Case], price_in: float | None, price_out: float | None) -> JudgeUse | None:
    names = ("calls", "cached", "prompt_tokens", "completion_tokens")
    totals, models = Counter[str](), Counter[str]()
    asked, uncounted = 0, False
    for case in cases:
        said = case.verdict.details.get("judge")
        if not isinstance(said, Mapping):
            continue
        asked += 1
        counts = {name: _judge_count(case.id, name, said.get(name, 0)) for name in names}
        totals.update(counts)
        totals["unstable"] += said.get("unstable") is True
        if said.get("model") is not None:
            models[str(said["model"])] += 1
        tokens = counts["prompt_tokens"] + counts["completion_tokens"]
        uncounted |= counts["calls"] > counts["cached"] and not tokens and case.outcome != "error"
    if not asked:
        return None
    cost = None
    if price_in is not None and price_out is not None and not uncounted:
        cost = (totals["prompt_tokens"] * price_in + totals["completion_tokens"] * price_out) / 1e6
    counts = {name: totals[name] for name in (*names, "unstable")}
    return JudgeUse(asked, **counts, models={name: models[name] for name in _by_count(models)}, cost=cost)


def _judge_count(name: str, key: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InputError(f"the verdict on {name!r}: judge.{key} is {value!r}, which is no count; grade it again")
    return value


def _stability(cases: Sequence[Case]) -> Stability | None:
    asked: dict[tuple[str, str, str | None], dict[str, list[Case]]] = {}
    for case in cases:
        if case.pair is not None and case.run is not None and case.outcome != "error":
            # A group may hold several questions, which need not have one outcome.
            key = case.question, case.pair.question, case.model
            asked.setdefault(key, {}).setdefault(case.run, []).append(case)
    again = {key: runs for key, runs in asked.items() if len(runs) > 1}
    if not again:
        return None
    flips = []
    for (question, text, model), runs in again.items():
        by_run = {run: ", ".join(sorted(case.outcome for case in some)) for run, some in runs.items()}
        if len(set(by_run.values())) > 1:
            ids = tuple(case.id for some in runs.values() for case in some)
            flips.append(Flip(text or question.partition(":")[2], model, by_run, ids))
    return Stability(len(again), tuple(flips))


# --- what changed ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Change:
    """An answer whose outcome is another than before."""

    before: Verdict
    after: Verdict

    @property
    def id(self) -> str:
        """The answer's id."""
        return self.after.id


@dataclass(frozen=True, slots=True)
class Shift:
    """How many answers ended at one place, before and after."""

    place: str
    before: int
    after: int
    came: int
    """Answers that ended elsewhere before."""
    went: int
    """Answers that end elsewhere now."""

    @property
    def jump(self) -> bool:
        """Whether it grew or shrank by more than twice what as many coin tosses would make it (2 sqrt(came + went))."""
        return abs(self.came - self.went) > 2 * math.sqrt(self.came + self.went)


@dataclass(frozen=True)
class Comparison:
    """Two runs over the same answers."""

    both: int
    """Answers with a verdict in both."""
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    changes: tuple[Change, ...]
    """In the order of the later run."""
    outcomes: Mapping[tuple[Outcome, Outcome], int]
    """(Outcome before, after) -> answers."""
    stages: Mapping[tuple[str, str], int]
    """(Place before, after) -> answers."""
    shifts: tuple[Shift, ...]
    """For each place, the largest change first."""
    difference: Difference
    """Of the pass rate, over answers without an error in either run."""

    @property
    def new_fails(self) -> tuple[Change, ...]:
        """Fails that were none before."""
        return self.to("fail")

    @property
    def new_passes(self) -> tuple[Change, ...]:
        """Passes that were none before."""
        return self.to("pass")

    def to(self, outcome: Outcome) -> tuple[Change, ...]:
        """The answers that have this outcome now and had another before."""
        return tuple(change for change in self.changes if change.after.outcome == outcome)


def compare(
    before: Iterable[Verdict],
    after: Iterable[Verdict],
    groups: Mapping[str, str] | None = None,
    *,
    confidence: float = CONFIDENCE,
) -> Comparison:
    """Compare the verdicts of two runs, answer by answer.

    Parameters
    ----------
    before, after
        The verdicts. Ids that only one of them has are named, and stand in nothing else.
    groups
        Id -> question, as in `{pair.id: pair.group_key for pair in pairs}`; an id without one is a question of its own.
    confidence
        Of the interval of the difference.

    Raises
    ------
    InputError
        For an id that stands twice in one of them.

    Examples
    --------
    >>> before = [Verdict("a", "pass", "exact", None, ""), Verdict("b", "pass", "bands", 0.9, "")]
    >>> after = [Verdict("a", "fail", "rule:number", None, ""), Verdict("b", "pass", "bands", 0.9, "")]
    >>> found = compare(before, after)
    >>> [change.id for change in found.new_fails], found.difference.value, found.stages["exact", "rule:number"]
    (['a'], -0.5, 1)
    """
    first, second = _by_id(list(before), "before"), _by_id(list(after), "after")
    twos = [(first[name], second[name]) for name in second if name in first]
    stages = Counter((place(old), place(new)) for old, new in twos)
    shifts = []
    for name in {name for two in stages for name in two}:
        came = sum(n for (old, new), n in stages.items() if new == name != old)
        went = sum(n for (old, new), n in stages.items() if old == name != new)
        stayed = stages[name, name]
        shifts.append(Shift(name, stayed + went, stayed + came, came, went))
    graded = [(old, new) for old, new in twos if "error" not in (old.outcome, new.outcome)]
    names: list[object] = [(groups or {}).get(new.id, ("answer", new.id)) for _, new in graded]
    return Comparison(
        both=len(twos),
        only_before=tuple(name for name in first if name not in second),
        only_after=tuple(name for name in second if name not in first),
        changes=tuple(Change(old, new) for old, new in twos if old.outcome != new.outcome),
        outcomes=dict(Counter((old.outcome, new.outcome) for old, new in twos)),
        stages={
            two: stages[two] for two in sorted(stages, key=lambda two: (_stage_order(two[0]), _stage_order(two[1])))
        },
        shifts=tuple(sorted(shifts, key=lambda shift: (-abs(shift.after - shift.before), _stage_order(shift.place)))),
        difference=paired_difference(
            [old.outcome == "pass" for old, _ in graded],
            [new.outcome == "pass" for _, new in graded],
            names,
            confidence,
        ),
    )
