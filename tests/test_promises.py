import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from calibkit.bands import Bands, Ranking, choose_bands, fail_intervals
from calibkit.certificate import certify
from calibkit.pairs import AnswerPair, InputError
from calibkit.promises import (
    Costs,
    _chance_of_a_break,
    bound_cost,
    certify_among_all,
    certify_rate,
    certify_region,
    certify_slices,
    simultaneous_bounds,
    word_promise,
)

unhurried = settings(deadline=None, max_examples=60)
places = st.sampled_from([-np.inf, 0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0, np.inf])
labels = st.lists(st.tuples(places, st.booleans()), min_size=1, max_size=60)


def split(answers):
    place, reject = zip(*answers, strict=True)
    return np.array(place), np.array(reject)


def ranking_of(place, reject):
    return Ranking(place, ["bands"] * len(place), reject, ~reject)


# --- monotone promises ------------------------------------------------------------------------------


@unhurried
@given(labels, st.sampled_from([0.02, 0.1, 0.3, 0.6]), st.sampled_from([0.05, 0.1, 0.3]))
def test_a_threshold_is_certified_by_its_own_exact_test(answers, alpha, delta):
    place, reject = split(answers)
    for found, n in (
        (certify_among_all(place, reject, alpha, delta), len(place)),
        (certify_rate(place, reject, alpha, delta), int(reject.sum())),
    ):
        for threshold, certified in zip(found.thresholds, found.certified, strict=True):
            k = int(reject[place >= threshold].sum())
            tail = sum(math.comb(n, i) * alpha**i * (1 - alpha) ** (n - i) for i in range(k + 1))
            assert certified == (n > 0 and threshold > -np.inf and tail <= delta)
        assert not (np.diff(found.certified.astype(int)) > 0).any()  # nothing is certified below what is not


def test_how_many_labels_each_promise_asks_for():
    # Without any wrong pass: .98 ** 114 < .1 labels in all; .9 ** 22 < .1 unacceptable ones, whatever the others.
    for n, certified in ((113, False), (114, True)):
        assert certify_among_all([0.9] * 5 + [0.1] * (n - 5), [False] * n, 0.02, 0.1).holds_at(0.9) is certified
    for rejects, certified in ((21, False), (22, True)):
        place = [0.9] * 500 + [0.1] * rejects
        assert certify_rate(place, [False] * 500 + [True] * rejects, 0.1, 0.1).holds_at(0.9) is certified


def test_unscored_answers_count_among_all_and_pass_nowhere():
    place, reject = np.array([0.9] * 60 + [-np.inf] * 60), np.zeros(120, dtype=bool)
    assert certify_among_all(place, reject, 0.02).intervals == [(-np.inf, 0.9)]
    assert certify_among_all(place[:60], reject[:60], 0.02).intervals == []


def test_nothing_is_certified_without_labels_or_without_an_unacceptable_one():
    assert certify_among_all([], []).intervals == certify_rate([], []).intervals == []
    assert certify_rate([0.5] * 100, [False] * 100).intervals == []


@pytest.mark.parametrize("promise", [certify_among_all, certify_rate, lambda *more: certify_region(*more[:2], 0.5)])
@pytest.mark.parametrize(
    ("score", "reject", "message"),
    [
        ([0.5, np.nan], [True, False], r"score\[1\] is NaN; an unscored answer ranks behind all others: -inf"),
        ([0.5], [True, False], r"score and labels must be of one length, not of shapes \(1,\) and \(2,\)"),
        ([0.5], [None], r"wrong\[0\] is None, neither true nor false"),
    ],
)
def test_wrong_labels_are_refused(promise, score, reject, message):
    with pytest.raises(InputError, match=message):
        promise(score, reject, 0.1, 0.1)


@pytest.mark.parametrize(("alpha", "delta", "name"), [(0, 0.1, "alpha"), (1, 0.1, "alpha"), (0.1, 1.5, "delta")])
def test_targets_and_risks_outside_their_range_are_refused(alpha, delta, name):
    with pytest.raises(InputError, match=f"{name} must lie between 0 and 1"):
        certify_rate([0.5], [True], alpha, delta)


# --- a region ---------------------------------------------------------------------------------------


@unhurried
@given(labels, st.sampled_from([0.05, 0.1, 0.25, 0.6]))
def test_a_region_is_certified_by_its_own_labels_and_no_further(answers, cut):
    place, reject = split(answers)
    inside = place >= cut
    found = certify_region(place, reject, cut, 0.3, 0.3)
    alone = certify(place[inside], reject[inside], 0.3, 0.3)
    assert found.n == inside.sum()
    assert found.threshold == alone.threshold
    for threshold in [*np.unique(place), cut, np.nextafter(cut, -np.inf), np.nextafter(cut, np.inf)]:
        assert found.holds_at(threshold) == (threshold >= cut and alone.holds_at(threshold))
        assert found.counts_at(max(threshold, cut)) == alone.counts_at(max(threshold, cut))


