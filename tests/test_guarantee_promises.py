"""The other promises, regions and slices, tested as the certificate is: on populations whose truth is known."""

import itertools

import numpy as np
import pytest
from scipy import stats
from test_guarantee import DRAWS, POPULATIONS, Population, any_certified, exceeds, falls_short

from calibkit.bands import Bands, Ranking
from calibkit.certificate import Certificate, certify
from calibkit.curve import count_steps
from calibkit.ledger import Accounting
from calibkit.pairs import AnswerPair
from calibkit.promises import (
    Costs,
    bound_cost,
    certify_among_all,
    certify_rate,
    certify_region,
    certify_slices,
    simultaneous_bounds,
)

NAMES = (
    "flat null",
    "precision falls towards the top",
    "ties, bad at the top",
    "deterministic passes first, fails last",
)
SETTINGS = [(50, 0.1), (200, 0.05), (2000, 0.1)]
"""Labels, delta."""


# --- false passes among all, false-pass rate ---------------------------------------------------------


def target(name, population, side_alpha, share):
    """The target at which the upper `share` of the wrong answers may pass, and which thresholds are bad."""
    thresholds, reach, _ = population.thresholds(side_alpha)
    wrong = population.wrong_up_to(reach, side_alpha)
    total = float(population.wrong_up_to(1.0, side_alpha))
    alpha = share * total if name == "among all" else share
    value = wrong if name == "among all" else wrong / total
    return alpha, thresholds, value >= alpha * (1 - 1e-9)


PROMISES = {"among all": certify_among_all, "rate": certify_rate}


def violations(name, population, n, delta, *, draws=DRAWS, certify=None, mirror=False, error=0.3, share=0.4):
    """Draws in which any certified threshold is bad; `error` is the mean of wrong answers where the pieces say 1."""
    alpha, thresholds, bad = target(name, population, error, share)
    certify = certify or PROMISES[name]
    rng = np.random.default_rng(n)
    count = 0
    for _ in range(draws):
        place, wrong = population.draw(rng, n, error)
        if mirror:  # the fail side: the worst first, and wrong is what a person accepts
            ranking = Ranking(-place, ["bands"] * n, ~wrong, wrong)
            found = certify(-ranking.place, ranking.accepted, alpha, delta)
        else:
            found = certify(place, wrong, alpha, delta)
        count += any_certified(found, thresholds[bad])
    return count


@pytest.mark.parametrize(("n", "delta"), SETTINGS)
@pytest.mark.parametrize("population", NAMES)
@pytest.mark.parametrize("name", PROMISES)
def test_monotone_promises(name, population, n, delta):
    draws = DRAWS if n < 2000 else 500
    assert not exceeds(violations(name, POPULATIONS[population], n, delta, draws=draws), draws, delta)


@pytest.mark.parametrize("name", PROMISES)
def test_the_fail_side(name):
    assert not exceeds(violations(name, POPULATIONS["blocks"], 200, 0.1, mirror=True), DRAWS, 0.1)


@pytest.mark.parametrize(("n", "delta"), [(75, 0.05), (500, 0.1)])
def test_the_risk_that_whole_numbers_allow_is_used_up(n, delta):
    alpha = 0.4 * 0.3
    c = int(stats.binom.ppf(delta, n, alpha))
    c -= stats.binom.cdf(c, n, alpha) > delta
    allowed = stats.binom.cdf(c, n, alpha)
    found = violations("among all", POPULATIONS["flat null"], n, delta)
    assert allowed > 0.8 * delta
    assert not falls_short(found, DRAWS, 0.9 * allowed)


def one_more_tolerated(score, reject, alpha, delta):
    found = certify_among_all(score, reject, alpha, delta)
    tail = stats.binom.cdf(found.rejects - 1, found.n, alpha)
    return Certificate(alpha, delta, found.n, found.thresholds, found.above, found.rejects, tail <= delta)


def of_all_labels(score, reject, alpha, delta):
    """The rate, tested as though all labels were unacceptable ones."""
    thresholds, above, rejects = count_steps(score, reject)
    certified = stats.binom.cdf(rejects, len(score), alpha) <= delta
    return Certificate(alpha, delta, len(score), thresholds, above, rejects, certified)


def no_margin(score, reject, alpha, delta):
    thresholds, above, rejects = count_steps(score, reject)
    return Certificate(alpha, delta, len(score), thresholds, above, rejects, rejects < alpha * len(score))


@pytest.mark.parametrize(
    ("name", "mutant"), [("among all", one_more_tolerated), ("rate", of_all_labels), ("among all", no_margin)]
)
def test_mutants_break_the_promise(name, mutant):
    found = violations(name, POPULATIONS["flat null"], 200, 0.1, certify=mutant, draws=500, error=0.05)
    assert exceeds(found, 500, 0.1)


# --- a region ---------------------------------------------------------------------------------------


