"""Tuning without a widget: set a handle, read the figures, and compare them with what calibrating says itself."""

import json
import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibkit import (
    AnswerPair,
    Cascade,
    HandSet,
    InputError,
    PairSet,
    Policy,
    Scores,
    calibrate,
    load_pairs,
    load_policy,
)
from calibkit.bands import Bands
from calibkit.curve import compute_curve, precision_band, recall_band
from calibkit.store import load_ledger
from calibkit.tuning import KINDS, Prices, Setup, Tuning, TuningTable, tell_kind
from calibkit.tuning.figures import amount, percent, share
from calibkit.tuning.kinds import tell_cure


class Given:
    """Scores that the pairs bring along."""

    name, version = "given", 1

    def score(self, pairs):
        values = np.array(
            [math.nan if pair.meta["score"] is None else pair.meta["score"] for pair in pairs], dtype=float
        )
        return Scores(values, tuple("not given" if np.isnan(value) else None for value in values), "given", 1)


def answers(scores, labels, exact=0, tags=()):
    """One answer a score (None: unscored); labels True, False, None (cannot say) or "" (no label).

    The first `exact` repeat their reference, and are right.
    """
    labels = [True if at < exact else label for at, label in enumerate(labels)]
    return PairSet(
        [
            AnswerPair(
                f"p{at}",
                (f"reference {at}",),
                f"reference {at}" if at < exact else f"other {at}",
                question=f"question {at}",
                labelled=label != "",
                acceptable=None if label == "" else label,
                tags=(tags[at % len(tags)],) if tags else (),
                meta={"score": score},
            )
            for at, (score, label) in enumerate(zip(scores, labels, strict=True))
        ]
    )


def tuned(scores, labels, exact=0, tags=(), declare=True, **options):
    options = {"scorer": Given(), "development": 0.0 if declare else 0.5, "rules": (), **options}
    tuning = Tuning(answers(scores, labels, exact, tags), **options)
    return tuning.declare() if declare else tuning