def test_bands_are_chosen_inside_the_region():
    place = np.linspace(0.6001, 0.9, 150)
    ranking = ranking_of(place, np.zeros(150, dtype=bool))
    bands, certified, _ = choose_bands(ranking, certify_region(place, ranking.rejected, 0.6))
    assert certified
    assert 0.6 <= bands.pass_at_or_above <= 0.6001
    unclipped, _, _ = choose_bands(ranking, ranking.certify_pass(0.05, 0.1))
    assert unclipped.pass_at_or_above < 0.6  # where no label was drawn


def test_the_fail_side_is_the_mirror():
    place = np.linspace(0.05, 0.3, 150)
    found = certify_region(-place, np.zeros(150, dtype=bool), -0.3)
    (low, high), *_ = fail_intervals(found)
    assert low < 0.3 < high == np.nextafter(0.3, np.inf)  # "score < fail_below" still fails 0.3, and nothing above


def test_a_region_without_end_or_labels():
    assert certify_region([0.2], [False], 0.5).intervals == []
    with pytest.raises(InputError, match="the region's cut must be a finite score, not -inf"):
        certify_region([0.2], [False], -np.inf)


# --- slices -----------------------------------------------------------------------------------------


def test_each_slice_is_a_configuration():
    rng = np.random.default_rng(5)
    tags = [tuple(tag for tag in ("a", "b", "c") if rng.random() < 0.6) for _ in range(400)]
    pairs = [AnswerPair(f"p{at}", ("x",), "x", tags=tag) for at, tag in enumerate(tags)]
    place, reject = rng.random(400), rng.random(400) < 0.05
    found = certify_slices(place, reject, pairs, ["c", "a"], 0.2, 0.1)
    assert list(found) == ["c", "a"]
    for tag, certificate in found.items():
        inside = np.array([tag in each for each in tags])
        alone = certify(place[inside], reject[inside], 0.2, 0.05)
        assert (certificate.n, certificate.delta, certificate.intervals) == (inside.sum(), 0.05, alone.intervals)
        assert certificate.intervals


@pytest.mark.parametrize(
    ("pairs", "tags", "message"),
    [
        (2, ["a"], "1 scores and 2 pairs; one pair for each score is due"),
        (1, [], "slices need one tag or more, each once"),
        (1, ["a", "a"], "slices need one tag or more, each once"),
        (1, ["b"], "none of the 1 labelled pairs has the tag 'b'"),
    ],
)
def test_wrong_slices_are_refused(pairs, tags, message):
    with pytest.raises(InputError, match=message):
        certify_slices([0.5], [False], [AnswerPair("x", (), "x", tags=("a",))] * pairs, tags)


# --- bounds at all thresholds at once ---------------------------------------------------------------


def chance_by_sums(bounds):
    """P(any broken), by summing the multinomial probabilities of all ways in which n numbers can fall between bounds."""
    n = len(bounds) - 1
    gaps = np.diff(bounds, prepend=0)
    kept = 0.0
    for counts in itertools.product(range(n + 1), repeat=n):
        if sum(counts) <= n and all(sum(counts[: k + 1]) >= k + 1 for k in range(n)):
            kept += stats.multinomial.pmf([*counts, n - sum(counts)], n, gaps / gaps.sum())
    return 1 - kept


@pytest.mark.parametrize("bounds", [[0.3, 1], [0.2, 0.7, 1], [0.4, 0.45, 0.9, 1], [0.3, 0.5, 0.8, 0.99, 1]])
def test_the_chance_of_a_break_is_exact(bounds):
    assert _chance_of_a_break(np.array(bounds)) == pytest.approx(chance_by_sums(bounds), abs=1e-12)


def test_of_one_label_the_bound_is_plain():
    assert simultaneous_bounds(0.1, 1).tolist() == pytest.approx([0.9, 1], abs=1e-4)


@pytest.mark.parametrize("delta", [0.01, 0.05, 0.1])
@pytest.mark.parametrize("n", [2, 50, 200, 2000])
def test_the_risk_is_used_up_and_not_exceeded(n, delta):
    bounds = simultaneous_bounds(delta, n)
    assert 0.999 * delta < _chance_of_a_break(bounds) <= delta
    assert (np.diff(bounds) > 0).all()
    assert bounds[-1] == 1
    assert not bounds.flags.writeable
    once = stats.beta.isf(delta, 1, n)
    assert once < bounds[0] < stats.beta.isf(delta / n, 1, n)  # dearer than one test, cheaper than n of them


