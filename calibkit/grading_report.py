"""The grading report: what became of the answers, why, what changed and what it cost; HTML, text or plain values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any, Final, TypedDict, Unpack

from calibkit.cascade import Outcome, Verdict
from calibkit.gates import GateResult
from calibkit.grading import OUTCOMES, SAMPLE, Case, Change, Comparison, Grading, Tally
from calibkit.judge import JudgeQuality
from calibkit.mistakes import cut
from calibkit.pages import MARKS, Block, Example, Fold, Page, Section, Table, html_page, share, show_answer, text_page
from calibkit.pairs import counted
from calibkit.policy import Policy
from calibkit.rates import Corrected, Difference, Interval, Rate
from calibkit.side_by_side import LEVELS, Mark, SideBySide

_MANY_ROWS: Final = 40
_MANY_CHANGES: Final = 50
_MANY_IDS: Final = 10
_CELL: Final = 60
"""Characters of a user's text in a cell."""
_WORST_FIRST: Final[tuple[Outcome, ...]] = ("error", "fail", "review", "pass")


class Parts(TypedDict, total=False):
    """What else a report can tell."""

    name: str
    """What was graded."""
    policy: Policy
    """What it was graded by."""
    comparison: Comparison
    """With the verdicts of an earlier run."""
    gates: Sequence[GateResult]
    scorers: SideBySide
    most_cases: int
    """How many answers are shown with their texts (200), errors and fails first."""


@dataclass(frozen=True)
class _Report:
    grading: Grading
    name: str = "answers"
    policy: Policy | None = None
    comparison: Comparison | None = None
    gates: Sequence[GateResult] = ()
    scorers: SideBySide | None = None
    most_cases: int = 200
    cases: Mapping[str, Case] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "cases", {case.id: case for case in self.grading.cases})


def grading_report(grading: Grading, **parts: Unpack[Parts]) -> str:
    """Tell the report as one HTML page that needs nothing else: no script, no other file, no network.

    Parameters
    ----------
    grading
        What the verdicts add up to.
    **parts
        What else there is to tell; see `Parts`.
    """
    return html_page(_page(_Report(grading, **parts)))


def text_grading_report(grading: Grading, **parts: Unpack[Parts]) -> str:
    """Tell the report in plain text.

    Parameters
    ----------
    grading
        What the verdicts add up to.
    **parts
        What else there is to tell; see `Parts`.

    Examples
    --------
    >>> from calibkit.grading import add_up
    >>> from calibkit import AnswerPair, Verdict
    >>> grading = add_up([AnswerPair("a", ("4",), "four")], [Verdict("a", "pass", "exact", None, "equal")])
    >>> text_grading_report(grading, name="sums").splitlines()[2].replace("\u00a0", " ")
    '1 of 1 answer passes: 100.0 % (20.7 to 100.0).'
    """
    return text_page(_page(_Report(grading, **parts)))


def _page(report: _Report) -> Page:
    return Page("Grading of", report.name, _badges(report), _headline(report.grading.total), list(_sections(report)))


# --- how figures are written -------------------------------------------------------------------------


def _percent(value: float) -> str:
    """In percent; nothing short of all is written as 100, nothing above none as 0."""
    digits = 1
    while 0 < value < 1 and digits < 9 and float(f"{100 * value:.{digits}f}") in (0.0, 100.0):
        digits += 1
    return f"{100 * value:.{digits}f}\u00a0%"


def _limits(limits: Interval) -> str:
    return f"{100 * limits[0]:.1f} to {100 * limits[1]:.1f}"


def _rate(found: Rate | Corrected) -> str:
    if found.value is None or found.interval is None:
        return "–"
    return f"{_percent(found.value)} ({_limits(found.interval)})"


def _short(text: str, most: int = _CELL) -> str:
    """A text on one line, for a cell."""
    shown, note = cut(text, most)
    return " ".join(shown.split()) + ("…" if note else "")


