"""How much a number of labels certifies: scorers, random draws and region draws, the pass side and the fail side.

    python -m benchmarks.fewer_labels PAIRS --fit OTHER_PAIRS [--cosine] [--leave-out COLUMN=VALUE]... [--draws 2000]

PAIRS is drawn from and certified on; a blend is fitted on OTHER_PAIRS alone. One answer to each of the drawn questions
is labelled. Answers rank as a policy ranks them: exact matches first, then by score, what a rule fails last. A region
draw takes questions whose answer ranks among the best 70 % of the pool (fail side: the worst 30 or 15 %), by the scores
alone.
"Certified" is the mean share of all answers that pass (fail) at the smallest (largest) certified threshold, 0 where
there is none, with its standard error; "at best" is what the best threshold known from all labels would decide. A draw
violates where ANY certified threshold is bad: judged on the whole set, and, for comparison, on the questions that were
not drawn (which are worse exactly where the sample was good).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from calibkit import Columns, load_embedder, load_pairs
from calibkit.blend import DEFAULT_FEATURES, fit_blend, refuse_mixing
from calibkit.cascade import exact_match
from calibkit.certificate import Certificate, certify
from calibkit.promises import certify_region
from calibkit.rules import DEFAULT_RULES, check_rules
from calibkit.scorers import score_pairs

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]

DELTA = 0.1
PASS_CASES = ((0.95, 200, None), (0.95, 200, 0.7), (0.98, 500, None), (0.98, 500, 0.7))
FAIL_CASES = (
    (0.85, 500, None),
    (0.85, 200, 0.3),
    (0.9, 500, None),
    (0.9, 200, 0.15),
    (0.9, 400, 0.3),
    (0.95, 400, 0.3),
)
"""Precision, labels, and the part of the pool that they are drawn from."""


@dataclass(frozen=True)
class Pool:
    """All answers, ranked for one side, with their labels: what is drawn from and judged on."""

    place: Floats
    wrong: Flags
    question: Ints

    @cached_property
    def order(self) -> Ints:
        """Positions from the top."""
        return np.argsort(-self.place, kind="stable")

    @cached_property
    def ends(self) -> Ints:
        """Where each group of equal places ends, in the order."""
        ranked = self.place[self.order]
        return np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))

    @cached_property
    def thresholds(self) -> Floats:
        """The distinct places, falling."""
        return self.place[self.order][self.ends]

    @cached_property
    def by_question(self) -> list[Ints]:
        """The positions of each question's answers."""
        members = np.argsort(self.question, kind="stable")
        return np.split(members, np.bincount(self.question).cumsum()[:-1])

    def bad(self, alpha: float, left_out: Flags | None = None) -> Flags:
        """Which thresholds have a share of wrong answers of alpha or more, of the answers that are not left out."""
        counts = np.ones(len(self.place)) if left_out is None else (~left_out).astype(float)
        above = np.cumsum(counts[self.order])[self.ends]
        wrong = np.cumsum((counts * self.wrong)[self.order])[self.ends]
        return wrong >= alpha * above * (1 - 1e-9)

    def share_from(self, threshold: float | None) -> float:
        """The share of all answers at or above a threshold."""
        return 0.0 if threshold is None else float((self.place >= threshold).mean())

    def draw(self, n: int, cut: float | None, rng: np.random.Generator) -> Ints:
        """One answer to each of n questions, of all or of those whose answer lies in the region."""
        chosen: list[int] = []
        for question in rng.permutation(len(self.by_question)):
            members = self.by_question[question]
            at = members[rng.integers(len(members))]
            if cut is None or self.place[at] >= cut:
                chosen.append(at)
                if len(chosen) == n:
                    break
        return np.array(chosen)


def any_certified(found: Certificate, thresholds: Floats) -> bool:
    """Whether any of the thresholds is certified."""
    steps = np.searchsorted(-found.thresholds, -thresholds, side="right")  # observed places >= threshold
    return bool(found.certified[steps[steps > 0] - 1].any())


