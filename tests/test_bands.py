import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy import stats

from calibkit.bands import (
    MARGIN,
    Bands,
    FailEvidence,
    PassEvidence,
    Ranking,
    choose_bands,
    explain_missing,
    fail_intervals,
    promise,
    short_decimal,
    unbounded,
)
from calibkit.certificate import boundary, certify
from calibkit.pairs import AnswerPair, InputError

unhurried = settings(deadline=None, max_examples=100)


def ranking_of(place, rejected, accepted=None, stage=None):
    place, rejected = np.array(place, dtype=float), np.array(rejected, dtype=bool)
    stages = ["bands" if math.isfinite(p) else "exact" for p in place] if stage is None else stage
    return Ranking(place, stages, rejected, ~rejected if accepted is None else np.array(accepted, dtype=bool))


# --- the two cuts -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bands", "outcomes"),
    [
        (Bands(0.8, 0.3), ["fail", "review", "review", "pass"]),
        (Bands(0.5, 0.5), ["fail", "fail", "pass", "pass"]),
        (Bands(None, 0.3), ["fail", "review", "review", "review"]),
        (Bands(0.8, None), ["review", "review", "review", "pass"]),
        (Bands(None, None), ["review"] * 4),
    ],
)
def test_pass_is_at_or_above_and_fail_is_below(bands, outcomes):
    assert [bands.decide(score) for score in (0.2, 0.3, 0.5, 0.8)] == outcomes


def test_a_pass_cut_below_the_fail_cut_is_refused():
    with pytest.raises(InputError, match=r"pass_at_or_above 0\.3 is below fail_below 0\.4: .*; raise the one or lower"):
        Bands(0.3, 0.4)


# --- the ranking ------------------------------------------------------------------------------------


def labelled(name, acceptable):
    return AnswerPair(name, ("r",), "c", question=name, labelled=True, acceptable=acceptable)


def test_who_cannot_say_counts_against_on_either_side_and_unscored_pairs_on_none():
    pairs = [labelled("a", True), labelled("b", False), labelled("c", None), labelled("d", True)]
    ranking = Ranking.of(pairs, np.array([0.1, np.inf, 0.3, np.nan]), ["bands", "exact", "bands", "bands"])
    assert ranking.place.tolist() == [0.1, np.inf, 0.3]
    assert ranking.stage == ["bands", "exact", "bands"]
    assert ranking.rejected.tolist() == [False, True, True]
    assert ranking.accepted.tolist() == [True, False, True]
    assert Ranking.of(pairs[:1], np.array([np.nan]), ["bands"]).certify_pass(0.1, 0.1).n == 0


def test_cannot_say_costs_certificates_on_both_sides():
    n = 60
    place = np.where(np.arange(n) < n / 2, 1.0, 0.0)
    say = [True] * 30 + [False] * 30
    doubts = [None] * 3 + [True] * 27 + [False] * 27 + [None] * 3
    for answers, rejects, accepts, certified in ((say, [0, 30], [0, 30], True), (doubts, [3, 33], [3, 33], False)):
        ranking = Ranking.of([labelled(str(i), a) for i, a in enumerate(answers)], place, ["bands"] * n)
        passes, fails = ranking.certify_pass(0.1, 0.1), ranking.certify_fail(0.1, 0.1)
        assert (passes.rejects.tolist(), fails.rejects.tolist()) == (rejects, accepts)
        assert (bool(passes.intervals), bool(fails.intervals)) == (certified, certified)


def test_a_pair_without_label_is_no_right_answer():
    with pytest.raises(InputError, match=r"the pair 'b' has no label; rank labelled pairs only"):
        Ranking.of([labelled("a", True), AnswerPair("b", ("r",), "c")], np.array([1.0, 0.5]), ["bands"] * 2)


def test_counts_stand_stage_by_stage():
    ranking = ranking_of(
        [np.inf, np.inf, 0.9, 0.4, -np.inf], [0, 1, 0, 1, 1], stage=["exact", "fields", *["bands"] * 2, "x"]
    )
    inside = ranking.passes(Bands(0.5, None))
    assert inside.tolist() == [True, True, True, False, False]
    assert ranking.counts(inside, ranking.rejected) == {"exact": (1, 0), "fields": (1, 1), "bands": (1, 0)}
    assert ranking.passes(Bands(None, None)).tolist() == [True, True, False, False, False]
    assert ranking.fails(Bands(None, 0.5)).tolist() == [False, False, False, True, True]
    assert ranking.fails(Bands(None, None)).tolist() == [False, False, False, False, True]