def _ids(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MANY_IDS} more" if len(names) > _MANY_IDS else ""
    return ", ".join(_short(name, 40) for name in names[:_MANY_IDS]) + more


def _cells(counts: Iterable[int]) -> list[str]:
    return [str(count or "–") for count in counts]


def _rows(rows: Sequence[Sequence[str]], head: Sequence[str], what: str) -> list[Block]:
    """A table of so many rows, and a line on those that are left out."""
    blocks: list[Block] = [Table(rows[:_MANY_ROWS], head)]
    if len(rows) > _MANY_ROWS:
        blocks.append(f"{len(rows) - _MANY_ROWS} more {what} are left out here.")
    return blocks


# --- what is told ------------------------------------------------------------------------------------


def _headline(total: Tally) -> str:
    found = total.pass_rate
    others = [f"{total.failed} fail"] if total.failed else []
    if total.review:
        others.append(f"{total.review} {'is' if total.review == 1 else 'are'} left to review")
    told = f"; {', '.join(others)}" if others else ""
    if total.error:
        told += f"; besides, {counted(total.error, 'answer')} brought an error"
    if not found.whole:
        return f"No answer was graded{told}."
    verb = "passes" if found.part == 1 else "pass"
    return f"{found.part} of {counted(found.whole, 'answer')} {verb}: {_rate(found)}{told}."


def _badges(report: _Report) -> list[tuple[bool, str]]:
    badges = []
    if report.gates:
        missed = sum(not gate.held for gate in report.gates)
        told = f"{missed} of {counted(len(report.gates), 'gate')} missed" if missed else "gates held"
        badges.append((not missed, told))
    if critical := report.grading.critical:
        missed = sum(case.outcome != "pass" for case in critical)
        told = f"{missed} of {counted(len(critical), 'critical case')} not passed" if missed else "critical cases pass"
        badges.append((not missed, told))
    return badges


def _sections(report: _Report) -> Iterator[Section]:
    grading = report.grading
    yield Section("In short", [_in_short(grading)])
    if report.gates:
        rows = [(gate.gate, "✓\u00a0held" if gate.held else "✗\u00a0missed", gate.told) for gate in report.gates]
        yield Section("Gates", [Table(rows, ("Asked for", "", "Found"))])
    if grading.critical:
        yield Section("Critical cases", _critical(report))
    yield Section("Outcomes by stage", [_by_stage(grading)])
    if grading.people:
        yield Section("Beside people's labels", _people(grading))
    if report.comparison:
        yield Section("What changed", [*_changed(report.comparison), *_changes(report, report.comparison)])
    for what, tallies in (("tag", grading.by_tag), ("model", grading.by_model)):
        if tallies:
            yield Section(f"By {what}", _tallies(what, tallies))
    if grading.stability:
        yield Section("Asked again", _stability(grading))
    if grading.judge:
        yield Section("Judge calls and cost", [Table(_judge(grading))])
    if report.scorers:
        yield Section("Scorers side by side", _side_by_side(report.scorers))
    if grading.cases:
        yield Section("Answers one by one", _one_by_one(report))
    yield Section("Where this comes from", [Table(_provenance(report))])


def _in_short(grading: Grading) -> list[str]:
    total, people = grading.total, grading.people
    found = total.pass_rate
    told = []
    if total.review and total.of_decided.whole:
        decided = total.of_decided
        told.append(
            f"Of the {counted(decided.whole, 'answer')} that were decided {decided.part} pass: {_rate(decided)}. What "
            "is left to review has not passed, and has not failed either."
        )
    if total.error:
        told.append(
            f"Errors are no verdicts: {share(total.error, total.answers)} of all answers stand in no share of passes."
        )
    if people and people.corrected.value is not None:
        told.append(
            f"Corrected for the errors that labels show, people would accept {_rate(people.corrected)}; see below for "
            "what this rests on."
        )
    if found.whole:
        told.append(
            f"In brackets: {100 * found.confidence:.4g}\u00a0% intervals, in percent, for questions like these "
            f"{found.questions}. Answers to one question count together. They take the verdicts as they are."
        )
    return told or ["There is nothing to tell."]


