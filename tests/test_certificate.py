import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from calibkit.certificate import MOST_LABELS, boundary, certify, labels_needed
from calibkit.pairs import InputError

unhurried = settings(deadline=None, max_examples=60)
SHARES = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5)


def touch_probability(c, alpha):
    """P(S_m <= c[m] for any m >= 1) of a Bernoulli(alpha) walk: the whole dynamic programme, step by step."""
    alive, touched = np.zeros(len(c)), 0.0
    alive[0] = 1.0
    for tolerated in c[1:]:
        alive[1:] = alive[1:] * (1 - alpha) + alive[:-1] * alpha
        alive[0] *= 1 - alpha
        touched += alive[: tolerated + 1].sum()
        alive[: tolerated + 1] = 0
    return touched


def smallest_lengths(c, rejects):
    """The smallest m that tolerates k rejects, for k = 0..rejects; None where none does."""
    return [next((m for m, tolerated in enumerate(c) if tolerated >= k), None) for k in range(rejects + 1)]


# --- boundary ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("alpha", "n", "lengths"),
    [
        (0.10, 200, [34, 52, 69, 84, 98]),
        (0.10, 500, [39, 57, 74, 89, 104]),
        (0.10, 2000, [43, 63, 80, 96, 111]),
        (0.05, 200, [62, 98, 129, 158, 187]),
        (0.05, 500, [73, 110, 142, 173, 202]),
        (0.05, 2000, [84, 123, 157, 189, 220]),
        (0.02, 200, [120, None, None, None, None]),
        (0.02, 500, [158, 247, 326, 399, 470]),
        (0.02, 2000, [195, 291, 374, 453, 527]),
    ],
)
def test_golden_boundaries(alpha, n, lengths):
    assert smallest_lengths(boundary(alpha, 0.1, n), 4) == lengths


@pytest.mark.parametrize(
    ("alpha", "lengths"),
    [(0.10, [22, 38, 52, 65, 78]), (0.05, [45, 77, 105, 132, 158]), (0.02, [114, 194, 265, 333, 398])],
)
def test_all_thresholds_at_once_cost_more_than_one_fixed_in_advance(alpha, lengths):
    one = [next(m for m in itertools.count(1) if stats.binom.cdf(k, m, alpha) <= 0.1) for k in range(5)]
    assert one == lengths
    for n in (200, 500, 2000):
        walk = smallest_lengths(boundary(alpha, 0.1, n), 4)
        assert all(m is None or m > single for m, single in zip(walk, one, strict=True))


@pytest.mark.parametrize(("n", "floor"), [(100, 53), (200, 62), (500, 73)])
def test_the_floor_without_any_reject(n, floor):
    assert certify(np.ones(n), np.arange(n) >= n, 0.05).threshold == 1
    for clean in (floor - 1, floor):
        scores = np.where(np.arange(n) < clean, 1.0, 0.0)
        assert certify(scores, scores == 0, 0.05).threshold == (None if clean < floor else 1)


@pytest.mark.parametrize(
    ("alpha", "delta", "n"),
    [(0.05, 0.1, 60), (0.05, 0.1, 200), (0.1, 0.05, 500), (0.02, 0.1, 800), (0.3, 0.01, 300), (0.5, 0.3, 150)],
)
def test_the_walk_touches_the_boundary_with_probability_delta_at_most(alpha, delta, n):
    c = boundary(alpha, delta, n)
    assert touch_probability(c, alpha) <= delta
    # It is c_L for a level L, and the next larger boundary of that kind would spend too much.
    m = np.arange(n + 1)
    level = stats.binom.cdf(c, m, alpha).max()
    next_level = stats.binom.cdf(c + 1, m, alpha).min()
    assert level < next_level
    larger = (stats.binom.cdf(np.arange(n + 1)[:, None], m, alpha) <= next_level * 1.0003).sum(axis=0) - 1
    assert (larger >= c).all()
    assert next_level > delta * 0.9997 or touch_probability(larger, alpha) > delta


def test_a_boundary_that_tolerates_one_more_touches_too_often():
    c = boundary(0.05, 0.1, 200)
    assert touch_probability(np.where(c >= 0, c + 1, -1), 0.05) > 0.1