# --- short decimals ---------------------------------------------------------------------------------


def digits(value):
    return max(0, -Decimal(repr(value)).normalize().as_tuple().exponent)


def holds_a_decimal(low, high, places):
    """Whether [low, high], of Fractions, holds a number with so many decimal places."""
    return math.ceil(low * 10**places) <= math.floor(high * 10**places)


scores = (
    st.floats(-50, 50, allow_subnormal=False)
    | st.sampled_from((0.0, 0.5, 1.0))
    | st.integers(0, 20).map(lambda i: i / 16)
)


@unhurried
@given(scores, scores | st.floats(1e-16, 1e-3))
@example(0.5, 0.50003)
@example(-0.3, 0.2)
@example(0.5, 0.50002000001)
def test_short_decimals_lie_inside_keep_off_the_ends_and_are_the_shortest(low, other):
    high = other if other > low else low + abs(other)
    assume(low < high)
    value = short_decimal(low, high)
    assert low < value <= high
    gap = Fraction(high) - Fraction(low)
    away = min(Fraction(value) - Fraction(low), Fraction(high) - Fraction(value))
    last_bit = Fraction(math.ulp(max(abs(low), abs(high))))
    if gap >= 2 * Fraction(MARGIN):
        margin = Fraction(MARGIN)
        assert away >= margin - last_bit
    else:
        margin = gap / 4
        assert away >= min(margin, gap / 2 - last_bit) - last_bit or gap <= 4 * last_bit
    if gap > 1e-14:  # far above the last bit
        for fewer in range(digits(value)):
            assert not holds_a_decimal(Fraction(low) + margin, Fraction(high) - margin, fewer)
    assert math.copysign(1, value) > 0 or value < 0  # no -0.0


@pytest.mark.parametrize(
    ("low", "high", "value"),
    [
        (0.8297, 0.8312475, 0.83),
        (0.19, 0.2, 0.195),
        (0.0, 1.0, 0.5),
        (0.999, 1.0, 0.9995),
        (0.2, 0.9, 0.6),  # of .3 to .8 the one next to .55, the even one of two
        (0.5, np.nextafter(0.5, 1), np.nextafter(0.5, 1)),
        (1e-25, 3e-25, 2e-25),
        (-math.inf, math.inf, 0.0),
        (-math.inf, 0.0, -0.5),
        (0.9, math.inf, 1.0),
        (-0.3, 0.2, 0.0),
        (95.0, 205.0, 150.0),
        (1e300, 2e300, 1.5e300),
    ],
)
def test_short_decimals_by_example(low, high, value):
    assert short_decimal(low, high) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize("end", [0.0, 0.5, -3.25, 1e300, -1e300])
def test_an_infinite_end_leaves_a_finite_value(end):
    assert -math.inf < short_decimal(-math.inf, end) <= end
    assert end < short_decimal(end, math.inf) < math.inf


# --- what is exported decides as what is certified -------------------------------------------------


@st.composite
def rankings(draw):
    """Places with ties, gaps of a last bit and deterministic blocks; rejects rarer at the top."""
    n = draw(st.integers(20, 80))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    steps = np.array([1.0])
    for _ in range(draw(st.integers(0, 25))):
        size = draw(st.sampled_from((0, 0, 1e-16, 3e-6, 1.5e-5, 2.5e-5, 1e-3, 0.07)))
        steps = np.append(steps, np.nextafter(steps[-1] - size, -np.inf))
    at = rng.integers(0, len(steps), n)
    place = steps[at]
    signal = draw(st.sampled_from((0.0, 0.5, 1.0)))
    rejected = rng.random(n) < 0.05 + 0.9 * (
        signal * at / len(steps) + (1 - signal) * draw(st.sampled_from((0.0, 0.5, 1)))
    )
    place[rng.random(n) < draw(st.sampled_from((0.0, 0.2)))] = np.inf
    place[rng.random(n) < draw(st.sampled_from((0.0, 0.2)))] = -np.inf
    return ranking_of(place, rejected, ~rejected | (rng.random(n) < 0.05))


