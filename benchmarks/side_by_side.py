"""Ways to choose a pass threshold, on the same draws: how often the promise fails, and how much passes.

    python -m venv bench && bench/bin/pip install . mapie lotus-ai sentence-transformers scikit-learn
    bench/bin/python -m benchmarks.side_by_side [PAIRS --fit OTHER_PAIRS] [--draws 2000]

The promise: with confidence .9 a person rejects fewer than 5 % of what passes. Populations are made up, with a truth
that is known; PAIRS adds a real one, scored by a blend fitted on OTHER_PAIRS and judged on all of PAIRS. "Fails": the
share of draws in which the chosen threshold is bad; "any": in which any of the thresholds is bad that the way calls
valid. "Passes": the mean share of the population that passes (0 where nothing is chosen). None of the others is needed
by the package; a way whose package is missing is left out.
"""

from __future__ import annotations

import logging
import os
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from calibkit import Columns, certify, load_pairs
from calibkit.blend import fit_blend

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Way = Callable[[Floats, Flags, float, float], tuple[float | None, Floats]]
"""Scores, whether people accept, alpha, delta -> the chosen threshold, and all that are called valid."""

ALPHA, DELTA = 0.05, 0.1
LONGEST = 120.0
"""Seconds that a timing is expected to take at most, or it is not run."""
NONE = np.empty(0)


# --- the ways ---------------------------------------------------------------------------------------


def walk(scores: Floats, accepted: Flags, alpha: float, delta: float) -> tuple[float | None, Floats]:
    """Our certificate; every threshold in its set is promised at once."""
    found = certify(scores, ~accepted, alpha, delta)
    return found.threshold, found.thresholds[found.certified]


def plug_in(scores: Floats, accepted: Flags, alpha: float, _delta: float) -> tuple[float | None, Floats]:
    """The smallest score at which the labels themselves meet the target."""
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    last = np.append(ranked[1:] != ranked[:-1], True)
    right = np.cumsum(accepted[order]) >= (1 - alpha) * np.arange(1, len(ranked) + 1)
    good = ranked[last & right]
    return (float(good[-1]), good[-1:]) if len(good) else (None, NONE)


def _probabilities(scores: Any) -> Floats:
    column = np.asarray(scores, dtype=float).ravel()
    return np.column_stack([1 - column, column])


