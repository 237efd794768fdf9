"""calibkit grade and evaluate: verdicts by a policy, reports, comparisons, gates."""

from __future__ import annotations

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from calibkit import store
from calibkit.asking import closing
from calibkit.bands import Bands
from calibkit.calibration import load_cascade, model_notes
from calibkit.cascade import Cascade, Fault, Verdict
from calibkit.cli.options import (
    DeviceOption,
    FolderOption,
    JsonOption,
    LeaveOutOption,
    MapOption,
    SplitOption,
    app,
    err_console,
    out_console,
    print_json,
    read_columns,
    show_progress,
)
from calibkit.gates import GateResult, check_gates, parse_gates
from calibkit.grading import Comparison, Grading, add_up, compare
from calibkit.grading_report import grading_record, grading_report, text_grading_report
from calibkit.judge import Judge, same_family
from calibkit.judge_client import Budget, open_judge
from calibkit.pairs import AnswerPair, InputError, counted
from calibkit.policy import TOOL, read_yaml
from calibkit.scorers import find_scorer
from calibkit.side_by_side import SideBySide, compare_scorers

AgainstOption = Annotated[Path | None, typer.Option(help="Verdicts of an earlier run, to tell what changed.")]
ReportOption = Annotated[
    Path | None, typer.Option(help="Where to write the report: a web page, or plain text if named .txt.")
]
BesideOption = Annotated[
    list[str] | None,
    typer.Option(metavar="SCORER[=PASS[:FAIL]]", help="A scorer to lay beside, with its cuts; may be repeated."),
]
JudgeOption = Annotated[
    str | None, typer.Option("--judge", help="Who is asked about what is left: openai:MODEL or recorded:FILE.")
]
JudgeUrlOption = Annotated[
    str | None, typer.Option("--judge-url", help="The judge's server, if not that of CALIBKIT_JUDGE_URL.")
]
ConcurrencyOption = Annotated[int, typer.Option("--concurrency", help="How many are asked at once.", min=1, max=1000)]
TimeoutOption = Annotated[float, typer.Option("--timeout", help="Seconds for one call of the judge.", min=0.1)]
CallsOption = Annotated[
    int | None, typer.Option("--max-calls", help="Calls after which the rest goes to review.", min=0)
]
TokensOption = Annotated[int | None, typer.Option("--max-tokens", help="Tokens after which it does.", min=0)]
CostOption = Annotated[float | None, typer.Option("--max-cost", help="Money after which it does; needs prices.", min=0)]
PriceInOption = Annotated[float | None, typer.Option("--price-in", help="Price of a million prompt tokens.", min=0)]
PriceOutOption = Annotated[float | None, typer.Option("--price-out", help="Price of a million reply tokens.", min=0)]
RepliesOption = Annotated[
    Path | None, typer.Option("--replies", help="The file that keeps the judge's replies (default: beside --out).")
]


@dataclass
class JudgeChoice:
    """What the options say about the judge."""

    spec: str | None
    url: str | None = None
    concurrency: int = 8
    timeout: float = 60.0
    budget: Budget = field(default_factory=Budget)
    price_in: float | None = None
    price_out: float | None = None

    def open(self, replies: Path | None) -> Judge | None:
        """The judge; None where none is asked for."""
        if self.spec is None:
            return None
        if self.budget.money is not None and (self.price_in is None or self.price_out is None):
            raise InputError("--max-cost needs the prices of tokens: give --price-in and --price-out")
        if self.spec.startswith("recorded:"):
            return open_judge(self.spec)
        return open_judge(
            self.spec,
            cache=replies,
            base_url=self.url,
            concurrency=self.concurrency,
            timeout=self.timeout,
            budget=self.budget,
            price_in=self.price_in,
            price_out=self.price_out,
        )


