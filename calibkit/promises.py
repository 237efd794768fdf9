"""Other promises than the false-pass share, each under its own name, and certificates of a region or of slices.

=================================  =====================================  =============================================
promise                            for a random answer to a question      held by
=================================  =====================================  =============================================
false-pass share                   P(rejected | passes)                   `certify`: the walk certificate
false passes among all answers     P(rejected and passes)                 `certify_among_all`: one exact binomial bound
false-pass rate                    P(passes | rejected)                   `certify_rate`: one exact binomial bound
expected cost                      costs of false passes, false fails     `bound_cost`: exact bounds on both kinds of
                                   and reviews                            mistakes, at all thresholds at once
=================================  =====================================  =============================================

The second and the third can only fall as the threshold rises. So the bad thresholds are those up to a largest bad one,
and whatever is certified wrongly, that one is, too: its single test bounds the risk of all. The mirror is the fail
side: on the negative scores, with what a person accepts, they bound the false fails. Every certified threshold holds at
once, as in `certify`, and delta is shared out in the same way: each promise is a configuration of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats

from calibkit.bands import Bands, Ranking, short_decimal
from calibkit.certificate import Certificate, certify
from calibkit.curve import as_flags, count_steps
from calibkit.pairs import AnswerPair, InputError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def _checked(score: ArrayLike, wrong: ArrayLike, alpha: float, delta: float) -> tuple[Floats, NDArray[np.bool_]]:
    scores, flags = np.asarray(score, dtype=np.float64), as_flags("wrong", wrong)
    if scores.ndim != 1 or scores.shape != flags.shape:
        raise InputError(f"score and labels must be of one length, not of shapes {scores.shape} and {flags.shape}")
    if np.isnan(scores).any():
        raise InputError(
            f"score[{int(np.isnan(scores).argmax())}] is NaN; an unscored answer ranks behind all others: -inf"
        )
    for name, value in (("alpha", alpha), ("delta", delta)):
        if not 0 < value < 1:
            raise InputError(f"{name} must lie between 0 and 1 (both excluded), not {value}")
    return scores, flags


# --- promises that are monotone in the threshold ----------------------------------------------------


def certify_among_all(score: ArrayLike, reject: ArrayLike, alpha: float = 0.02, delta: float = 0.1) -> Certificate:
    """Certify thresholds at which fewer than alpha of ALL answers pass and are rejected.

    With k rejects at or above t among n labels, t is certified iff BinomCDF(k; n, alpha) <= delta.

    Parameters
    ----------
    score
        Shape (n,): the score of one answer to each of n questions drawn at random from the pool. inf for a
        deterministic pass, -inf for a deterministic fail and for an unscored answer: these count among all.
    reject
        Shape (n,): whether a person rejects it, or cannot say.
    alpha
        The target, as a share of all answers.
    delta
        The risk that a certified threshold misses it.

    Raises
    ------
    InputError
        For NaN scores, labels other than true and false, shapes that differ, a target or risk outside (0, 1).

    Examples
    --------
    >>> certify_among_all(np.arange(200) / 200, np.arange(200) < 40).threshold
    0.195
    >>> certify_among_all(np.arange(100) / 100, np.arange(100) < 20).intervals  # .98 ** 100 > .1
    []
    """
    scores, rejected = _checked(score, reject, alpha, delta)
    return _certify_monotone(scores, rejected, len(scores), alpha, delta)


def certify_rate(score: ArrayLike, reject: ArrayLike, alpha: float = 0.1, delta: float = 0.1) -> Certificate:
    """Certify thresholds at which fewer than alpha of the UNACCEPTABLE answers pass.

    As `certify_among_all`, with n for the number of rejects among the labels: given it, their places are a random
    sample of those of all unacceptable answers. Unacceptable is what a person rejects or cannot judge.

    Examples
    --------
    >>> certify_rate(np.arange(200) / 200, np.arange(200) < 40).threshold
    0.195
    >>> certify_rate(np.arange(200) / 200, np.arange(200) < 20).intervals  # .9 ** 20 > .1
    []
    """
    scores, rejected = _checked(score, reject, alpha, delta)
    return _certify_monotone(scores, rejected, int(rejected.sum()), alpha, delta)


def _certify_monotone(scores: Floats, rejected: NDArray[np.bool_], n: int, alpha: float, delta: float) -> Certificate:
    thresholds, above, rejects = count_steps(scores, rejected)
    certified = (stats.binom.cdf(rejects, n, alpha) <= delta) & (thresholds > -np.inf) if n else thresholds > np.inf
    return Certificate(alpha, delta, len(scores), thresholds, above, rejects, certified)


# --- a region, slices -------------------------------------------------------------------------------


def certify_region(
    score: ArrayLike, reject: ArrayLike, cut: float, alpha: float = 0.05, delta: float = 0.1
) -> Certificate:
    """Certify false-pass shares on labels drawn in the region score >= cut.

    The cut was fixed without these labels. Labels below it are not looked at, so random ones may be pooled with those
    of the region; deterministic passes (inf) belong to it. Thresholds below the cut are never certified: nothing was
    seen of what lies between. The mirror is the fail side: certify_region(-score, accepted, -cut) for the region
    score <= cut.

    Parameters
    ----------
    score, reject, alpha, delta
        As `certify` takes them.
    cut
        Where the region begins.

    Returns
    -------
    Certificate
        Its last step, just below the cut, stands for the region's end and is never certified.

    Raises
    ------
    InputError
        As `certify`; and for a cut that is not finite.

    Examples
    --------
    >>> scores = np.linspace(0.7, 0.99, 100)
    >>> certify_region(scores, scores < 0, 0.6).intervals, certify(scores, scores < 0).intervals
    ([(0.5999999999999999, 0.8376767676767676)], [(-inf, 0.8376767676767676)])
    """
    if not math.isfinite(cut):
        raise InputError(f"the region's cut must be a finite score, not {cut}")
    scores, rejected = _checked(score, reject, alpha, delta)
    inside = scores >= cut
    found = certify(scores[inside], rejected[inside], alpha, delta)
    return Certificate(
        alpha,
        delta,
        found.n,
        np.append(found.thresholds, np.nextafter(cut, -np.inf)),
        np.append(found.above, found.n),
        np.append(found.rejects, rejected[inside].sum()),
        np.append(found.certified, False),
    )


def certify_slices(
    score: ArrayLike,
    reject: ArrayLike,
    pairs: Sequence[AnswerPair],
    tags: Sequence[str],
    alpha: float = 0.05,
    delta: float = 0.1,
) -> dict[str, Certificate]:
    """Certify the false-pass share of the answers with each of several tags, all of them jointly.

    Each tag is a configuration: it gets delta / (number of tags). Which tags, is declared before the labels are seen;
    an answer may have several of them. Given how many labels have a tag, these are a random sample of its answers.

    Parameters
    ----------
    score, reject, alpha, delta
        As `certify` takes them.
    pairs
        The labelled pairs, in the same order.
    tags
        The declared tags.

    Raises
    ------
    InputError
        As `certify`; and for no tags, one that stands twice, one that no pair has.

    Examples
    --------
    >>> pairs = [AnswerPair(f"a{n}", ("x",), "x", tags=(["date", "money"][n % 2],)) for n in range(200)]
    >>> found = certify_slices(np.arange(200), np.arange(200) < 60, pairs, ["date", "money"], alpha=0.1)
    >>> {tag: (certificate.n, certificate.delta, certificate.threshold) for tag, certificate in found.items()}
    {'date': (100, 0.05, 56.0), 'money': (100, 0.05, 57.0)}
    """
    scores, rejected = _checked(score, reject, alpha, delta)
    if len(pairs) != len(scores):
        raise InputError(f"{len(scores)} scores and {len(pairs)} pairs; one pair for each score is due")
    if not tags or len(set(tags)) < len(tags):
        raise InputError(f"slices need one tag or more, each once, not {list(tags)}")
    found: dict[str, Certificate] = {}
    for tag in tags:
        inside = np.array([tag in pair.tags for pair in pairs], dtype=bool)
        if not inside.any():
            raise InputError(f"none of the {len(pairs)} labelled pairs has the tag {tag!r}; mend it or leave it out")
        found[tag] = certify(scores[inside], rejected[inside], alpha, delta / len(tags))
    return found


# --- expected cost ----------------------------------------------------------------------------------

_HALVINGS: Final = 16
_NEGLIGIBLE: Final = 1e-18


@lru_cache(maxsize=64)
def simultaneous_bounds(delta: float, n: int) -> Floats:
    """Upper bounds on the share of all answers that are mistakes, at every threshold at once.

    With k mistakes at or above t among n labels, P(mistake, at or above t) <= U[k] for ALL t, with probability at least
    1 - delta. U[k] is the Clopper-Pearson bound, for all k at one level: the largest (found by bisection) at which the
    chance that any of them is broken is at most delta, computed exactly. Mistakes are ordered by the share of mistakes
    above them; then they lie as the smallest of n uniform numbers, and U[k] breaks iff the (k + 1)-th lies beyond it.
    (Kin: Berk and Jones 1979; equal local levels, Gontscharuk, Landwehr and Finner 2016. The recursion is that of
    Moscovich and Nadler 2017: counts of a Poisson process, given that it ends at n.)

    Parameters
    ----------
    delta
        The risk, in (0, 1).
    n
        The number of labels, at least 1.

    Returns
    -------
    array of float, shape (n + 1,), read-only
        U[k] for k = 0..n, rising; U[n] = 1.

    Raises
    ------
    InputError
        For a risk outside (0, 1), or no labels.

    Examples
    --------
    >>> simultaneous_bounds(0.1, 200)[[0, 1, 2, 10]].round(4)
    array([0.0267, 0.0371, 0.0462, 0.1048])
    """
    if not 0 < delta < 1:
        raise InputError(f"delta must lie between 0 and 1 (both excluded), not {delta}")
    if n < 1:
        raise InputError(f"n, the number of labels, must be at least 1, but is {n}")
    low, high = math.log(delta / n), math.log(delta)  # at the one even the sum of the n chances is at most delta
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _chance_of_a_break(_pointwise_bounds(math.exp(middle), n)) <= delta:
            low = middle
        else:
            high = middle
    bounds = _pointwise_bounds(math.exp(low), n)
    bounds.flags.writeable = False
    return bounds


def _pointwise_bounds(level: float, n: int) -> Floats:
    k = np.arange(n)
    return np.append(stats.beta.isf(level, k + 1, n - k), 1.0)


def _chance_of_a_break(bounds: Floats) -> float:
    """P(at most k of n uniform numbers lie up to bounds[k], for any k < n).

    By the counts of a Poisson process of intensity n at each bound, given that it counts n at 1: its steps do not
    depend on where it is. What is cut off counts as broken.
    """
    n = len(bounds) - 1
    mass, first = np.ones(1), 0  # P(the count is first + i, nothing broken so far)
    gaps = n * np.diff(bounds, prepend=0)
    steps = np.arange(math.ceil(gaps[:-1].max() + 10 * math.sqrt(gaps[:-1].max())) + 30)  # beyond: less than 1e-18
    log_factorials = special.gammaln(steps + 1)
    for k, gap in enumerate(gaps[:-1].tolist()):
        kernel = np.exp(special.xlogy(steps, gap) - gap - log_factorials)
        mass = np.convolve(mass, kernel)[: n - first + 1]
        unbroken = max(k + 1 - first, 0)
        kept = np.flatnonzero(mass[unbroken:] >= _NEGLIGIBLE)
        if not len(kept):
            return 1.0
        start = unbroken + int(kept[0])
        mass, first = mass[start : unbroken + int(kept[-1]) + 1], first + start
    counts = np.arange(first, first + len(mass))
    return 1 - float(mass @ stats.poisson.pmf(n - counts, gaps[n])) / float(stats.poisson.pmf(n, n))


@dataclass(frozen=True)
class Costs:
    """What mistakes and reviews cost, in any one unit."""

    false_pass: float
    """A pass that a person rejects, or cannot judge."""
    false_fail: float
    """A fail that a person accepts, or cannot judge."""
    review: float = 1.0
    """An answer that is left to a judge or a person."""

    def __post_init__(self) -> None:
        for name, value in (("false_pass", self.false_pass), ("false_fail", self.false_fail), ("review", self.review)):
            if not (math.isfinite(value) and value >= 0):
                raise InputError(f"the cost {name} must be a number of 0 or more, not {value}")


@dataclass(frozen=True)
class CostBound:
    """Upper bounds on the expected cost of an answer, at all pairs of cuts at once."""

    costs: Costs
    delta: float
    rejected: Floats
    """Rising: where the labelled answers rank that a person rejects."""
    accepted: Floats
    """Rising: where those rank that a person accepts; "cannot say" stands in both."""
    bounds: Floats
    """Shape (n + 1,): what the share of mistakes among all answers may be, given their number among n labels."""
    pool: Floats
    """Shape (n_pool,), rising: where the pool's answers rank, without the unscored ones."""
    below: Floats
    """Shape (n_pool + 1,): the share of the pool before each of these places, and of all of them."""

    def at(self, bands: Bands) -> float:
        """The bound at two cuts, whoever chose them and whatever was seen before."""
        passes = np.inf if bands.pass_at_or_above is None else bands.pass_at_or_above
        fails = -_LARGEST if bands.fail_below is None else bands.fail_below
        spared = self._spared_by_passes(np.array([passes])) + self._spared_by_fails(np.array([fails]))
        return self.costs.review - float(spared[0])

    @property
    def best(self) -> Bands:
        """The cuts whose bound is smallest; of equal ones those that decide fewer answers."""
        seen = np.unique(np.r_[self.rejected, self.accepted])
        edges = np.r_[-np.inf, seen[np.isfinite(seen)], np.inf]
        if len(edges) == 2:
            return Bands(None, None)
        cuts = np.r_[edges[1] - 1, (edges[1:-2] + edges[2:-1]) / 2, edges[-2] + 1]  # one in each gap
        passing, failing = np.r_[cuts, np.inf], np.r_[-_LARGEST, cuts]
        by_fails = self._spared_by_fails(failing)
        most = np.maximum.accumulate(by_fails)  # a fail cut lies at or below the pass cut
        together = self._spared_by_passes(passing) + np.r_[most[1:], most[-1]]
        last = len(cuts) - int(np.argmax(together[::-1]))
        first = int(np.argmax(by_fails[: last + 2]))
        gaps = list(pairwise(edges.tolist()))  # of one gap both sides take the same decimal
        return Bands(
            short_decimal(*gaps[last]) if last < len(cuts) else None, short_decimal(*gaps[first - 1]) if first else None
        )

    def _spared_by_passes(self, cuts: Floats) -> Floats:
        passed = self.below[-1] - self.below[np.searchsorted(self.pool, cuts)]
        seen = len(self.rejected) - np.searchsorted(self.rejected, cuts)
        spared: Floats = self.costs.review * passed - self.costs.false_pass * np.minimum(self.bounds[seen], passed)
        return spared

    def _spared_by_fails(self, cuts: Floats) -> Floats:
        failed = self.below[np.searchsorted(self.pool, cuts)]
        seen = np.searchsorted(self.accepted, cuts)
        spared: Floats = self.costs.review * failed - self.costs.false_fail * np.minimum(self.bounds[seen], failed)
        return spared