@unhurried
@given(rankings(), st.sampled_from((0.1, 0.3, 0.6)))
def test_the_exported_pass_cut_decides_every_label_as_the_certified_score_does(ranking, alpha):
    certificate = ranking.certify_pass(alpha, 0.2)
    bands, passes, fails = choose_bands(ranking, certificate)
    assert (bands.fail_below, fails) == (None, False)
    assert passes is bool(certificate.intervals)
    if passes:
        assert (ranking.passes(bands) == (ranking.place >= certificate.threshold)).all()
        decided = np.array([p == np.inf or (p > -np.inf and bands.decide(p) == "pass") for p in ranking.place.tolist()])
        assert (decided == ranking.passes(bands)).all()
    if bands.pass_at_or_above is not None:
        assert certificate.holds_at(bands.pass_at_or_above)
        # Away from all scores, where the gap to the next lower one is wide.
        lower = ranking.place[ranking.place < certificate.threshold].max(initial=-np.inf)
        if certificate.threshold - lower >= 2 * MARGIN:
            assert np.abs(ranking.place - bands.pass_at_or_above).min() >= MARGIN - 1e-15
    else:
        assert certificate.threshold in (None, np.inf)


@unhurried
@given(rankings(), st.sampled_from((0.1, 0.3, 0.6)))
def test_the_exported_fail_cut_decides_every_label_as_the_certified_score_does(ranking, alpha):
    none = certify([], [])
    certificate = ranking.certify_fail(alpha, 0.2)
    bands, passes, fails = choose_bands(ranking, none, certificate)
    assert (bands.pass_at_or_above, passes) == (None, False)
    assert fails is bool(certificate.intervals)
    if fails:
        highest = -certificate.threshold
        assert (ranking.fails(bands) == (ranking.place <= highest)).all()  # with the ties of `highest`
        assert bands.fail_below is None or bands.fail_below > highest
        higher = ranking.place[ranking.place > highest].min(initial=np.inf)
        if bands.fail_below is not None and higher - highest >= 2 * MARGIN:
            assert np.abs(ranking.place - bands.fail_below).min() >= MARGIN - 1e-15
        n_wrong = int(ranking.accepted[ranking.fails(bands)].sum())
        assert n_wrong <= boundary(alpha, 0.2, len(ranking.place))[ranking.fails(bands).sum()]


@unhurried
@given(rankings(), st.sampled_from((0.1, 0.3, 0.6, 0.8)), st.sampled_from((0.1, 0.3, 0.6, 0.8)))
def test_two_cuts_never_cross_and_each_is_certified_on_its_own_side(ranking, alpha, fail_alpha):
    n = len(ranking.place)
    passing, failing = ranking.certify_pass(alpha, 0.2), ranking.certify_fail(fail_alpha, 0.2)
    bands, passes, fails = choose_bands(ranking, passing, failing)
    assert not (ranking.passes(bands) & ranking.fails(bands)).any()
    if passes:
        inside = ranking.passes(bands)
        assert ranking.rejected[inside].sum() <= boundary(alpha, 0.2, n)[inside.sum()]
    if fails:
        inside = ranking.fails(bands)
        assert ranking.accepted[inside].sum() <= boundary(fail_alpha, 0.2, n)[inside.sum()]
    # Both ends of their own side where these do not cross, else one of them; a side is given up only for the other.
    alone, _, _ = choose_bands(ranking, passing)
    fail_alone, _, _ = choose_bands(ranking, certify([], []), failing)
    both_sides = (ranking.passes(alone) & ranking.fails(fail_alone)).any()
    crossing = None not in (alone.pass_at_or_above, fail_alone.fail_below) and (
        alone.pass_at_or_above < fail_alone.fail_below
    )
    assert crossing or not both_sides
    if crossing:
        assert alone.pass_at_or_above == bands.pass_at_or_above or fail_alone.fail_below == bands.fail_below
    else:
        assert bands == Bands(alone.pass_at_or_above, fail_alone.fail_below)
        assert (passes, fails) == (bool(passing.intervals), bool(failing.intervals))


def test_where_the_sides_cross_every_answer_is_decided_once():
    # Half of the answers are acceptable, and both sides tolerate 70 %: nearly every cut is certified on either side.
    ranking = ranking_of(np.arange(100) / 100, np.arange(100) % 2 == 0)
    passing, failing = ranking.certify_pass(0.7, 0.05), ranking.certify_fail(0.7, 0.05)
    assert passing.threshold == 0.0
    assert failing.threshold == -0.99
    bands, passes, fails = choose_bands(ranking, passing, failing)
    assert (ranking.passes(bands) | ranking.fails(bands)).all()
    assert not (ranking.passes(bands) & ranking.fails(bands)).any()
    assert (passes, fails) == (True, False)  # all pass; no certified fail cut lies as low as that
    assert explain_missing(failing) == ("all its certified thresholds lie across the other side's", None)