@dataclass
class _Run:
    """Answers and verdicts as they come."""

    answers: list[AnswerPair] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    counts: Counter[tuple[str, str | None]] = field(default_factory=Counter)
    first_error: Verdict | None = None
    keep: bool = False
    """Whether all are held, for a report or a comparison."""

    def see(self, verdict: Verdict) -> Verdict:
        """Count a verdict."""
        self.counts[verdict.outcome, verdict.stage] += 1
        if verdict.outcome == "error" and self.first_error is None:
            self.first_error = verdict
        if self.keep:
            self.verdicts.append(verdict)
        return verdict

    def note_answers(self, answers: Iterator[AnswerPair | Fault]) -> Iterator[AnswerPair | Fault]:
        """Hand answers on, and hold them where they are needed again."""
        ids: set[str] = set()
        for answer in answers:
            if self.keep and answer.id in ids:
                raise InputError(f"two answers are called {answer.id!r}; give each its own id, or leave one out")
            if self.keep:
                ids.add(answer.id)
            if self.keep and isinstance(answer, AnswerPair):
                self.answers.append(answer)
            yield answer


@app.command("grade")
def grade_command(
    answers: Annotated[Path, typer.Argument(help="A file of answers, or a set's folder.")],
    policy: Annotated[Path, typer.Option(help="The policy to grade by.")],
    out: Annotated[Path | None, typer.Option(help="Where to write the verdicts (JSONL).")] = None,
    report: ReportOption = None,
    against: AgainstOption = None,
    beside: BesideOption = None,
    judge: JudgeOption = None,
    judge_url: JudgeUrlOption = None,
    concurrency: ConcurrencyOption = 8,
    timeout: TimeoutOption = 60.0,
    max_calls: CallsOption = None,
    max_tokens: TokensOption = None,
    max_cost: CostOption = None,
    price_in: PriceInOption = None,
    price_out: PriceOutOption = None,
    replies: RepliesOption = None,
    map_: MapOption = None,
    split_references: SplitOption = None,
    leave_out: LeaveOutOption = None,
    model_folder: FolderOption = None,
    device: DeviceOption = "cpu",
    json_: JsonOption = False,
) -> None:
    """Grade answers by a policy: one verdict each, naming the stage that decided it.

    With a judge the verdicts are written as they come; a run that was stopped goes on where it stopped.
    """
    chosen = JudgeChoice(
        judge, judge_url, concurrency, timeout, Budget(max_calls, max_tokens, max_cost), price_in, price_out
    )
    columns = read_columns(map_, split_references, leave_out, None)
    cascade, run = _grade(
        answers, policy, columns, chosen, out=out, replies=replies, model_folder=model_folder, device=device,
        keep=report is not None or against is not None or beside is not None or json_ or judge is not None,
        to_stdout=not json_ and out is None and not sys.stdout.isatty(),
    )  # fmt: skip
    parts = _parts(answers, cascade, run, against, beside)
    grading = add_up(run.answers, run.verdicts, price_in=price_in, price_out=price_out) if run.keep else None
    _write_report(report, grading, parts)
    if json_:
        assert grading is not None
        print_json(_record(policy, cascade, run, out, grading, parts))
    else:
        _show(cascade, run, grading, parts, out, report)


