"""The calibration report: one promise, what it leaves open, and the evidence, as one HTML page or as plain text.

Both are renderings of the same sections. Figures and examples show only labels that were looked at: those of the
calibration's ranking. Every text is cut, cleaned and escaped on its way into the page, wherever it comes from.
"""

from __future__ import annotations

import html
import os
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final, Literal

import numpy as np
import regex

from calibkit import store
from calibkit.bands import FailEvidence, Interval, PassEvidence
from calibkit.calibration import Calibration
from calibkit.certificate import Certificate
from calibkit.mistakes import LONGEST, Segments, compare, cut, nearest_reference, worst_mistakes
from calibkit.pairs import counted
from calibkit.plots import CurveDisplay, HistogramDisplay, render
from calibkit.policy import BandsStage, Evidence, ExactStage

_MANY: Final = 5
"""Further references, intervals that are listed."""
_MARKS: Final = "Struck through: words that only the reference has. Underlined: words that only the answer has."
_MARKS_IN_TEXT: Final = "[-So-]: words that only the reference has. {+So+}: words that only the answer has."


# --- what is told -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Table:
    rows: Sequence[Sequence[str]]
    head: Sequence[str] = ()
    summary: str | None = None
    """What a reader opens it by, where it is folded away."""


@dataclass(frozen=True)
class _Figure:
    name: Literal["curve", "histogram"]
    alt: str
    caption: str


@dataclass(frozen=True)
class _Example:
    """One mistake, taken apart."""

    facts: Sequence[str]
    texts: Sequence[tuple[str, Segments, str]]
    """What it is, its pieces, and a note on what was cut."""


@dataclass(frozen=True)
class _Section:
    title: str
    blocks: Sequence[str | list[str] | _Table | _Figure | _Example]
    """Paragraphs, bullets, and what has a class of its own."""
    level: int = 2


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


def _sections(calibration: Calibration) -> Iterator[_Section]:
    _, evidence = _parts(calibration)
    yield _Section("What this does not cover", [_limits(calibration)])
    labels = "the certifying labels" if evidence.accounting else "the development part (labels kept for exploring)"
    yield _Section(f"Key figures, on {labels}", [_counts(calibration), *_remarks(calibration)])
    if missing := _missing(calibration):
        some = any(side.certified for _, side, _ in _sides(calibration))
        yield _Section("What is not certified, and why" if some else "Why nothing is certified", missing)
    if calibration.curve is None:
        yield _Section("Curve and scores", ["No labelled answer that may be shown has a score."])
    else:
        yield _Section("Curve and scores", [*_figures(calibration), _curve_in_numbers(calibration)])
        yield _Section("What the score gets wrong", [_MARKS])
        for side in worst_mistakes(calibration):
            yield _Section(side.title, [side.lead, *(_example(calibration, at) for at in side.at)], level=3)
    yield _Section("Where this comes from", [_Table(_provenance(calibration))])


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
        told.append("Answers that do not pass: none of them fails by its score, and none is called wrong.")
    return told


def _share(k: int, n: int) -> str:
    return f"{k} ({100 * k / n:.1f}\u00a0%)" if n else str(k)


def _counts(calibration: Calibration) -> _Table:
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
        rows += [(what, _share(n, total), f"{_share(k, n)} {judged}" if n else "–") for what, (n, k) in told.items()]
    left, unscored = total - int((passes | fails).sum()), total - len(ranking.place)
    rows.append(("Left to review", _share(left, total), f"{unscored} without a score" if unscored else "–"))
    return _Table([*rows, ("All", str(total), "")], ("Outcome", "Answers", "Of these"))


def _remarks(calibration: Calibration) -> list[str]:
    (stage, evidence), ranking = _parts(calibration), calibration.ranking
    passes, acceptable = ranking.passes(stage.bands), ~ranking.rejected
    right, n_passes, n_acceptable = (int(flags.sum()) for flags in (passes & acceptable, passes, acceptable))
    told = []
    if n_passes:
        told.append(f"Of {counted(n_passes, 'passing answer')} {_share(right, n_passes)} are acceptable (precision).")
    if n_acceptable:
        told.append(f"Of {counted(n_acceptable, 'acceptable answer')} {_share(right, n_acceptable)} pass (recall).")
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