def _critical(report: _Report) -> list[Block]:
    critical = report.grading.critical
    missed = [case for case in critical if case.outcome != "pass"]
    passed = [case for case in critical if case.outcome == "pass"]
    told = f"{len(passed)} of {counted(len(critical), 'critical case')} pass. Each stands for itself."
    blocks: list[Block] = [told]
    blocks += [MARKS] if missed else []
    blocks += [_example(case) for case in missed]
    if passed:
        rows = [(_short(case.id, 40), case.place, _short(case.verdict.reason)) for case in passed]
        blocks.append(Fold(f"Critical cases that pass: {len(passed)}", [Table(rows, ("Answer", "Decided by", "Why"))]))
    return blocks


def _by_stage(grading: Grading) -> Table:
    names = {"review": "nobody: left to review", "error": "nobody: error"}
    total, n = grading.total, len(grading.cases)
    rows = [
        (
            names.get(name, name),
            *(str(counts.get(outcome, 0) or "–") for outcome in OUTCOMES),
            share(sum(counts.values()), n),
        )
        for name, counts in grading.by_stage.items()
    ]
    ends = [str(number) for number in (total.passed, total.failed, total.review, total.error, n)]
    return Table([*rows, ("All", *ends)], ("Decided by", "Pass", "Fail", "Review", "Error", "Answers"))


def _tallies(what: str, tallies: Mapping[str, Tally]) -> list[Block]:
    rows = [
        (_short(name, 40), str(each.answers), str(each.passed), _rate(each.pass_rate), str(each.failed),
         share(each.review, each.answers) if each.review else "–", str(each.error or "–"))
        for name, each in tallies.items()
    ]  # fmt: skip
    head = (what.capitalize(), "Answers", "Pass", "Pass rate", "Fail", "Review", "Error")
    return _rows(rows, head, f"{what}s")


def _people(grading: Grading) -> list[Block]:
    people = grading.people
    assert people is not None
    whole, corrected = people.quality, people.corrected
    told = f"{counted(whole.answers, 'answer')} {'has a label' if whole.answers == 1 else 'have labels'}. "
    told += f"On {whole.decided} of them both the policy and a person decided"
    if whole.agreement is not None:
        told += f": they agree on {_percent(whole.agreement)}"
        told += "" if whole.kappa is None else f" (kappa {whole.kappa:.2f})"
    head = ("Decided by", "Right passes", "False passes", "Right fails", "False fails", "Agreement", "Not compared")
    stages = [(name, quality) for name, quality in people.by_stage.items() if name not in ("review", "error")]
    rows = [(name, *_confusion(quality)) for name, quality in [*stages, ("All", whole)]]
    blocks: list[Block] = [f"{told}.", Table(rows, head)]
    blocks.append(
        "A false pass is a pass that a person rejects, a false fail a fail that a person accepts. Not compared: left "
        "to review, an error, or a person could not say."
    )
    if corrected.value is None:
        blocks.append(f"The pass rate cannot be corrected for these errors: {corrected.reason}.")
    else:
        blocks.append(
            f"Provided that {SAMPLE}, people would accept {_rate(corrected)} of the graded answers. The verdicts alone "
            f"say {_rate(grading.total.pass_rate)}. It rests on {counted(corrected.labels, 'label')}; an answer of "
            "which a person could not say counts as not accepted."
        )
    return blocks


def _confusion(quality: JudgeQuality) -> tuple[str, ...]:
    counts = quality.true_pass, quality.false_pass, quality.true_fail, quality.false_fail
    agreement = "–" if quality.agreement is None else _percent(quality.agreement)
    return (*_cells(counts), agreement, *_cells([quality.answers - quality.decided]))


