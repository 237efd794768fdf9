"""The promise of the certificate, tested on populations whose truth is known, on mutants of it, and on real answers."""

import itertools
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from scipy import special, stats

from calibkit.bands import Bands, Ranking, choose_bands, fail_intervals
from calibkit.cascade import exact_match
from calibkit.certificate import Certificate, boundary, certify
from calibkit.scorers import score_pairs
from calibkit.store import Columns, load_pairs

DRAWS = 2_000
REFUTED = 1e-3
"""The level at which a frequency refutes a claim about it."""


def exceeds(count, draws, share):
    """Whether so many of so many draws refute that the frequency is at most `share`."""
    return bool(stats.binomtest(int(count), draws, share, alternative="greater").pvalue < REFUTED)


def falls_short(count, draws, share):
    """Whether so many of so many draws refute that the frequency is at least `share`."""
    return bool(stats.binomtest(int(count), draws, share, alternative="less").pvalue < REFUTED)


# --- populations ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Population:
    """Answers at u in (0, 1), the best first, wrong with a probability that is constant on pieces of it.

    With `steps` the answers of each of so many equal parts tie. Answers with u up to `passes` pass, those with u
    above 1 - `fails` fail, whatever their score.
    """

    pieces: tuple[tuple[float, float], ...]
    """(width, probability of a wrong answer in units of alpha) from the top."""
    steps: int | None = None
    passes: float = 0.0
    fails: float = 0.0

    def wrong_up_to(self, u, alpha):
        """The mass of wrong answers at or above u."""
        widths, errors = np.array(self.pieces).T
        return np.interp(u, np.r_[0, widths.cumsum()], np.r_[0, (widths * errors * alpha).cumsum()])

    def place(self, u):
        tied = u if self.steps is None else np.ceil(u * self.steps) / self.steps
        return np.where(u <= self.passes, np.inf, np.where(u > 1 - self.fails, -np.inf, 1 - tied))

    def draw(self, rng, n, alpha):
        u = 1 - rng.random(n)
        widths, errors = np.array(self.pieces).T
        error = alpha * errors[np.searchsorted(widths.cumsum()[:-1], u, side="left")]
        return self.place(u), rng.random(n) < error

    def thresholds(self, alpha):
        """Thresholds all over the scores, falling; the share of answers above each, and whether it is bad."""
        reach = np.linspace(0, 1, 1001)[1:] if self.steps is None else np.arange(1, self.steps + 1) / self.steps
        reach = np.unique(np.r_[reach, self.passes])
        reach = reach[(reach > 0) & (reach >= self.passes) & (reach <= 1 - self.fails)]
        return self.place(reach), reach, self.wrong_up_to(reach, alpha) / reach >= alpha * (1 - 1e-9)


POPULATIONS = {
    "flat null": Population(((1.0, 1.0),)),
    "just under the target": Population(((1.0, 1.02),)),
    "precision falls towards the top": Population(((0.3, 2.0), (0.7, 0.5))),
    "precision falls at the very top": Population(((0.05, 6.0), (0.95, 0.5))),
    "good only in the middle": Population(((0.1, 1.5), (0.3, 0.6), (0.6, 3.0))),
    "blocks": Population(((0.2, 1.0), (0.1, 0.0), (0.2, 1.5), (0.2, 0.9), (0.3, 1.2))),
    "good at the top, and then bad at once": Population(((0.2, 0.0), (0.8, 1.25))),
    "ties": Population(((1.0, 1.0),), steps=7),
    "ties, bad at the top": Population(((0.2, 3.0), (0.8, 0.4)), steps=10),
    "few scores": Population(((1.0, 1.0),), steps=3),
    "one-point scores": Population(((1.0, 1.0),), steps=1),
    "deterministic passes first, clean": Population(((0.3, 0.2), (0.7, 2.5)), passes=0.3),
    "deterministic passes first, bad": Population(((0.4, 1.0), (0.6, 1.0)), passes=0.4),
    "deterministic passes first, fails last": Population(((0.35, 1.1), (0.65, 0.9)), passes=0.35, fails=0.25),
}
PASS_SETTINGS = [(60, 0.1, 0.1), (200, 0.05, 0.1), (500, 0.1, 0.05)]
FAIL_SETTINGS = [(60, 0.1, 0.05), (200, 0.05, 0.1)]
"""Labels, alpha, delta."""


