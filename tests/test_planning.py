import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibkit.certificate import certify
from calibkit.pairs import InputError
from calibkit.planning import (
    BUDGETS,
    POWER,
    TARGETS,
    floor,
    forecast,
    plan,
    profile_assumed,
    profile_from_labels,
    profile_from_scores,
)
from calibkit.promises import certify_region

unhurried = settings(deadline=None, max_examples=40)
POOL = (np.arange(2000) + 0.5) / 2000


def error_at(place):
    """The probability that an answer is wrong: .5 % of the upper half, 3 % of the next fifth, a fifth of the rest."""
    return np.select([place >= 0.5, place >= 0.3], [0.005, 0.03], 0.2)


@pytest.fixture(scope="module")
def known():
    """A profile of so many labels that it is nearly the truth."""
    rng = np.random.default_rng(1)
    place = rng.random(200_000)
    return profile_from_labels(POOL, place, rng.random(200_000) < error_at(place))


# --- the floor --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "numbers", "least"),
    [(0.9, [34, 39, 43], 22), (0.95, [62, 73, 84], 45), (0.98, [120, 158, 195], 114)],
)
def test_the_floor(target, numbers, least):
    assert [floor(target, 0.1, n) for n in (200, 500, 2000)] == numbers
    assert floor(target, 0.1) == least
    for n in (least - 1, least):  # so many labels in all, none of them wrong
        assert bool(certify(np.arange(n), [False] * n, 1 - target, 0.1).intervals) is (n == least)


def test_shared_risk_raises_the_floor():
    assert floor(0.95, 0.1) < floor(0.95, 0.05) < floor(0.95, 0.1 / 8)


# --- profiles ---------------------------------------------------------------------------------------


def test_many_labels_tell_the_errors(known):
    for at in (0.9, 0.6, 0.4, 0.1):
        step = int(np.argmax(known.cuts <= at))
        assert known.errors[step] == pytest.approx(error_at(at), abs=0.02)
    assert known.best_share(0.05) == pytest.approx(
        0.5 + 0.2 + 0.1566, abs=0.03
    )  # (.0025 + .006 + .2 x) / (.7 + x) = .05
    assert known.reach[-1] == pytest.approx(1)


places = st.floats(0, 1) | st.sampled_from([0.5, np.inf, -np.inf, np.nan])


@unhurried
@given(
    st.lists(places, min_size=1, max_size=50),
    st.lists(st.tuples(places, st.booleans()), min_size=1, max_size=30),
    st.sampled_from(["pass", "fail"]),
)
def test_a_profile_is_one_of_the_pool(pool, labelled, side):
    sign = 1 if side == "pass" else -1
    usable = [at for at in pool if sign * at > -np.inf]
    seen = [at for at, _ in labelled if sign * at > -np.inf]
    if not usable or not seen:
        with pytest.raises(InputError, match="has a score"):
            profile_from_labels(pool, *zip(*labelled, strict=True), side)
        return
    profile = profile_from_labels(pool, *zip(*labelled, strict=True), side)
    assert profile.reach[-1] == pytest.approx(len(usable) / len(pool))
    assert (profile.shares > 0).all()
    for cut, reach in zip(profile.cuts, profile.reach, strict=True):
        assert np.mean([sign * at >= sign * cut for at in pool]) == pytest.approx(reach)
    assert (np.diff(profile.errors) >= 0).all()  # from the top
    assert ((profile.errors > 0) & (profile.errors < 1)).all()


def test_few_labels_promise_little():
    right = profile_from_labels(POOL, [0.9, 0.5, 0.2], [False] * 3)
    assert right.errors.tolist() == [pytest.approx(0.125)] * len(right.errors)  # half a wrong one among four
    assert "3 labels" in right.source


def test_the_fail_side_is_the_mirror(known):
    rng = np.random.default_rng(1)
    place = rng.random(200_000)
    wrong = rng.random(200_000) < error_at(place)
    mirror = profile_from_labels(1 - POOL, 1 - place, wrong, "fail")
    assert mirror.errors.tolist() == known.errors.tolist()
    assert mirror.cuts.tolist() == pytest.approx((1 - known.cuts).tolist())
    one, other = (forecast(profile, 0.95, 150, 0.1, region=0.7) for profile in (known, mirror))
    assert (one.chance, one.share) == (other.chance, other.share)
    assert one.cut == pytest.approx(1 - other.cut)


def test_a_blends_scores_are_probabilities():
    profile = profile_from_scores(np.r_[POOL, np.nan, -np.inf])
    assert profile.errors.tolist() == pytest.approx((1 - profile.cuts).tolist(), abs=0.02)
    assert float(profile.shares @ profile.errors) == pytest.approx((1 - POOL).sum() / 2002)
    failing = profile_from_scores(np.r_[POOL, np.nan, np.inf], "fail")
    assert failing.errors.tolist() == pytest.approx(failing.cuts.tolist(), abs=0.02)


def test_deterministic_decisions_are_one_step():
    profile = profile_from_scores([np.inf] * 50 + [0.9] * 30 + [0.1] * 20)
    assert profile.cuts.tolist() == [np.inf, 0.9, 0.1]
    assert profile.reach.tolist() == pytest.approx([0.5, 0.8, 1])
    assert profile.errors.tolist() == pytest.approx([0.1, 0.1, 0.9])
    found = plan(profile, targets=[0.8], budgets=[50])
    assert all(row.region.cut is None or np.isfinite(row.region.cut) for row in found.rows)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: profile_from_scores([]), "a plan needs the places of the pool's answers"),
        (lambda: profile_from_scores([np.nan]), "no answer of the pool has a score"),
        (lambda: profile_from_labels(POOL, [], []), "none of the labelled answers has a score"),
        (lambda: profile_from_labels(POOL, [0.5], [True, False]), "labelled and wrong must be of one length"),
        (lambda: profile_from_labels(POOL, [0.5], [None]), "neither true nor false"),
        (lambda: profile_assumed(POOL, 2, 0.5), "error must lie between 0 and 1, not 2"),
        (lambda: forecast(profile_from_scores(POOL), 0.95, 0, 0.1), "a forecast needs 1 label or more"),
        (lambda: forecast(profile_from_scores(POOL), 1.0, 9, 0.1), "alpha must lie between 0 and 1"),
        (lambda: forecast(profile_from_scores(POOL), 0.9, 9, 0.1, region=0), "region must be a part of the pool"),
        (lambda: floor(0.9, 2), "delta must lie between 0 and 1"),
    ],
)
def test_what_cannot_be_planned_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