def _figures(calibration: Calibration) -> list[_Figure]:
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
        _Figure(
            "curve",
            f"Lines of precision and recall against the threshold, with {told}; see the curve in numbers.",
            "Precision: the share of acceptable answers among those that pass. Recall: the share of the acceptable "
            "answers that pass. The bands are for the eye and promise nothing: each contains the line of the whole "
            f"pool with {100 * (evidence.pass_.confidence or 0.9):.4g}\u00a0% confidence, {sample}. {zone}",
        ),
        _Figure(
            "histogram",
            f"Histogram of the scores of {n} labelled answers by label, with {told}.",
            f"Labelled answers by score: acceptable ones upwards, the others downwards. {zone}",
        ),
    ]


def _curve_in_numbers(calibration: Calibration) -> _Table:
    curve = calibration.curve
    assert curve is not None
    at = [int(step) for step in np.unique(np.linspace(0, len(curve.thresholds) - 1, 12).round())]
    rows = [
        (
            f"{curve.thresholds[step]:.6g}",
            str(curve.passes[step]),
            _share(int(curve.true_passes[step]), int(curve.passes[step])),
            _share(int(curve.true_passes[step]), curve.n_acceptable),
        )
        for step in at
        if np.isfinite(curve.thresholds[step])
    ]
    head = ("Pass at or above", "Passing", "Acceptable (precision)", "Of all acceptable (recall)")
    return _Table(rows, head, "The curve in numbers")


def _example(calibration: Calibration, at: int) -> _Example:
    (stage, _), ranking = _parts(calibration), calibration.ranking
    pair, place = calibration.pairs[calibration.ranked[at]], float(ranking.place[at])
    if np.isinf(place):
        fate = f"{'passes' if place > 0 else 'fails'} before the score ({ranking.stage[at]})"
    else:
        fates = {"pass": "passes", "fail": "fails", "review": "left to review"}
        fate = f"score {place:.6g}, {fates[stage.bands.decide(place)]}"
    label = {True: "acceptable", False: "not acceptable", None: "cannot say"}[pair.acceptable]
    facts = [cut(pair.id, 80)[0], fate, f"label: {label}"]
    if pair.tags:
        facts.append(f"tags: {', '.join(pair.tags)}")
    nearest = nearest_reference(pair) if pair.references else None
    (question, question_note), (answer, answer_note) = cut(pair.question), cut(pair.candidate)
    reference, reference_note = ("", "(none)") if nearest is None else cut(pair.references[nearest])
    left, right = compare(reference, answer)
    texts: list[tuple[str, Segments, str]] = [("Question", [(question, False)], question_note)] if question else []
    texts += [("Reference", left, reference_note), ("Answer", right, answer_note)]
    others = [text[:LONGEST] for number, text in enumerate(pair.references) if number != nearest]
    if others:
        shown, note = cut(" | ".join(others[:_MANY]))
        more = f" and {len(others) - _MANY} more" if len(others) > _MANY else ""
        texts.append(("Also accepted", [(shown, False)], f"{note}{more}"))
    return _Example(facts, texts)


def _provenance(calibration: Calibration) -> list[tuple[str, str]]:
    (stage, evidence), pairs, policy = _parts(calibration), calibration.pairs, calibration.policy
    pool, labels, accounting, model = evidence.pool, evidence.labels, evidence.accounting, stage.model
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


def text_report(calibration: Calibration) -> str:
    """Tell the report in plain text, without its figures.

    Parameters
    ----------
    calibration
        The calibration.
    """
    lines: list[str] = []

    def tell(text: str, first: str = "", rest: str = "") -> None:
        shown = "".join(cut(text, 3 * LONGEST))
        lines.append(textwrap.fill(shown, 100, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False))

    badges = ", ".join(word.upper() for _, word in _badges(calibration))
    tell(f"Calibration of {cut(calibration.policy.name, 80)[0]}: {badges}")
    lines.append("")
    tell(_parts(calibration)[1].sentence)
    for section in _sections(calibration):
        lines += ["", section.title, ("=" if section.level == 2 else "-") * len(section.title)]
        number, blocks = 0, [block for block in section.blocks if not isinstance(block, _Figure)]
        for block in blocks:
            if block is not blocks[0] and not isinstance(block, _Example):
                lines.append("")
            match block:
                case str():
                    tell(_MARKS_IN_TEXT if block is _MARKS else block)
                case list():
                    for line in block:
                        tell(line, "- ", "  ")
                case _Table(rows, head):
                    table = [head, *rows] if head else rows
                    widths = [max(len(row[at]) for row in table) for at in range(len(table[0]) - 1)]
                    for row in table:
                        cells = [cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=True)]
                        tell("  ".join([*cells, row[-1]]), "", " " * (sum(widths) + 2 * len(widths)))
                case _Example(facts, texts):
                    number += 1
                    tell("; ".join(facts), f"{number:>2}. ", "    ")
                    for name, segments, note in texts:
                        mark = "[-{}-]" if name == "Reference" else "{{+{}+}}"
                        told = "".join(mark.format(text) if odd else text for text, odd in segments)
                        tell(f"{name}: {told} {note}", "    ", "      ")
    return "\n".join(lines) + "\n"


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