def mixed(n=240, seed=7):
    """Ties, "cannot say", answers without a score and without a label; right above .6, wrong below .25."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 50, n) / 50
    labels = [True if s > 0.6 else False if s < 0.25 else bool(rng.random() < s) for s in scores]
    for at in range(0, n, 40):
        labels[at] = None
    for at in range(7, n, 9):
        labels[at] = ""
    given = [None if at % 31 == 5 else float(score) for at, score in enumerate(scores)]
    return given, labels


TWO_SIDES = {"precision": 0.8, "fail_precision": 0.75}


@pytest.fixture(scope="module")
def tuning():
    return tuned(*mixed(), exact=12, **TWO_SIDES)


@pytest.fixture
def on_disk(write_pairs, clear_cut):
    """A file of labelled answers, with its ledger beside it."""
    return load_pairs(write_pairs([{**row, "tags": ["even" if at % 2 else "odd"]} for at, row in enumerate(clear_cut)]))


CLEAR = {"scorer": "token_recall", "precision": 0.8, "exact_rung": None, "rules": (), "development": 0.4}


# --- how numbers are written ------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.integers(1, 10**6))
def test_shares_are_rounded_exactly_with_halves_up(part, whole):
    told = Fraction(percent(part, whole).removesuffix("\u00a0%"))
    assert told - Fraction(1, 20) <= Fraction(100 * part, whole) < told + Fraction(1, 20)
    assert Fraction(amount(part, whole)) == math.floor(Fraction(100 * part, whole) + Fraction(1, 2)) / Fraction(100)


def test_nothing_has_no_share():
    assert percent(0, 0) == share(0, 0) == amount(0, 0) == "–"


@pytest.mark.parametrize("wrong", [-0.01, math.nan, math.inf, "1", True, 1e7])
def test_a_price_is_a_number_from_zero_up(wrong):
    with pytest.raises(InputError, match="the price false_pass is"):
        Prices(false_pass=wrong)


@pytest.mark.parametrize("wrong", [0, 100, 1.5, True])
def test_votes_are_a_whole_number(wrong):
    with pytest.raises(InputError, match="votes is"):
        Prices(votes=wrong)


# --- the table --------------------------------------------------------------------------------------


def test_every_step_counts_what_its_threshold_decides(tuning):
    table, ranking, place = tuning.table, tuning.calibration.ranking, tuning._pool
    assert table.last == len(np.unique(ranking.place[np.isfinite(ranking.place)])) > 30
    assert table.labelled == sum(pair.labelled for pair in tuning.all_pairs) > len(ranking.place)
    for at in range(table.last + 1):
        passes, fails = table.passes[at], table.fails[at]
        inside = ranking.passes(Bands(passes.cut, None))
        assert (passes.decided, passes.wrong) == (inside.sum(), (inside & ranking.rejected).sum())
        assert passes.right == (inside & ~ranking.rejected).sum()
        assert passes.findable == (~ranking.rejected).sum()
        assert passes.pool == (place >= (math.inf if passes.cut is None else passes.cut)).sum()
        inside = ranking.fails(Bands(None, fails.cut))
        assert (fails.decided, fails.wrong) == (inside.sum(), (inside & ranking.accepted).sum())
        assert fails.findable == (~ranking.accepted).sum()
        assert fails.pool == (place < (-math.inf if fails.cut is None else fails.cut)).sum()
    assert table.passes[-1].decided == 12  # the exact answers are in the counts, and no threshold
    assert None not in [step.cut for step in table.passes[:-1]] + [step.cut for step in table.fails[1:]]


def test_thresholds_are_short_decimals_between_the_scores(tuning):
    table = tuning.table
    edges = [-math.inf, *table.scores, math.inf]
    for at, (low, high) in enumerate(pairwise(edges)):
        for side, steps in (("pass", table.passes), ("fail", table.fails)):
            cut = steps[at].cut
            assert table.step_of(side, cut) == at
            assert cut is None or (low < cut <= high and len(repr(cut)) <= 6)


def test_certified_is_what_the_certificate_says(tuning):
    passes, fails = tuning.calibration.pass_certificate, tuning.table.zones["fail"]
    assert (
        {step.certified for step in tuning.table.passes}
        == {step.certified for step in tuning.table.fails}
        == {True, False}
    )
    for step in tuning.table.passes:
        assert step.certified == passes.holds_at(math.inf if step.cut is None else step.cut)
        assert step.why.startswith("certified: ") == step.certified
    for step in tuning.table.fails[1:]:
        assert step.certified == any(low < step.cut <= high for low, high in fails)
    assert not tuning.table.fails[0].certified  # nothing fails before the score: never "0 errors"


def test_the_bands_are_those_of_the_curves(tuning):
    ranking = tuning.calibration.ranking
    for place, right, steps, ends in (
        (ranking.place, ~ranking.rejected, tuning.table.passes[:-1], tuning.table.scores),
        (-ranking.place, ~ranking.accepted, tuning.table.fails[1:], -tuning.table.scores),
    ):
        curve = compute_curve(place, right)
        bands = precision_band(curve, 0.1), recall_band(curve, 0.1)
        for step, end in zip(steps, ends, strict=True):
            at = int(np.flatnonzero(curve.thresholds == end)[0])
            for shown, band in zip((step.right_band, step.found_band), bands, strict=True):
                assert shown == pytest.approx((band.low[at], band.high[at]), abs=1e-12)


@pytest.mark.parametrize(
    ("exact", "options"),
    [(12, TWO_SIDES), (0, TWO_SIDES), (40, {"precision": 0.8}), (12, {"precision": 0.99, "fail_precision": 0.99})],
)
def test_every_step_promises_what_a_policy_with_its_thresholds_would(exact, options):
    tuning = tuned(*mixed(), exact=exact, **options)
    options = {"scorer": Given(), "development": 0.0, "rules": (), **options}
    some = range(0, tuning.table.last + 1, 9)
    places = [(high, low) for high in some for low in some if low <= high] + [(tuning.table.last, 0)]
    for place in places:
        figures = tuning.move(*place).figures
        hand_set = HandSet(figures.bands.pass_at_or_above, figures.bands.fail_below, because="a test")
        if None in (figures.bands.pass_at_or_above, figures.bands.fail_below):
            policy = tuning.policy(because="a test")  # calibrating takes None for "choose"
        else:
            policy = calibrate(tuning.all_pairs, hand_set=hand_set, **options).policy
        evidence = policy.evidence
        assert policy.bands_stage.bands == figures.bands
        assert evidence.sentence == figures.sentence
        assert (evidence.pass_.certified, evidence.fail.certified) == (
            figures.passes.certified,
            figures.fails.certified,
        )
        assert (evidence.pass_.above, evidence.pass_.rejects) == (figures.passes.decided, figures.passes.wrong)
        if evidence.fail.below is not None:
            assert (evidence.fail.below, evidence.fail.accepts) == (figures.fails.decided, figures.fails.wrong)
        assert evidence.curve.precision == figures.precision
        assert evidence.curve.recall == figures.recall


def test_what_is_left_is_what_neither_decides(tuning):
    table = tuning.table
    figures = tuning.move(30, 10).figures
    assert figures.review == table.labelled - table.passes[30].decided - table.fails[10].decided
    texts = table.figures(30, 10, Prices(call=0.02, false_pass=3, false_fail=0.5, votes=3)).texts()
    assert texts["review"] == share(figures.review, table.labelled)
    assert texts["judge_calls"] == f"{1000 * 3 * figures.pool_review / table.pool:.2f}"
    assert texts["judge_cost"] == f"{1000 * 3 * 0.02 * figures.pool_review / table.pool:.2f}"
    cost = 3 * table.passes[30].wrong + 0.5 * table.fails[10].wrong + 0.06 * figures.review
    assert texts["expected_cost"] == f"{1000 * cost / table.labelled:.2f}"


def test_slices_that_miss_the_target_while_the_whole_meets_it_are_named():
    scores = np.linspace(0.5, 1, 100).tolist()
    labels = [at % 20 != 19 for at in range(100)]  # 5 % wrong, all of them with the last tag
    tuning = tuned(scores, labels, tags=("good", "fair", "fine", "bad"), precision=0.9)
    assert tuning.move(pass_step=0).figures.passes.slices == ("bad: 5 of 25 passes wrong",)
    assert tuning.move(pass_step=95).figures.passes.slices == ()  # the whole misses it, too


@given(
    st.lists(st.tuples(st.integers(0, 6), st.sampled_from([True, False, None])), min_size=1, max_size=25),
    st.integers(0, 5),
)
@settings(max_examples=15, deadline=None)
def test_handles_never_cross_and_counts_never_overlap(rows, exact):
    scores, labels = [score / 6 for score, _ in rows], [label for _, label in rows]
    tuning = tuned(scores, labels, exact=exact, declare=False, development=0.8, **TWO_SIDES)
    for high in range(tuning.table.last + 1):
        for low in range(high + 1):
            figures = tuning.move(high, low).figures
            assert isinstance(figures.bands, Bands)  # refuses crossed ones
            assert figures.review >= 0
            assert figures.pool_review >= 0


def test_what_is_sent_to_a_browser_is_json_and_says_the_same(tuning):
    record = json.loads(json.dumps(tuning.table.to_record(), allow_nan=False))
    figures = tuning.table.figures(33, 8)
    texts = figures.texts()
    assert record["pass"]["texts"]["wrong"][33] == texts["pass_wrong"]
    assert record["fail"]["texts"]["right"][8] == texts["fail_right"]
    assert {len(record[side][name]) for side in ("pass", "fail") for name in ("cut", "decided", "pool", "bands")} == {
        tuning.table.last + 1
    }
    assert sum(record["histogram"]["pool"]) == np.isfinite(tuning._pool).sum()
    shown = sum(sum(record["histogram"][kind]) for kind in ("acceptable", "not_acceptable", "cannot_say"))
    assert shown == np.isfinite(tuning.calibration.ranking.place).sum()


# --- moving -----------------------------------------------------------------------------------------


def test_a_handle_stops_at_the_other(tuning):
    tuning.move(20, 10)
    assert tuning.move(pass_step=3).place == tuning.move(pass_step=10).place
    assert (tuning.place.pass_step, tuning.place.fail_step) == (10, 10)
    assert tuning.move(fail_step=40).place.fail_step == 10
    assert tuning.bands.pass_at_or_above == tuning.bands.fail_below


@pytest.mark.parametrize("wrong", [-1, 10_000, 1.0, "3", True])
def test_there_is_no_such_step(tuning, wrong):
    with pytest.raises(InputError, match="a handle stands at a step from 0 to"):
        tuning.move(pass_step=wrong)


def test_thresholds_of_ones_own_stay_as_they_are():
    tuning = tuned(*mixed(), exact=12, **TWO_SIDES)
    for bands in (Bands(0.613, 0.207), Bands(0.505, 0.503), Bands(0.507, 0.507), Bands(1.7, -0.3), Bands(None, 0.207)):
        assert tuning.set(bands).bands == bands
        assert tuning.figures.passes.decided == tuning.calibration.ranking.passes(bands).sum()
        assert tuning.figures.fails.pool == (tuning._pool < bands.fail_below).sum()
        everywhere = [(high, low) for high in range(tuning.table.last + 1) for low in range(high + 1)]
        assert all(isinstance(tuning.table.figures(*place).bands, Bands) for place in everywhere)


# --- goals ------------------------------------------------------------------------------------------


def brute_force(tuning, worth):
    """The least of a worth over all places among certified thresholds."""
    table = tuning.table
    allowed = [
        [at for at, step in enumerate(steps) if step.certified] or [now]
        for steps, now in (
            (table.passes, tuning.place.pass_step),
            (table.fails, tuning.place.fail_step),
        )
    ]
    return min(worth(table.figures(k, j, tuning.prices)) for k in allowed[0] for j in allowed[1] if j <= k)


def expected_cost(figures):
    price = figures.prices
    errors = price.false_pass * figures.passes.wrong + price.false_fail * figures.fails.wrong
    return errors + price.votes * price.call * figures.review


@pytest.mark.parametrize("prices", [Prices(), Prices(0.3, 1, 1), Prices(1, 0.1, 0.1), Prices(0, 1, 5, votes=3)])
@pytest.mark.parametrize("seed", [7, 8])
def test_the_lowest_cost_is_the_lowest(prices, seed):
    tuning = tuned(*mixed(seed=seed), exact=12, prices=prices, **TWO_SIDES)
    least = brute_force(tuning, expected_cost)
    said = tuning.aim("lowest_cost")
    assert expected_cost(tuning.figures) == pytest.approx(least)
    assert "among the certified thresholds" in said
    assert tuning.figures.texts()["expected_cost"] in said


@pytest.mark.parametrize("most", [0.0, 0.2, 0.5, 0.9, 1.0])
def test_at_most_so_much_review_with_the_fewest_mistakes(most):
    tuning = tuned(*mixed(), exact=12, **TWO_SIDES)

    def worth(figures):
        missed = figures.pool_review > most * figures.pool
        return (
            missed,
            figures.pool_review if missed else 0,
            figures.passes.wrong + figures.fails.wrong,
            figures.pool_review,
        )

    least = brute_force(tuning, worth)
    said = tuning.aim("review", most)
    assert worth(tuning.figures) == least
    assert said.startswith("No less than") == (tuning.figures.pool_review > most * tuning.figures.pool)


def test_the_outermost_certified_thresholds():
    tuning = tuned(*mixed(), exact=12, **TWO_SIDES)
    table = tuning.table
    tuning.move(table.last, 0)
    assert f"{tuning.calibration.policy.bands_stage.pass_at_or_above:g}" in tuning.aim("smallest_pass")
    assert tuning.place.pass_step == next(at for at, step in enumerate(table.passes) if step.certified)
    tuning.aim("largest_fail")
    assert tuning.place.fail_step == max(at for at, step in enumerate(table.fails) if step.certified)
    assert tuning.figures.passes.certified
    assert tuning.figures.fails.certified


def test_each_handle_makes_room_for_the_other_ones_goal():
    tuning = tuned(
        np.linspace(0, 1, 200).tolist(), [at % 2 == 0 for at in range(200)], precision=0.4, fail_precision=0.4
    )
    certified = [at for at, step in enumerate(tuning.table.fails) if step.certified]
    tuning.move(tuning.table.last, certified[-1])
    tuning.aim("smallest_pass")
    assert tuning.figures.passes.certified
    assert tuning.figures.fails.certified or tuning.place.fail_step == 0
    tuning.move(0, 0).aim("largest_fail")
    assert tuning.place.fail_step == certified[-1]
    assert tuning.figures.passes.certified or tuning.place.pass_step == tuning.table.last


def test_a_goal_never_leaves_the_certified_set_silently():
    tuning = tuned([0.9, 0.8, 0.2], [True, True, False])
    before = tuning.place
    assert tuning.aim("smallest_pass").startswith("No pass threshold is certified. Here: not certified")
    assert tuning.aim("largest_fail").startswith("No fail threshold is certified")
    assert tuning.place == before
    explored = tuned(*mixed(), declare=False, precision=0.8)
    assert "nothing is certified here" in explored.aim("lowest_cost")
    with pytest.raises(InputError, match="there is no goal 'best'"):
        explored.aim("best")
    with pytest.raises(InputError, match="the share to review is 50"):
        explored.aim("review", 50)


# --- configurations ---------------------------------------------------------------------------------


def test_exploring_spends_nothing_and_declaring_is_one_look(on_disk, tmp_path):
    ledger = tmp_path / "pairs.jsonl.ledger.jsonl"
    tuning = Tuning(on_disk, **CLEAR)
    assert [event.event for event in load_ledger(ledger).events] == ["set"]
    assert not tuning.declared
    assert tuning.table.labelled == len(tuning.calibration.ranking.place) < 60
    assert "Nothing is certified here" in tuning.standing
    assert not any(step.certified for step in tuning.table.passes)
    assert tuning.figures.passes.why == "not certified: shown on the development part, where nothing is"
    certifying = {pair.id for pair in on_disk} - {tuning.calibration.pairs[at].id for at in tuning.calibration.ranked}

    tuning.declare()
    found = load_ledger(ledger)
    assert [event.event for event in found.events] == ["set", "plan", "declare", "look"]
    assert list(found.declared) == [tuning.configuration.key]
    assert {tuning.calibration.pairs[at].id for at in tuning.calibration.ranked} == certifying
    assert tuning.declare().declared

    again = Tuning(on_disk, **CLEAR)  # the same configuration on the same labels is the same look
    assert again.declared
    assert load_ledger(ledger).events == found.events
    tuning.switch(scorer="token_f1")
    assert not tuning.declared
    assert tuning.table.labelled == 100 - len(certifying)
    assert tuning.switch(scorer="token_recall").declared
    assert load_ledger(ledger).events == found.events


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"locale": "en_US"},
        {"rules": (), "locale": "en_US", "fail_precision": 0.8},
        {"rules": ["number"], "exact_rung": None},
        {"rules": ()},
    ],
)
def test_the_ledger_knows_every_configuration_again(on_disk, tmp_path, options):
    tuning = Tuning(on_disk, scorer="token_f1", **options).declare()
    found = load_ledger(tmp_path / "pairs.jsonl.ledger.jsonl")
    assert list(found.declared.values()) == [tuning.configuration]
    assert Tuning(on_disk, scorer="token_f1", **options).declared


def test_a_declaration_beyond_the_plan_is_refused_and_shows_nothing(on_disk):
    tuning = Tuning(on_disk, **CLEAR).declare().switch(scorer="token_f1")
    assert "it is taken (token_recall, precision 0.8, exact rung none)" in tuning.standing
    shown = tuning.table
    assert not tuning.declare().declared
    assert tuning.table is shown
    assert "No look was granted: the ledger plans 1 configuration" in tuning.standing


def test_without_a_ledger_one_configuration_can_be_declared():
    tuning = tuned(*mixed()).switch(precision=0.7)
    assert not tuning.declared
    assert not tuning.declare().declared
    assert "without a ledger no more can be counted" in tuning.standing
    assert tuning.switch(precision=0.95).declared


def test_what_one_more_configuration_costs_is_told(on_disk):
    tuning = Tuning(on_disk, **CLEAR, configurations=2)
    told = tuning.cost_of_declaring()
    assert told.startswith(
        "The plan has room for 2 configurations (0 declared so far): declaring this one takes a place"
    )
    assert "from 0.05 to 0.0333: without a wrong one" in told
    joint = Tuning(on_disk, **CLEAR, fail_precision=0.8)
    assert "from 0.05 to 0.025" in joint.cost_of_declaring()


def test_a_slice_is_a_configuration_of_its_own(on_disk):
    tuning = Tuning(on_disk, **CLEAR)
    whole = {tuning.calibration.pairs[at].id for at in tuning.calibration.ranked}
    tuning.switch(tag="even")
    assert {tuning.calibration.pairs[at].id for at in tuning.calibration.ranked} == {
        name for name in whole if int(name[1:]) % 2
    }
    assert tuning.configuration.filters == ("tags lack even",)
    assert "without the rows where tags lack even" in tuning.figures.sentence
    assert tuning.tags == {"odd": 50, "even": 50}
    with pytest.raises(InputError, match="no labelled answer has the tag 'third'; there are odd, even"):
        tuning.switch(tag="third")
    with pytest.raises(InputError, match="a slice needs the set's ledger"):
        tuned(*mixed(), tags=("a", "b")).switch(tag="a")


def test_what_a_configuration_is_made_of_is_checked(on_disk):
    with pytest.raises(InputError, match="a configuration has no 'threshold'; it has scorer, precision"):
        Tuning(on_disk, **CLEAR).switch(threshold=0.5)
    with pytest.raises(InputError, match="the tuner sees to 'explore' itself"):
        Tuning(on_disk, explore=True)
    assert Setup(rules=["number"]) == Setup(rules=Setup(rules=["number"]).rules)


def test_a_set_without_a_development_part_shows_nothing_before_it_is_declared():
    pairs = answers(*mixed())
    tuning = Tuning(pairs, scorer=Given(), rules=(), development=0.0)
    assert (tuning.table.labelled, tuning.table.last, tuning.bands) == (0, 0, Bands(None, None))
    assert tuning.figures.texts()["pass_right"] == tuning.figures.texts()["passed"] == "–"
    assert tuning.mistakes("pass").nearest == ()
    assert "lowest expected cost" in tuning.aim("lowest_cost")
    json.dumps(tuning.table.to_record(), allow_nan=False)
    assert tuning.declare().table.last > 0


def test_rules_are_part_of_the_configuration_and_of_the_counts():
    pairs = PairSet(
        [
            AnswerPair(
                f"a{at}", (f"It costs {at} crowns.",), f"It costs {at + at % 2} crowns.", question=f"q{at}",
                labelled=True, acceptable=at % 2 == 0,
            )
            for at in range(60)
        ]
    )  # fmt: skip
    tuning = Tuning(pairs, scorer="token_recall", exact_rung=None, locale="en_US", development=0.0).declare()
    assert tuning.table.early == {"pass": 0, "fail": 30}
    assert tuning.figures.fails.decided == tuning.table.fails[0].pool == 30
    assert tuning.mistakes("pass").total == 0
    without = Tuning(pairs, scorer="token_recall", exact_rung=None, rules=(), development=0.0).declare()
    mistakes = without.move(pass_step=0).mistakes("pass", most=40)
    assert (mistakes.total, list(mistakes.by_kind())) == (30, ["number"])
    assert (
        "the reference says '1 crowns'" in mistakes.nearest[-1].why or "the reference says" in mistakes.nearest[0].why
    )


# --- mistakes ---------------------------------------------------------------------------------------


def test_mistakes_come_nearest_first(tuning):
    ranking = tuning.calibration.ranking
    tuning.move(25, 22)
    for side, inside, wrong in (
        ("pass", ranking.passes(tuning.bands), ranking.rejected),
        ("fail", ranking.fails(tuning.bands), ranking.accepted),
    ):
        found = tuning.mistakes(side, most=5)
        sign = 1 if side == "pass" else -1
        due = sorted((sign * ranking.place[inside & wrong]).tolist())
        assert [sign * one.place for one in found.nearest] == due[:5]
        assert found.total == len(due)
        assert found.title == f"False {side}es: {len(due)}, the nearest 5".replace("failes", "fails")


def test_where_there_is_no_mistake_the_next_ones_are_shown(tuning):
    ranking = tuning.calibration.ranking
    tuning.move(tuning.table.last, 0)
    found = tuning.mistakes("pass", most=3)
    assert found.total == 0
    assert found.title == "False passes: none; the next ones would be"
    rejected = np.sort(ranking.place[ranking.rejected & np.isfinite(ranking.place)])[::-1]
    assert [one.place for one in found.nearest] == rejected[:3].tolist()
    assert all(one.pair.acceptable is not False for one in tuning.mistakes("fail").nearest)


@pytest.mark.parametrize(
    ("reference", "candidate", "kind"),
    [
        ("Yes, lorries may park here.", "No, lorries may not park here.", "negation"),
        ("It costs $1,299.", "It costs $1,399.", "number"),
        ("A discount of 15 % applies.", "A discount of 12 % applies.", "number"),
        ("The box weighs 3 kg.", "The box weighs a little.", "number"),
        ("It ships on 12 March 2026.", "It ships in March 2026.", "date"),
        ("We open at 9:30 a.m.", "We open at 10:30 a.m.", "date"),
        ("Your order is FW-20417-B.", "Your order is FW-20471-B.", "identifier"),
        ("Open the settings and choose the tab for notifications.", "In settings.", "short answer"),
        ("In the shed.", " ".join(["As far as anybody can tell"] * 6), "long answer"),
        ("Ask the gardener.", "Ask the plumber.", "other"),
    ],
)  # fmt: skip
def test_the_kind_of_a_mistake_is_read_from_the_texts(reference, candidate, kind):
    pair = AnswerPair("a", (reference,), candidate, tags=("something else",))
    assert tell_kind(pair, "en_US")[0] == kind
    assert kind in KINDS


def test_a_rule_that_decided_has_said_the_kind():
    pair = AnswerPair("a", ("It costs 5 crowns on 3 May 2026.",), "It costs 6 crowns on 4 May 2026.")
    assert tell_kind(pair, "en_US", "rule:date")[0] == "date"
    assert tell_kind(pair, "en_US", "rule:number")[0] == "number"
    assert tell_kind(AnswerPair("a", (), "something")) == ("other", "the question has no answer")
    assert tell_kind(AnswerPair("a", ("12",), "13"), "xh_ZA")[0] == "number"  # no negations known


def test_cures_name_what_helps():
    assert tell_cure("negation", rules_on=False).endswith("Switch rules on.")
    assert "left these undecided" in tell_cure("date", rules_on=True)
    assert tell_cure("other", rules_on=True) == ""


# --- policies ---------------------------------------------------------------------------------------


def test_exporting_takes_no_further_look(on_disk, tmp_path):
    tuning = Tuning(on_disk, **CLEAR).declare()
    ledger = (tmp_path / "pairs.jsonl.ledger.jsonl").read_bytes()
    tuning.move(pass_step=0)
    policy = tuning.export(tmp_path / "policy.yaml", because="a first  try,\nto see", set_by="Ada")
    assert (tmp_path / "pairs.jsonl.ledger.jsonl").read_bytes() == ledger
    assert load_policy(tmp_path / "policy.yaml") == policy
    side = policy.evidence.pass_
    assert (side.certified, side.because, side.set_by) == (False, "a first try, to see", "Ada")
    assert policy.evidence.sentence == tuning.figures.sentence
    verdicts = list(Cascade(policy).grade_all(on_disk))
    assert sum(verdict.outcome == "pass" for verdict in verdicts) == tuning.figures.passes.pool


def test_moved_thresholds_need_a_reason_and_others_do_not(on_disk, tmp_path):
    tuning = Tuning(on_disk, **CLEAR).declare()
    assert tuning.export(tmp_path / "own.yaml") is tuning.calibration.policy
    tuning.move(pass_step=tuning.place.pass_step - 1)
    with pytest.raises(InputError, match="the thresholds were moved: say why"):
        tuning.export(tmp_path / "moved.yaml", because=" \n")
    assert not (tmp_path / "moved.yaml").exists()


def test_within_the_certified_set_a_moved_threshold_stays_certified():
    tuning = tuned(*mixed(), exact=12, **TWO_SIDES)
    further = [at for at, step in enumerate(tuning.table.passes) if step.certified and at > tuning.place.pass_step]
    policy = tuning.move(pass_step=further[0]).policy(because="to be on the safe side")
    assert policy.certified
    assert policy.evidence.pass_.because == "to be on the safe side"


@pytest.mark.parametrize("exact", [60, 0])
def test_no_threshold_at_all_can_be_exported(exact):
    tuning = tuned(*mixed(), exact=exact, **TWO_SIDES)
    assert None not in (tuning.bands.pass_at_or_above, tuning.bands.fail_below)
    figures = tuning.move(tuning.table.last, 0).figures
    policy = Policy.from_yaml(tuning.policy(because="only what is exact").to_yaml())
    assert policy.bands_stage.bands == Bands(None, None)
    assert policy.evidence.pass_.certified == figures.passes.certified == (exact == 60)
    assert policy.evidence.fail.certified is figures.fails.certified is False
    assert policy.evidence.sentence == figures.sentence
    assert tuning.load(policy).place == tuning.place


def test_loading_puts_the_handles_back(on_disk, tmp_path):
    tuning = Tuning(on_disk, **CLEAR).declare().set(Bands(0.713, 0.0213))
    tuning.export(tmp_path / "policy.yaml", because="by eye")
    tuning.switch(scorer="token_f1", rules=["number"], exact_rung=2, precision=0.6)
    tuning.load(tmp_path / "policy.yaml")
    assert tuning.declared
    assert tuning.bands == Bands(0.713, 0.0213)
    assert (tuning.setup.scorer, tuning.setup.precision, tuning.setup.exact_rung) == ("token_recall", 0.8, None)


BY_HAND = """
schema: calibkit/policy/1
name: copied
stages:
  - {stage: exact, rung: 3}
  - {stage: bands, scorer: {name: token_f1, version: 1}, pass_at_or_above: 0.8, fail_below: null}
