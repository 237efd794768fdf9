import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import confusion_matrix_at_thresholds

from calibkit.curve import compute_curve, precision_band, recall_band
from calibkit.pairs import InputError

unhurried = settings(deadline=None, max_examples=60)
ties = st.lists(st.tuples(st.integers(-8, 8), st.booleans()), min_size=1, max_size=60)


# --- counts -----------------------------------------------------------------------------------------


@unhurried
@given(ties)
def test_the_counts_are_those_of_scikit_learn(labels):
    score, acceptable = np.array([s for s, _ in labels]) / 8, np.array([a for _, a in labels])
    curve = compute_curve(score, acceptable)
    tns, fps, fns, tps, thresholds = confusion_matrix_at_thresholds(acceptable, score, pos_label=True)
    np.testing.assert_array_equal(curve.thresholds, thresholds)
    np.testing.assert_array_equal(curve.true_passes, tps)
    np.testing.assert_array_equal(curve.false_passes, fps)
    np.testing.assert_array_equal(curve.n_acceptable - curve.true_passes, fns)
    np.testing.assert_array_equal(curve.n_not_acceptable - curve.false_passes, tns)


@unhurried
@given(ties)
def test_counts_stay_integers_until_they_are_shown(labels):
    curve = compute_curve([s for s, _ in labels], [a for _, a in labels])
    for counts in (curve.true_passes, curve.false_passes, curve.passes):
        assert counts.dtype == np.int64
    assert isinstance(curve.n_acceptable, int)
    assert isinstance(curve.n_not_acceptable, int)
    assert curve.n_acceptable + curve.n_not_acceptable == len(labels) == curve.passes[-1]
    assert (curve.passes >= 1).all()
    for at, threshold in enumerate(curve.thresholds):
        passing = [accepted for s, accepted in labels if s >= threshold]
        assert curve.precision[at] == sum(passing) / len(passing)
        assert curve.pass_share[at] == len(passing) / len(labels)
        if curve.n_acceptable:
            assert curve.recall[at] == sum(passing) / curve.n_acceptable


def test_infinite_scores_rank_like_others():
    curve = compute_curve([np.inf, 0.5, -np.inf, np.inf], [True, False, True, True])
    assert curve.thresholds.tolist() == [np.inf, 0.5, -np.inf]
    assert (curve.true_passes.tolist(), curve.false_passes.tolist()) == ([2, 2, 3], [0, 1, 1])


def test_both_zeros_are_one_threshold():
    curve = compute_curve([0.0, -0.0, 1.0], [True, False, True])
    assert (curve.thresholds.tolist(), curve.passes.tolist()) == ([1.0, 0.0], [1, 3])


def test_one_class_alone():
    only_bad = compute_curve([0.2, 0.1], [False, False])
    assert np.isnan(only_bad.recall).all()
    assert only_bad.precision.tolist() == [0, 0]
    assert compute_curve([0.2, 0.1], [True, True]).recall.tolist() == [0.5, 1]


def test_a_million_scores():
    rng = np.random.default_rng(3)
    score, acceptable = rng.random(1_000_000), rng.random(1_000_000) < 0.6
    curve = compute_curve(score, acceptable)
    assert (len(curve.thresholds), curve.passes[-1]) == (len(np.unique(score)), 1_000_000)
    for at in (0, 1234, 567_890):
        above = score >= curve.thresholds[at]
        assert (curve.passes[at], curve.true_passes[at]) == (above.sum(), acceptable[above].sum())


def test_what_a_curve_refuses():
    with pytest.raises(InputError, match=r"score\[2\] is NaN; leave unscored answers out of the curve"):
        compute_curve([1, 2, math.nan], [True, True, False])
    with pytest.raises(InputError, match=r"of one length above 0, not of shapes \(0,\) and \(0,\)"):
        compute_curve([], [])
    with pytest.raises(InputError, match=r"of one length above 0, not of shapes \(2,\) and \(3,\)"):
        compute_curve([1, 2], [True, True, False])
    with pytest.raises(InputError, match=r"acceptable\[1\] is None, neither true nor false"):
        compute_curve([1, 2], [True, None])