@pytest.mark.parametrize(
    ("alpha", "delta", "n"),
    [
        (Fraction(1, 2), Fraction(1, 4), 11),
        (Fraction(2, 5), Fraction(3, 10), 12),
        (Fraction(7, 10), Fraction(1, 10), 12),
    ],
)
def test_every_walk_counted_one_by_one(alpha, delta, n):
    c = boundary(float(alpha), float(delta), n)
    assert c.max() >= 1  # there is something to count
    touched = Fraction(0)
    for walk in itertools.product((0, 1), repeat=n):
        if any(rejects <= c[m] for m, rejects in enumerate(itertools.accumulate(walk), start=1)):
            touched += alpha ** sum(walk) * (1 - alpha) ** (n - sum(walk))
    assert touched <= delta
    assert float(touched) == pytest.approx(touch_probability(c, float(alpha)), abs=1e-12)


def test_simulated_walks_touch_the_boundary_as_often_as_computed():
    alpha, n, walks = 0.1, 120, 20_000
    c = boundary(alpha, 0.1, n)
    sums = (np.random.default_rng(1).random((walks, n)) < alpha).cumsum(axis=1)
    touched = int((sums <= c[1:]).any(axis=1).sum())
    assert stats.binomtest(touched, walks, touch_probability(c, alpha)).pvalue > 1e-3


@unhurried
@given(st.sampled_from(SHARES), st.floats(1e-4, 0.9), st.integers(0, 250))
def test_the_boundary_rises_by_one_at_most(alpha, delta, n):
    c = boundary(alpha, delta, n)
    assert c.shape == (n + 1,)
    assert c[0] == -1
    assert set(np.diff(c).tolist()) <= {0, 1}


@unhurried
@given(st.sampled_from(SHARES), st.floats(1e-4, 0.9), st.floats(1e-9, 1), st.integers(1, 250))
def test_a_smaller_risk_tolerates_no_more(alpha, delta, factor, n):
    assert (boundary(alpha, delta * factor, n) <= boundary(alpha, delta, n)).all()


@pytest.mark.parametrize(
    ("alpha", "smaller", "larger", "n"),
    [(0.2, 0.049999533813445504, 0.05, 434), (0.05, 0.19958937274443847, 0.2, 451), (0.05, 0.049998149622, 0.05, 179)],
)
def test_a_slightly_smaller_risk_tolerates_no_more_either(alpha, smaller, larger, n):
    assert (boundary(alpha, smaller, n) <= boundary(alpha, larger, n)).all()


@unhurried
@given(st.sampled_from(SHARES), st.floats(1e-3, 0.5), st.integers(1, 250), st.integers(1, 50))
def test_more_labels_tolerate_no_more_at_the_same_length(alpha, delta, n, more):
    assert (boundary(alpha, delta, n + more)[: n + 1] <= boundary(alpha, delta, n)).all()


@unhurried
@given(st.floats(0.02, 0.98), st.floats(0.02, 0.5), st.integers(1, 80))
def test_the_promise_holds_for_any_target_and_risk(alpha, delta, n):
    assert touch_probability(boundary(alpha, delta, n), alpha) <= delta + 1e-12


def test_a_cached_boundary_cannot_be_spoilt():
    with pytest.raises(ValueError, match="read-only"):
        boundary(0.05, 0.1, 50)[3] = 7


@pytest.mark.parametrize("wrong", [0, 1, -0.1, math.nan])
def test_targets_and_risks_lie_inside_0_and_1(wrong):
    with pytest.raises(InputError, match=r"alpha must lie between 0 and 1 \(both excluded\), not "):
        boundary(wrong, 0.1, 10)
    with pytest.raises(InputError, match=r"delta must lie between 0 and 1 \(both excluded\), not "):
        certify([1.0], [False], 0.1, wrong)
    with pytest.raises(InputError, match="must not be negative, but is -1"):
        boundary(0.1, 0.1, -1)


# --- certify ----------------------------------------------------------------------------------------


