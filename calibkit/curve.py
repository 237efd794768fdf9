"""What every threshold does to labelled answers: integer counts, and the shares that follow from them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from calibkit.pairs import InputError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Curve:
    """Counts at each distinct score t, where an answer passes with score >= t.

    Shares are computed from the counts when they are asked for.
    """

    thresholds: Floats
    """Shape (n_thresholds,), falling: the distinct scores."""
    true_passes: Ints
    """Shape (n_thresholds,): passes that a person accepts."""
    false_passes: Ints
    """Shape (n_thresholds,): passes that a person rejects."""
    n_acceptable: int
    n_not_acceptable: int

    @property
    def passes(self) -> Ints:
        """Answers at or above each threshold; at least 1."""
        return self.true_passes + self.false_passes

    @property
    def precision(self) -> Floats:
        """Share of the passes that a person accepts."""
        return self.true_passes / self.passes

    @property
    def recall(self) -> Floats:
        """Share of the acceptable answers that pass; NaN where there are none."""
        return self.true_passes / self.n_acceptable if self.n_acceptable else np.full(len(self.thresholds), np.nan)

    @property
    def average_precision(self) -> float:
        """Precision at each threshold, weighted by the recall that it adds; NaN where nothing is acceptable."""
        return float(np.sum(np.diff(self.recall, prepend=0) * self.precision))

    @property
    def agreement(self) -> Floats:
        """Share of all answers on which a gate at the threshold and a person agree."""
        right = self.true_passes + self.n_not_acceptable - self.false_passes
        return right / (self.n_acceptable + self.n_not_acceptable)

    @property
    def pass_share(self) -> Floats:
        """Share of all answers that pass."""
        return self.passes / (self.n_acceptable + self.n_not_acceptable)


def compute_curve(score: ArrayLike, acceptable: ArrayLike) -> Curve:
    """Count passes and false passes at every threshold.

    Parameters
    ----------
    score
        Shape (n,), finite or infinite, no NaN.
    acceptable
        Shape (n,): whether a person accepts the answer.

    Raises
    ------
    InputError
        For NaN scores, labels other than true and false, shapes that differ, or no answers.

    Examples
    --------
    >>> curve = compute_curve([0.9, 0.9, 0.4], [True, False, True])
    >>> curve.thresholds.tolist(), curve.passes.tolist(), curve.false_passes.tolist()
    ([0.9, 0.4], [2, 3], [1, 1])
    >>> curve.precision.round(2).tolist(), curve.recall.tolist()
    ([0.5, 0.67], [0.5, 1.0])
    """
    scores = np.asarray(score, dtype=np.float64)
    accepted = as_flags("acceptable", acceptable)
    if scores.ndim != 1 or scores.shape != accepted.shape or not len(scores):
        raise InputError(
            f"score and acceptable must be of one length above 0, not of shapes {scores.shape} and {accepted.shape}"
        )
    if np.isnan(scores).any():
        raise InputError(f"score[{int(np.isnan(scores).argmax())}] is NaN; leave unscored answers out of the curve")
    thresholds, above, accepted_above = count_steps(scores, accepted)
    n_acceptable = int(accepted.sum())
    return Curve(thresholds, accepted_above, above - accepted_above, n_acceptable, len(scores) - n_acceptable)


def as_flags(name: str, labels: ArrayLike) -> NDArray[np.bool_]:
    """Labels as bools; nothing but true and false (or 1 and 0) is taken for one of them.

    Raises
    ------
    InputError
        For None, NaN, texts and other numbers, which `bool` would silently take for a label.

    Examples
    --------
    >>> as_flags("reject", [1, 0, True])
    array([ True, False,  True])
    >>> as_flags("reject", [True, None])
    Traceback (most recent call last):
    calibkit.pairs.InputError: reject[1] is None, neither true nor false; say what it counts as ("cannot say" counts \
against: as rejected on the pass side, as accepted on the fail side)
    """
    flags = np.asarray(labels, dtype=labels.dtype if isinstance(labels, np.ndarray) else object)
    if flags.dtype != bool:
        for at, value in enumerate(flags.ravel().tolist()):
            if value not in (0, 1):
                raise InputError(
                    f"{name}[{at}] is {value!r}, neither true nor false; say what it counts as "
                    '("cannot say" counts against: as rejected on the pass side, as accepted on the fail side)'
                )
    return flags.astype(bool)


def count_steps(scores: Floats, flags: NDArray[np.bool_]) -> tuple[Floats, Ints, Ints]:
    """The distinct scores, falling, with how many are at or above each and how many of these are flagged.

    Infinite scores rank like others.

    >>> count_steps(np.array([0.5, np.inf, 0.5]), np.array([True, False, False]))
    (array([inf, 0.5]), array([1, 3]), array([0, 1]))
    """
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    last_of_tie = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True)) if len(ranked) else np.arange(0)
    flagged = np.cumsum(flags[order], dtype=np.int64)[last_of_tie]
    return ranked[last_of_tie], last_of_tie + 1, flagged


# --- bands round a curve: pictures, not promises ----------------------------------------------------

_WALKS: Final = 4000


@dataclass(frozen=True)
class CurveBand:
    """A lower and an upper line round a curve: a picture, not a promise."""

    low: Floats
    """Shape (n_thresholds,)."""
    high: Floats
    """Shape (n_thresholds,)."""


def precision_band(curve: Curve, delta: float = 0.1, *, rng: np.random.Generator | None = None) -> CurveBand:
    """Simultaneous Clopper-Pearson band round the precision: a picture, not a promise.

    At each threshold the Clopper-Pearson interval at the two-sided level 2 (1 - Phi(z)), where z is the (1 - delta)
    quantile of max_j |W(N_j)| / sqrt(N_j) for a Gaussian random walk W seen at the numbers of passes N_j, found
    by simulation. The band holds at all thresholds at once with a probability of about 1 - delta; it is for
    the eye, and no threshold may be chosen by it (`certify` does that).

    Parameters
    ----------
    curve
        The curve, over labelled answers drawn at random, one for each question.
    delta
        The risk that the band misses the true precision anywhere.
    rng
        For the simulated walks; by default `np.random.default_rng(0)`, so that equal counts give equal bands.

    Raises
    ------
    InputError
        For a risk outside (0, 1).

    Examples
    --------
    >>> band = precision_band(compute_curve([0.9, 0.5, 0.1], [True, True, False]))
    >>> band.low.round(2).tolist(), band.high.round(2).tolist()
    ([0.02, 0.16, 0.09], [1.0, 1.0, 0.99])
    """
    _check_risk(delta)
    rng = rng or np.random.default_rng(0)
    walk, highest, seen = np.zeros(_WALKS), np.zeros(_WALKS), 0
    for passes in curve.passes.tolist():
        walk += math.sqrt(passes - seen) * rng.standard_normal(_WALKS)
        np.maximum(highest, np.abs(walk) / math.sqrt(passes), out=highest)
        seen = passes
    tail = float(stats.norm.sf(np.quantile(highest, 1 - delta)))
    right, wrong = curve.true_passes, curve.false_passes
    low = np.where(right > 0, stats.beta.ppf(tail, np.maximum(right, 1), wrong + 1), 0.0)
    high = np.where(wrong > 0, stats.beta.isf(tail, right + 1, np.maximum(wrong, 1)), 1.0)
    return CurveBand(low, high)


def recall_band(curve: Curve, delta: float = 0.1) -> CurveBand:
    """Dvoretzky-Kiefer-Wolfowitz band round the recall: a picture, not a promise.

    recall +- sqrt(ln(2 / delta) / (2 n_acceptable)), cut at 0 and 1 (Massart's constant, 1990), at all
    thresholds at once; NaN where no answer is acceptable.

    Parameters
    ----------
    curve
        The curve, over labelled answers drawn at random, one for each question.
    delta
        The risk that the band misses the true recall anywhere.

    Raises
    ------
    InputError
        For a risk outside (0, 1).

    Examples
    --------
    >>> band = recall_band(compute_curve([0.9, 0.5, 0.1], [True, True, False]))
    >>> band.low.round(2).tolist(), band.high.round(2).tolist()
    ([0.0, 0.13, 0.13], [1.0, 1.0, 1.0])
    """
    _check_risk(delta)
    half = math.sqrt(math.log(2 / delta) / (2 * curve.n_acceptable)) if curve.n_acceptable else math.nan
    return CurveBand(np.clip(curve.recall - half, 0, 1), np.clip(curve.recall + half, 0, 1))


def _check_risk(delta: float) -> None:
    if not 0 < delta < 1:
        raise InputError(f"delta must lie between 0 and 1 (both excluded), not {delta}")