def test_where_the_sides_cross_the_cut_moves_that_leaves_less_to_review():
    # Rejected and accepted at the scores 0 to 3. Passes: 300 rejects of 800 are certified from 2 up, 420 of 1,000
    # are not. Fails: 0 accepted of 150 and 80 of 650 are certified, 80 of 350 (a hole) are not.
    counts = [(150, 0), (120, 80), (300, 0), (0, 500)]
    place = np.repeat([0, 1, 2, 3], [r + a for r, a in counts])
    rejected = np.concatenate([np.arange(r + a) < r for r, a in counts])
    ranking = ranking_of(place, rejected)
    passing, failing = ranking.certify_pass(0.43, 0.1), ranking.certify_fail(0.2, 0.1)
    assert passing.intervals == [(1.0, 3.0)]
    assert fail_intervals(failing) == [(0.0, 1.0), (2.0, 3.0)]
    # Passing from 1.5 leaves the score 1 to review; failing below 2.5 leaves nothing.
    assert choose_bands(ranking, passing, failing) == (Bands(2.5, 2.5), True, True)


def test_the_value_stored_for_the_fail_side_keeps_the_ties_of_its_score():
    ranking = ranking_of([0.25] * 50 + [0.75] * 50, [True] * 50 + [False] * 50)
    failing = ranking.certify_fail(0.1, 0.1)
    assert fail_intervals(failing) == [(0.25, 0.75)]
    bands, _, fails = choose_bands(ranking, ranking.certify_pass(0.1, 0.1), failing)
    assert (bands, fails) == (Bands(0.5, 0.5), True)
    assert ranking.fails(Bands(None, 0.25)).sum() == 0  # s itself would lose them all


def test_no_room_between_two_scores():
    above = np.nextafter(0.25, 1)
    ranking = ranking_of([0.25] * 50 + [above] * 50, [True] * 50 + [False] * 50)
    bands, _, _ = choose_bands(ranking, ranking.certify_pass(0.1, 0.1), ranking.certify_fail(0.1, 0.1))
    assert bands == Bands(above, above)
    assert [bands.decide(0.25), bands.decide(above)] == ["fail", "pass"]


def test_nothing_certified_is_no_threshold():
    ranking = ranking_of(np.arange(100), [True, False] * 50)
    assert choose_bands(ranking, ranking.certify_pass(0.05, 0.1), ranking.certify_fail(0.05, 0.1)) == (
        Bands(None, None),
        False,
        False,
    )
    empty = ranking_of([], [])
    assert choose_bands(empty, empty.certify_pass(0.05, 0.1)) == (Bands(None, None), False, False)


def test_only_the_deterministic_decisions_may_be_certified():
    place = [np.inf] * 60 + [-np.inf] * 60 + [0.7, 0.5] * 20
    ranking = ranking_of(place, [False] * 60 + [True] * 60 + [True, False] * 20)
    passing, failing = ranking.certify_pass(0.1, 0.1), ranking.certify_fail(0.1, 0.1)
    assert (passing.threshold, failing.threshold) == (np.inf, np.inf)
    assert choose_bands(ranking, passing, failing) == (Bands(None, None), True, True)
    assert unbounded(passing.intervals) == [(0.7, None)]
    assert unbounded(fail_intervals(failing)) == [(None, 0.5)]


def test_a_threshold_set_by_hand_is_certified_where_it_lies_in_the_set():
    ranking = ranking_of(np.arange(200) / 200, np.arange(200) < 100)
    passing, failing = ranking.certify_pass(0.05, 0.1), ranking.certify_fail(0.05, 0.1)
    c = boundary(0.05, 0.1, 200)
    for cut in np.linspace(-0.1, 1.1, 481):
        m, k = (ranking.place >= cut).sum(), ranking.rejected[ranking.place >= cut].sum()
        assert passing.holds_at(cut) is bool(k <= c[m])
        m, k = (ranking.place < cut).sum(), ranking.accepted[ranking.place < cut].sum()
        assert any(low < cut <= high for low, high in fail_intervals(failing)) is bool(k <= c[m])