def _changed(found: Comparison) -> list[Block]:
    difference = found.difference
    told = f"{counted(found.both, 'answer')} have verdicts in both runs. "
    if difference.value is not None and difference.interval is not None:
        low, high = (100 * limit for limit in difference.interval)
        told += (
            f"The pass rate changed by {100 * difference.value:+.1f} points ({low:+.1f} to {high:+.1f}) over the "
            f"{difference.whole} without an error in either: {difference.gained} pass only now, {difference.lost} "
            "passed only before."
        )
    notes = []
    if jumps := [f"{each.place} from {each.before} to {each.after}" for each in found.shifts if each.jump]:
        notes.append(f"Jumps, larger than chance would make them: {'; '.join(jumps)}.")
    for only, when in ((found.only_before, "earlier"), (found.only_after, "later")):
        if only:
            notes.append(f"Only in the {when} run, and in none of these figures: {len(only)} ({_ids(only)}).")
    blocks: list[Block] = [told, *([notes] if notes else [])]
    if found.both:
        rows = [
            (before, *_cells(found.outcomes.get((before, after), 0) for after in OUTCOMES))
            for before in OUTCOMES
            if any(found.outcomes.get((before, after)) for after in OUTCOMES)
        ]
        blocks.append(Table(rows, ("Before", *(f"{after} now" for after in OUTCOMES))))
    if any(each.came or each.went for each in found.shifts):
        shifts = [
            (
                each.place,
                str(each.before),
                str(each.after),
                *_cells([each.came, each.went]),
                "jump" if each.jump else "",
            )
            for each in found.shifts
        ]
        moved = [(old, new, str(n)) for (old, new), n in found.stages.items() if old != new]
        blocks.append(Table(shifts, ("Decided by", "Before", "Now", "Came", "Went", "")))
        blocks.append(Fold("From stage to stage", [Table(moved, ("Before by", "Now by", "Answers"))]))
    return blocks


def _changes(report: _Report, found: Comparison) -> list[Block]:
    blocks: list[Block] = []
    for name, changes in _new(found).items():
        if changes:
            shown = [_change(report, change) for change in changes[:_MANY_CHANGES]]
            blocks.append(Fold(f"New {name}: {_first(len(shown), len(changes))}", shown))
    return blocks


def _new(found: Comparison) -> dict[str, Sequence[Change]]:
    return {
        "fails": found.new_fails,
        "errors": found.to("error"),
        "reviews": found.to("review"),
        "passes": found.new_passes,
    }


def _first(shown: int, whole: int) -> str:
    return str(whole) + ("" if shown == whole else f" (the first {shown} are shown)" if shown else " (none is shown)")


def _change(report: _Report, change: Change) -> Example:
    before = f"before: {_fate(change.before)}"
    return _example(report.cases.get(change.id, Case(change.after)), [before], [("Why before", change.before.reason)])


def _fate(verdict: Verdict) -> str:
    return f"{verdict.outcome} by {verdict.stage}" if verdict.stage else verdict.outcome


def _example(case: Case, facts: Sequence[str] = (), more: Sequence[tuple[str, str]] = ()) -> Example:
    """One answer with its verdict."""
    verdict, pair = case.verdict, case.pair
    told = [_fate(verdict) + (f", score {verdict.score:.6g}" if verdict.score is not None else ""), *facts]
    texts = [("Why", verdict.reason), *more]
    if pair is None:
        shown = [(name, *cut(text)) for name, text in texts]
        return Example([_short(case.id), *told], [(name, [(text, False)], note) for name, text, note in shown])
    if pair.labelled:
        label = {True: "acceptable", False: "not acceptable", None: "cannot say"}[pair.acceptable]
        told.append(f"label: {label}")
    for name, value in (("model", case.model), ("run", case.run)):
        if value is not None:
            told.append(f"{name}: {_short(value)}")
    if case.critical:
        told.append("critical")
    return show_answer(pair, told, texts)


