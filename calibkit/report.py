"""The calibration report: one promise, what it leaves open, and the evidence, as one HTML page or as plain text.

Both are renderings of the same sections. Figures and examples show only labels that were looked at: those of the
calibration's ranking. Every text is cut, cleaned and escaped on its way into the page, wherever it comes from.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from calibkit import store
from calibkit.bands import FailEvidence, Interval, PassEvidence
from calibkit.calibration import Calibration
from calibkit.certificate import Certificate
from calibkit.mistakes import cut, worst_mistakes
from calibkit.pages import (
    MARKS,
    Block,
    Example,
    Figure,
    Fold,
    Page,
    Section,
    Table,
    html_page,
    share,
    show_answer,
    text_page,
)
from calibkit.pairs import counted
from calibkit.plots import CurveDisplay, HistogramDisplay, render
from calibkit.policy import BandsStage, Evidence, ExactStage

_MANY: Final = 5
"""Intervals that are listed."""
_TOP: Final = 20
"""Highest-scoring answers that are compared before and after the rules."""


# --- what is told -----------------------------------------------------------------------------------


def _parts(calibration: Calibration) -> tuple[BandsStage, Evidence]:
    stage, evidence = calibration.policy.bands_stage, calibration.policy.evidence
    assert stage is not None
    assert evidence is not None
    return stage, evidence


def _sides(calibration: Calibration) -> list[tuple[str, PassEvidence | FailEvidence, Certificate | None]]:
    """The sides that are in question: the fails only where they were asked for or set by hand."""
    stage, evidence = _parts(calibration)
    sides: list[tuple[str, PassEvidence | FailEvidence, Certificate | None]] = [
        ("passes", evidence.pass_, calibration.pass_certificate)
    ]
    if evidence.fail.target is not None or stage.fail_below is not None:
        sides.append(("fails", evidence.fail, calibration.fail_certificate))
    return sides


def _badges(calibration: Calibration) -> list[tuple[bool, str]]:
    sides = [(side.certified, f"{'' if side.certified else 'not '}certified") for _, side, _ in _sides(calibration)]
    return sides if len(sides) == 1 else [(sides[0][0], f"passes {sides[0][1]}"), (sides[1][0], f"fails {sides[1][1]}")]


def _sections(calibration: Calibration) -> Iterator[Section]:
    _, evidence = _parts(calibration)
    yield Section("What this does not cover", [_limits(calibration)])
    labels = "the certifying labels" if evidence.accounting else "the development part (labels kept for exploring)"
    yield Section(f"Key figures, on {labels}", [_counts(calibration), *_remarks(calibration)])
    if missing := _missing(calibration):
        some = any(side.certified for _, side, _ in _sides(calibration))
        yield Section("What is not certified, and why" if some else "Why nothing is certified", missing)
    if calibration.curve is None:
        yield Section("Curve and scores", ["No labelled answer that may be shown has a score."])
    else:
        yield Section("Curve and scores", [*_figures(calibration), _curve_in_numbers(calibration)])
        yield Section("What the score gets wrong", [MARKS])
        for side in worst_mistakes(calibration):
            yield Section(side.title, [side.lead, *(_example(calibration, at) for at in side.at)], level=3)
    if caught := _caught(calibration):
        yield Section("What the rules caught", caught)
    yield Section("Where this comes from", [Table(_provenance(calibration))])


def _limits(calibration: Calibration) -> list[str]:
    stage, evidence = _parts(calibration)
    pool, labels = evidence.pool, evidence.labels
    of = f"the pool {pool.name} ({counted(pool.groups, 'question')})"
    if pool.kind == "constructed":
        told = [f"Your own agent: {of} is constructed. Its answers were written for the purpose and are no traffic."]
    else:
        told = [f"Other answers: all this is about {of}. Calibrate anew for another agent, model or kind of question."]
    told.append("Change: when the agent, its model or its questions drift, this may no longer hold.")
    if pool.left_out:
        told.append(f"Questions where {' or '.join(pool.left_out)}: they were left out.")
    if labels.drawn == "assumed":
        told.append(
            "Labels that were picked: nobody has said how the labelled answers were drawn. All figures assume a random "
            "sample of the pool; answers chosen by hand, or by doubt, are none."
        )
    elif labels.drawn == "region":
        told.append("Scores outside the region that the labelled answers were drawn from.")
    told += [
        "Answers left to review or to a judge: only what is decided before a judge is asked is covered.",
        "Single answers: what is bounded is a share, over one random answer to each question. Any pass may be wrong.",
    ]
    if stage.fail_below is not None and not evidence.fail.certified:
        told.append(f"Fails: the threshold (fail below {stage.fail_below:.10g}) is not certified.")
    elif not evidence.fail.certified:
        told.append(
            "Fails: what the rules fail is not certified; it can be (--fail-precision). None fails by its score."
            if evidence.fail.below
            else "Answers that do not pass: none of them fails by its score, and none is called wrong."
        )
    return told


def _counts(calibration: Calibration) -> Table:
    """Outcomes of the labels that were looked at, stage by stage."""
    (stage, evidence), ranking = _parts(calibration), calibration.ranking
    total = evidence.labels.certifying if evidence.accounting else evidence.labels.development
    passes, fails = ranking.passes(stage.bands), ranking.fails(stage.bands)
    stages = {"bands": "by the score", "exact": "as exact match"}
    rows = []
    for outcome, inside, wrong, judged in (
        ("Passed", passes, ranking.rejected, "not acceptable"),
        ("Failed", fails, ranking.accepted, "acceptable"),
    ):
        told = {outcome: (int(inside.sum()), int((inside & wrong).sum()))}
        for name, by_stage in sorted(ranking.counts(inside, wrong).items(), key=lambda item: item[0] == "bands"):
            told[f"– {stages.get(name, f'by {name}')}"] = by_stage
        rows += [(what, share(n, total), f"{share(k, n)} {judged}" if n else "–") for what, (n, k) in told.items()]
    left, unscored = total - int((passes | fails).sum()), total - len(ranking.place)
    rows.append(("Left to review", share(left, total), f"{unscored} without a score" if unscored else "–"))
    return Table([*rows, ("All", str(total), "")], ("Outcome", "Answers", "Of these"))


def _remarks(calibration: Calibration) -> list[str]:
    (stage, evidence), ranking = _parts(calibration), calibration.ranking
    passes, acceptable = ranking.passes(stage.bands), ~ranking.rejected
    right, n_passes, n_acceptable = (int(flags.sum()) for flags in (passes & acceptable, passes, acceptable))
    told = []
    if n_passes:
        told.append(f"Of {counted(n_passes, 'passing answer')} {share(right, n_passes)} are acceptable (precision).")
    if n_acceptable:
        told.append(f"Of {counted(n_acceptable, 'acceptable answer')} {share(right, n_acceptable)} pass (recall).")
    if told:
        told = [" ".join([*told, "These are counts of labels; they promise nothing about the pool."])]
    if n := evidence.labels.cannot_say:
        told.append(f"{counted(n, 'answer')} that a person could not judge: on either side counted as wrong.")
    return [*told, *(f"{note[:1].upper()}{note[1:]}." for note in calibration.notes)]


def _missing(calibration: Calibration) -> list[str]:
    """Why a side is not certified, and what would help."""
    _, evidence = _parts(calibration)
    told: list[str] = []
    for name, side, certificate in _sides(calibration):
        if side.certified:
            continue
        if evidence.accounting is None:
            return [f"No look at the certifying labels was taken: {side.reason}."]
        told.append(f"{name.capitalize()}: {side.reason}.")
        if side.labels_needed:
            told.append(_cure(side.labels_needed, len(calibration.ranking.place), evidence))
        elif side.intervals:
            told.append(f"Certified would be: {_told(side.intervals)}.")
        elif side.set_by is None and certificate is not None and np.isfinite(certificate.thresholds).any():
            told.append("More labels alone will hardly help; a better scorer, or a lower target, may.")
    return told


def _cure(needed: int, scored: int, evidence: Evidence) -> str:
    labels, accounting = evidence.labels, evidence.accounting
    assert accounting is not None
    told = (
        f"By a rough estimate {needed} certifying labels of answers with a score, drawn at random, may do. There are "
        f"{scored}: {max(needed - scored, 0)} are missing."
    )
    if needed > evidence.pool.groups:
        return f"{told} The pool has only {evidence.pool.groups} questions; try a better scorer or a lower target."
    if accounting.looks < accounting.planned_looks:
        told += f" Looks left in the plan: {accounting.planned_looks - accounting.looks}."
    else:
        told += (
            " The planned looks are used, so that the labels looked at certify no more: a new plan (--new-plan) and "
            f"{needed} fresh questions are due."
        )
    if labels.development:
        kept = 100 * labels.development / (labels.certifying + labels.development)
        told += f" Label some more than that, for {kept:.0f}\u00a0% of the questions are kept for exploring."
    return told


def _figures(calibration: Calibration) -> list[Figure]:
    (stage, evidence), n = _parts(calibration), len(calibration.ranking.place)
    sample = {
        "assumed": f"provided that these {n} labelled answers are a random sample of it, which nobody has said",
        "random": f"provided that these {n} labelled answers are the random sample of it that they were declared to be",
        "region": f"within the region that these {n} labelled answers were drawn from",
    }[evidence.labels.drawn]
    zone = "No zone is marked, for no threshold is certified."
    if evidence.pass_.intervals or evidence.fail.intervals:
        zone = "Hatched: the certified thresholds. Within its zone a threshold may be moved freely."
    cuts = {"pass at or above": stage.pass_at_or_above, "fail below": stage.fail_below}
    told = " and ".join(f"{name} {cut:.10g}" for name, cut in cuts.items() if cut is not None) or "no threshold"
    return [
        Figure(
            "curve",
            f"Lines of precision and recall against the threshold, with {told}; see the curve in numbers.",
            "Precision: the share of acceptable answers among those that pass. Recall: the share of the acceptable "
            "answers that pass. The bands are for the eye and promise nothing: each contains the line of the whole "
            f"pool with {100 * (evidence.pass_.confidence or 0.9):.4g}\u00a0% confidence, {sample}. {zone}",
            lambda: render(CurveDisplay.from_calibration(calibration).figure_, "svg"),
        ),
        Figure(
            "histogram",
            f"Histogram of the scores of {n} labelled answers by label, with {told}.",
            f"Labelled answers by score: acceptable ones upwards, the others downwards. {zone}",
            lambda: render(HistogramDisplay.from_calibration(calibration).figure_, "svg"),
        ),
    ]


def _curve_in_numbers(calibration: Calibration) -> Fold:
    curve = calibration.curve
    assert curve is not None
    at = [int(step) for step in np.unique(np.linspace(0, len(curve.thresholds) - 1, 12).round())]
    rows = [
        (
            f"{curve.thresholds[step]:.6g}",
            str(curve.passes[step]),
            share(int(curve.true_passes[step]), int(curve.passes[step])),
            share(int(curve.true_passes[step]), curve.n_acceptable),
        )
        for step in at
        if np.isfinite(curve.thresholds[step])
    ]
    head = ("Pass at or above", "Passing", "Acceptable (precision)", "Of all acceptable (recall)")
    return Fold("The curve in numbers", [Table(rows, head)])


def _example(calibration: Calibration, at: int) -> Example:
    (stage, _), ranking = _parts(calibration), calibration.ranking
    pair, place = calibration.pairs[calibration.ranked[at]], float(ranking.place[at])
    if np.isinf(place):
        fate = f"{'passes' if place > 0 else 'fails'} before the score ({ranking.stage[at]})"
    else:
        fates = {"pass": "passes", "fail": "fails", "review": "left to review"}
        fate = f"score {place:.6g}, {fates[stage.bands.decide(place)]}"
    label = {True: "acceptable", False: "not acceptable", None: "cannot say"}[pair.acceptable]
    return show_answer(pair, [fate, f"label: {label}"])


def _caught(calibration: Calibration) -> list[Block]:
    """What the rules decided, and the highest scores before and after them."""
    if calibration.policy.rules_stage is None:
        return []
    ranking = calibration.ranking
    stages = [name if name.startswith(("rule:", "field:")) else "" for name in ranking.stage]
    decided = [at for at, name in enumerate(stages) if name]
    if not decided:
        return ["No rule decided any of these answers."]
    rows = []
    for name in sorted({stages[at] for at in decided}):
        own = [at for at in decided if stages[at] == name]
        passed = [at for at in own if ranking.place[at] > 0]
        failed = [at for at in own if ranking.place[at] < 0]
        accepted, rejected = (sum(bool(flags[at]) for at in part) for flags, part in (
            (ranking.accepted, failed), (ranking.rejected, passed)
        ))  # fmt: skip
        rows.append(
            (
                name,
                str(len(failed)),
                share(accepted, len(failed)) if failed else "–",
                str(len(passed)),
                share(rejected, len(passed)) if passed else "–",
            )
        )
    told: list[Block] = [Table(rows, ("Rule", "Failed", "Of these acceptable", "Passed", "Of these not acceptable"))]
    scores = calibration.scores.values[list(calibration.ranked)]
    before = [at for at in np.argsort(-scores, kind="stable").tolist() if not np.isnan(scores[at])]
    after = [at for at in before if not np.isneginf(ranking.place[at])]
    top = min(_TOP, len(after))
    bad = [sum(bool(ranking.rejected[at]) for at in part[:top]) for part in (before, after)]
    told.append(
        f"Among the {top} highest-scoring answers {bad[0]} were not acceptable before the rules, "
        f"{bad[1]} are after them."
    )
    worst = [at for at in before if ranking.rejected[at]][:_TOP]
    examples = []
    for at in worst:
        pair = calibration.pairs[calibration.ranked[at]]
        examples.append(
            (cut(pair.id, 40)[0], f"{scores[at]:.4g}", cut(pair.candidate, 90)[0], stages[at] or "not caught")
        )
    head = ("Answer", "Score", "Text", "Caught by")
    told.append(Fold(f"The {len(worst)} highest-scoring answers that are not acceptable", [Table(examples, head)]))
    return told


def _provenance(calibration: Calibration) -> list[tuple[str, str]]:
    (stage, evidence), pairs, policy = _parts(calibration), calibration.pairs, calibration.policy
    pool, labels, accounting, model = evidence.pool, evidence.labels, evidence.accounting, stage.model
    rules = policy.rules_stage
    exact = next((early for early in policy.stages if isinstance(early, ExactStage)), None)
    looked = risk = ""
    if labels.acceptable is not None and labels.cannot_say is not None:
        others = labels.certifying - labels.acceptable - labels.cannot_say
        looked = f"{labels.acceptable} acceptable, {others} not acceptable, {labels.cannot_say} cannot say"
    if accounting:
        each = accounting.delta / (accounting.planned_looks * accounting.configurations * accounting.sides)
        shares = counted(accounting.configurations, "configuration"), counted(accounting.sides, "side")
        risk = f"look {accounting.looks} of {accounting.planned_looks} planned, {', '.join(shares)}; "
        risk += f"risk {accounting.delta:.6g} in all, {each:.6g} for each certificate"
    rows = [
        ("Pool", f"{pool.name}: {counted(len(pairs), 'answer')} to {counted(pool.groups, 'question')}"),
        ("Kind of pool", "constructed: written for the purpose" if pool.kind == "constructed" else "collected"),
        ("Pool fingerprint", pool.fingerprint),
        ("Left out on request", " or ".join(pool.left_out or ()) or "nothing"),
        *(
            (outcome.capitalize(), f"{counted(n, 'row')} where {reason}")
            for (outcome, reason), n in Counter((remark.outcome, remark.reason) for remark in pairs.remarks).items()
        ),
        ("Labels", f"{labels.certifying} certifying, {labels.development} for exploring; one for each question"),
        ("Certifying labels", looked),
        ("Label fingerprint", labels.fingerprint),
        ("How they were drawn", {"assumed": "nobody has said"}.get(labels.drawn, f"{labels.drawn}, as declared")),
        ("Scorer", f"{stage.scorer.name}, version {stage.scorer.version}"),
        ("Before the score", f"exact match, rung {exact.rung}, normaliser version {exact.version}" if exact else ""),
        ("Rules", f"{', '.join(rules.rules)}, version {rules.version}" if rules else ""),
        ("Locale", policy.locale or ""),
        ("Model", f"{model.name}, revision {model.revision or 'not given'}" if model else ""),
        ("Model fingerprint", model.fingerprint if model else ""),
        ("Model run", f"{model.dtype}, at most {model.max_tokens} tokens" if model else ""),
        ("Asked for", _asked(evidence)),
        *_cut_rows("Pass at or above", stage.pass_at_or_above, evidence.pass_),
        *_cut_rows("Fail below", stage.fail_below, evidence.fail),
        ("Accounting", risk or "no look was granted"),
        ("Made by", policy.tool or "unknown"),
        ("Created", f"{policy.created:%Y-%m-%d %H:%M:%S} UTC" if policy.created else "unknown"),
    ]
    return [row for row in rows if row[1]]


def _asked(evidence: Evidence) -> str:
    asked = {"precision": evidence.pass_.target, "fail precision": evidence.fail.target}
    asked["confidence"] = evidence.pass_.confidence
    return ", ".join(f"{what} {share:.6g}" for what, share in asked.items() if share is not None)


def _cut_rows(name: str, cut: float | None, side: PassEvidence | FailEvidence) -> list[tuple[str, str]]:
    by_hand = f", set by {side.set_by}: {side.because or 'no reason given'}" if side.set_by else ""
    rows = [(name, "no threshold" if cut is None else f"{cut:.10g}{by_hand}")]
    return rows + ([(f"{name}, certified", _told(side.intervals))] if side.intervals else [])


def _told(intervals: Sequence[Interval]) -> str:
    told = []
    for low, high in intervals[:_MANY]:
        ends = f"above {low:.10g}" if low is not None else "", f"up to {high:.10g}" if high is not None else ""
        told.append(" ".join(filter(None, ends)) or "any")
    return "; ".join(told) + (f"; {len(intervals) - _MANY} more" if len(intervals) > _MANY else "")


# --- renderings -------------------------------------------------------------------------------------


def calibration_report(calibration: Calibration) -> str:
    """Tell the report as one HTML page that needs nothing else: no script, no other file, no network.

    Parameters
    ----------
    calibration
        The calibration.

    Raises
    ------
    InputError
        Where matplotlib is missing.
    """
    return html_page(_page(calibration))


def text_report(calibration: Calibration) -> str:
    """Tell the report in plain text, without its figures.

    Parameters
    ----------
    calibration
        The calibration.
    """
    return text_page(_page(calibration))


def _page(calibration: Calibration) -> Page:
    _, evidence = _parts(calibration)
    sections = list(_sections(calibration))
    return Page("Calibration of", calibration.policy.name, _badges(calibration), evidence.sentence, sections)


def save_figures(calibration: Calibration, folder: str | os.PathLike[str]) -> list[Path]:
    """Write curve.png, curve.svg, histogram.png and histogram.svg, each whole or not at all.

    Parameters
    ----------
    calibration
        The calibration.
    folder
        Where to write; made where there is none.

    Returns
    -------
    list of Path
        The files.

    Raises
    ------
    InputError
        Where matplotlib is missing, or a file cannot be written.
    """
    paths: list[Path] = []
    for name, display in (("curve", CurveDisplay), ("histogram", HistogramDisplay)):
        figure = display.from_calibration(calibration).figure_
        for kind in ("png", "svg"):
            paths.append(Path(folder) / f"{name}.{kind}")
            with store.atomic_writer(paths[-1], binary=True) as file:
                file.write(render(figure, kind))
    return paths