# --- bands round the curve --------------------------------------------------------------------------


def test_at_a_single_threshold_the_precision_band_is_clopper_and_pearsons_interval():
    curve = compute_curve(np.ones(40), np.arange(40) < 31)
    band = precision_band(curve, 0.1)
    exact = stats.binomtest(31, 40).proportion_ci(0.9, method="exact")
    # The normal quantile of one point is found by 4,000 simulated walks.
    assert band.low[0] == pytest.approx(exact.low, abs=0.01)
    assert band.high[0] == pytest.approx(exact.high, abs=0.01)


def test_the_precision_band_widens_with_the_number_of_points():
    # 20 points, evenly: z is about 2.38, and the level at each point 2 (1 - Phi(z)).
    n, points = 200, 20
    score = -np.repeat(np.arange(points), n // points)
    acceptable = np.arange(n) % 5 > 0
    band = precision_band(compute_curve(score, acceptable), 0.1)
    level = 2 * stats.norm.sf(2.38)
    for at in range(points):
        m = (at + 1) * n // points
        interval = stats.binomtest(m * 4 // 5, m).proportion_ci(1 - level, method="exact")
        assert band.low[at] == pytest.approx(interval.low, abs=0.02)
        assert band.high[at] == pytest.approx(interval.high, abs=0.02)


def test_the_precision_band_ends_at_0_and_1():
    band = precision_band(compute_curve([3, 2, 1], [True, True, True]))
    assert band.high.tolist() == [1, 1, 1]
    assert (band.low > 0).all()
    band = precision_band(compute_curve([3, 2, 1], [False, False, False]))
    assert band.low.tolist() == [0, 0, 0]
    assert (band.high < 1).all()


def test_the_bands_hold_the_whole_true_curves_about_as_often_as_they_say():
    # 20 groups of equal scores, a true precision of .9 in the upper half and .5 in the lower.
    rng = np.random.default_rng(5)
    groups, n, draws = 20, 100, 400
    true_share = np.where(np.arange(groups) < groups / 2, 0.9, 0.5)
    true_precision = true_share.cumsum() / np.arange(1, groups + 1)
    true_recall = true_share.cumsum() / true_share.cumsum()[-1]
    missed_precision = missed_recall = 0
    for _ in range(draws):
        group = rng.integers(0, groups, n)
        curve = compute_curve(-group, rng.random(n) < true_share[group])
        seen = -curve.thresholds.astype(int)
        band = precision_band(curve, 0.1, rng=rng)
        missed_precision += bool(((true_precision[seen] < band.low) | (true_precision[seen] > band.high)).any())
        band = recall_band(curve, 0.1)
        missed_recall += bool(((true_recall[seen] < band.low) | (true_recall[seen] > band.high)).any())
    for missed in (missed_precision, missed_recall):
        assert stats.binomtest(missed, draws, 0.1, alternative="greater").pvalue > 1e-3
        assert missed > 0  # a band from 0 to 1 would never miss


def test_the_recall_band_is_that_of_dvoretzky_kiefer_and_wolfowitz():
    curve = compute_curve(-np.arange(100), np.arange(100) % 2 == 0)
    half = math.sqrt(math.log(2 / 0.05) / 100)  # 50 accepted labels
    band = recall_band(curve, 0.05)
    np.testing.assert_allclose(band.low, np.maximum(curve.recall - half, 0))
    np.testing.assert_allclose(band.high, np.minimum(curve.recall + half, 1))
    assert np.isnan(recall_band(compute_curve([1, 2], [False, False])).low).all()


def test_equal_counts_give_equal_bands():
    curve = compute_curve([3, 2, 1], [True, False, True])
    np.testing.assert_array_equal(precision_band(curve).low, precision_band(curve).low)


@pytest.mark.parametrize("band", [precision_band, recall_band])
def test_the_risk_of_a_band_lies_inside_0_and_1(band):
    with pytest.raises(InputError, match=r"delta must lie between 0 and 1 \(both excluded\), not 1"):
        band(compute_curve([1], [True]), 1)