# --- every certified threshold at once -------------------------------------------------------------


def any_certified(certificate: Certificate, thresholds):
    """Whether any of the thresholds lies in the certified set."""
    steps = np.searchsorted(-certificate.thresholds, -thresholds, side="right")  # observed scores >= threshold
    return bool((certificate.certified[steps[steps > 0] - 1]).any())


def any_certified_fail(certificate: Certificate, cuts):
    """Whether any of the values of fail_below is certified."""
    return any(((low < cuts) & (cuts <= high)).any() for low, high in fail_intervals(certificate))


def count_violations(population, n, alpha, delta, *, seed, certify=certify, draws=DRAWS):
    """Draws in which any certified threshold is bad."""
    rng = np.random.default_rng(seed)
    thresholds, _, bad = population.thresholds(alpha)
    return sum(
        any_certified(certify(*population.draw(rng, n, alpha), alpha, delta), thresholds[bad]) for _ in range(draws)
    )


def mirrored(place, wrong):
    """The same answers on the fail side: the first are the last, and wrong is what a person accepts."""
    return Ranking(-place, ["bands"] * len(place), ~wrong, wrong)


def just_above(thresholds):
    """The values of fail_below that fail exactly the mirrored answers at or above the thresholds."""
    return np.nextafter(-thresholds, np.inf)


def test_the_oracle_knows_what_any_certified_threshold_is():
    reject = np.arange(100) == 53
    certificate = certify(-np.arange(100.0), reject)
    failing = mirrored(-np.arange(100.0), reject).certify_fail(0.05, 0.1)
    c = boundary(0.05, 0.1, 100)
    grid = np.linspace(-120, 20, 281)  # integers and what lies between
    for t in grid:
        certified = bool((above := -np.arange(100) >= t).any() and reject[above].sum() <= c[above.sum()])
        assert any_certified(certificate, np.array([t])) is certified
        assert any_certified_fail(failing, just_above(np.array([t]))) is certified
    assert any_certified(certificate, grid) is any_certified_fail(failing, just_above(grid)) is True
    assert any_certified(certificate, grid[:0]) is any_certified_fail(failing, grid[:0]) is False