def mapie(fixed_sequence: bool) -> Way:
    """MAPIE's BinaryClassificationController, as it comes (Bonferroni-Holm, 100 thresholds) or from the top down."""
    from mapie.risk_control import BinaryClassificationController

    more: dict[str, Any] = (
        {"fwer_method": "fixed_sequence", "list_predict_params": np.linspace(0.99, 0, 100)} if fixed_sequence else {}
    )

    def choose(scores: Floats, accepted: Flags, alpha: float, delta: float) -> tuple[float | None, Floats]:
        controller = BinaryClassificationController(
            _probabilities, "precision", target_level=1 - alpha, confidence_level=1 - delta, **more
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that there is no valid threshold is a result here
            controller.calibrate(scores[:, None], accepted.astype(int))
        return controller.best_predict_param, np.asarray(controller.valid_predict_params, dtype=float)

    return choose


def lotus() -> Way:
    """LOTUS' learn_cascade_thresholds: what passes without asking its oracle. Its sample is a random one here."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else the import asks the network
    from lotus.sem_ops.cascade_utils import learn_cascade_thresholds
    from lotus.types import CascadeArgs

    logging.getLogger("lotus").setLevel(logging.ERROR)

    def choose(scores: Floats, accepted: Flags, alpha: float, delta: float) -> tuple[float | None, Floats]:
        arguments = CascadeArgs(precision_target=1 - alpha, failure_probability=delta)
        (positive, _), _ = learn_cascade_thresholds(scores.tolist(), accepted.tolist(), np.ones(len(scores)), arguments)
        chosen = positive if (scores >= positive).any() else None  # 1.0 is its word for none
        return chosen, NONE if chosen is None else np.array([chosen])

    return choose


def sentence_transformers(measure: str) -> Way:
    """The threshold search of sentence-transformers' BinaryClassificationEvaluator, by accuracy or F1."""
    from sentence_transformers.evaluation import BinaryClassificationEvaluator as Evaluator

    def choose(scores: Floats, accepted: Flags, _alpha: float, _delta: float) -> tuple[float | None, Floats]:
        labels = accepted.astype(int)
        if measure == "accuracy":
            threshold = Evaluator.find_best_acc_and_threshold(scores, labels, True)[1]
        else:
            threshold = Evaluator.find_best_f1_and_threshold(scores, labels, True)[3]
        return float(threshold), np.array([threshold])

    return choose


def scikit_learn() -> Way:
    """scikit-learn's TunedThresholdClassifierCV: most recall where the labels meet the target."""
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.metrics import make_scorer
    from sklearn.model_selection import TunedThresholdClassifierCV

    class Scored(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        """Takes the score for the probability."""

        classes_ = np.array([0, 1])

        def fit(self, _x: Any, _y: Any) -> Scored:
            return self

        def __sklearn_is_fitted__(self) -> bool:
            return True

        def predict_proba(self, x: Any) -> Floats:
            return _probabilities(x)

        def predict(self, x: Any) -> Any:
            return (np.asarray(x).ravel() >= 0.5).astype(int)

    def choose(scores: Floats, accepted: Flags, alpha: float, _delta: float) -> tuple[float | None, Floats]:
        def right_passes(label: Any, passes: Any) -> float:
            right = float(label[passes == 1].sum())
            return right if right >= (1 - alpha) * (passes == 1).sum() > 0 else -1.0

        tuned = TunedThresholdClassifierCV(Scored(), scoring=make_scorer(right_passes), cv="prefit", refit=False)
        tuned.fit(scores[:, None], accepted.astype(int))
        chosen = float(tuned.best_threshold_) if tuned.best_score_ > 0 else None
        return chosen, NONE if chosen is None else np.array([chosen])

    return choose


def ways() -> Iterator[tuple[str, Way]]:
    """The ways whose packages are here."""
    yield "calibkit", walk
    makers: list[tuple[str, Callable[[], Way]]] = [
        ("MAPIE, default", lambda: mapie(False)),
        ("MAPIE, fixed sequence from the top", lambda: mapie(True)),
        ("LOTUS", lotus),
        ("sentence-transformers, accuracy", lambda: sentence_transformers("accuracy")),
        ("sentence-transformers, F1", lambda: sentence_transformers("f1")),
        ("scikit-learn", scikit_learn),
    ]
    for name, make in makers:
        try:
            yield name, make()
        except ImportError as error:
            print(f"<!-- {name} is left out: {error} -->")
    yield "plug-in", plug_in


# --- the populations --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Population:
    """Scores with labels: a large sample with a known error, which is what draws are taken from and judged on."""

    name: str
    scores: Floats
    """Falling."""
    error: Floats
    """The probability that a person rejects: a label of 0 or 1 on real answers."""
    question: NDArray[np.int64] | None = None
    """On real answers: one answer to each question is drawn."""

    @cached_property
    def wrong(self) -> Floats:
        """How many are rejected of the first 0, 1, 2, ..."""
        return np.r_[0.0, np.cumsum(self.error)]

    @cached_property
    def rising(self) -> Floats:
        """The scores, negative."""
        return -self.scores

    def passes(self, thresholds: Floats) -> NDArray[np.int64]:
        """How many pass at each threshold."""
        return np.searchsorted(self.rising, -thresholds, side="right")

    def bad(self, thresholds: Floats) -> Flags:
        """Whether what passes at each threshold is rejected too often."""
        passes = self.passes(thresholds)
        return (passes > 0) & (self.wrong[passes] >= ALPHA * passes * (1 - 1e-9))

    def share(self, threshold: float | None) -> float:
        """The share that passes."""
        return 0.0 if threshold is None else float(self.passes(np.array([threshold]))[0] / len(self.scores))

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Floats, Flags]:
        """Scores and whether a person accepts."""
        if self.question is None:
            at = rng.integers(0, len(self.scores), n)
        else:
            shuffled = rng.permutation(len(self.scores))
            _, first = np.unique(self.question[shuffled], return_index=True)
            at = shuffled[rng.permutation(first)[:n]]
        return self.scores[at], rng.random(n) >= self.error[at]


def made_up() -> list[Population]:
    """Populations of 10^5 answers whose errors are constant on pieces, given in units of the target."""
    u = (np.arange(100_000) + 0.5) / 100_000  # from the top
    smooth, tied = 1 - u, 1 - np.ceil(u * 10) / 10
    pieces: dict[str, tuple[Floats, list[tuple[float, float]]]] = {
        "flat: the target everywhere": (smooth, [(1.0, 1.0)]),
        "good at the top, bad below": (smooth, [(0.4, 0.1), (0.2, 0.6), (0.4, 4.0)]),
        "good at the top, then bad at once": (smooth, [(0.2, 0.0), (0.8, 1.5)]),
        "bad at the top": (smooth, [(0.05, 6.0), (0.25, 1.0), (0.7, 0.75)]),
        "ten scores, bad at the top": (tied, [(0.2, 3.0), (0.8, 0.45)]),
    }
    made = []
    for name, (scores, parts) in pieces.items():
        widths, errors = np.array(parts).T
        at = np.minimum(np.searchsorted(widths.cumsum(), u), len(widths) - 1)
        made.append(Population(name, scores, ALPHA * errors[at]))
    return made


def real(pairs: Path, fit: Path, columns: Columns) -> Population:
    """Labelled answers, scored by a blend that was fitted on others."""
    labelled = [pair for pair in load_pairs(pairs, columns) if pair.labelled and pair.references]
    scores = fit_blend(pair for pair in load_pairs(fit, columns) if pair.labelled).score(labelled).values
    order = np.argsort(-scores, kind="stable")
    rejected = np.array([pair.counts_as_rejected for pair in labelled], dtype=float)
    question = np.unique([pair.group_key for pair in labelled], return_inverse=True)[1]
    return Population(pairs.stem, scores[order], rejected[order], question[order])


# --- the tables -------------------------------------------------------------------------------------


def compare(population: Population, n: int, draws: int, chosen: dict[str, Way]) -> None:
    """Print a row for each way, all on the same draws."""
    best = population.scores[~population.bad(population.scores)]
    at_best = population.share(float(best[-1])) if len(best) else 0.0
    for name, way in chosen.items():
        rng = np.random.default_rng(2026)
        fails, any_fails, shares = 0, 0, np.zeros(draws)
        for at in range(draws):
            threshold, valid = way(*population.draw(n, rng), ALPHA, DELTA)
            shares[at] = population.share(threshold)
            fails += threshold is not None and bool(population.bad(np.array([threshold]))[0])
            any_fails += bool(population.bad(valid).any())
        print(
            f"| {population.name} | {n} | {name} | {fails / draws:.1%} | {any_fails / draws:.1%} | {shares.mean():.3f} "
            f"| {at_best:.3f} |",
            flush=True,
        )


def time_them(chosen: dict[str, Way]) -> None:
    """Print how long each way takes on many labels."""
    rng = np.random.default_rng(2026)
    print("\n| way | 10^4 labels | 10^5 | 10^6 |\n|---|---|---|---|")
    for name, way in chosen.items():
        cells, last = [name], 0.0
        for size in (10_000, 100_000, 1_000_000):
            if last * 10 > LONGEST:
                cells.append("not run")
                continue
            scores = rng.random(size).round(6)
            accepted = rng.random(size) >= 0.1 * (1 - scores)
            start = time.perf_counter()
            way(scores, accepted, ALPHA, DELTA)
            last = time.perf_counter() - start
            cells.append(f"{last:.2f} s")
        print("| " + " | ".join(cells) + " |", flush=True)


def main(
    pairs: Annotated[Path | None, typer.Argument(help="Labelled answers, for a real population.")] = None,
    fit: Annotated[Path | None, typer.Option(help="Labelled answers to other questions, for its blend.")] = None,
    leave_out: Annotated[list[str] | None, typer.Option()] = None,
    labels: Annotated[int, typer.Option()] = 200,
    draws: Annotated[int, typer.Option()] = 2_000,
    timing: Annotated[bool, typer.Option()] = True,
) -> None:
    """Print the tables."""
    columns = Columns(leave_out=[(left, right) for left, _, right in (part.partition("=") for part in leave_out or ())])
    populations = made_up()
    if pairs is not None:
        if fit is None:
            raise typer.BadParameter("a real population needs --fit: answers to other questions, for its blend")
        populations.append(real(pairs, fit, columns))
    chosen = dict(ways())
    print(f"target {1 - ALPHA:g}, confidence {1 - DELTA:g}, {draws} draws\n")
    print("| population | labels | way | fails | any | passes | at best |\n|---|---|---|---|---|---|---|")
    for population in populations:
        compare(population, labels, draws, chosen)
    if timing:
        time_them(chosen)


if __name__ == "__main__":
    typer.run(main)