def region_draw(population, rng, n, alpha, part, *, random=0):
    """Labels of the upper part of the population, and random ones as many as are asked for."""
    place, wrong = population.draw(rng, int(3 * n / part), alpha)
    inside = np.flatnonzero(place >= 1 - part)[:n]
    more = population.draw(rng, random, alpha)
    return np.r_[place[inside], more[0]], np.r_[wrong[inside], more[1]]


@pytest.mark.parametrize("random", [0, 100], ids=["region only", "random labels pooled with it"])
@pytest.mark.parametrize(("n", "alpha", "delta"), [(60, 0.1, 0.1), (200, 0.05, 0.05)])
@pytest.mark.parametrize(
    "name", ["flat null", "precision falls towards the top", "ties", "deterministic passes first, bad"]
)
def test_a_region(name, n, alpha, delta, random):
    population, rng = POPULATIONS[name], np.random.default_rng(n)
    thresholds, _, bad = population.thresholds(alpha)
    count, draws = 0, DRAWS if name == "flat null" else 1000
    for _ in range(draws):
        place, wrong = region_draw(population, rng, n, alpha, 0.6, random=random)
        count += any_certified(certify_region(place, wrong, 0.4, alpha, delta), thresholds[bad])
    assert not exceeds(count, draws, delta)
    if name == "flat null":
        assert not falls_short(count, draws, 0.8 * delta)


def test_beyond_a_region_nothing_may_be_certified():
    # Good down to the region's end, and all wrong below it.
    alpha, delta, draws = 0.05, 0.1, 300
    population = Population(((0.6, 0.2), (0.4, 1 / alpha)))
    thresholds, _, bad = population.thresholds(alpha)
    assert not bad[thresholds >= 0.4].any()
    count = {certify: 0, certify_region: 0}
    rng = np.random.default_rng(4)
    for _ in range(draws):
        place, wrong = region_draw(population, rng, 200, alpha, 0.6)
        count[certify] += any_certified(certify(place, wrong, alpha, delta), thresholds[bad])
        count[certify_region] += any_certified(certify_region(place, wrong, 0.4, alpha, delta), thresholds[bad])
    assert count[certify_region] == 0
    assert exceeds(count[certify], draws, delta)


@pytest.mark.parametrize(("alpha", "labels", "random"), [(0.05, 120, 160), (0.05, 200, 270), (0.1, 60, 80)])
def test_a_region_draw_needs_fewer_labels(alpha, labels, random):
    # Three quarters as many labels, drawn from the upper 70 % by the scores alone, certify no less than random ones.
    population = Population(((0.5, 0.1), (0.1, 0.6), (0.4, 6.0)))  # the best threshold is at u = .698
    rng, draws = np.random.default_rng(labels), 1000
    reached = {"region": [], "random": []}
    for _ in range(draws):
        found = certify_region(*region_draw(population, rng, labels, alpha, 0.7), 0.3, alpha, 0.1)
        reached["region"].append(0.0 if found.threshold is None else 1 - found.threshold)
        found = certify(*population.draw(rng, random, alpha), alpha, 0.1)
        reached["random"].append(0.0 if found.threshold is None else 1 - found.threshold)
    assert np.mean(reached["region"]) > np.mean(reached["random"]) > 0.3


# --- slices, configurations, looks, sides ------------------------------------------------------------


def test_slices_share_the_risk():
    n, alpha, delta, draws = 400, 0.1, 0.1, 1000
    population, tags = POPULATIONS["flat null"], ["a", "b", "c", "d"]
    pairs = [AnswerPair(f"p{at}", ("x",), "x", tags=(tags[at % 4],)) for at in range(n)]
    thresholds, _, _ = population.thresholds(alpha)
    rng, shared, unshared = np.random.default_rng(7), 0, 0
    for _ in range(draws):
        place, wrong = population.draw(rng, n, alpha)
        found = certify_slices(place, wrong, pairs, tags, alpha, delta)
        shared += any(any_certified(each, thresholds) for each in found.values())
        alone = (certify(place[at::4], wrong[at::4], alpha, delta) for at in range(4))
        unshared += any(any_certified(each, thresholds) for each in alone)
    assert not exceeds(shared, draws, delta)
    assert not falls_short(shared, draws, 0.7 * delta)
    assert exceeds(unshared, draws, delta)  # what is not shared out is spent several times


@pytest.mark.parametrize(("n", "delta"), [(50, 0.1), (500, 0.05)])
def test_looks_configurations_and_sides_share_the_risk(n, delta):
    # Two looks, the second at twice the labels; two configurations, whose scores know nothing of each other; both sides,
    # the error at its target everywhere: whatever is certified is wrong.
    alpha, draws = 0.25 if n == 50 else 0.1, 1000
    shares = Accounting(delta, looks=1, planned_looks=2, configurations=2, sides=2)
    rng = np.random.default_rng(n)
    counts = {shares.delta_each: 0, delta: 0}
    for _ in range(draws):
        scores, reject = rng.random((2, 2 * n)), rng.random(2 * n) < alpha
        accept = rng.random(2 * n) < alpha  # as seen from the other side of another half of the answers
        for each in counts:
            counts[each] += any(
                certify(score[:seen], wrong[:seen], alpha, each).certified.any()
                for score, seen, wrong in itertools.product(scores, (n, 2 * n), (reject, accept))
            )
    assert not exceeds(counts[shares.delta_each], draws, delta)
    assert exceeds(counts[delta], draws, delta)