@app.command("evaluate")
def evaluate_command(
    answers: Annotated[Path, typer.Argument(help="A file of answers, or a set's folder.")],
    policy: Annotated[Path, typer.Option(help="The policy to grade by.")],
    gates: Annotated[Path, typer.Option(help="A YAML file of gates, as in {pass_rate: 0.9, critical: all}.")],
    out: Annotated[Path | None, typer.Option(help="Where to write the verdicts (JSONL).")] = None,
    report: ReportOption = None,
    against: AgainstOption = None,
    judge: JudgeOption = None,
    judge_url: JudgeUrlOption = None,
    concurrency: ConcurrencyOption = 8,
    timeout: TimeoutOption = 60.0,
    max_calls: CallsOption = None,
    replies: RepliesOption = None,
    map_: MapOption = None,
    split_references: SplitOption = None,
    leave_out: LeaveOutOption = None,
    model_folder: FolderOption = None,
    device: DeviceOption = "cpu",
    json_: JsonOption = False,
) -> None:
    """Grade with gates, for CI: exit status 1 where one is not met."""
    limits = parse_gates(read_yaml(store.read_text(gates), str(gates), "these are no gates; write pass_rate: 0.9"))
    columns = read_columns(map_, split_references, leave_out, None)
    chosen = JudgeChoice(judge, judge_url, concurrency, timeout, Budget(max_calls))
    cascade, run = _grade(
        answers, policy, columns, chosen, out=out, replies=replies, model_folder=model_folder, device=device,
        keep=True, to_stdout=False,
    )  # fmt: skip
    grading = add_up(run.answers, run.verdicts)
    results = check_gates(grading, limits)
    parts = _parts(answers, cascade, run, against, None) | {"gates": results}
    _write_report(report, grading, parts)
    if json_:
        print_json(_record(policy, cascade, run, out, grading, parts))
    else:
        _show(cascade, run, grading, parts, out, report)
        for result in results:
            out_console.print(_gate_line(result), markup=False)
    if not all(result.held for result in results):
        raise typer.Exit(1)


# --- grading ------------------------------------------------------------------------------------------


def _grade(
    answers: Path,
    policy: Path,
    columns: store.Columns,
    chosen: JudgeChoice,
    *,
    out: Path | None,
    replies: Path | None,
    model_folder: Path | None,
    device: str,
    keep: bool,
    to_stdout: bool,
) -> tuple[Cascade, _Run]:
    if replies is None and out is not None:
        replies = out.with_name(f"{out.name}.replies.jsonl")
    judge = chosen.open(replies)
    run = _Run(keep=keep)
    with closing(judge), show_progress() as progress:
        cascade = load_cascade(policy, model_folder=model_folder, device=device, judge=judge, progress=progress)
        if judge is not None and cascade.policy.judge_stage is None:
            raise InputError(
                f"{policy}: the policy has no stage judge, and --judge is given; add it, or leave --judge out"
            )
        source = run.note_answers(store.iter_answers(answers, columns, labels=keep))
        if out is not None and judge is not None:
            identity = _identity(policy, chosen, judge, columns)
            _resume(out, identity, cascade, source, run)
        else:
            with store.atomic_writer(out) if out is not None else nullcontext(sys.stdout) as file:
                for verdict in cascade.grade_all(source):
                    run.see(verdict)
                    if out is not None or to_stdout:
                        store.write_records(file, [verdict.to_record()])
                _refuse_nothing_but_errors(run)
    if not run.counts:
        raise InputError(f"{answers}: there is no answer in this file")
    _refuse_nothing_but_errors(run)
    return cascade, run


def _refuse_nothing_but_errors(run: _Run) -> None:
    if run.first_error is not None and run.counts.total() == run.counts["error", None]:
        raise InputError(
            f"none of the {run.counts.total()} answers could be graded; the first: {run.first_error.reason}"
        )


def _identity(policy: Path, chosen: JudgeChoice, judge: Judge, columns: store.Columns) -> str:
    """What verdicts depend on beside their answers."""
    about = [TOOL, store.read_text(policy), chosen.spec, chosen.url, getattr(judge, "settings", None), asdict(columns)]
    return hashlib.sha256(json.dumps(about, sort_keys=True, default=str).encode()).hexdigest()


def _answer_key(answer: AnswerPair | Fault) -> str:
    """A hash of an answer: a verdict on another text of the same id is none on this one."""
    about = asdict(answer) if isinstance(answer, AnswerPair) else {"id": answer.id, "fault": answer.reason}
    return hashlib.sha256(json.dumps(about, sort_keys=True, default=str).encode()).hexdigest()