# --- why not, and the promise -----------------------------------------------------------------------


def test_too_few_labels_for_any_certificate():
    # .95 ** 45 < .1 <= .95 ** 44
    assert explain_missing(certify(np.arange(44), [False] * 44)) == (
        "44 labels can tell too little: without any wrong answer among them at least 45 are due",
        86,  # of labels with a tenth of alpha wrong
    )
    assert certify(np.ones(45), [False] * 45).intervals
    assert explain_missing(certify([], [], 0.1, 0.05))[0].endswith("at least 29 are due")  # .9 ** 29 < .05 <= .9 ** 28
    assert explain_missing(certify([-np.inf] * 60, [False] * 60)) == ("no labelled answer has a score", None)


def test_an_empty_certificate_says_how_many_labels_might_fill_it():
    # The upper 40 of 100 are right, and 53 would be due.
    reason, needed = explain_missing(certify(-np.arange(100), np.arange(100) >= 40))
    assert (
        reason
        == "at the best threshold 0 of 40 labelled answers are wrong: too few to tell that the share is under 0.05"
    )
    assert needed > 100
    error, share = 0.5 / 41, 0.4
    region = round(needed * share)
    assert stats.binom.cdf(boundary(0.05, 0.1, needed)[region], region, error) >= 0.8


def test_a_hopeless_score_needs_no_number():
    reason, needed = explain_missing(certify(np.arange(200), [True, False] * 100))
    assert needed is None
    assert reason == (
        "at the best threshold 0 of 1 labelled answers are wrong, "
        "and nothing points to a threshold of this score that keeps the share under 0.05"
    )


CERTIFIED = {"certified": True, "target": 0.95, "confidence": 0.9}


def told(passes=None, fails=None, bands=None, **others):
    """The promise of a policy of the pool "desk", drawn at random."""
    return promise(
        **{"pool": "desk", "constructed": False, "drawn": "random", "left_out": [], **others},
        passes=PassEvidence(**(passes or CERTIFIED)),
        fails=FailEvidence(**(fails or {"certified": False, "reason": "not asked for"})),
        bands=bands or Bands(0.8, None),
    )


PASSES = "fewer than 5 % of the answers that this policy passes by itself would be rejected"
DESK = "by a person, for a random answer to a random question of desk"
ALL = "this holds for every certified threshold at once."
BY_HAND = {"certified": False, "reason": "0.4 was set by hand"}


@pytest.mark.parametrize(
    ("case", "sentence"),
    [
        ({}, f"With 90 % confidence {PASSES} {DESK}; {ALL}"),
        (
            {"bands": Bands(None, None)},
            "With 90 % confidence fewer than 5 % of the answers that this policy passes before any score (it passes no others) "
            f"would be rejected {DESK}; {ALL}",
        ),
        (
            {"fails": {**CERTIFIED, "target": 0.985}, "bands": Bands(0.8, 0.2)},
            f"With 90 % confidence {PASSES} and fewer than 1.5 % of those that it fails would be accepted {DESK}; {ALL}",
        ),
        (
            {"drawn": "assumed"},
            "Provided that the labelled answers are a random sample of desk, with 90 % confidence "
            f"{PASSES} {DESK}; {ALL}",
        ),
        (
            {"constructed": True, "left_out": ["improper=true", "topic=x"]},
            f"With 90 % confidence {PASSES} {DESK} (a set written for the purpose, no traffic) "
            f"without the rows where improper=true or topic=x; {ALL}",
        ),
        (
            {"passes": {"certified": False, "reason": "3 labels are few", "labels_needed": 180}},
            "Nothing is certified for desk: 3 labels are few; about 180 random labels in all may do.",
        ),
        ({"passes": {"certified": False}}, "Nothing is certified for desk: it carries no evidence."),
        (
            {"passes": {**CERTIFIED, **BY_HAND}, "fails": CERTIFIED, "bands": Bands(0.4, 0.2)},
            "With 90 % confidence fewer than 5 % of the answers that this policy fails would be accepted "
            f"{DESK}; {ALL} What it passes is not certified: 0.4 was set by hand.",
        ),
        (
            {"fails": BY_HAND, "bands": Bands(0.8, 0.4)},
            f"With 90 % confidence {PASSES} {DESK}; {ALL} What it fails is not certified: 0.4 was set by hand.",
        ),
    ],
)
def test_the_promise_in_plain_words(case, sentence):
    assert told(**case) == sentence