# --- bounds at all thresholds, and the cost ----------------------------------------------------------


def breaks(population, n, delta, error, draws, bounds=None):
    """Draws in which the share of wrong answers exceeds its bound at any threshold."""
    bounds = simultaneous_bounds(delta, n) if bounds is None else bounds
    thresholds, reach, _ = population.thresholds(error)
    truth = population.wrong_up_to(reach, error)
    rng, count = np.random.default_rng(n), 0
    for _ in range(draws):
        place, wrong = population.draw(rng, n, error)
        seen = wrong.sum() - np.searchsorted(np.sort(place[wrong]), thresholds)
        count += bool((truth > bounds[seen]).any())
    return count


@pytest.mark.parametrize(("n", "delta"), [(50, 0.1), (200, 0.05), (2000, 0.1)])
@pytest.mark.parametrize("name", ["flat null", "blocks", "ties, bad at the top", "deterministic passes first, bad"])
def test_bounds_at_all_thresholds_at_once(name, n, delta):
    assert not exceeds(breaks(POPULATIONS[name], n, delta, 0.3, DRAWS), DRAWS, delta)


@pytest.mark.parametrize(("n", "delta"), [(50, 0.1), (200, 0.05)])
def test_their_risk_is_used_up_where_every_answer_is_wrong(n, delta):
    every = Population(((1.0, 1.0),))
    assert not falls_short(breaks(every, n, delta, 1.0, DRAWS), DRAWS, 0.8 * delta)
    pointwise = np.append(stats.beta.isf(delta, np.arange(n) + 1, n - np.arange(n)), 1.0)
    assert exceeds(breaks(every, n, delta, 1.0, DRAWS, pointwise), DRAWS, delta)


@pytest.mark.parametrize(("n", "delta"), [(100, 0.1), (500, 0.05)])
def test_the_expected_cost_keeps_below_its_bound(n, delta):
    # Wrong at u with probability u: P(wrong, upper part u) = u^2 / 2; P(right, lower part v) = v^2 / 2.
    costs, rng, draws = Costs(false_pass=2, false_fail=2), np.random.default_rng(n), 1000
    pool = (np.arange(2000) + 0.5) / 2000
    cuts = [Bands(t, u) for t in (None, 0.9, 0.7, 0.5) for u in (None, 0.1, 0.3, 0.5)]

    def true_cost(bands):
        passes = 0.0 if bands.pass_at_or_above is None else 1 - bands.pass_at_or_above
        fails = 0.0 if bands.fail_below is None else bands.fail_below
        return passes**2 + fails**2 + 1 - passes - fails

    broken, bounds = 0, []
    for _ in range(draws):
        u = rng.random(n)
        wrong = rng.random(n) < u
        found = bound_cost(Ranking(1 - u, ["bands"] * n, wrong, ~wrong), pool, costs, delta)
        best = found.best
        bounds.append(found.at(best))
        broken += any(true_cost(bands) > found.at(bands) + 1e-3 for bands in [*cuts, best])
    assert not exceeds(broken, draws, delta)
    # The truth is least, .5, where the upper half passes and the lower half fails.
    assert 0.5 < np.mean(bounds) < (0.97 if n == 100 else 0.75)


# --- power ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "least"), [(200, 0.5), (2000, 0.78)])
def test_power_of_false_passes_among_all(n, least):
    # One answer in 30 is wrong, everywhere: 2 % of all are wrong passes at u = .6.
    population, rng = Population(((1.0, 1 / 30),)), np.random.default_rng(n)
    shares = []
    for _ in range(500):
        found = certify_among_all(*population.draw(rng, n, 1.0), 0.02, 0.1)
        shares.append(0.0 if found.threshold is None else 1 - found.threshold)
    assert np.mean(shares) > least * 0.6


def test_one_bound_certifies_more_than_the_walk():
    # The same population, and the same truth: 2 % of all are false passes where 5 % of the passes are, at u = .4.
    population, n, rng = Population(((0.4, 0.05), (0.6, 1.0))), 300, np.random.default_rng(9)
    shares = {certify: [], certify_among_all: []}
    for _ in range(500):
        place, wrong = population.draw(rng, n, 1.0)
        for method, alpha in ((certify, 0.05), (certify_among_all, 0.02)):
            found = method(place, wrong, alpha, 0.1)
            shares[method].append(0.0 if found.threshold is None else 1 - found.threshold)
    assert np.mean(shares[certify_among_all]) > 2 * np.mean(shares[certify])