def _resume(out: Path, identity: str, cascade: Cascade, source: Iterator[AnswerPair | Fault], run: _Run) -> None:
    """Write verdicts as they come, beside the file that they are to make, and take up what a stopped run wrote."""
    part = out.with_name(f"{out.name}.part")
    done = _verdicts_so_far(part, identity)
    if done:
        err_console.print(f"going on with {part}: {counted(len(done), 'verdict')} stand already", markup=False)
    asked: list[AnswerPair | Fault] = []
    with part.open("a", encoding="utf-8") as file:
        if not done and file.tell() == 0:
            store.write_records(file, [{"run": identity}])

        def flush() -> None:
            for answer, verdict in zip(asked, cascade.grade_all(asked), strict=True):
                store.write_records(file, [{"answer": _answer_key(answer), "verdict": verdict.to_record()}])
                file.flush()
                done[_answer_key(answer)] = verdict
            asked.clear()

        order: dict[str, str] = {}
        for answer in source:
            key = order[answer.id] = _answer_key(answer)
            if key not in done or done[key].outcome == "error":
                asked.append(answer)
            if len(asked) >= _AT_ONCE:
                flush()
        flush()
    with store.atomic_writer(out) as whole:
        store.write_records(whole, (run.see(done[key]).to_record() for key in order.values()))
        _refuse_nothing_but_errors(run)
    part.unlink()


_AT_ONCE = 64


def _verdicts_so_far(part: Path, identity: str) -> dict[str, Verdict]:
    """What a stopped run of the same policy and judge wrote; a torn last line is cut off."""
    if not part.exists():
        return {}
    whole, _, _torn = part.read_bytes().rpartition(b"\n")
    lines = whole.decode("utf-8", errors="replace").split("\n")
    if not lines or lines[0] != json.dumps({"run": identity}):
        part.unlink()  # of another policy or judge
        return {}
    part.write_bytes(whole + b"\n")
    records = [json.loads(line) for line in lines[1:]]
    return {record["answer"]: _verdict(record["verdict"]) for record in records}


def _verdict(record: dict[str, Any]) -> Verdict:
    plain: dict[str, Any] = {key: record.get(key) for key in ("id", "outcome", "stage", "score", "reason")}
    return Verdict(**plain, details=record.get("details") or {})


def load_verdicts(path: Path) -> list[Verdict]:
    """Read a file of verdicts.

    Raises
    ------
    InputError
        For a line that is no verdict.
    """
    verdicts = []
    for number, line in enumerate(store.read_text(path).rstrip("\n").split("\n"), start=1):
        try:
            verdict = _verdict(json.loads(line))
            if verdict.outcome not in _OUTCOMES or not isinstance(verdict.id, str):
                raise ValueError
        except (ValueError, AttributeError, TypeError):
            raise InputError(f"{path}:{number}: this is no verdict; give a file that grade wrote (--out)") from None
        verdicts.append(verdict)
    return verdicts


# --- what is told -------------------------------------------------------------------------------------


def _parts(
    answers: Path, cascade: Cascade, run: _Run, against: Path | None, beside: Sequence[str] | None
) -> dict[str, Any]:
    parts: dict[str, Any] = {"name": answers.name, "policy": cascade.policy}
    if against is not None:
        groups = {pair.id: pair.group_key for pair in run.answers}
        parts["comparison"] = compare(load_verdicts(against), run.verdicts, groups)
    if beside:
        parts["scorers"] = _beside(run.answers, cascade, beside)
    return parts


def _beside(pairs: Sequence[AnswerPair], cascade: Cascade, texts: Sequence[str]) -> SideBySide:
    bands: dict[str, Bands] = {}
    names = []
    for text in texts:
        name, _, cuts = (part.strip() for part in text.partition("="))
        names.append(name)
        if cuts:
            high, _, low = cuts.partition(":")
            try:
                bands[name] = Bands(float(high) if high else None, float(low) if low else None)
            except ValueError as error:
                raise InputError(
                    f"--beside {text}: {error}; due is SCORER=PASS:FAIL, as in token_recall=0.8:0.3"
                ) from None
    return compare_scorers(pairs, [find_scorer(name, cascade.embedder) for name in names], bands)