# --- forecasts --------------------------------------------------------------------------------------


@pytest.mark.parametrize("region", [1.0, 0.7])
@pytest.mark.parametrize(("target", "labels"), [(0.95, 100), (0.95, 300), (0.9, 100)])
def test_a_forecast_is_what_comes_out(known, target, labels, region):
    rng, shares = np.random.default_rng(labels), []
    told = forecast(known, target, labels, 0.1, region=region)
    for _ in range(600):
        place = 1 - region * rng.random(labels)
        wrong = rng.random(labels) < error_at(place)
        alpha = round(1 - target, 12)
        found = certify(place, wrong, alpha) if region == 1 else certify_region(place, wrong, 1 - region, alpha)
        shares.append(0.0 if found.threshold is None else 1 - found.threshold)
    assert told.share == pytest.approx(np.mean(shares), abs=0.05)
    assert told.chance == pytest.approx(np.mean(np.array(shares) > 0), abs=0.07)


def test_a_forecast_comes_out_the_same_again(known):
    assert forecast(known, 0.95, 100, 0.1) == forecast(known, 0.95, 100, 0.1)


def test_unscored_answers_are_drawn_too():
    # Half of the pool has no score: of 100 random labels only half say anything, of a region all.
    half = profile_assumed(np.r_[POOL, np.full(2000, np.nan)], 0.0, 0.5)
    whole = profile_assumed(POOL, 0.0, 1.0)
    assert half.reach[-1] == pytest.approx(0.5)
    assert forecast(half, 0.95, 80, 0.1).chance < 0.3 < forecast(whole, 0.95, 80, 0.1).chance
    assert forecast(half, 0.95, 80, 0.1, region=0.5).chance == 1


# --- the plan ---------------------------------------------------------------------------------------


def test_the_plan_has_a_row_for_every_side_target_and_budget(known):
    failing = profile_from_scores(POOL, "fail")
    found = plan([known, failing], targets=[0.9, 0.95], budgets=[200, 50, 200])
    assert [(r.random.side, r.random.target, r.random.labels) for r in found.rows] == [
        (side, target, labels) for side in ("pass", "fail") for target in (0.9, 0.95) for labels in (50, 200)
    ]
    lines = found.table().splitlines()
    assert len(lines) == 2 + 8
    assert {line.count("|") for line in lines} == {11}
    assert found.of("fail", 0.95) == found.rows[6:]


def test_more_labels_certify_more_and_a_region_needs_fewer(known):
    found = plan(known, targets=[0.95])
    shares = [row.random.share for row in found.rows]
    assert np.all(np.diff(shares) > -0.03)
    assert all(row.region.share >= row.random.share for row in found.rows)
    at_random, in_region = found.enough("pass", 0.95), found.enough("pass", 0.95, region=True)
    assert in_region.labels < at_random.labels
    assert in_region.chance >= POWER
    assert 0 < in_region.region < 1
    assert np.mean(in_region.cut <= POOL) == pytest.approx(in_region.region)
    assert max(shares) <= known.best_share(0.05) + 0.02


def test_the_line_says_where_how_many_and_what_for(known):
    found = plan(known)
    at_random, in_region = found.enough("pass", 0.95), found.enough("pass", 0.95, region=True)
    line = found.line("pass", 0.95)
    for part in (
        f"about {at_random.labels} random labels ({at_random.share:.0%}",
        f"{in_region.labels} from the best {in_region.region:.0%}, scores from {in_region.cut:.6g}",
        "200000 labels that do not certify",
        "at least 45 labels without a wrong one are due",
    ):
        assert part in line
    assert "\n" not in line


def test_what_cannot_be_reached_is_said():
    worse = profile_assumed(POOL, 0.2, 1.0)
    line = plan(worse).line("pass", 0.95)
    assert "2000 labels are too few" in line
    assert "the errors reach 0.05 at once" in line
    near = profile_assumed(POOL, 0.049, 0.6)
    assert "at most 59% could pass" in plan(near, budgets=[100]).line("pass", 0.95)


def test_no_more_labels_than_questions(known):
    found = plan(known, questions=400, targets=[0.95])
    assert [row.random.labels for row in found.rows] == [n for n in BUDGETS if n <= 400]
    for row in found.rows:
        assert row.region.cut is None or row.region.labels <= 400 * row.region.region
    assert plan(known, questions=10).rows == ()
    assert "the pool has too few questions" in plan(known, questions=10).line("pass", 0.95)


def test_shared_risk_asks_for_more(known):
    alone, shared = plan(known, targets=[0.95]), plan(known, targets=[0.95], delta=0.025)
    assert alone.enough("pass", 0.95).labels < shared.enough("pass", 0.95).labels
    assert [row.floor for row in alone.rows] < [row.floor for row in shared.rows]


def test_the_plan_compares_targets_unless_told_otherwise(known):
    assert {row.random.target for row in plan(known, budgets=[100]).rows} == set(TARGETS)