_PAGE: Final = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'"/>
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<header>
<p class="badges">Calibration of {name} {badges}</p>
<h1 dir="auto">{sentence}</h1>
</header>
<main>
{main}</main>
</body>
</html>
"""


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
    name, badges = _text(calibration.policy.name, 80), _badges(calibration)
    main = []
    for section in _sections(calibration):
        main.append(f"<h{section.level}>{_text(section.title)}</h{section.level}>\n")
        main += [_block(block, calibration) for block in section.blocks]
    look = {True: ("yes", "✓"), False: ("no", "✗")}
    shown = [f'<strong class="{look[good][0]}"><i>{look[good][1]}</i> {word}</strong>' for good, word in badges]
    return _PAGE.format(
        title=f"{name}: {', '.join(word for _, word in badges)}",
        style=files("calibkit").joinpath("report.css").read_text(encoding="utf-8"),
        name=f"<bdi>{name}</bdi>",
        badges=" ".join(shown),
        sentence=_text(_parts(calibration)[1].sentence, 3 * LONGEST),
        main="".join(main),
    )


def _text(text: str, most: int = 3 * LONGEST) -> str:
    return html.escape("".join(cut(text, most)))


def _block(block: str | list[str] | _Table | _Figure | _Example, calibration: Calibration) -> str:
    match block:
        case str():
            return f'<p dir="auto">{_text(block)}</p>\n'
        case list():
            items = "".join(f'<li dir="auto">{_text(line)}</li>\n' for line in block)
            return f"<ul>\n{items}</ul>\n"
        case _Table(rows, head, summary):
            titles = "".join(f'<th scope="col">{_text(title)}</th>' for title in head)
            top = f"<thead><tr>{titles}</tr></thead>\n" if head else ""
            body = "".join(
                f'<tr><th scope="row">{_text(row[0])}</th>'
                + "".join(f'<td dir="auto">{_text(cell)}</td>' for cell in row[1:])
                + "</tr>\n"
                for row in rows
            )
            kind = "counts" if head else "facts"
            table = f'<div class="wide"><table class="{kind}">\n{top}<tbody>\n{body}</tbody></table></div>\n'
            return f"<details><summary>{_text(summary)}</summary>\n{table}</details>\n" if summary else table
        case _Figure(figure, alt, caption):
            display = CurveDisplay if figure == "curve" else HistogramDisplay
            svg = render(display.from_calibration(calibration).figure_, "svg").decode()
            return f"<figure>{_inline(svg, figure, alt)}<figcaption>{_text(caption)}</figcaption></figure>\n"
        case _Example(facts, texts):
            told = ""
            for name, segments, note in texts:
                tag = "del" if name == "Reference" else "ins"
                pieces = [(html.escape(text), odd) for text, odd in segments]
                marked = "".join(f"<{tag}>{text}</{tag}>" if odd else text for text, odd in pieces)
                marked += f" <small>{html.escape(note)}</small>" if note else ""
                told += f'<dt>{name}</dt><dd dir="auto">{marked}</dd>\n'
            tags = "".join(f"<li><bdi>{_text(fact)}</bdi></li>" for fact in facts)
            return f'<article><ul class="tags">{tags}</ul>\n<dl>\n{told}</dl></article>\n'


def _inline(svg: str, name: str, alt: str) -> str:
    """Make matplotlib's SVG part of a page: no prologue, no outside address, ids of its own."""
    svg = svg[svg.index("<svg") :]
    svg = regex.sub(r"<metadata>.*?</metadata>|<style[^>]*>.*?</style>", "", svg, flags=regex.DOTALL)
    svg = regex.sub(r' xmlns(:\w+)?="[^"]*"', "", svg).replace("xlink:href", "href")
    svg = regex.sub(r'( id="|href="#|url\(#)', rf"\1{name}-", svg)
    svg = regex.sub(r' (width|height)="[^"]*"', "", svg, count=2)
    return svg.replace("<svg", f'<svg role="img" aria-label="{html.escape(alt)}"', 1)
