"""calibkit plan and fit: how many labels for which target, and a scorer fitted on other questions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from calibkit import store
from calibkit.blend import fit_blend
from calibkit.calibration import calibrate, model_notes
from calibkit.cli.options import (
    DtypeChoice,
    JsonOption,
    LabelsOption,
    LeaveOutOption,
    MapOption,
    SplitOption,
    app,
    err_console,
    load_set,
    open_embedder,
    out_console,
    print_json,
    read_columns,
    read_rules,
    show_progress,
)
from calibkit.embedding import DEFAULT_MODEL
from calibkit.pairs import InputError, counted
from calibkit.planning import TARGETS, Profile, plan, profile_from_labels, profile_from_scores
from calibkit.plots import plot_plan, render, require_matplotlib
from calibkit.scorers import score_pairs


@app.command("plan")
def plan_command(
    pairs: Annotated[Path, typer.Argument(help="A file of answers, labelled or not, or a set's folder.")],
    scorer: Annotated[str, typer.Option(help="The scorer (see calibrate).")] = "token_recall",
    precision: Annotated[list[float] | None, typer.Option(help="A target; may be repeated.")] = None,
    fails: Annotated[bool, typer.Option("--fails", help="Plan the fail side, too.")] = False,
    confidence: Annotated[float, typer.Option(help="Confidence of the promise.")] = 0.9,
    rules: Annotated[str, typer.Option(help="The hard rules, as for calibrate.")] = "default",
    locale: Annotated[str | None, typer.Option(help="Locale of the texts.")] = None,
    figure: Annotated[Path | None, typer.Option(help="Draw the plan to this file (.png or .svg).")] = None,
    map_: MapOption = None,
    split_references: SplitOption = None,
    leave_out: LeaveOutOption = None,
    labels: LabelsOption = None,
    json_: JsonOption = False,
) -> None:
    """Tell how many labels are likely to certify which target, where to draw them, and what would pass by itself.

    Of labelled answers only the development part is looked at: planning spends nothing.
    """
    if figure is not None:
        require_matplotlib()
        if figure.suffix not in (".png", ".svg"):
            raise InputError(f"--figure {figure}: a figure is .png or .svg; name it so")
    loaded = load_set(pairs, read_columns(map_, split_references, leave_out, labels))
    with show_progress() as progress:
        embedder = open_embedder(scorer, DEFAULT_MODEL, None, None, DtypeChoice.float32, "cpu", progress)
        groups = len({pair.group_key for pair in loaded})
        profiles: list[Profile] = []
        if any(pair.labelled for pair in loaded):
            found = calibrate(
                loaded, scorer=scorer, explore=True, rules=read_rules(rules), locale=locale, embedder=embedder
            )
            place, ranking = found.scores.values, found.ranking
            for side, wrong in _sides(fails, ranking.rejected, ranking.accepted):
                profiles.append(profile_from_labels(place[~np.isnan(place)], ranking.place, wrong, side))  # type: ignore[arg-type]
        else:
            values = score_pairs(loaded, scorer, embedder=embedder).values
            profiles += [
                profile_from_scores(values[~np.isnan(values)], side)  # type: ignore[arg-type]
                for side, _ in _sides(fails, None, None)
            ]
    for note in model_notes(embedder):
        err_console.print(f"note: {note}", markup=False)
    targets = tuple(precision or TARGETS)
    made = plan(profiles, targets=targets, delta=round(1 - confidence, 12), questions=groups)
    lines = [made.line(profile.side, target) for profile in profiles for target in targets]
    if figure is not None:
        with store.atomic_writer(figure, binary=True) as file:
            file.write(render(plot_plan(made).figure, "svg" if figure.suffix == ".svg" else "png"))  # type: ignore[arg-type]
    if json_:
        print_json({"questions": groups, "lines": lines, "table": made.table()})
        return
    out_console.print(made.table(), markup=False)
    for line in lines:
        out_console.print(line, markup=False)


def _sides(fails: bool, rejected: object, accepted: object) -> Sequence[tuple[str, object]]:
    return [("pass", rejected), ("fail", accepted)] if fails else [("pass", rejected)]


@app.command("fit")
def fit_command(
    pairs: Annotated[Path, typer.Argument(help="Labelled answers to other questions than those that shall certify.")],
    out: Annotated[Path, typer.Option(help="Where the blend goes (JSON).")],
    locale: Annotated[str | None, typer.Option(help="Locale of the texts, as in en_US.")] = None,
    cosine: Annotated[bool, typer.Option("--cosine", help="Weigh embeddings, too.")] = False,
    map_: MapOption = None,
    split_references: SplitOption = None,
    leave_out: LeaveOutOption = None,
    labels: LabelsOption = None,
) -> None:
    """Fit a scorer, blend, on labelled answers: plain weights of overlaps, lengths and rule results."""
    loaded = load_set(pairs, read_columns(map_, split_references, leave_out, labels))
    if not any(pair.labelled for pair in loaded):
        raise InputError(f"{pairs}: no answer has a label; a blend is fitted on labelled answers")
    with show_progress() as progress:
        embedder = open_embedder(
            "cosine" if cosine else "", DEFAULT_MODEL, None, None, DtypeChoice.float32, "cpu", progress
        )
        blend = fit_blend(loaded, locale=locale, embedder=embedder)
    store.write_text(out, blend.definition.to_json())
    fitted = blend.definition.fitted_on
    out_console.print(
        f"blend of {len(blend.definition.weights)} features, fitted on {counted(fitted.pairs, 'answer')} to "
        f"{counted(fitted.questions, 'question')}, written to {out}; it certifies on other questions alone",
        markup=False,
    )