def _stability(grading: Grading) -> list[Block]:
    found = grading.stability
    assert found is not None
    told = (
        f"{counted(found.questions, 'question')}, counted for each model, were asked in several runs. The outcome of "
        f"{share(len(found.flips), found.questions)} is not the same in all of them."
    )
    rows = [
        (_short(flip.question), flip.model or "–", "; ".join(f"{run}: {end}" for run, end in flip.by_run.items()))
        for flip in found.flips
    ]
    return [told, *(_rows(rows, ("Question", "Model", "Outcome by run"), "questions") if rows else [])]


def _judge(grading: Grading) -> list[tuple[str, str]]:
    use = grading.judge
    assert use is not None
    tokens = f"{use.prompt_tokens:,} in prompts, {use.completion_tokens:,} in replies"
    return [
        ("Judge", ", ".join(_short(model) for model in use.models) or "not named"),
        ("Answers asked about", f"{share(use.asked, len(grading.cases))} of all answers"),
        ("Calls", f"{use.calls:,}, {use.cached:,} of them answered from earlier calls"),
        ("Tokens", tokens),
        ("Cost", "not known" if use.cost is None else f"{use.cost:,.4f} in the currency of the prices"),
        ("Votes disagree on", f"{share(use.unstable, use.asked)} of these answers"),
    ]


def _side_by_side(found: SideBySide) -> list[Block]:
    rows = []
    for name in found.scorers:
        bands, counts = found.bands.get(name), found.counts(name)
        cuts = [bands.pass_at_or_above, bands.fail_below] if bands else [None, None]
        levels = [str(counts[level] or "–") if bands or level == "unscored" else "" for level in LEVELS]
        scores = [mark.score for mark in found.marks[name] if mark.score is not None]
        spread = f"{min(scores):.3g}, {median(scores):.3g}, {max(scores):.3g}" if scores else "–"
        rows.append((name, *("–" if at is None else f"{at:.6g}" for at in cuts), *levels, spread))
    head = ("Scorer", "Pass at or above", "Fail below", *(level.capitalize() for level in LEVELS), "Low, median, high")
    blocks: list[Block] = [Table(rows, head)]
    if any(name not in found.bands for name in found.scorers):
        blocks.append("A scorer without thresholds has scores only.")
    if len(found.bands) < 2:
        return blocks
    disputed = [at for each in found.disagreements for at in each.at]
    if not disputed:
        return [*blocks, "They disagree on no answer."]
    questions, answers = counted(len(found.disagreements), "question"), counted(len(disputed), "answer")
    blocks.append(f"They disagree on {answers} to {questions}.")
    shown = [
        show_answer(found.pairs[at], [f"{name}: {_mark(found.marks[name][at])}" for name in found.scorers])
        for at in disputed[:_MANY_ROWS]
    ]
    return [*blocks, Fold(f"Most disagreeing first: {_first(len(shown), len(disputed))}", shown)]


def _mark(mark: Mark) -> str:
    return " ".join(filter(None, [mark.level, None if mark.score is None else f"{mark.score:.3g}"]))


def _one_by_one(report: _Report) -> list[Block]:
    groups: dict[tuple[Outcome, str], list[Case]] = {
        (outcome, name): [] for outcome in _WORST_FIRST for name in report.grading.by_stage
    }
    for case in report.grading.cases:
        groups[case.outcome, case.place].append(case)
    blocks: list[Block] = [MARKS]
    left = max(report.most_cases, 0)
    for (outcome, name), some in groups.items():
        if some:
            shown = some[:left]
            left -= len(shown)
            title = f"{outcome.capitalize()}{'' if name == outcome else f' by {name}'}"
            blocks.append(Fold(f"{title}: {_first(len(shown), len(some))}", [_example(case) for case in shown]))
    left_out = len(report.grading.cases) - report.most_cases
    if left_out > 0:
        blocks.append(f"{counted(left_out, 'answer')} of {len(report.grading.cases)} are left out here.")
    return blocks


