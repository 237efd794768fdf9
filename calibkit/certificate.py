"""The walk certificate: thresholds whose false-pass share is below a target, all at once.

For one labelled answer to each of n questions drawn at random, `certify` returns a set of thresholds such
that, with probability at least 1 - delta over the draw, EVERY threshold in the set has a false-pass share
P(a person rejects | score >= threshold) below alpha. Within the set a person may choose freely, after
looking at the labels. No assumption is made on the scores: precision may rise and fall, scores may tie.

Why it holds: in order of the score's mass, the labels at or above any bad threshold have at least as many
rejects as a Bernoulli(alpha) walk of at most n steps, and the boundary c is one that such a walk touches
anywhere with probability at most delta. (Kin: Learn-then-Test, Angelopoulos et al. 2021; group-sequential
boundaries, Pocock 1977; simultaneous bounds on false discoveries, Katsevich and Ramdas 2020.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from calibkit.curve import as_flags, count_steps
from calibkit.pairs import InputError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

# Levels are tried on a fixed grid, exp(-j * step): so the boundary falls with n and rises with delta, exactly.
_GRID = 2**16
_GRID_STEP = math.log(1000) / _GRID
# Mass in the far tail of the walk that is not followed any further; it is counted as touching.
_NEGLIGIBLE = 1e-15
MOST_LABELS: Final = 20_000
"""Where `labels_needed` gives up."""


@lru_cache(maxsize=512)
def boundary(alpha: float, delta: float, n: int) -> Ints:
    """The largest number of rejects that each number of labels tolerates.

    For a level L, c_L[m] is the largest k with BinomCDF(k; m, alpha) <= L (-1: none), and Q(L) the probability
    that a Bernoulli(alpha) walk S has S_m <= c_L[m] for any m in 1..n, computed exactly. The boundary is
    c_L for the largest level L <= delta with Q(L) <= delta on a grid of 65,536 levels to each factor 1000, found by
    bisection. The grid is the same for all arguments: a smaller delta, or a larger n, tolerates no more.

    Parameters
    ----------
    alpha
        The target: the share of rejects that is no longer tolerated, in (0, 1).
    delta
        The risk, in (0, 1).
    n
        The number of labels.

    Returns
    -------
    array of int, shape (n + 1,), read-only
        c[m] for m = 0..n.

    Raises
    ------
    InputError
        For a target or risk outside (0, 1), or a negative n.

    Examples
    --------
    Smallest numbers of labels that tolerate 0, 1, 2, 3 and 4 rejects:

    >>> c = boundary(0.05, 0.1, 200)
    >>> [int((c < k).sum()) for k in range(5)]
    [62, 98, 129, 158, 187]
    """
    _check_share("alpha", alpha)
    _check_share("delta", delta)
    if n < 0:
        raise InputError(f"n, the number of labels, must not be negative, but is {n}")

    def tolerable(place: int) -> Ints | None:
        c = _binomial_quantiles(alpha, math.exp(-place * _GRID_STEP), n)
        return c if _crossing_probability(c, alpha, delta) <= delta else None

    high = math.ceil(-math.log(delta) / _GRID_STEP)
    best = tolerable(high)
    if best is None:
        low = high + _GRID
        while (best := tolerable(low)) is None:  # a very long walk may need a level below delta / 1000
            low, high = low + _GRID, low
        while low - high > 1:
            middle = (low + high) // 2
            if (candidate := tolerable(middle)) is None:
                high = middle
            else:
                low, best = middle, candidate
    best.flags.writeable = False
    return best


def _check_share(name: str, value: float) -> None:
    if not 0 < value < 1:
        raise InputError(f"{name} must lie between 0 and 1 (both excluded), not {value}")


def _binomial_quantiles(alpha: float, level: float, n: int) -> Ints:
    """c_L: the largest k with BinomCDF(k; m, alpha) <= level, else -1, for m = 0..n."""
    m = np.arange(n + 1)
    c: Ints = stats.binom.ppf(level, m, alpha).astype(np.int64)
    while (too_high := (c >= 0) & (stats.binom.cdf(c, m, alpha) > level)).any():
        c -= too_high
    return np.minimum.accumulate(c[::-1])[::-1]


def _crossing_probability(c: Ints, alpha: float, enough: float) -> float:
    """P(S_m <= c[m] for any m) of the walk S; stops early, somewhere above `enough`, once it exceeds that.

    S never falls and c never rises by more than 1 a step, so a walk above c stays above it until c rises,
    and then touches it only with S_m = c[m]: it is enough to step from rise to rise.
    """
    rises = np.flatnonzero(np.diff(c) > 0) + 1
    above = np.ones(1)  # P(S = previous c + 1 + i, not touched so far)
    touched = 0.0
    kernels: dict[int, Floats] = {}
    at = 0
    for rise in rises.tolist():
        step, at = rise - at, rise
        if step not in kernels:
            kernel = stats.binom.pmf(np.arange(step + 1), step, alpha)
            kernels[step] = kernel
        above = np.convolve(above, kernels[step])
        touched += above[0]
        above = above[1:]
        if above[-1] < _NEGLIGIBLE:
            kept = len(above) - int(np.argmax(above[::-1] >= _NEGLIGIBLE)) if above.max() >= _NEGLIGIBLE else 1
            touched += float(above[kept:].sum())
            above = above[:kept]
        if touched > enough:
            break
    return touched


@dataclass(frozen=True)
class Certificate:
    """The certified thresholds of one ranking.

    "Above t" is score >= t throughout.
    """

    alpha: float
    delta: float
    n: int
    """The number of labels in the ranking."""
    thresholds: Floats
    """Shape (n_steps,), falling: the distinct scores."""
    above: Ints
    """Shape (n_steps,): labels at or above each of them."""
    rejects: Ints
    """Shape (n_steps,): rejects among these."""
    certified: NDArray[np.bool_]
    """Shape (n_steps,): whether each of them is certified."""

    @property
    def intervals(self) -> list[tuple[float, float]]:
        """The certified set: every t with low < t <= high for one (low, high), falling; it may have holes.

        A certified score s certifies all t down to the next lower score, which have the same counts;
        -inf where there is no lower one.
        """
        lower = np.append(self.thresholds[1:], -np.inf)
        merged: list[tuple[float, float]] = []
        for low, high in zip(lower[self.certified].tolist(), self.thresholds[self.certified].tolist(), strict=True):
            if merged and merged[-1][0] == high:
                merged[-1] = (low, merged[-1][1])
            else:
                merged.append((low, high))
        return merged

    @property
    def threshold(self) -> float | None:
        """The smallest observed score that is certified; None where there is none."""
        certified = self.thresholds[self.certified]
        return float(certified[-1]) if len(certified) else None

    def holds_at(self, threshold: float) -> bool:
        """Whether a threshold lies in the certified set."""
        return any(low < threshold <= high for low, high in self.intervals)

    def counts_at(self, threshold: float) -> tuple[int, int]:
        """Labels at or above a threshold, and rejects among these."""
        steps = int((self.thresholds >= threshold).sum())
        return (int(self.above[steps - 1]), int(self.rejects[steps - 1])) if steps else (0, 0)


def certify(score: ArrayLike, reject: ArrayLike, alpha: float = 0.05, delta: float = 0.1) -> Certificate:
    """Certify thresholds on the scores of labelled answers.

    One answer for each of n questions drawn at random from the pool. The fail side is the mirror:
    certify(-score, accepted) bounds P(a person accepts | score <= s).

    Parameters
    ----------
    score
        Shape (n,): the score of each labelled answer. inf ranks it before all others, as a deterministic pass
        (then inf may be certified: these alone); -inf behind all, as a deterministic fail, and is no threshold.
    reject
        Shape (n,): whether a person rejects it.
    alpha
        The target: every certified threshold has a false-pass share below it.
    delta
        The risk that one of them has not.

    Raises
    ------
    InputError
        For a NaN score, a label other than true and false, or shapes that differ.

    Examples
    --------
    >>> certificate = certify(np.arange(100) / 100, np.arange(100) < 20)
    >>> certificate.threshold, certificate.intervals
    (0.2, [(0.19, 0.47)])
    >>> certify([0.5], [False]).intervals
    []
    """
    scores = np.asarray(score, dtype=np.float64)
    rejected = as_flags("reject", reject)
    if scores.ndim != 1 or scores.shape != rejected.shape:
        raise InputError(f"score and reject must be of one length, not of shapes {scores.shape} and {rejected.shape}")
    if np.isnan(scores).any():
        raise InputError(f"score[{int(np.isnan(scores).argmax())}] is NaN; leave unscored answers out of the ranking")
    thresholds, above, rejects = count_steps(scores, rejected)
    certified = (rejects <= boundary(alpha, delta, len(scores))[above]) & (thresholds > -np.inf)
    return Certificate(alpha, delta, len(scores), thresholds, above, rejects, certified)


def labels_needed(
    alpha: float, delta: float, error: float, share: float, power: float = 0.8, *, most: int = MOST_LABELS
) -> int | None:
    """How many random labels certify, with some power, a top region whose true error is below the target.

    The smallest n with BinomCDF(c_n[n share]; n share, error) >= power, c_n = boundary(alpha, delta, n). The power
    jumps up where one more reject is tolerated and sags in between, so only such n are looked at, from above: c_n
    falls with n, so that what c_n asks for is enough and its own boundary asks for less.

    Parameters
    ----------
    alpha, delta
        Target and risk.
    error
        The share of rejects in the region.
    share
        The region's share of the pool, in (0, 1].
    power
        The wanted probability.
    most
        Where to give up.

    Returns
    -------
    int or None
        None where `most` labels are not enough (always so for error >= alpha).

    Examples
    --------
    >>> labels_needed(0.05, 0.1, error=0.005, share=0.5), labels_needed(0.05, 0.1, error=0.05, share=0.5)
    (196, None)
    """
    if error >= alpha or share <= 0:
        return None

    def smallest(rejects: int, n: int) -> int:
        """The smallest n, from a larger one, whose region tolerates so many rejects."""
        while (smaller := math.ceil(int((boundary(alpha, delta, n) < rejects).sum()) / share)) < n:
            n = smaller
        return n

    def powerful(rejects: int, n: int) -> bool:
        return bool(stats.binom.cdf(rejects, round(n * share), error) >= power)

    c = boundary(alpha, delta, most)
    rises = np.flatnonzero(np.diff(c) > 0) + 1
    rises = rises[rises <= most * share]
    tolerable = np.flatnonzero(stats.binom.cdf(c[rises], rises, error) >= power)
    if not len(tolerable):
        return None
    rejects = int(tolerable[0])
    n = smallest(rejects, math.ceil(rises[rejects] / share))
    while rejects > 0 and powerful(rejects - 1, fewer := smallest(rejects - 1, n)):
        rejects, n = rejects - 1, fewer
    return n