def _write_report(path: Path | None, grading: Grading | None, parts: dict[str, Any]) -> None:
    if path is None or grading is None:
        return
    if path.suffix not in (".html", ".htm", ".txt"):
        raise InputError(f"--report {path}: a report is a web page (.html) or plain text (.txt); name it so")
    make = text_grading_report if path.suffix == ".txt" else grading_report
    store.write_text(path, make(grading, **parts))


def _notes(cascade: Cascade, run: _Run) -> list[str]:
    notes = model_notes(cascade.embedder)
    judge = cascade.judge
    if judge is not None:
        models = {str(pair.meta.get("model") or pair.extra.get("model") or "") for pair in run.answers}
        kin = sorted(model for model in models if model and same_family(judge.name, model))
        if kin:
            notes.append(
                f"judge and agent are of one model family ({judge.name}, {', '.join(kin)}): judges favour their own"
            )
        notes += getattr(judge, "notes", [])
    return notes


def _record(
    policy: Path, cascade: Cascade, run: _Run, out: Path | None, grading: Grading, parts: dict[str, Any]
) -> dict[str, Any]:
    outcomes = {outcome: sum(n for (o, _), n in run.counts.items() if o == outcome) for outcome in _OUTCOMES}
    stages = [{"outcome": o, "stage": s, "answers": n} for (o, s), n in sorted(run.counts.items(), key=str)]
    return {
        "policy": str(policy),
        "certified": cascade.policy.certified,
        "standing": cascade.policy.standing,
        "notes": _notes(cascade, run),
        "answers": run.counts.total(),
        "outcomes": outcomes,
        "by_stage": stages,
        "out": str(out) if out else None,
        "grading": grading_record(grading, **parts),
    }


_OUTCOMES = ("pass", "fail", "review", "error")


def _show(
    cascade: Cascade,
    run: _Run,
    grading: Grading | None,
    parts: dict[str, Any],
    out: Path | None,
    report: Path | None,
) -> None:
    console = out_console if out is not None or sys.stdout.isatty() else err_console
    for note in _notes(cascade, run):
        err_console.print(f"note: {note}", markup=False)
    table = Table("outcome", "stage", "answers", "share", box=None, pad_edge=False)
    for outcome in _OUTCOMES:
        for (found, stage), n in sorted(run.counts.items(), key=str):
            if found == outcome:
                table.add_row(outcome, stage or "-", str(n), f"{n / run.counts.total():.1%}")
    console.print(table)
    if run.first_error:
        console.print(f"first error: {run.first_error.reason}", markup=False)
    if grading is not None and grading.judge is not None:
        _show_judge(grading, console)
    comparison: Comparison | None = parts.get("comparison")
    if comparison is not None:
        console.print(
            f"against the earlier run: {counted(len(comparison.new_fails), 'new fail')}, "
            f"{len(comparison.new_passes)} new passes; pass rate "
            f"{comparison.difference.value:+.1%}"
            if comparison.both
            else "no answer of the earlier run is here",
            markup=False,
        )
    console.print(cascade.policy.standing, markup=False)
    if out is not None:
        console.print(f"{counted(run.counts.total(), 'verdict')} written to {out}", markup=False)
    if report is not None:
        console.print(f"report written to {report}", markup=False)


def _show_judge(grading: Grading, console: Console) -> None:
    used = grading.judge
    assert used is not None
    share = used.unstable_share
    cost = f", cost {used.cost:.4g}" if used.cost is not None else ""
    unstable = f"; votes disagree on {share:.1%}" if share is not None else ""
    console.print(
        f"judge: {counted(used.calls, 'call')}, {used.prompt_tokens + used.completion_tokens} tokens{cost}{unstable}",
        markup=False,
    )


def _gate_line(result: GateResult) -> str:
    return f"{'met' if result.held else 'NOT met'}: {result.gate}: {result.told}"