def _provenance(report: _Report) -> list[tuple[str, str]]:
    policy, total = report.policy, report.grading.total
    rows = [("Answers", f"{report.name}: {total.answers}")]
    if policy:
        rows.append(("Policy", policy.name))
        rows.append(("Its promise", policy.evidence.sentence if policy.evidence else "none: it is uncertified"))
        if policy.created:
            rows.append(("Policy of", f"{policy.created:%Y-%m-%d %H:%M:%S} UTC"))
    rows.append(
        ("Intervals", "Wilson's, at the effective number of answers given that those to one question hang together")
    )
    if report.comparison:
        rows.append(("Of differences", "Tango's for paired shares, likewise"))
    if report.grading.people:
        rows.append(("Corrected", "double sampling, which for verdicts is prediction-powered inference (PPI++)"))
    return rows


# --- plain values ------------------------------------------------------------------------------------


def grading_record(grading: Grading, **parts: Unpack[Parts]) -> dict[str, Any]:
    """Tell the report in plain values, for JSON; what there is nothing of is None.

    Parameters
    ----------
    grading
        What the verdicts add up to.
    **parts
        What else there is to tell; see `Parts`.
    """
    report = _Report(grading, **parts)
    found, people, stability = report.comparison, grading.people, grading.stability
    return {
        "name": report.name,
        "policy": report.policy.name if report.policy else None,
        **_tally_record(grading.total),
        "by_stage": {name: dict(counts) for name, counts in grading.by_stage.items()},
        "by_tag": {tag: _tally_record(each) for tag, each in grading.by_tag.items()},
        "by_model": {model: _tally_record(each) for model, each in grading.by_model.items()},
        "critical": {
            "cases": len(grading.critical),
            "not_passed": [case.verdict.to_record() for case in grading.critical if case.outcome != "pass"],
        },
        "gates": [asdict(gate) for gate in report.gates],
        "people": people
        and {
            **_quality_record(people.quality),
            "by_stage": {name: _quality_record(each) for name, each in people.by_stage.items()},
            "corrected_pass_rate": {**asdict(people.corrected), "assumption": SAMPLE},
        },
        "against": found
        and {
            "answers": found.both,
            "only_before": found.only_before,
            "only_after": found.only_after,
            "pass_rate": _with_value(found.difference),
            **{f"new_{name}": [each.id for each in changes] for name, changes in _new(found).items()},
            "stages": [{"before": old, "after": new, "answers": n} for (old, new), n in found.stages.items()],
            "jumps": [asdict(shift) for shift in found.shifts if shift.jump],
        },
        "stability": stability and {"share": stability.share, **asdict(stability)},
        "judge": asdict(grading.judge) if grading.judge else None,
        "scorers": report.scorers and _scorers_record(report.scorers),
    }


def _with_value(found: Rate | Difference) -> dict[str, Any]:
    return {"value": found.value, **asdict(found)}


def _tally_record(tally: Tally) -> dict[str, Any]:
    rates = {"pass_rate": _with_value(tally.pass_rate), "of_decided": _with_value(tally.of_decided)}
    return {"answers": tally.answers, **asdict(tally), **rates}


def _quality_record(quality: JudgeQuality) -> dict[str, Any]:
    return {**asdict(quality), "agreement": quality.agreement, "kappa": quality.kappa}


def _scorers_record(found: SideBySide) -> dict[str, Any]:
    def marks(at: int) -> dict[str, Any]:
        return {name: asdict(found.marks[name][at]) for name in found.scorers}

    return {
        "counts": {name: found.counts(name) for name in found.scorers},
        "thresholds": {name: asdict(bands) for name, bands in found.bands.items()},
        "disagreements": [
            {
                "question": each.question,
                "amount": each.amount,
                "answers": [{"id": found.pairs[at].id, "marks": marks(at)} for at in each.at],
            }
            for each in found.disagreements
        ],
    }