@pytest.mark.parametrize("alpha", [0.05, 0.1])
@pytest.mark.parametrize("name", POPULATIONS)
def test_the_populations_are_what_their_closed_form_says(name, alpha):
    population, n = POPULATIONS[name], 100_000
    place, wrong = population.draw(np.random.default_rng(1), n, alpha)
    thresholds, reach, bad = population.thresholds(alpha)
    assert bad.any()
    for threshold, u in list(zip(thresholds, reach, strict=True))[:: 1 + len(reach) // 50]:
        above = place >= threshold
        share = population.wrong_up_to(u, alpha) / u
        assert abs(above.sum() - n * u) <= 5 * np.sqrt(n * u * (1 - u)) + 1e-6
        assert abs(wrong[above].sum() - share * above.sum()) <= 5 * np.sqrt(share * above.sum()) + 5


@pytest.mark.parametrize(("n", "alpha", "delta"), PASS_SETTINGS)
@pytest.mark.parametrize("name", POPULATIONS)
def test_passes(name, n, alpha, delta):
    violations = count_violations(POPULATIONS[name], n, alpha, delta, seed=n)
    assert not exceeds(violations, DRAWS, delta)


@pytest.mark.parametrize(("n", "alpha", "delta"), FAIL_SETTINGS)
@pytest.mark.parametrize("name", POPULATIONS)
def test_fails(name, n, alpha, delta):
    population, rng = POPULATIONS[name], np.random.default_rng(n + 1)
    thresholds, _, bad = population.thresholds(alpha)
    cuts = just_above(thresholds[bad])
    violations = sum(
        any_certified_fail(mirrored(*population.draw(rng, n, alpha)).certify_fail(alpha, delta), cuts)
        for _ in range(DRAWS)
    )
    assert not exceeds(violations, DRAWS, delta)


@pytest.mark.parametrize(("n", "alpha", "delta"), PASS_SETTINGS)
def test_the_risk_is_used_up_at_the_flat_null(n, alpha, delta):
    draws = 4 * DRAWS
    violations = count_violations(POPULATIONS["flat null"], n, alpha, delta, seed=n + 2, draws=draws)
    assert not exceeds(violations, draws, delta)
    assert not falls_short(violations, draws, 0.8 * delta)  # what never certifies would fail here


@pytest.mark.parametrize("steps", [None, 2, 20])
@pytest.mark.parametrize(("n", "alpha", "delta"), PASS_SETTINGS)
def test_both_sides_share_one_risk(n, alpha, delta, steps):
    # Of the better half alpha is wrong, of the worse half alpha is right: every cut on either side is bad.
    population = Population(((0.5, 1.0), (0.5, (1 - alpha) / alpha)), steps=steps)
    thresholds, reach, bad = population.thresholds(alpha)
    assert bad.all()
    step = 1e-3 if steps is None else 1 / steps
    cuts = 1 - reach + step / 2  # what is below has u > reach - step / 2; ties lie between
    rng = np.random.default_rng(n + 3)
    either = 0
    for _ in range(DRAWS):
        place, rejected = population.draw(rng, n, alpha)
        ranking = Ranking(place, ["bands"] * n, rejected, ~rejected)
        passing, failing = ranking.certify_pass(alpha, delta / 2), ranking.certify_fail(alpha, delta / 2)
        either += any_certified(passing, thresholds) or any_certified_fail(failing, cuts)
    assert not exceeds(either, DRAWS, delta)
    assert either > 0


@pytest.mark.parametrize(("n", "alpha", "delta"), [(12, 0.4, 0.3), (15, 0.3, 0.2)])
def test_no_profile_of_three_scores_breaks_the_promise_exactly(n, alpha, delta):
    # All samples of n answers by their numbers (accepted and rejected at each of three scores), each with its exact
    # probability, under several thousand profiles.
    bars = np.array(list(itertools.combinations(range(n + 5), 5)))
    counts = np.diff(np.c_[np.full(len(bars), -1), bars, np.full(len(bars), n + 5)], axis=1) - 1
    accepted, rejected = counts[:, :3], counts[:, 3:]
    m = (accepted + rejected).cumsum(axis=1)
    certified = rejected.cumsum(axis=1) <= boundary(alpha, delta, n)[m]
    log_ways = special.gammaln(n + 1) - special.gammaln(counts + 1).sum(axis=1)
    masses = [mass for mass in itertools.product((0.1, 0.25, 0.4, 0.6, 0.8), repeat=2) if sum(mass) < 0.95]
    worst = 0.0
    for first, second in masses:
        mass = np.array([first, second, 1 - first - second])
        for error in itertools.product((0.0, 0.5, 1.0, 1.3, 2.0), repeat=3):
            wrong = mass * np.array(error) * alpha
            bad = wrong.cumsum() >= alpha * mass.cumsum() * (1 - 1e-9)
            violated = (certified & bad).any(axis=1)
            chance = np.exp(
                log_ways[violated] + special.xlogy(counts[violated], np.r_[mass - wrong, wrong]).sum(axis=1)
            )
            worst = max(worst, chance.sum())
    assert 0.4 * delta < worst <= delta


# --- mutants of the certificate ---------------------------------------------------------------------


def one_more_tolerated(score, reject, alpha, delta):
    found = certify(score, reject, alpha, delta)
    c = boundary(alpha, delta, len(score))
    c = np.where(c >= 0, c + 1, c)
    return Certificate(
        alpha, delta, found.n, found.thresholds, found.above, found.rejects, found.rejects <= c[found.above]
    )


def ties_ignored(score, reject, alpha, delta):
    """Each label a step of its own, among equals the accepted first."""
    order = np.lexsort((reject, -score))
    place, above, rejects = score[order], np.arange(1, len(score) + 1), reject[order].cumsum()
    return Certificate(
        alpha, delta, len(score), place, above, rejects, rejects <= boundary(alpha, delta, len(score))[above]
    )


def violates_within_ties(certificate, thresholds):
    return bool(np.isin(thresholds, certificate.thresholds[certificate.certified]).any())


@pytest.mark.parametrize(("n", "alpha", "delta"), PASS_SETTINGS)
def test_one_more_reject_is_one_too_many(n, alpha, delta):
    violations = count_violations(POPULATIONS["flat null"], n, alpha, delta, seed=n, certify=one_more_tolerated)
    assert exceeds(violations, DRAWS, delta)


@pytest.mark.parametrize("name", ["few scores", "one-point scores"])
@pytest.mark.parametrize(("n", "alpha", "delta"), PASS_SETTINGS)
def test_ties_taken_apart_break_the_promise(n, alpha, delta, name):
    population, rng = POPULATIONS[name], np.random.default_rng(n)
    thresholds, _, bad = population.thresholds(alpha)
    violations = {certify: 0, ties_ignored: 0}
    for _ in range(500):
        labels = population.draw(rng, n, alpha)
        for method in violations:
            violations[method] += violates_within_ties(method(*labels, alpha, delta), thresholds[bad])
    assert not exceeds(violations[certify], 500, delta)
    assert exceeds(violations[ties_ignored], 500, delta)


# --- the exported cut -------------------------------------------------------------------------------

# Two scores: the outer half is wrong a little too often, the inner half never, and all of it together seldom enough.
TWO_SCORES = Population(((0.5, 1.1), (0.5, 0.0)), steps=2)


def share_decided(population, alpha, decided):
    """The share of wrong answers among the places that are decided, 0 where none is."""
    _, reach, _ = population.thresholds(alpha)
    mass, wrong = np.diff(reach, prepend=0), np.diff(population.wrong_up_to(reach, alpha), prepend=0)
    return wrong[decided].sum() / mass[decided].sum() if decided.any() else 0.0


def exported_pass(ranking, certificate, places):
    bands, certified, _ = choose_bands(ranking, certificate)
    decided = np.array([bands.decide(place) == "pass" for place in places])
    return decided & certified


def more_than_the_certified_score(_ranking, certificate, places):
    return places > (np.inf if certificate.threshold is None else certificate.threshold)


def exported_fail(ranking, certificate, places):
    bands, _, certified = choose_bands(ranking, certify([], []), certificate)
    decided = np.array([bands.decide(place) == "fail" for place in places])
    return decided & certified


def below_the_certified_score(_ranking, certificate, places):
    s = None if certificate.threshold is None else -certificate.threshold
    return np.array([Bands(None, s).decide(place) == "fail" for place in places])


@pytest.mark.parametrize(
    ("decide", "side", "breaks"),
    [
        (exported_pass, "pass", False),
        (more_than_the_certified_score, "pass", True),
        (exported_fail, "fail", False),
        (below_the_certified_score, "fail", True),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_what_the_exported_cut_decides(decide, side, breaks):
    n, alpha, delta, draws = 500, 0.1, 0.1, 600
    places, _, _ = TWO_SCORES.thresholds(alpha)
    rng = np.random.default_rng(17)
    violations = decided_draws = 0
    for _ in range(draws):
        place, wrong = TWO_SCORES.draw(rng, n, alpha)
        if side == "pass":
            ranking = Ranking(place, ["bands"] * n, wrong, ~wrong)
            decided = decide(ranking, ranking.certify_pass(alpha, delta), places)
        else:
            ranking = mirrored(place, wrong)
            decided = decide(ranking, ranking.certify_fail(alpha, delta), -places)
        decided_draws += decided.any()
        violations += share_decided(TWO_SCORES, alpha, decided) >= alpha
    assert decided_draws > 0.7 * draws
    assert exceeds(violations, draws, delta) is breaks


# --- power ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "alpha", "floor"), [(200, 0.05, 0.75), (500, 0.05, 0.85), (200, 0.1, 0.84), (500, 0.1, 0.88)]
)
def test_power_against_the_best_threshold(n, alpha, floor):
    # .1 alpha of the upper half is wrong, .6 alpha of the next fifth, 4 alpha of the rest:
    # .17 + 4 (u - .7) = u where the whole reaches alpha.
    population = Population(((0.5, 0.1), (0.2, 0.6), (0.3, 4.0)))
    best = 2.63 / 3
    assert population.wrong_up_to(best, alpha) == pytest.approx(alpha * best)
    rng, reached = np.random.default_rng(n), []
    for _ in range(DRAWS):
        threshold = certify(*population.draw(rng, n, alpha), alpha, 0.1).threshold
        reached.append(0.0 if threshold is None else 1 - threshold)
    assert np.mean(reached) / best >= floor


# --- real answers -----------------------------------------------------------------------------------

ANSWERS = Path(__file__).parents[2] / "shared" / "data" / "evouna_nq.jsonl"


@pytest.fixture(scope="module")
def answers():
    """Labelled answers of five systems to open questions, without the questions that are marked as improper."""
    if not ANSWERS.exists():
        pytest.skip("the real answers (EVOUNA, Natural Questions) are no part of this repository")
    return [pair for pair in load_pairs(ANSWERS, Columns(leave_out=(("improper", "true"),))) if pair.labelled]


@pytest.mark.parametrize("policy", [False, True], ids=["scorer alone", "exact matches first"])
@pytest.mark.parametrize(("scorer", "least_share"), [("token_recall", 0.36), ("token_recall_f1", 0.48)])
def test_real_answers(answers, scorer, least_share, policy):
    n, alpha, delta = 200, 0.05, 0.1
    rejected = np.array([pair.counts_as_rejected for pair in answers])
    place = score_pairs(answers, scorer).values
    if policy:
        place[[exact_match(pair, 3) is not None for pair in answers]] = np.inf
    groups = {}
    for at, pair in enumerate(answers):
        groups.setdefault(pair.group_key, []).append(at)
    sizes = np.array([len(members) for members in groups.values()])
    members = np.concatenate(list(groups.values()))
    starts = sizes.cumsum() - sizes
    # The truth, on all answers of the set.
    whole = certify(place, rejected, alpha, delta)
    bad = whole.thresholds[whole.above - whole.rejects <= (1 - alpha) * whole.above]
    share_above = dict(zip(whole.thresholds.tolist(), (whole.above / len(place)).tolist(), strict=True))
    rng = np.random.default_rng(20)
    violations, shares = 0, np.zeros(DRAWS)
    for at in range(DRAWS):
        questions = rng.choice(len(sizes), n, replace=False)
        drawn = members[starts[questions] + rng.integers(0, sizes[questions])]
        found = certify(place[drawn], rejected[drawn], alpha, delta)
        violations += any_certified(found, bad)
        shares[at] = share_above[found.threshold] if found.threshold is not None else 0.0
    assert violations <= delta * DRAWS
    # "At least so much is certified on average" is not refuted by the mean of the draws.
    assert shares.mean() >= least_share - stats.norm.isf(REFUTED) * shares.std() / DRAWS**0.5
