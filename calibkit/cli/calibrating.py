"""calibkit calibrate: certified bands for one scorer, exported as a policy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from calibkit import store
from calibkit.bands import FailEvidence, PassEvidence
from calibkit.blend import Blend, BlendDefinition
from calibkit.calibration import Calibration, HandSet, calibrate
from calibkit.cli.options import (
    SCORERS,
    DeviceOption,
    DrawnChoice,
    DtypeChoice,
    DtypeOption,
    FolderOption,
    JsonOption,
    KindChoice,
    LabelsOption,
    LeaveOutOption,
    MapOption,
    ModelOption,
    RevisionOption,
    SplitOption,
    app,
    current_user,
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
from calibkit.plots import require_matplotlib
from calibkit.report import calibration_report, save_figures, text_report
from calibkit.rules import RULE_NAMES
from calibkit.scorers import Embedder, Scorer


@app.command("calibrate")
def calibrate_command(
    pairs: Annotated[Path, typer.Argument(help="A file of labelled answers, or a set's folder.")],
    scorer: Annotated[str, typer.Option(help=f"The scorer: {', '.join(SCORERS)}.")] = "token_recall",
    precision: Annotated[float, typer.Option(help="Share of passes that a person must accept.")] = 0.95,
    fail_precision: Annotated[
        float | None, typer.Option(help="Share of fails that a person must reject; asks for the fail side.")
    ] = None,
    confidence: Annotated[float, typer.Option(help="Confidence of the promise.")] = 0.9,
    drawn: Annotated[DrawnChoice, typer.Option(help="How the labelled answers were drawn.")] = DrawnChoice.assumed,
    region: Annotated[
        float | None, typer.Option(help="The score from which on a region queue was drawn (queue --by region).")
    ] = None,
    pass_at: Annotated[float | None, typer.Option(help="Set the pass threshold by hand.")] = None,
    fail_below: Annotated[float | None, typer.Option(help="Set the fail threshold by hand.")] = None,
    because: Annotated[str | None, typer.Option(help="Why a threshold is set by hand.")] = None,
    exact_rung: Annotated[int, typer.Option(help="Rung of the exact stage, 1 to 4; 0 for none.", min=0, max=4)] = 4,
    blend: Annotated[Path | None, typer.Option(help="A blend that calibkit fit wrote, as the scorer.")] = None,
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
    loaded = load_set(pairs, read_columns(map_, split_references, leave_out, labels))
    with show_progress() as progress:
        chosen, embedder = _scorer(scorer, blend, model, model_revision, model_folder, dtype, device, progress)
        found = calibrate(
            loaded,
            scorer=chosen,
            precision=precision,
            fail_precision=fail_precision,
            confidence=confidence,
            drawn="region" if region is not None else drawn.value,
            region=region,
            exact_rung=exact_rung or None,  # type: ignore[arg-type]
            rules=read_rules(rules),
            locale=locale,
            hand_set=HandSet(pass_at, fail_below, current_user(), because),
            development=development,
            kind=kind.value if kind else None,
            looks=looks,
            configurations=configurations,
            new_plan=new_plan,
            explore=explore,
            ledger=ledger,
            name=name,
            embedder=embedder,
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
        print_json(_calibration_record(found, out))
    else:
        _show_calibration(found)
        if refused and not explore and kept is not None:
            out_console.print(f"no policy written to {kept}: there is nothing to put into it", markup=False)
        for what, path in (("policy", out), ("report", report), ("figures", figures)):
            if path is not None:
                out_console.print(f"{what} written to {path}", markup=False)
    if require_certified and not found.policy.certified:
        raise typer.Exit(1)


def _scorer(
    name: str,
    blend: Path | None,
    model: str,
    revision: str | None,
    folder: Path | None,
    dtype: DtypeChoice,
    device: str,
    progress: Callable[[int, int], None],
) -> tuple[str | Scorer, Embedder | None]:
    if blend is None:
        return name, open_embedder(name, model, revision, folder, dtype, device, progress)
    definition = BlendDefinition.from_json(store.read_text(blend), str(blend))
    needed = "cosine" if definition.model is not None else ""
    embedder = open_embedder(needed, model, revision, folder, dtype, device, progress)
    return Blend(definition, embedder), embedder


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
        out_console.print(f"{label:<17} {value}", markup=False)
    for note in found.notes:
        out_console.print(f"note: {note}", markup=False)
    out_console.print(evidence.sentence, markup=False)


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
