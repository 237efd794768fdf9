"""What the commands share: consoles, options, and how options are read."""

from __future__ import annotations

import difflib
import getpass
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from calibkit import store
from calibkit.embedding import load_embedder
from calibkit.pairs import InputError, PairSet
from calibkit.policy import RulesStage
from calibkit.rules import DEFAULT_RULES, RULE_NAMES, RuleName
from calibkit.scorers import EMBEDDING_SCORERS, LEXICAL_SCORERS, Embedder

SCORERS = (*LEXICAL_SCORERS, *EMBEDDING_SCORERS)

app = typer.Typer(
    name="calibkit",
    help="Certified pass/fail thresholds for graded answers.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
out_console = Console(highlight=False, soft_wrap=True)
err_console = Console(stderr=True, highlight=False, soft_wrap=True)


class DrawnChoice(StrEnum):
    """How the labelled answers were drawn."""

    random = "random"
    region = "region"
    assumed = "assumed"


class KindChoice(StrEnum):
    """Whether the answers were collected or written for the set."""

    collected = "collected"
    constructed = "constructed"


class DtypeChoice(StrEnum):
    """The numbers that the model computes with."""

    float32 = "float32"
    bfloat16 = "bfloat16"


# Options that several commands share.
MapOption = Annotated[
    list[str] | None, typer.Option("--map", metavar="KEY=COLUMN", help="Which column holds a key; may be repeated.")
]
SplitOption = Annotated[
    str | None, typer.Option("--split-references", metavar="TEXT", help="What stands between references in a cell.")
]
LeaveOutOption = Annotated[
    list[str] | None,
    typer.Option("--leave-out", metavar="COLUMN=VALUE", help="Leave out rows with that value; may be repeated."),
]
LabelsOption = Annotated[
    str | None,
    typer.Option("--labels", metavar="WORD=yes,...", help="What label words mean: yes, no or cannot say."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object, and nothing else.")]
ModelOption = Annotated[str, typer.Option("--model", help="The sentence-transformers model of scorers that embed.")]
RevisionOption = Annotated[str | None, typer.Option("--model-revision", help="Its revision on the hub.")]
FolderOption = Annotated[Path | None, typer.Option("--model-folder", help="The folder that it lies in.")]
DtypeOption = Annotated[DtypeChoice, typer.Option("--dtype", help="bfloat16 is faster on processors that have it.")]
DeviceOption = Annotated[str, typer.Option("--device", help="Where the model runs.")]


def read_rules(text: str) -> RulesStage | Sequence[RuleName]:
    """Read the option --rules."""
    if text == "default":
        return DEFAULT_RULES
    if text == "none":
        return ()
    if Path(text).suffix in (".yaml", ".yml"):
        return store.load_rules(text)
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in RULE_NAMES:
            nearest = difflib.get_close_matches(name, RULE_NAMES, n=1, cutoff=0)[0]
            raise InputError(
                f"--rules: there is no rule {name!r}; the nearest: {nearest}; all: {', '.join(RULE_NAMES)}"
            )
    return [name for name in RULE_NAMES if name in names]


def read_columns(
    map_: list[str] | None, split_references: str | None, leave_out: list[str] | None, labels: str | None
) -> store.Columns:
    """Read the options that say what a file's columns are."""
    words = dict(read_pair_option(part, "--labels", "WORD=yes") for part in labels.split(",")) if labels else {}
    for word, meaning in words.items():
        if meaning not in ("yes", "no", "cannot say"):
            raise InputError(f"--labels: {word}={meaning}: a word means yes, no or 'cannot say'")
    return store.Columns(
        map=dict(read_pair_option(part, "--map", "KEY=COLUMN") for part in map_ or ()),
        split_references=split_references,
        leave_out=[read_pair_option(part, "--leave-out", "COLUMN=VALUE") for part in leave_out or ()],
        labels=words,
    )


def current_user() -> str | None:
    """The name of whoever runs this; None where there is none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container may run under a number that has no name
        return None


def read_pair_option(text: str, option: str, form: str) -> tuple[str, str]:
    """Split LEFT=RIGHT."""
    left, equals, right = (part.strip() for part in text.partition("="))
    if not (left and equals and right):
        raise InputError(f"{option} {text}: due is {form}")
    return left, right


def load_set(path: Path, columns: store.Columns) -> PairSet:
    """Load answers, and tell on standard error what was noticed."""
    loaded = store.load_pairs(path, columns)
    for line in [loaded.summary(), *loaded.remark_lines()]:
        err_console.print(line, markup=False)
    if not len(loaded):
        raise InputError(f"{path}: there is no usable pair in this file")
    return loaded


def open_embedder(
    scorer: str,
    model: str,
    revision: str | None,
    folder: Path | None,
    dtype: DtypeChoice,
    device: str,
    progress: Callable[[int, int], None],
) -> Embedder | None:
    """The model, where the scorer needs one."""
    if scorer not in EMBEDDING_SCORERS:
        return None
    return load_embedder(
        model,
        revision=revision,
        folder=folder,
        dtype=dtype.value,
        device=device,
        progress=progress,
    )


@contextmanager
def show_progress() -> Iterator[Callable[[int, int], None]]:
    """A bar on standard error; silent where that is no terminal."""
    columns = (TextColumn("embedding"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err_console, transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("embedding", total=None, visible=False)
        yield lambda done, total: bar.update(task, completed=done, total=total, visible=True)


def print_json(record: dict[str, Any]) -> None:
    """Print one JSON object."""
    json.dump(record, sys.stdout, ensure_ascii=False, allow_nan=False)
    sys.stdout.write("\n")
