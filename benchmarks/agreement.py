"""How often gates agree with people: thresholds as they are copied, and calibrated on half of the questions.

    python -m benchmarks.agreement PAIRS [--map KEY=COLUMN]... [--split-references TEXT] [--leave-out COLUMN=VALUE]...

Every gate passes an answer whose score is at or above its threshold. "Calibrated" takes the threshold that agrees best
on one half of the questions; all figures are measured on the other half. Intervals (95 %) are by question: a bootstrap
that draws questions, since the answers to one question stand and fall together. The last columns take one answer to
each question of the first half and certify precision 95 % with confidence 90 %, exact answers first: what passes of
the other half, and what share of that people accept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from calibkit import Columns, PairSet, load_embedder, load_pairs
from calibkit.bands import Ranking, choose_bands
from calibkit.cascade import exact_match
from calibkit.pairs import AnswerPair, draw
from calibkit.scorers import EMBEDDING_SCORERS, score_pairs

COPIED_GATES = {
    "exact": 1.0,
    "contains": 1.0,
    "rouge1": 0.8,
    "rougeL": 0.8,
    "token_f1": 0.8,
    "token_recall": 0.8,
    "token_recall_f1": 0.8,
    "cosine": 0.75,
    "cosine_question": 0.75,
}
"""Thresholds as tutorials and defaults give them; 0.8 is the default of ADK's response_match_score (ROUGE-1)."""

_DRAWS = 2_000


@dataclass(frozen=True)
class Half:
    """One half of the questions: scores, labels, and which question each answer belongs to."""

    scores: NDArray[np.float64]
    acceptable: NDArray[np.bool_]
    question: NDArray[np.int64]

    def agreement(self, threshold: float) -> NDArray[np.bool_]:
        """Whether the gate agrees with people, for each answer; an unscored one does not pass."""
        return (self.scores >= threshold) == self.acceptable

    def best_threshold(self) -> float:
        """The threshold of largest agreement, midway to the next lower score."""
        cuts = np.unique(self.scores[~np.isnan(self.scores)])
        order = np.argsort(self.scores)
        accepted_below = np.concatenate([[0], np.cumsum(self.acceptable[order])])
        below = np.searchsorted(self.scores[order], cuts)  # NaN sorts last, and never passes
        right = (below - accepted_below[below]) + (self.acceptable.sum() - accepted_below[below])
        at = int(np.argmax(right))
        return float(cuts[at] if at == 0 else (cuts[at - 1] + cuts[at]) / 2)


def interval(hits: NDArray[np.bool_], question: NDArray[np.int64], rng: np.random.Generator) -> tuple[float, float]:
    """95 % bootstrap interval of a share, drawing questions."""
    _, place = np.unique(question, return_inverse=True)
    right, answers = np.bincount(place, hits), np.bincount(place)
    weights = rng.multinomial(len(answers), np.full(len(answers), 1 / len(answers)), size=_DRAWS)
    shares = (weights @ right) / (weights @ answers)
    low, high = np.quantile(shares, [0.025, 0.975])
    return float(low), float(high)


def certified(
    pairs: Sequence[AnswerPair], scores: NDArray[np.float64], first: NDArray[np.bool_]
) -> tuple[int, int, int]:
    """Certify on one answer to each question of the first half; (passes, accepted passes, answers) of the other."""
    chosen = [at for at in draw(PairSet(pairs), "benchmark", 0).certifying if first[at]]
    exact = np.array([exact_match(pair, 3) is not None for pair in pairs])
    place = np.where(exact, np.inf, scores)
    ranking = Ranking.of([pairs[at] for at in chosen], place[chosen], ["bands"] * len(chosen))
    bands, is_certified, _ = choose_bands(ranking, ranking.certify_pass(0.05, 0.1))
    cut = np.inf if bands.pass_at_or_above is None else bands.pass_at_or_above
    passes = ~first & (place >= cut) & is_certified
    return int(passes.sum()), sum(pairs[at].acceptable is True for at in np.flatnonzero(passes)), int((~first).sum())


def main(
    pairs: Annotated[Path, typer.Argument(help="A file of labelled answers, or a set's folder.")],
    scorer: Annotated[list[str] | None, typer.Option(help="Scorers (default: all of the table).")] = None,
    map_: Annotated[list[str] | None, typer.Option("--map")] = None,
    split_references: Annotated[str | None, typer.Option()] = None,
    leave_out: Annotated[list[str] | None, typer.Option()] = None,
) -> None:
    """Print the table."""
    columns = Columns(
        map=dict(part.split("=", 1) for part in map_ or ()),
        split_references=split_references,
        leave_out=[(left, right) for left, _, right in (part.partition("=") for part in leave_out or ())],
    )
    loaded = load_pairs(pairs, columns)
    labelled = [pair for pair in loaded if pair.labelled]  # "cannot say" counts as not acceptable
    names = scorer or list(COPIED_GATES)
    embedder = load_embedder() if any(name in EMBEDDING_SCORERS for name in names) else None
    keys = [pair.group_key for pair in labelled]
    question = np.unique(keys, return_inverse=True)[1]
    rng = np.random.default_rng(2026)
    first = rng.permutation(question.max() + 1)[question] % 2 == 0
    acceptable = np.array([pair.acceptable is True for pair in labelled])
    n, n_questions = int((~first).sum()), len(np.unique(question[~first]))
    print(
        f"{loaded.name}: measured on {n} answers to {n_questions} questions, calibrated on {int(first.sum())} others\n"
    )
    print(
        "| gate | copied threshold | agrees with people | calibrated threshold | agrees with people "
        "| certified: passes | accepted of these |"
    )
    print("|---|---|---|---|---|---|---|")
    everything = acceptable[~first]
    print(f"| pass everything | | {_share(everything, question[~first], rng)} | | | | |")
    for name in names:
        scores = score_pairs(labelled, name, embedder=embedder).values
        tuning, measuring = (Half(scores[half], acceptable[half], question[half]) for half in (first, ~first))
        copied, tuned = COPIED_GATES.get(name, 0.8), tuning.best_threshold()
        passes, accepted, answers = certified(labelled, scores, first)
        cells = [
            name,
            f"{copied:g}",
            _share(measuring.agreement(copied), measuring.question, rng),
            f"{tuned:.3f}",
            _share(measuring.agreement(tuned), measuring.question, rng),
            f"{passes / answers:.0%} ({passes} of {answers})" if passes else "nothing",
            f"{accepted / passes:.1%}" if passes else "-",
        ]
        print("| " + " | ".join(cells) + " |")


def _share(hits: NDArray[np.bool_], question: NDArray[np.int64], rng: np.random.Generator) -> str:
    low, high = interval(hits, question, rng)
    return f"{hits.mean():.0%} ({low:.0%} to {high:.0%})"


if __name__ == "__main__":
    typer.run(main)
