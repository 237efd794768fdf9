"""calibkit judge and collect: how far to believe a judge, and answers to grade."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from calibkit import store
from calibkit.asking import JudgeScorer, closing
from calibkit.calibration import calibrate
from calibkit.cli.grading import (
    CallsOption,
    ConcurrencyOption,
    CostOption,
    JudgeChoice,
    JudgeUrlOption,
    PriceInOption,
    PriceOutOption,
    RepliesOption,
    TimeoutOption,
    TokensOption,
)
from calibkit.cli.options import (
    DrawnChoice,
    JsonOption,
    LabelsOption,
    LeaveOutOption,
    MapOption,
    SplitOption,
    app,
    err_console,
    load_set,
    out_console,
    print_json,
    read_columns,
)
from calibkit.collect import agent_from, collect, load_questions
from calibkit.judge import measure
from calibkit.judge_client import Budget
from calibkit.pairs import InputError, counted
from calibkit.policy import JudgeStage
from calibkit.store import load_policy


@app.command("judge")
def judge_command(
    pairs: Annotated[Path, typer.Argument(help="A file of labelled answers, or a set's folder.")],
    judge: Annotated[str, typer.Option(help="Who is measured: openai:MODEL or recorded:FILE.")],
    policy: Annotated[Path | None, typer.Option(help="The policy whose stage judge is measured.")] = None,
    reply: Annotated[str, typer.Option(help="How replies are read, without a policy: json or yes_no.")] = "json",
    votes: Annotated[int, typer.Option(help="Votes, without a policy.", min=1, max=99)] = 1,
    precision: Annotated[
        float | None, typer.Option(help="Also certify the judge's own threshold: share of passes that people accept.")
    ] = None,
    drawn: Annotated[DrawnChoice, typer.Option(help="How the labelled answers were drawn.")] = DrawnChoice.assumed,
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
    labels: LabelsOption = None,
    json_: JsonOption = False,
) -> None:
    """Measure a judge on labelled answers before it is believed: agreement, kappa, the kinds of error."""
    chosen = JudgeChoice(
        judge, judge_url, concurrency, timeout, Budget(max_calls, max_tokens, max_cost), price_in, price_out
    )
    asked = chosen.open(replies)
    assert asked is not None
    stage = load_policy(policy).judge_stage if policy is not None else None
    if policy is not None and stage is None:
        raise InputError(f"{policy}: the policy has no stage judge; add one, or leave --policy out")
    if stage is None:
        if reply not in ("json", "yes_no"):
            raise InputError(f"--reply {reply}: a reply is read as json or yes_no")
        stage = JudgeStage(stage="judge", reply=reply, votes=votes)  # type: ignore[arg-type]
    loaded = load_set(pairs, read_columns(map_, split_references, leave_out, labels))
    if not any(pair.labelled for pair in loaded):
        raise InputError(f"{pairs}: no answer has a label, and a judge is measured by people's; label some")
    scorer = JudgeScorer(asked, stage)
    with closing(asked):
        # Figures of certifying labels are shown for what was declared alone; without a target nothing is.
        found = calibrate(
            loaded,
            scorer=scorer,
            precision=precision or 0.9,
            drawn=drawn.value,
            exact_rung=None,
            rules=(),
            explore=precision is None,
        )
    evidence = found.policy.evidence
    assert evidence is not None
    ballots = [scorer.ballots[found.pairs[at].id] for at in found.shown]
    labelled = [found.pairs[at] for at in found.shown]
    quality = measure(
        [ballot.outcome for ballot in ballots],
        [pair.acceptable for pair in labelled],
        [ballot.unstable for ballot in ballots] if stage.votes > 1 else None,
    )
    told = {
        "judge": asked.name,
        "answers": quality.answers,
        "agreement": quality.agreement,
        "kappa": quality.kappa,
        "true_pass": quality.true_pass,
        "false_pass": quality.false_pass,
        "true_fail": quality.true_fail,
        "false_fail": quality.false_fail,
        "review": quality.review,
        "error": quality.error,
        "cannot_say": quality.cannot_say,
        "unstable_share": quality.unstable_share,
        "calls": sum(ballot.calls for ballot in ballots),
        "first_error": next((ballot.reason for ballot in ballots if ballot.outcome == "error"), None),
    }
    told["labels"] = "certifying" if evidence.accounting else "the development part"
    sentence = None
    if precision is not None:
        assert found.policy.bands_stage is not None
        sentence = evidence.sentence
        told |= {"pass_at_or_above": found.policy.bands_stage.pass_at_or_above, "sentence": sentence}
    if json_:
        print_json(told)
        return
    for name, value in told.items():
        if value is not None and name != "sentence":
            shown = f"{value:.3f}" if isinstance(value, float) else str(value)
            out_console.print(f"{name.replace('_', ' '):<17} {shown}", markup=False)
    if sentence:
        out_console.print(sentence, markup=False)


@app.command("collect")
def collect_command(
    questions: Annotated[Path, typer.Argument(help="A file of questions: pair records without a candidate.")],
    agent: Annotated[str, typer.Option(help="Who answers: openai:MODEL, or module:function.")],
    out: Annotated[Path, typer.Option(help="Where the answers go (JSONL); what stands there is not asked again.")],
    system: Annotated[Path | None, typer.Option(help="A file with the system prompt.")] = None,
    runs: Annotated[int, typer.Option("--runs", "-k", help="How often each question is asked.", min=1)] = 1,
    agent_url: Annotated[str | None, typer.Option(help="The server, if not that of CALIBKIT_AGENT_URL.")] = None,
    concurrency: ConcurrencyOption = 8,
    timeout: TimeoutOption = 60.0,
    max_calls: CallsOption = None,
    map_: MapOption = None,
    split_references: SplitOption = None,
    leave_out: LeaveOutOption = None,
) -> None:
    """Ask an agent questions, and write its answers as pairs."""
    options = {}
    if agent.partition(":")[0] == "openai":
        options = {"concurrency": concurrency, "timeout": timeout, "budget": Budget(max_calls), "base_url": agent_url}
    asked = agent_from(agent, system=store.read_text(system) if system is not None else None, **options)
    columns = read_columns(map_, split_references, leave_out, None)
    found = collect(load_questions(questions, columns), asked, out=out, k=runs, concurrency=concurrency)
    for note in found.notes:
        err_console.print(f"note: {note}", markup=False)
    for name, reason in found.errors[:10]:
        err_console.print(f"no answer: {name}: {reason}", markup=False)
    told = f"{counted(found.asked, 'answer')} written to {out}, {found.kept} stood there already"
    if found.errors:
        told += f"; {counted(len(found.errors), 'question')} brought none: run this again"
    if found.left:
        told += f"; {found.left} not asked: the budget was spent"
    out_console.print(told, markup=False)
    if found.errors and not found.asked and not found.kept:
        raise InputError(f"no question was answered; the first: {found.errors[0][1]}")