@st.composite
def labelled(draw, most=90):
    """Scores with ties, gaps and infinite places, and rejects that are rarer at the top."""
    n = draw(st.integers(1, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    score = rng.integers(0, draw(st.integers(1, 40)), n) / 8.0
    reject = rng.random(n) < draw(st.sampled_from((0.0, 0.1, 0.3))) + draw(st.sampled_from((0.0, 0.5))) * (score < 2)
    if draw(st.booleans()):
        score[rng.random(n) < 0.3] = np.inf
    if draw(st.booleans()):
        score[rng.random(n) < 0.3] = -np.inf
    return score, reject


@unhurried
@given(labelled(), st.sampled_from((0.1, 0.2, 0.4)), st.sampled_from((0.1, 0.3)))
def test_the_certified_set_holds_exactly_the_thresholds_with_certified_counts(labels, alpha, delta):
    score, reject = labels
    found = certify(score, reject, alpha, delta)
    c = boundary(alpha, delta, len(score))
    grid = [
        *score,
        *np.nextafter(score, np.inf),
        *np.nextafter(score, -np.inf),
        *np.arange(-1, 6, 1 / 16),
        -1e300,
        np.inf,
    ]
    for t in grid:
        if t == -np.inf:
            continue
        above = score >= t
        expected = bool(reject[above].sum() <= c[above.sum()])
        assert found.holds_at(t) is expected, t
        assert found.counts_at(t) == (above.sum(), reject[above].sum())
    assert not found.holds_at(-np.inf)
    observed = [s for s in set(score.tolist()) if s > -np.inf and reject[score >= s].sum() <= c[(score >= s).sum()]]
    assert found.threshold == min(observed, default=None)
    ends = [end for interval in found.intervals for end in interval]
    assert all(low < high for low, high in found.intervals)
    assert all(later[1] < earlier[0] for earlier, later in itertools.pairwise(found.intervals))
    assert set(ends) <= {*score.tolist(), -np.inf}
    assert found.n == len(score)


@unhurried
@given(
    labelled(), st.permutations(range(90)), st.sampled_from((np.exp, np.arctan, lambda x: x**3, lambda x: 2 * x - 7))
)
def test_only_the_order_of_the_scores_counts(labels, order, transform):
    score, reject = labels
    found = certify(score, reject, 0.2, 0.2)
    order = [at for at in order if at < len(score)]
    assert certify(score[order], reject[order], 0.2, 0.2).intervals == found.intervals
    # Infinite places stay where they are: a place at -inf is no threshold.
    kept = np.isfinite(score)
    other = np.where(kept, transform(np.where(kept, score, 0.0)), score)
    moved = certify(other, reject, 0.2, 0.2)
    np.testing.assert_array_equal(moved.certified, found.certified)
    np.testing.assert_array_equal(moved.above, found.above)
    np.testing.assert_array_equal(moved.rejects, found.rejects)
    assert moved.thresholds.tolist() == sorted(set(other.tolist()), reverse=True)


@unhurried
@given(labelled(), st.floats(0.01, 0.5), st.floats(0.01, 1))
def test_certified_sets_are_nested_in_the_risk(labels, delta, factor):
    score, reject = labels
    wide, narrow = certify(score, reject, 0.2, delta), certify(score, reject, 0.2, delta * factor)
    assert not (narrow.certified & ~wide.certified).any()


def test_ties_count_at_their_end():
    # 60 accepted answers, 40 rejected ones with the same score: in no order is there a clean top.
    assert certify(np.ones(100), np.arange(100) >= 60).intervals == []
    # The same labels with scores of their own have one.
    assert certify(-np.arange(100.0), np.arange(100) >= 60).threshold == -59
    # A tied group in the middle is taken whole or not at all.
    score = np.r_[np.full(50, 3.0), np.full(40, 2.0), np.full(10, 1.0)]
    reject = np.r_[np.zeros(50), np.zeros(37), np.ones(13)]
    found = certify(score, reject)
    assert (found.above.tolist(), found.rejects.tolist()) == ([50, 90, 100], [0, 3, 13])
    assert found.intervals == []


def test_a_set_may_have_holes():
    # The floor is 53 of 100. One reject at 53..: a hole until the boundary tolerates one (84 of 100 for .05).
    c = boundary(0.05, 0.1, 100)
    first, second = smallest_lengths(c, 1)
    score, reject = -np.arange(100.0), np.arange(100) == first
    found = certify(score, reject)
    assert found.intervals == [(-np.inf, -(second - 1.0)), (-float(first), -(first - 1.0))][::-1]
    assert found.threshold == -99
    assert not found.holds_at(-float(first))
    assert found.holds_at(-1e9)


def test_deterministic_places():
    # 100 deterministic passes, 1 of them rejected; 30 answers by score, all rejected.
    score = np.r_[np.full(100, np.inf), np.linspace(0, 1, 30)]
    reject = np.r_[np.arange(100) < 1, np.ones(30)]
    found = certify(score, reject)
    assert found.intervals == [(1.0, np.inf)]
    assert found.threshold == np.inf
    # Deterministic fails are labels of the ranking, but no threshold passes them.
    found = certify([-np.inf] * 100, [False] * 100)
    assert (found.intervals, found.threshold, found.n) == ([], None, 100)
    # Their number counts: 60 clean answers are enough of 100 labels, and too few of 200 (the floors are 53 and 62).
    for n, threshold in ((100, 1.0), (200, None)):
        assert certify(np.where(np.arange(n) < 60, 1.0, -np.inf), [False] * n).threshold == threshold


def test_nothing_to_certify():
    found = certify([], [])
    assert (found.n, found.intervals, found.threshold, found.counts_at(0.5)) == (0, [], None, (0, 0))
    assert certify(np.arange(200), np.ones(200)).threshold is None
    assert not certify(np.arange(200), np.zeros(200)).holds_at(math.nan)


def test_what_certify_refuses():
    with pytest.raises(InputError, match=r"score\[1\] is NaN; leave unscored answers out of the ranking"):
        certify([0.5, math.nan], [False, False])
    with pytest.raises(InputError, match=r"of one length, not of shapes \(2,\) and \(1,\)"):
        certify([0.5, 0.4], [False])
    with pytest.raises(InputError, match=r"of one length, not of shapes \(1, 1\) and \(1, 1\)"):
        certify([[0.5]], [[False]])


@pytest.mark.parametrize("label", [None, math.nan, "no", "", 2, -1, 0.5])
def test_a_label_that_is_neither_true_nor_false_is_refused(label):
    # bool(None) is False: a person who cannot say would count as one who accepts.
    with pytest.raises(InputError, match=r"reject\[1\] is .*, neither true nor false; .*\"cannot say\" counts against"):
        certify([0.5, 0.4], [False, label])


def test_labels_may_be_written_as_numbers():
    assert certify([2, 1], [0, 1]).rejects.tolist() == certify([2, 1], np.array([0.0, 1.0])).rejects.tolist() == [0, 1]


def test_a_hundred_thousand_labels():
    n, alpha = 100_000, 0.01
    score = np.arange(n) / n
    reject = np.arange(n) % 200 == 0  # one in 200, evenly: half the target
    found = certify(score, reject, alpha)
    assert found.threshold == 0
    assert found.rejects[-1] == 500
    reject = np.arange(n) % 90 == 0  # one in 90 is above the target
    assert not certify(score, reject, alpha).holds_at(0.0)


# --- labels_needed ----------------------------------------------------------------------------------


def power_at(n, alpha, delta, error, share):
    region = round(n * share)
    return stats.binom.cdf(boundary(alpha, delta, n)[region], region, error)


@pytest.mark.parametrize(
    ("alpha", "delta", "error", "share"),
    [
        (0.05, 0.1, 0.005, 0.5),
        (0.05, 0.1, 0.0125, 0.5),
        (0.05, 0.1, 0.005, 1.0),
        (0.05, 0.1, 0.0125, 1.0),
        (0.05, 0.1, 0.005, 0.75),
        (0.1, 0.1, 0.02, 0.4),
        (0.1, 0.1, 0.0, 0.3),
    ],
)
def test_the_labels_needed_are_enough_and_hardly_fewer_would_be(alpha, delta, error, share):
    found = labels_needed(alpha, delta, error, share)
    assert power_at(found, alpha, delta, error, share) >= 0.8
    least = next(n for n in range(1, found + 1) if power_at(n, alpha, delta, error, share) >= 0.8)
    assert least <= found <= 1.1 * least


def test_more_power_and_less_gap_need_more_labels():
    fewest = labels_needed(0.05, 0.1, 0.005, 0.5, most=2000)
    assert fewest < labels_needed(0.05, 0.1, 0.005, 0.5, power=0.95, most=2000)
    assert fewest < labels_needed(0.05, 0.1, 0.02, 0.5, most=2000)
    assert fewest < labels_needed(0.05, 0.05, 0.005, 0.5, most=2000)
    assert fewest < labels_needed(0.05, 0.1, 0.005, 0.4, most=2000)


def test_where_no_number_of_labels_is_enough():
    assert labels_needed(0.05, 0.1, 0.05, 0.5) is None
    assert labels_needed(0.05, 0.1, 0.06, 0.5) is None
    assert labels_needed(0.05, 0.1, 0.01, 0.0) is None
    assert labels_needed(0.05, 0.1, 0.0, 0.001) is None  # the floor alone would take 53 / .001
    assert MOST_LABELS == 20_000
    found = labels_needed(0.05, 0.1, 0.005, 0.5)
    assert labels_needed(0.05, 0.1, 0.005, 0.5, most=found) == found
    assert labels_needed(0.05, 0.1, 0.005, 0.5, most=found - 20) is None
