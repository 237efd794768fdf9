"""What each hard rule alone does on labelled answers, and how fast values are found.

    python -m benchmarks.rules errors PAIRS... [--locale en_US] [--leave-out COLUMN=VALUE] [--show N]
    python -m benchmarks.rules speed PAIRS...

`errors`: for each rule the answers that it fails, and how many of them people accept; for each rung of the stage
`exact` the answers that it passes, and how many of them people reject. The bound is the one-sided 95 % limit of Clopper
and Pearson, over answers as if each stood alone: answers to one question do not, so read it as an orientation.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer
from scipy.stats import beta

from calibkit import AnswerPair, Columns, load_pairs
from calibkit.cascade import exact_match
from calibkit.normalize import normalize
from calibkit.rules import RULE_NAMES, RuleSettings, check_rules

app = typer.Typer(add_completion=False, help=__doc__)
Files = Annotated[list[Path], typer.Argument(help="Files of labelled answer pairs.")]
MapOption = Annotated[list[str] | None, typer.Option("--map", help="KEY=COLUMN.")]
SplitOption = Annotated[str | None, typer.Option("--split-references")]
LeaveOutOption = Annotated[str | None, typer.Option("--leave-out", help="COLUMN=VALUE.")]
LocaleOption = Annotated[str | None, typer.Option("--locale")]


def read(path: Path, map_: list[str] | None, split_references: str | None, leave_out: str | None) -> list[AnswerPair]:
    """The pairs of a file."""
    left, _, right = (leave_out or "").partition("=")
    mapped = dict(part.split("=", 1) for part in map_ or ())
    return list(load_pairs(path, Columns(mapped, split_references, [(left, right)] if leave_out else [])))


def upper(k: int, n: int) -> float:
    """The one-sided 95 % upper limit of a share of which k in n were seen."""
    return 1.0 if k >= n else float(beta.ppf(0.95, k + 1, n - k))


@app.command()
def errors(
    files: Files,
    map_: MapOption = None,
    split_references: SplitOption = None,
    leave_out: LeaveOutOption = None,
    locale: LocaleOption = None,
    missing_value: Annotated[str, typer.Option(help="What a value that the answer lacks does.")] = "undecided",
    show: Annotated[int, typer.Option(help="Print so many wrong decisions of each rule.")] = 0,
) -> None:
    """Wrong decisions of each rule and rung alone."""
    settings = RuleSettings(missing_value=missing_value)  # type: ignore[arg-type]
    for path in files:
        pairs = [
            pair for pair in read(path, map_, split_references, leave_out) if pair.labelled and not pair.cannot_say
        ]
        decided = [
            {result.rule: result for result in check_rules(pair, RULE_NAMES, locale=locale, settings=settings)}
            for pair in pairs
        ]
        rejected = sum(not pair.acceptable for pair in pairs)
        print(f"\n{path.name}: {len(pairs)} labelled answers, {rejected} not acceptable\n")
        print("| rule | fails | accepted by people | upper limit | of the not acceptable |\n|---|---|---|---|---|")
        for rule in (*RULE_NAMES, "any of them"):
            failed = [
                pair for pair, results in zip(pairs, decided, strict=True)
                if any(r.outcome == "fail" and rule in (r.rule, "any of them") for r in results.values())
            ]  # fmt: skip
            wrong = [pair for pair in failed if pair.acceptable]
            share = f"{100 * len(wrong) / len(failed):.1f} %" if failed else "–"
            print(
                f"| {rule} | {len(failed)} | {len(wrong)} ({share}) | {100 * upper(len(wrong), len(failed)):.1f} % "
                f"| {100 * (len(failed) - len(wrong)) / max(rejected, 1):.1f} % |"
            )
            if rule != "any of them":
                for pair in wrong[:show]:
                    at = pairs.index(pair)
                    print(
                        f"<!-- {pair.id}: {decided[at][rule].reason} | {pair.question} | {pair.references[:4]} "
                        f"| {pair.candidate[:200]} -->"
                    )
        print("\n| exact at rung | passes | rejected by people | upper limit |\n|---|---|---|---|")
        for rung in (1, 2, 3, 4):
            passed = [pair for pair in pairs if exact_match(pair, rung, locale) is not None]
            wrong = [pair for pair in passed if not pair.acceptable]
            print(f"| {rung} | {len(passed)} | {len(wrong)} | {100 * upper(len(wrong), len(passed)):.1f} % |")
            for pair in wrong[:show]:
                print(f"<!-- {pair.id}: {pair.question} | {pair.references[:4]} | {pair.candidate[:200]} -->")


@app.command()
def speed(
    files: Files, map_: MapOption = None, split_references: SplitOption = None, locale: LocaleOption = None
) -> None:
    """Distinct texts a second through rung 4, which calls the finder and all readers."""
    for path in files:
        texts = {
            text for pair in read(path, map_, split_references, None) for text in (pair.candidate, *pair.references)
        }
        normalize("one 1", 4, locale)
        start = time.perf_counter()
        for text in texts:
            normalize(text, 4, locale)
        seconds = time.perf_counter() - start
        words = sum(len(text.split()) for text in texts) / len(texts)
        print(f"{path.name}: {len(texts)} texts of {words:.1f} words, {len(texts) / seconds:,.0f} a second")


if __name__ == "__main__":
    app()
