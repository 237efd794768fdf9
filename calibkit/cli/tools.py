"""calibkit score and lab."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Annotated

import typer

from calibkit import store
from calibkit.calibration import model_notes
from calibkit.cli.options import (
    DeviceOption,
    DtypeChoice,
    DtypeOption,
    FolderOption,
    LabelsOption,
    LeaveOutOption,
    MapOption,
    ModelOption,
    RevisionOption,
    SplitOption,
    app,
    err_console,
    load_set,
    open_embedder,
    out_console,
    read_columns,
    show_progress,
)
from calibkit.embedding import DEFAULT_MODEL
from calibkit.lab import open_lab, prepare_lab
from calibkit.pairs import counted
from calibkit.scorers import EMBEDDING_SCORERS, score_pairs


@app.command("score")
def score_command(
    pairs: Annotated[Path, typer.Argument(help="A file of answers, or a set's folder.")],
    scorer: Annotated[list[str], typer.Option(help="A scorer (see calibrate); may be repeated.")],
    out: Annotated[Path | None, typer.Option(help="Where to write the scores (CSV).")] = None,
    map_: MapOption = None,
    split_references: SplitOption = None,
    leave_out: LeaveOutOption = None,
    labels: LabelsOption = None,
    model: ModelOption = DEFAULT_MODEL,
    model_revision: RevisionOption = None,
    model_folder: FolderOption = None,
    dtype: DtypeOption = DtypeChoice.float32,
    device: DeviceOption = "cpu",
) -> None:
    """Score answers, one column a scorer; labels are not shown. An empty cell: unscored."""
    loaded = load_set(pairs, read_columns(map_, split_references, leave_out, labels))
    with show_progress() as progress:
        embedding = next((name for name in scorer if name in EMBEDDING_SCORERS), "")
        embedder = open_embedder(embedding, model, model_revision, model_folder, dtype, device, progress)
        columns = [score_pairs(loaded, name, embedder=embedder) for name in dict.fromkeys(scorer)]
    for note in model_notes(embedder):
        err_console.print(f"note: {note}", markup=False)
    header = ["id", *(scores.scorer for scores in columns)]
    rows = (
        [pair.id, *(repr(scores.values[at].item()) if scores.scored[at] else "" for scores in columns)]
        for at, pair in enumerate(loaded)
    )
    if out is None:
        csv.writer(sys.stdout, lineterminator="\n").writerows([header, *rows])
        return
    with store.atomic_writer(out) as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])
    out_console.print(f"{counted(len(loaded), 'row')} written to {out}", markup=False)


@app.command("lab")
def lab_command(
    set_: Annotated[Path | None, typer.Argument(metavar="[SET]", help="A set or a file of pairs of your own.")] = None,
    folder: Annotated[Path, typer.Option(help="Where the notebooks go.")] = Path("calibkit-lab"),
    open_: Annotated[
        bool, typer.Option("--open/--no-open", help="Open JupyterLab, or copy the notebooks only.")
    ] = True,
) -> None:
    """Copy the notebooks into a folder of your own and open JupyterLab on them."""
    prepared = prepare_lab(folder, set_)
    for line in prepared:
        out_console.print(line, markup=False)
    if open_:
        raise typer.Exit(open_lab(folder))
