"""The command line: calibrate, grade, score, lab.

Exit status: 0 done, also when nothing could be certified; 1 done, and the answer is no (--require-certified);
2 the input or the call is wrong, with one line on standard error.
"""

from __future__ import annotations

import csv
import difflib
import getpass
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from calibkit import store
from calibkit.bands import FailEvidence, PassEvidence
from calibkit.calibration import Calibration, HandSet, calibrate, load_cascade, model_notes
from calibkit.cascade import Verdict
from calibkit.embedding import DEFAULT_MODEL, load_embedder
from calibkit.lab import open_lab, prepare_lab
from calibkit.pairs import InputError, PairSet, counted
from calibkit.plots import require_matplotlib
from calibkit.policy import TOOL, RulesStage
from calibkit.report import calibration_report, save_figures, text_report
from calibkit.rules import DEFAULT_RULES, RULE_NAMES, RuleName
from calibkit.scorers import EMBEDDING_SCORERS, LEXICAL_SCORERS, Embedder, score_pairs

_SCORERS = (*LEXICAL_SCORERS, *EMBEDDING_SCORERS)

app = typer.Typer(
    name="calibkit",
    help="Certified pass/fail thresholds for graded answers.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
_out = Console(highlight=False, soft_wrap=True)
_err = Console(stderr=True, highlight=False, soft_wrap=True)

# An unknown option, a missing argument, a bad value: typer exports this kind of error by one of its children only.
_USAGE_ERROR: type[Any] = typer.BadParameter.__mro__[1]


class DrawnChoice(StrEnum):
    """How the labelled answers were drawn."""

    random = "random"
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


def _rules(text: str) -> RulesStage | Sequence[RuleName]:
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


def _show_version(wanted: bool) -> None:
    if wanted:
        _out.print(TOOL)
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    del version  # its callback has shown it


@app.command("calibrate")
def calibrate_command(
    pairs: Annotated[Path, typer.Argument(help="A file of labelled answers, or a set's folder.")],
    scorer: Annotated[str, typer.Option(help=f"The scorer: {', '.join(_SCORERS)}.")] = "token_recall",
    precision: Annotated[float, typer.Option(help="Share of passes that a person must accept.")] = 0.95,
    fail_precision: Annotated[
        float | None, typer.Option(help="Share of fails that a person must reject; asks for the fail side.")
    ] = None,
    confidence: Annotated[float, typer.Option(help="Confidence of the promise.")] = 0.9,
    drawn: Annotated[DrawnChoice, typer.Option(help="How the labelled answers were drawn.")] = DrawnChoice.assumed,
    pass_at: Annotated[float | None, typer.Option(help="Set the pass threshold by hand.")] = None,
    fail_below: Annotated[float | None, typer.Option(help="Set the fail threshold by hand.")] = None,
    because: Annotated[str | None, typer.Option(help="Why a threshold is set by hand.")] = None,
    exact_rung: Annotated[int, typer.Option(help="Rung of the exact stage, 1 to 4; 0 for none.", min=0, max=4)] = 4,
    rules: Annotated[
        str,
        typer.Option(
            help=f"The hard rules: default, none, some of {', '.join(RULE_NAMES)}, or a YAML file of the stage."
        ),
    ] = "default",
    locale: Annotated[
        str | None, typer.Option(help="Locale of the texts, as in en_US: how numbers and dates are read.")
    ] = None,
    development: Annotated[
        float | None, typer.Option(help="Share of questions kept for exploring; fixed by the first run (.25).")
    ] = None,
    kind: Annotated[
        KindChoice | None, typer.Option(help="Were the answers collected or written? Fixed by the first run.")
    ] = None,
    looks: Annotated[int | None, typer.Option(help="Planned looks at the labels (1).", min=1)] = None,
    configurations: Annotated[int | None, typer.Option(help="Planned configurations (1).", min=1)] = None,
    new_plan: Annotated[bool, typer.Option("--new-plan", help="Certify on fresh labels only, from now on.")] = False,
    explore: Annotated[
        bool, typer.Option("--explore", help="Look at the development part only; spends nothing, certifies nothing.")
    ] = False,
    ledger: Annotated[Path | None, typer.Option(help="The ledger, if it is not beside the pairs.")] = None,
    name: Annotated[str | None, typer.Option(help="The policy's name.")] = None,
    out: Annotated[Path | None, typer.Option(help="Where to write the policy.")] = None,
    report: Annotated[
        Path | None, typer.Option(help="Where to write the report: a web page, or plain text if named .txt.")
    ] = None,
    figures: Annotated[Path | None, typer.Option(help="A folder for the figures as PNG and SVG.")] = None,
    require_certified: Annotated[
        bool, typer.Option("--require-certified", help="Exit with 1 where nothing is certified.")
    ] = False,
    map_: MapOption = None,
    split_references: SplitOption = None,
    leave_out: LeaveOutOption = None,
    labels: LabelsOption = None,
    model: ModelOption = DEFAULT_MODEL,
    model_revision: RevisionOption = None,
    model_folder: FolderOption = None,
    dtype: DtypeOption = DtypeChoice.float32,
    device: DeviceOption = "cpu",
    json_: JsonOption = False,
) -> None:
    """Certify bands for one scorer on labelled answers, and export them as a policy."""
    if report is not None and report.suffix not in (".html", ".htm", ".txt"):
        raise InputError(f"--report {report}: a report is a web page (.html) or plain text (.txt); name it so")
    if out is not None and explore:
        raise InputError(f"--out {out}: exploring makes no policy; leave it out")
    named = [str(path) for path in (out, report, figures) if path is not None]
    if len(set(named)) < len(named):
        raise InputError("--out, --report and --figures name the same file; give each its own")
    if because is not None and pass_at is None and fail_below is None:
        raise InputError("--because gives the reason of a threshold set by hand; add --pass-at or --fail-below")
    if (report is not None and report.suffix != ".txt") or figures is not None:
        require_matplotlib()
    loaded = _load(pairs, _columns(map_, split_references, leave_out, labels))
    with _progress() as progress:
        found = calibrate(
            loaded,
            scorer=scorer,
            precision=precision,
            fail_precision=fail_precision,
            confidence=confidence,
            drawn=drawn.value,
            exact_rung=exact_rung or None,  # type: ignore[arg-type]
            rules=_rules(rules),
            locale=locale,
            hand_set=HandSet(pass_at, fail_below, _user(), because),
            development=development,
            kind=kind.value if kind else None,
            looks=looks,
            configurations=configurations,
            new_plan=new_plan,
            explore=explore,
            ledger=ledger,
            name=name,
            embedder=_embedder(scorer, model, model_revision, model_folder, dtype, device, progress),
        )
    kept: Path | None = None
    refused = found.policy.evidence is not None and found.policy.evidence.accounting is None
    if refused and pass_at is None and fail_below is None:
        kept, out = out, None  # it would pass nothing, and perhaps replace one that does
    if out is not None:
        found.save(out)
    if report is not None:
        told = text_report(found) if report.suffix == ".txt" else calibration_report(found)
        store.write_text(report, told)
    if figures is not None:
        save_figures(found, figures)
    if json_:
        _print_json(_calibration_record(found, out))
    else:
        _show_calibration(found)
        if refused and not explore and kept is not None:
            _out.print(f"no policy written to {kept}: there is nothing to put into it", markup=False)
        for what, path in (("policy", out), ("report", report), ("figures", figures)):
            if path is not None:
                _out.print(f"{what} written to {path}", markup=False)
    if require_certified and not found.policy.certified:
        raise typer.Exit(1)


@app.command("grade")
def grade_command(
    answers: Annotated[Path, typer.Argument(help="A file of answers, or a set's folder.")],
    policy: Annotated[Path, typer.Option(help="The policy to grade by.")],
    out: Annotated[Path | None, typer.Option(help="Where to write the verdicts (JSONL).")] = None,
    map_: MapOption = None,
    split_references: SplitOption = None,
    leave_out: LeaveOutOption = None,
    model_folder: FolderOption = None,
    device: DeviceOption = "cpu",
    json_: JsonOption = False,
) -> None:
    """Grade answers by a policy: one verdict each, naming the stage that decided it."""
    columns = _columns(map_, split_references, leave_out, None)
    with _progress() as progress:
        cascade = load_cascade(policy, model_folder=model_folder, device=device, progress=progress)
        verdicts = cascade.grade_all(store.iter_answers(answers, columns))
        counts: Counter[tuple[str, str | None]] = Counter()
        first_error: list[Verdict] = []

        def counting() -> Iterator[dict[str, Any]]:
            for verdict in verdicts:
                counts[verdict.outcome, verdict.stage] += 1
                if verdict.outcome == "error" and not first_error:
                    first_error.append(verdict)
                yield verdict.to_record()
            if counts and counts.total() == counts["error", None]:
                raise InputError(
                    f"none of the {counts.total()} answers could be graded; the first: {first_error[0].reason}"
                )

        if out is not None:
            with store.atomic_writer(out) as file:
                store.write_records(file, counting())
        elif json_ or sys.stdout.isatty():
            for _ in counting():
                pass
        else:
            store.write_records(sys.stdout, counting())
    if not counts:
        raise InputError(f"{answers}: there is no answer in this file")
    standing = cascade.policy.standing
    notes = model_notes(cascade.embedder)
    for note in notes:
        _err.print(f"note: {note}", markup=False)
    if json_:
        outcomes = {outcome: sum(n for (o, _), n in counts.items() if o == outcome) for outcome in _OUTCOMES}
        stages = [{"outcome": o, "stage": s, "answers": n} for (o, s), n in sorted(counts.items(), key=str)]
        certified = cascade.policy.certified
        _print_json(
            {
                "policy": str(policy),
                "certified": certified,
                "standing": standing,
                "notes": notes,
                "answers": counts.total(),
                "outcomes": outcomes,
                "by_stage": stages,
                "out": str(out) if out else None,
            }
        )
        return
    table_console = _out if out is not None or sys.stdout.isatty() else _err
    table = Table("outcome", "stage", "answers", "share", box=None, pad_edge=False)
    for outcome in _OUTCOMES:
        for (found, stage), n in sorted(counts.items(), key=str):
            if found == outcome:
                table.add_row(outcome, stage or "-", str(n), f"{n / counts.total():.1%}")
    table_console.print(table)
    if first_error:
        table_console.print(f"first error: {first_error[0].reason}", markup=False)
    table_console.print(standing, markup=False)
    if out is not None:
        table_console.print(f"{counted(counts.total(), 'verdict')} written to {out}", markup=False)


_OUTCOMES = ("pass", "fail", "review", "error")


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
    loaded = _load(pairs, _columns(map_, split_references, leave_out, labels))
    with _progress() as progress:
        embedding = next((name for name in scorer if name in EMBEDDING_SCORERS), "")
        embedder = _embedder(embedding, model, model_revision, model_folder, dtype, device, progress)
        columns = [score_pairs(loaded, name, embedder=embedder) for name in dict.fromkeys(scorer)]
    for note in model_notes(embedder):
        _err.print(f"note: {note}", markup=False)
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
    _out.print(f"{counted(len(loaded), 'row')} written to {out}", markup=False)


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
        _out.print(line, markup=False)
    if open_:
        raise typer.Exit(open_lab(folder))


# --- reading the options ----------------------------------------------------------------------------


def _columns(
    map_: list[str] | None, split_references: str | None, leave_out: list[str] | None, labels: str | None
) -> store.Columns:
    words = dict(_both(part, "--labels", "WORD=yes") for part in labels.split(",")) if labels else {}
    for word, meaning in words.items():
        if meaning not in ("yes", "no", "cannot say"):
            raise InputError(f"--labels: {word}={meaning}: a word means yes, no or 'cannot say'")
    return store.Columns(
        map=dict(_both(part, "--map", "KEY=COLUMN") for part in map_ or ()),
        split_references=split_references,
        leave_out=[_both(part, "--leave-out", "COLUMN=VALUE") for part in leave_out or ()],
        labels=words,
    )


def _user() -> str | None:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container may run under a number that has no name
        return None


def _both(text: str, option: str, form: str) -> tuple[str, str]:
    left, equals, right = (part.strip() for part in text.partition("="))
    if not (left and equals and right):
        raise InputError(f"{option} {text}: due is {form}")
    return left, right


def _load(path: Path, columns: store.Columns) -> PairSet:
    loaded = store.load_pairs(path, columns)
    for line in [loaded.summary(), *loaded.remark_lines()]:
        _err.print(line, markup=False)
    if not len(loaded):
        raise InputError(f"{path}: there is no usable pair in this file")
    return loaded


def _embedder(
    scorer: str,
    model: str,
    revision: str | None,
    folder: Path | None,
    dtype: DtypeChoice,
    device: str,
    progress: Callable[[int, int], None],
) -> Embedder | None:
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
def _progress() -> Iterator[Callable[[int, int], None]]:
    """A bar on standard error; silent where that is no terminal."""
    columns = (TextColumn("embedding"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=_err, transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("embedding", total=None, visible=False)
        yield lambda done, total: bar.update(task, completed=done, total=total, visible=True)


# --- showing ----------------------------------------------------------------------------------------


def _show_calibration(found: Calibration) -> None:
    policy, evidence = found.policy, found.policy.evidence
    stage = policy.bands_stage
    assert evidence is not None
    assert stage is not None
    labels, accounting = evidence.labels, evidence.accounting
    lines = {"scorer": f"{stage.scorer.name} version {stage.scorer.version}"}
    lines["labels"] = f"{labels.certifying} certifying, {labels.development} for exploring; one for each question"
    if accounting is not None:
        lines["labels"] += f"; {labels.acceptable} of the certifying acceptable, {labels.cannot_say} cannot say"
        lines["accounting"] = (
            f"look {accounting.looks} of {accounting.planned_looks}, "
            f"{counted(accounting.configurations, 'configuration')}, {counted(accounting.sides, 'side')}"
        )
    lines["pass at or above"] = _side(stage.pass_at_or_above, "pass", evidence.pass_)
    lines["fail below"] = _side(stage.fail_below, "fail", evidence.fail)
    if accounting is None and found.curve is not None:
        best = int(found.curve.agreement.argmax())
        lines["exploring"] = (
            f"{counted(len(found.ranking.place), 'answer')}, average precision {found.curve.average_precision:.3f}; "
            f"agrees best with people at {found.curve.thresholds[best]:.6g}: {found.curve.agreement[best]:.1%}"
        )
    if evidence.pass_.above is not None:
        lines["on these labels"] = _counts(evidence.pass_, evidence.fail, labels.certifying)
    for label, value in lines.items():
        _out.print(f"{label:<17} {value}", markup=False)
    for note in found.notes:
        _out.print(f"note: {note}", markup=False)
    _out.print(evidence.sentence, markup=False)


def _side(threshold: float | None, side: str, evidence: PassEvidence | FailEvidence) -> str:
    shown = "none" if threshold is None else f"{threshold:.10g}"
    if evidence.certified:
        return f"{shown}, certified" + (f" (the stages before the score {side} alone)" if threshold is None else "")
    if side == "fail" and evidence.target is None and threshold is None:
        return shown
    why = " (set by hand)" if evidence.set_by else f": {evidence.reason}" if side == "fail" else ""
    return f"{shown}, not certified{why}"


def _counts(passes: PassEvidence, fails: FailEvidence, certifying: int) -> str:
    def told(decided: int, wrong: int, stages: dict[str, tuple[int, int]] | None, verb: str, judged: str) -> str:
        parts = ", ".join(f"{n} by {stage} with {k} {judged}" for stage, (n, k) in sorted((stages or {}).items()))
        return f"{decided} {verb} with {wrong} {judged}" + (f" ({parts})" if parts else "")

    above, below = passes.above or 0, fails.below or 0
    sides = [told(above, passes.rejects or 0, passes.by_stage, "pass", "rejected")]
    if fails.below is not None:
        sides.append(told(below, fails.accepts or 0, fails.by_stage, "fail", "accepted"))
    return ", ".join([*sides, f"{certifying - above - below} to review"])


def _calibration_record(found: Calibration, out: Path | None) -> dict[str, Any]:
    return {
        "certified": found.policy.certified,
        "policy": found.policy.model_dump(mode="json", by_alias=True),
        "notes": list(found.notes),
        "remarks": found.pairs.remark_lines(),
        "out": str(out) if out else None,
    }


def _print_json(record: dict[str, Any]) -> None:
    json.dump(record, sys.stdout, ensure_ascii=False, allow_nan=False)
    sys.stdout.write("\n")


# --- the way out ------------------------------------------------------------------------------------


def main() -> NoReturn:
    """Run the command line; whatever a user can mend is told in one line, with exit status 2."""
    signal.signal(signal.SIGTERM, _leave)  # so that half-written files are cleared away
    command = typer.main.get_command(app)
    try:
        status = command.main(sys.argv[1:] or ["--help"], prog_name="calibkit", standalone_mode=False)
    except InputError as error:
        status = _refuse(str(error))
    except _USAGE_ERROR as error:
        status = _refuse(f"{error.format_message().rstrip('.')}; see calibkit {_subcommand()}--help")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # whoever read us has gone: leave quietly
        status = 0
    except (KeyboardInterrupt, typer.Abort):
        status = 130
    except OSError as error:
        status = _refuse(f"{error.filename or 'the output'}: {error.strerror}; mend that and try again")
    sys.exit(status if isinstance(status, int) else 0)


def _leave(_signal: int, _frame: object) -> NoReturn:
    sys.exit(128 + signal.SIGTERM)


def _subcommand() -> str:
    names = {command.name for command in app.registered_commands}
    return f"{sys.argv[1]} " if len(sys.argv) > 1 and sys.argv[1] in names else ""


def _refuse(message: str) -> int:
    _err.print(f"calibkit: {' '.join(message.split())}", markup=False)
    return 2