_LARGEST: Final = float(np.finfo(np.float64).max)


def bound_cost(
    ranking: Ranking,
    pool: ArrayLike,
    costs: Costs,
    delta: float = 0.1,
    *,
    unscored: int = 0,
    weights: ArrayLike | None = None,
) -> CostBound:
    """Bound the expected cost of an answer at every pair of cuts at once, with probability at least 1 - delta.

    What passes, fails and is reviewed is known of the whole pool; unknown are the mistakes. Each kind is bounded by
    `simultaneous_bounds` at delta / 2, and by the share that passes (fails) at all.

    Parameters
    ----------
    ranking
        One labelled answer to each of n questions drawn at random from the pool.
    pool
        Shape (n_pool,): where all answers of the pool rank (inf for deterministic passes, -inf for deterministic fails,
        NaN for unscored ones, which are reviewed).
    costs
        What mistakes and reviews cost.
    delta
        The risk that the bound is broken anywhere.
    unscored
        How many labelled answers were drawn beside those of the ranking and are unscored.
    weights
        Shape (n_pool,): what each answer of the pool counts; for a random answer to a random question 1 / (answers to
        its question). Default: all the same.

    Raises
    ------
    InputError
        For a risk outside (0, 1), no labels, an empty pool, or weights that do not fit.

    Examples
    --------
    >>> place = np.arange(400) / 400
    >>> ranking = Ranking(place, ["bands"] * 400, place < 0.4, place >= 0.4)
    >>> cost = bound_cost(ranking, place, Costs(false_pass=20, false_fail=5))
    >>> cost.best, round(cost.at(cost.best), 2), cost.at(Bands(None, None))
    (Bands(pass_at_or_above=0.399, fail_below=0.399), 0.4, 1.0)
    """
    places = np.asarray(pool, dtype=np.float64)
    counted_as = np.ones(places.shape) if weights is None else np.asarray(weights, dtype=np.float64)
    if places.ndim != 1 or not len(places) or counted_as.shape != places.shape:
        raise InputError(
            "the pool must be a row of places, one or more, with one weight each, not of shapes "
            f"{places.shape} and {counted_as.shape}"
        )
    if not (np.isfinite(counted_as).all() and (counted_as > 0).all()):
        raise InputError("the weights of the pool must be finite and above 0")
    counted_as = counted_as / counted_as.sum()
    order = np.argsort(places, kind="stable")[: int((~np.isnan(places)).sum())]  # NaN sorts last
    return CostBound(
        costs,
        delta,
        np.sort(ranking.place[ranking.rejected]),
        np.sort(ranking.place[ranking.accepted]),
        simultaneous_bounds(delta / 2, len(ranking.place) + unscored),
        places[order],
        np.r_[0.0, np.cumsum(counted_as[order])],
    )


# --- in words ---------------------------------------------------------------------------------------

PromiseName = Literal["share", "among all", "rate"]


def word_promise(name: PromiseName, side: Literal["pass", "fail"], alpha: float) -> str:
    """Say what a certificate promises of one side, without its condition and confidence.

    >>> word_promise("among all", "pass", 0.02)
    'fewer than 2 % of all answers pass by this policy and would be rejected by a person'
    """
    share = f"fewer than {round(100 * alpha, 6):g} %"
    does, wrong = ("pass", "rejected") if side == "pass" else ("fail", "accepted")
    if name == "share":
        return f"{share} of the answers that {does} by this policy would be {wrong} by a person"
    if name == "among all":
        return f"{share} of all answers {does} by this policy and would be {wrong} by a person"
    return f"{share} of the answers that a person would have {wrong}, or could not judge, {does} by this policy"