def test_more_labels_and_more_risk_give_smaller_bounds():
    assert (simultaneous_bounds(0.1, 100) < simultaneous_bounds(0.05, 100))[:-1].all()
    assert (simultaneous_bounds(0.1, 200)[:100] < simultaneous_bounds(0.1, 100)[:100]).all()


@pytest.mark.parametrize(("delta", "n", "message"), [(0, 9, "delta must lie"), (0.1, 0, "n, the number of labels")])
def test_bounds_without_labels_or_risk_are_refused(delta, n, message):
    with pytest.raises(InputError, match=message):
        simultaneous_bounds(delta, n)


# --- expected cost ----------------------------------------------------------------------------------


def cost_at(place, reject, pool, weights, costs, delta, bands, unscored=0):
    """The bound, written out."""
    bounds = simultaneous_bounds(delta / 2, len(place) + unscored)
    weights = np.asarray(weights, dtype=float) / np.sum(weights)
    passes = np.inf if bands.pass_at_or_above is None else bands.pass_at_or_above

    def fails(at):
        return np.isneginf(at) if bands.fail_below is None else at < bands.fail_below

    passed, failed = weights[pool >= passes].sum(), weights[fails(pool)].sum()
    wrong_passes = min(bounds[(reject & (place >= passes)).sum()], passed)
    wrong_fails = min(bounds[(~reject & fails(place)).sum()], failed)
    return costs.false_pass * wrong_passes + costs.false_fail * wrong_fails + costs.review * (1 - passed - failed)


@unhurried
@given(
    labels,
    st.lists(st.tuples(places | st.just(np.nan), st.integers(1, 5)), min_size=1, max_size=40),
    st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(0, 3)),
    st.integers(0, 5),
)
def test_the_best_cuts_are_those_of_the_smallest_bound(answers, pooled, prices, unscored):
    grid = [(at, False) for at in (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)]
    place, reject = split(answers + grid)  # labelled answers at all places: no answer of the pool lies between
    pool, weights = map(np.array, zip(*pooled, strict=True))
    costs = Costs(*prices)
    found = bound_cost(ranking_of(place, reject), pool, costs, 0.1, unscored=unscored, weights=weights)

    def bound(bands):
        return cost_at(place, reject, pool, weights, costs, 0.1, bands, unscored)

    cuts = [None, -1.0, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 2.0]  # one in each gap
    pairs = [Bands(t, u) for t in cuts for u in cuts if t is None or u is None or u <= t]
    for bands in pairs:
        assert found.at(bands) == pytest.approx(bound(bands), abs=1e-9)
    assert found.at(found.best) == pytest.approx(min(map(bound, pairs)), abs=1e-9)


def test_without_a_price_on_reviews_nothing_is_decided():
    place = np.linspace(0, 1, 50)
    found = bound_cost(ranking_of(place, place < 0.5), place, Costs(1, 1, review=0))
    assert found.best == Bands(None, None)
    assert found.at(found.best) == 0


def test_rules_that_decide_are_paid_for_too():
    place = np.r_[np.full(50, np.inf), np.full(50, -np.inf)]
    found = bound_cost(ranking_of(place, np.arange(100) < 5), place, Costs(10, 4, review=1))
    bounds = simultaneous_bounds(0.05, 100)
    assert found.best == Bands(None, None)
    assert found.at(found.best) == pytest.approx(10 * bounds[5] + 4 * min(bounds[50], 0.5))


@pytest.mark.parametrize(
    ("pool", "weights", "message"),
    [
        ([], None, "the pool must be a row of places"),
        ([0.5], [1, 2], "the pool must be a row of places"),
        ([0.5], [0], "the weights of the pool must be finite and above 0"),
        ([0.5], [np.nan], "the weights of the pool must be finite and above 0"),
    ],
)
def test_wrong_pools_are_refused(pool, weights, message):
    with pytest.raises(InputError, match=message):
        bound_cost(ranking_of(np.array([0.5]), np.array([False])), pool, Costs(1, 1), weights=weights)


@pytest.mark.parametrize("prices", [(-1, 1, 1), (1, np.inf, 1), (1, 1, np.nan)])
def test_wrong_prices_are_refused(prices):
    with pytest.raises(InputError, match="must be a number of 0 or more"):
        Costs(*prices)


# --- words ------------------------------------------------------------------------------------------


def test_each_promise_has_its_own_words():
    words = {word_promise(name, side, 0.05) for name in ("share", "among all", "rate") for side in ("pass", "fail")}
    assert len(words) == 6
    assert all(text.startswith("fewer than 5 % of ") for text in words)