"""


def test_a_policy_by_hand_is_shown_with_its_threshold(on_disk):
    tuning = Tuning(on_disk, **CLEAR).load(Policy.from_yaml(BY_HAND))
    assert (tuning.setup.scorer, tuning.setup.exact_rung, tuning.bands) == ("token_f1", 3, Bands(0.8, None))
    assert not tuning.declared


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("stages: [{stage: exact, rung: 3}]", "has no bands; the tuner shows exact, rules and bands"),
        (
            "stages: [{stage: fields}, {stage: bands, scorer: {name: token_f1, version: 1}, pass_at_or_above: 1.0, "
            "fail_below: null}]",
            "has a stage 'fields'",
        ),
    ],
)
def test_policies_of_another_make_are_refused(on_disk, text, what):
    tuning = Tuning(on_disk, **CLEAR)
    before = tuning.setup, tuning.bands
    with pytest.raises(InputError, match=what):
        tuning.load(Policy.from_yaml(f"schema: calibkit/policy/1\nname: other\n{text}"))
    assert (tuning.setup, tuning.bands) == before


def test_two_policies_side_by_side(on_disk):
    tuning = Tuning(on_disk, **CLEAR)
    other = Policy.from_yaml(BY_HAND.replace("0.8", "0.95"))
    found = tuning.set(Bands(0.5, 0.2)).compare(other)
    by_id = {verdict.id: verdict.outcome for verdict in Cascade(other).grade_all(on_disk)}
    own = {
        pair.id: Bands(0.5, 0.2).decide(value)
        for pair, value in zip(on_disk, tuning.calibration.scores.values, strict=True)
    }
    assert {change.id for change in found.changes} == {name for name in own if own[name] != by_id[name]}
    assert found.both == 100
    assert all(change.before.outcome == by_id[change.id] for change in found.changes)


def test_a_scorer_of_ones_own_grades_both_policies():
    tuning = tuned(*mixed(), exact=12, **TWO_SIDES)
    policy = tuning.policy()
    assert tuning.compare(policy).changes == ()
    assert len(tuning.move(tuning.table.last, 0).compare(policy).changes) > 50


def test_the_table_alone_takes_any_pool(tuning):
    pool = np.concatenate([np.linspace(0, 1, 100_000), [np.nan, np.inf, -np.inf]])
    table = TuningTable.of(tuning.calibration, pool)
    assert table.pool == 100_003
    assert len(json.dumps(table.to_record())) < 100_000
    assert table.passes[-1].pool == table.fails[0].pool == 1


# --- the widget, without a browser ------------------------------------------------------------------


class Screen:
    """A band tuner, and a browser that only listens."""

    def __init__(self, tuning, **options):
        widgets = pytest.importorskip("calibkit.widgets.band_tuner", reason="anywidget is not installed")
        self.tuner = widgets.BandTuner(tuning, **options)
        self.heard, self.seq = [], 0
        self.tuner.send = self.heard.append

    def say(self, do, **more):
        self.seq += 1
        self.heard.clear()
        self.tuner._receive(None, {"do": do, "client": "a browser", "seq": self.seq, **more}, [])
        json.dumps(self.heard, allow_nan=False)
        return self.heard[-1]

    def told(self, kind):
        return next((message for message in self.heard if message["kind"] == kind), None)


@pytest.fixture
def screen(on_disk):
    return Screen(Tuning(on_disk, **CLEAR).declare())


def test_a_browser_that_is_ready_gets_everything(screen):
    assert screen.say("ready") == {"kind": "said", "seq": 1, "text": "", "problem": False}
    shown = screen.told("show")
    assert json.dumps(shown["table"]) == json.dumps(screen.tuner.tuning.table.to_record())
    assert shown["setup"]["precision"] == 80
    assert shown["declared"]
    assert [side["side"] for side in screen.told("mistakes")["sides"]] == ["pass", "fail"]


def test_python_follows_the_handles_and_can_be_watched(screen):
    tuner, seen = screen.tuner, []
    screen.say("ready")
    revision = screen.told("show")["revision"]
    tuner.observe(lambda change: seen.append(change["new"]), "pass_at")
    screen.say("rest", place=[0, 0], revision=revision)
    assert seen == [tuner.pass_at] == [tuner.tuning.bands.pass_at_or_above]
    assert tuner.tuning.place.pass_step == 0
    assert screen.told("moved")["place"] == [0, 0]


def test_late_messages_and_steps_of_another_table_move_nothing(screen):
    screen.say("ready")
    revision = screen.told("show")["revision"]
    screen.say("rest", place=[1, 0], revision=revision)
    screen.seq -= 2
    screen.say("rest", place=[0, 0], revision=revision)  # comes after, was sent before
    assert screen.tuner.tuning.place.pass_step == 1
    screen.seq += 5
    screen.say("switch", changes={"precision": 70}, place=[1, 0], revision=revision)
    place = screen.tuner.tuning.place
    screen.say("rest", place=[0, 0], revision=revision)
    assert screen.tuner.tuning.place == place
    screen.say("rest", place=[0, 0], revision=revision + 1)
    assert screen.tuner.tuning.place.pass_step == 0


def test_switches_goals_and_prices(screen):
    tuning = screen.tuner.tuning
    screen.say("switch", changes={"scorer": "token_f1", "rules": True, "fail_precision": 75})
    assert (tuning.setup.scorer, tuning.setup.fail_precision, tuning.declared) == ("token_f1", 0.75, False)
    assert len(tuning.setup.rules.rules) == 10
    screen.say("switch", changes={"rules": False})
    assert tuning.setup.rules.rules == []
    assert screen.say("declare")["text"] == ""
    assert "No look was granted" in tuning.standing
    screen.say("switch", changes={"scorer": "token_recall", "fail_precision": None})
    assert tuning.declared
    assert screen.say("goal", goal="smallest_pass")["text"].startswith("The smallest certified pass threshold")
    screen.say("prices", prices={"call": 1, "false_pass": 2, "false_fail": 3, "votes": 2})
    assert tuning.prices == Prices(1, 2, 3, 2)
    assert screen.told("show")["prices"]["review"] == 2_000_000


def test_export_load_and_compare(screen, tmp_path):
    tuning, path = screen.tuner.tuning, str(tmp_path / "policy.yaml")
    screen.say("ready")
    revision = screen.told("show")["revision"]
    said = screen.say("export", path=path, because="", set_by="", place=[0, 0], revision=revision)
    assert said["problem"]
    assert "say why" in said["text"]
    said = screen.say("export", path=path, because="by eye", set_by="")
    assert said["text"] == f"Written: {path} (pass at or above {tuning.bands.pass_at_or_above:g}, not certified)."
    assert load_policy(path).evidence.pass_.because == "by eye"
    screen.say("goal", goal="smallest_pass")
    screen.say("compare", path=path)
    changes = screen.told("changes")
    assert sum(n for *_, n in changes["counts"]) == len(changes["changes"]) == 20
    assert screen.say("load", path=path)["text"].startswith("The handles are where")
    assert tuning.place.pass_step == 0
    assert screen.say("load", path=str(tmp_path / "none.yaml"))["problem"]


def test_mistakes_are_sent_to_labelling_and_to_the_references(on_disk):
    sent, added = [], []
    screen = Screen(Tuning(on_disk, **CLEAR).declare(), on_label=sent.extend, on_reference=added.append)
    assert screen.say("label", ids=["a1", "a2"])["text"] == "Sent to labelling: a1, a2."
    assert screen.say("reference", id="a3")["text"].endswith("Its question certifies no more.")
    assert (sent, added) == (["a1", "a2"], ["a3"])


def test_what_is_not_offered_is_refused_and_faults_are_not_hidden(screen):
    assert "no such thing to do here: 'label'" in screen.say("label", ids=["a1"])["text"]
    screen.tuner._on_label = lambda ids: 1 / 0
    with pytest.raises(ZeroDivisionError):
        screen.say("label", ids=["a1"])
    assert screen.told("said") == {
        "kind": "said",
        "seq": screen.seq,
        "text": "ZeroDivisionError: division by zero",
        "problem": True,
    }


def test_a_saved_notebook_holds_the_drawing_code_and_nothing_of_the_set():
    scores, labels = np.linspace(0, 1, 3000), [True] * 300 + [""] * 2700
    screen = Screen(tuned(scores.tolist(), labels))
    state = screen.tuner.get_state()
    code = len(state.pop("_esm")) + len(state.pop("_css"))
    assert code < 60_000
    assert len(json.dumps(state, default=str)) < 2_000
    assert "reference 1" not in json.dumps(state, default=str)
    assert repr(screen.tuner).startswith("BandTuner(Bands(pass_at_or_above=")