def measure(pool: Pool, precision: float, n: int, region: float | None, draws: int) -> dict[str, float]:
    """Draw, certify and judge, many times; the same draws for every scorer."""
    alpha = round(1 - precision, 12)
    bad = pool.bad(alpha)
    cut = None
    if region is not None:  # the largest part whose ties are whole, by the scores alone
        inside = pool.thresholds[(pool.ends + 1) / len(pool.place) <= region]
        cut = float(inside[-1]) if len(inside) else float(pool.thresholds[0])
        if not np.isfinite(cut):
            return {}
    rng = np.random.default_rng(2026)
    shares, violated, on_others = np.zeros(draws), 0, 0
    for at in range(draws):
        drawn = pool.draw(n, cut, rng)
        place, wrong = pool.place[drawn], pool.wrong[drawn]
        found = certify(place, wrong, alpha, DELTA) if cut is None else certify_region(place, wrong, cut, alpha, DELTA)
        shares[at] = pool.share_from(found.threshold)
        violated += any_certified(found, pool.thresholds[bad])
        seen = np.isin(pool.question, pool.question[drawn])
        on_others += any_certified(found, pool.thresholds[pool.bad(alpha, left_out=seen)])
    usable = np.flatnonzero(~bad & (pool.thresholds > -np.inf))
    return {
        "certified": float(shares.mean()),
        "error": float(shares.std() / draws**0.5),
        "best": float((pool.ends[usable[-1]] + 1) / len(pool.place)) if len(usable) else 0.0,
        "violated": violated / draws,
        "on others": on_others / draws,
    }


def rank(scores: Floats, exact: Flags, failed: Flags) -> Floats:
    """Places as a policy ranks answers."""
    return np.where(exact, np.inf, np.where(failed, -np.inf, scores))


def main(
    pairs: Annotated[Path, typer.Argument(help="Labelled answers to certify on.")],
    fit: Annotated[Path, typer.Option(help="Labelled answers to other questions, for the blend.")],
    cosine: Annotated[
        bool, typer.Option("--cosine", help="Also a blend with the cosines of the pinned model.")
    ] = False,
    leave_out: Annotated[list[str] | None, typer.Option()] = None,
    draws: Annotated[int, typer.Option()] = 2_000,
) -> None:
    """Print the table."""
    columns = Columns(leave_out=[(left, right) for left, _, right in (part.partition("=") for part in leave_out or ())])
    labelled = [pair for pair in load_pairs(pairs, columns) if pair.labelled and pair.references]
    others = [pair for pair in load_pairs(fit, columns) if pair.labelled]
    scorers = {name: score_pairs(labelled, name).values for name in ("token_recall", "token_recall_f1")}
    embedder = load_embedder() if cosine else None
    blends = {"blend": fit_blend(others, DEFAULT_FEATURES)}
    if embedder is not None:
        scorers["cosine_question"] = score_pairs(labelled, "cosine_question", embedder=embedder).values
        blends["blend with cosines"] = fit_blend(others, embedder=embedder)
    for name, blend in blends.items():
        refuse_mixing(blend.definition, labelled)
        scorers[name] = blend.score(labelled).values
        weights = ", ".join(f"{feature} {weight:.3g}" for feature, weight in blend.definition.weights.items())
        print(f"<!-- {name}: {weights}, intercept {blend.definition.intercept:.3g} -->")
    exact = np.array([exact_match(pair, 3) is not None for pair in labelled])
    failed = np.array([any(r.outcome == "fail" for r in check_rules(pair, DEFAULT_RULES)) for pair in labelled])
    question = np.unique([pair.group_key for pair in labelled], return_inverse=True)[1]
    print(f"{len(labelled)} answers to {question.max() + 1} questions, {draws} draws, confidence {1 - DELTA:g}\n")
    print("| side | precision | labels | drawn from | scorer | certified | at best | violated | on the others |")
    print("|---|---|---|---|---|---|---|---|---|")
    for side, cases in (("pass", PASS_CASES), ("fail", FAIL_CASES)):
        wrong = [p.counts_as_rejected if side == "pass" else p.counts_as_accepted for p in labelled]
        for precision, n, region in cases:
            for name, scores in scorers.items():
                place = rank(scores, exact, failed & ~exact)
                pool = Pool(place if side == "pass" else -place, np.array(wrong), question)
                part = "all" if region is None else f"{'best' if side == 'pass' else 'worst'} {region:.0%}"
                cells = [side, f"{precision:g}", str(n), part, name]
                if found := measure(pool, precision, n, region, draws):
                    cells += [f"{found['certified']:.3f} ({found['error']:.3f})", f"{found['best']:.3f}"]
                    cells += [f"{found['violated']:.1%}", f"{found['on others']:.1%}"]
                else:
                    cells += ["no score lies there", "", "", ""]
                print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    typer.run(main)
