"""Intervals hold what they say, by closed forms and by simulation, and know that answers to one question hang together."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from calibkit import InputError
from calibkit.rates import corrected_rate, paired_difference, rate, wilson

Z = float(stats.norm.ppf(0.975))
ANSWERS = st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=1, max_size=40)


def width(interval):
    return interval[1] - interval[0]


# --- a share ----------------------------------------------------------------------------------------


@given(st.integers(1, 300), st.floats(0, 1), st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_one_answer_to_each_question_is_wilsons_interval(n, share, confidence):
    k = round(share * n)
    found = rate([True] * k + [False] * (n - k), range(n), confidence)
    due = stats.binomtest(k, n).proportion_ci(confidence, method="wilson")
    assert found.interval == pytest.approx((due.low, due.high), abs=1e-12)
    assert (found.part, found.whole, found.questions, found.value) == (k, n, n, k / n)


@given(ANSWERS)
def test_the_interval_holds_the_share_and_order_and_names_do_not_matter(answers):
    inside, groups = zip(*answers, strict=True)
    found = rate(inside, groups)
    low, high = found.interval
    assert 0 <= low <= found.value <= high <= 1
    backwards = rate(inside[::-1], [f"q{name}" for name in groups[::-1]])
    assert backwards.interval == pytest.approx(found.interval)
    assert rate([not flag for flag in inside], groups).interval == pytest.approx((1 - high, 1 - low))


@given(st.lists(st.booleans(), min_size=2, max_size=30), st.integers(1, 6))
def test_copies_of_an_answer_tell_no_more_than_the_answer(inside, copies):
    once = rate(inside, range(len(inside)))
    many = rate(inside * copies, list(range(len(inside))) * copies)
    assert many.value == once.value
    assert width(many.interval) >= width(once.interval) - 1e-9
    assert many.interval[0] <= once.interval[0] + 1e-9
    assert many.interval[1] >= once.interval[1] - 1e-9


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_where_all_agree_each_question_counts_once(share):
    found = rate([bool(share)] * 60, [at // 6 for at in range(60)])
    assert found.interval == pytest.approx(wilson(share, 10))


def test_questions_of_unlike_size_count_by_kish():
    found = rate([True] * 12, [0] * 9 + [1, 2, 3])
    assert found.interval == pytest.approx(wilson(1.0, 12**2 / (9**2 + 3)))


def test_the_design_effect_is_averaged_with_its_largest_value():
    inside = [True, True, True, False, True, True, False, False]
    groups = [0, 0, 1, 1, 2, 2, 3, 3]
    p, n, questions = 5 / 8, 8, 4
    sums = [2 - 2 * p, 1 - 2 * p, 2 - 2 * p, 0 - 2 * p]
    clustered = questions / (questions - 1) * sum(each**2 for each in sums) / n**2
    effect = (2 * clustered / (p * (1 - p) / (n - 1)) + 2) / 3  # two questions hold a fail
    freedom = (stats.t.ppf(0.975, n - 1) / stats.t.ppf(0.975, questions - 1)) ** 2
    assert rate(inside, groups).interval == pytest.approx(wilson(p, n / effect * freedom))


def test_one_question_is_one_answer():
    assert rate([True, False, True, True], ["q"] * 4).interval == pytest.approx(wilson(0.75, 1))


def test_no_answer_has_no_share():
    found = rate([], [])
    assert (found.value, found.interval, found.questions) == (None, None, 0)


@pytest.mark.parametrize(
    ("n_questions", "each", "share", "together", "least"),
    [(10, 4, 0.8, 0.4, 0.93), (20, 5, 0.9, 0.8, 0.93), (40, 5, 0.7, 0.3, 0.92), (60, 3, 0.97, 0.8, 0.92)],
)
def test_the_interval_covers_where_wilsons_alone_does_not(n_questions, each, share, together, least):
    rng, draws = np.random.default_rng(11), 400
    groups = np.repeat(np.arange(n_questions), each).tolist()
    spread = 1 / together - 1
    hits = alone = 0
    for _ in range(draws):
        of_question = rng.beta(share * spread, (1 - share) * spread, n_questions)
        inside = rng.random(len(groups)) < np.repeat(of_question, each)
        low, high = rate(inside, groups).interval
        hits += low <= share <= high
        low, high = wilson(inside.mean(), len(inside))
        alone += low <= share <= high
    assert hits / draws >= least
    assert alone < hits - 0.03 * draws


# --- a paired difference ----------------------------------------------------------------------------


def pairs_of(gained, lost, n):
    before = [False] * gained + [True] * lost + [True] * (n - gained - lost)
    after = [True] * gained + [False] * lost + [True] * (n - gained - lost)
    return before, after


@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 60))
def test_single_answers_have_tangos_interval(gained, lost, others):
    n = gained + lost + others
    if n == 0:
        return
    found = paired_difference(*pairs_of(gained, lost, n), range(n))
    d = (gained - lost) / n
    assert (found.gained, found.lost, found.whole, found.value) == (gained, lost, n, d)
    low, high = found.interval
    assert -1 <= low <= d <= high <= 1
    # The limits are roots of a polynomial of degree four (Yang, Sun & Hardin 2013, Statistics in Medicine 32).
    g, b, c = Z**2, gained, lost
    polynomial = [
        n**2 * (n / g + 1) ** 2,
        -n * (b - c) * (n / g + 1) * (4 * n / g + 1),
        2 * n * (b - c) ** 2 * (3 * n / g + 2) / g - n**2 * ((b + c) / g + 1),
        n * (b - c) * (2 * (b + c) / g + 1) - (b - c) ** 3 * (4 * n / g + 1) / g,
        (b - c) ** 2 * ((b - c) ** 2 / g - (b + c)) / g,
    ]
    roots = np.roots(np.array(polynomial) / polynomial[0])
    real = roots[np.abs(roots.imag) < 1e-5].real
    for limit in (low, high):
        assert np.abs(real - limit).min() < 1e-4 or abs(limit) == 1


def test_no_change_still_has_a_width():
    found = paired_difference([True] * 20, [True] * 20, range(20))
    assert found.interval == pytest.approx((-(Z**2) / (20 + Z**2), Z**2 / (20 + Z**2)))
    together = paired_difference([True] * 20, [True] * 20, [at // 4 for at in range(20)])
    assert together.interval == pytest.approx((-(Z**2) / (5 + Z**2), Z**2 / (5 + Z**2)))


def test_all_pairs_that_change_alike_leave_room_on_one_side():
    found = paired_difference([False] * 5, [True] * 5, range(5))
    assert found.interval[1] == 1
    assert found.interval[0] == pytest.approx(1 - 2 * Z**2 / (5 + Z**2), abs=1e-6)


@given(ANSWERS, st.randoms(use_true_random=False))
def test_the_way_back_is_the_negative(answers, random):
    before, groups = zip(*answers, strict=True)
    after = [random.random() < 0.5 for _ in before]
    there, back = paired_difference(before, after, groups), paired_difference(after, before, groups)
    assert (there.gained, there.lost) == (back.lost, back.gained)
    assert there.interval == pytest.approx((-back.interval[1], -back.interval[0]), abs=1e-6)


def test_the_difference_covers_where_answers_to_one_question_change_together():
    rng, draws, hits, alone = np.random.default_rng(5), 300, 0, 0
    groups = np.repeat(np.arange(30), 5)
    for _ in range(draws):
        turn = rng.random(30)[groups]
        before = np.where(turn < 0.2, False, np.where(turn < 0.3, True, rng.random(150) < 0.5))
        after = np.where(turn < 0.2, True, np.where(turn < 0.3, False, before))
        low, high = paired_difference(before, after, groups.tolist()).interval
        hits += low <= 0.1 <= high
        low, high = paired_difference(before, after, range(150)).interval
        alone += low <= 0.1 <= high
    assert hits / draws >= 0.92
    assert alone / draws < 0.75


# --- corrected for errors ---------------------------------------------------------------------------


def ppi_plus_plus(passed, labels):
    """The point estimate of the mean with its best tuning, as published: n labelled answers, N others."""
    known = np.array([label is not None for label in labels])
    f, y = np.asarray(passed, float), np.array([float(label or False) for label in labels])
    n, others = known.sum(), (~known).sum()
    slope = np.cov(y[known], f[known], ddof=1)[0, 1] / np.var(f[known], ddof=1)
    tuning = slope / (1 + n / others)
    return y[known].mean() + tuning * (f[~known].mean() - f[known].mean())


@pytest.mark.parametrize("seed", range(5))
def test_the_estimate_is_that_of_prediction_powered_inference(seed):
    rng = np.random.default_rng(seed)
    truth = rng.random(120) < 0.8
    passed = np.where(rng.random(120) < 0.85, truth, ~truth)
    labels = [bool(label) if at < 40 else None for at, label in enumerate(truth)]
    found = corrected_rate(passed, labels, range(120))
    assert found.value == pytest.approx(ppi_plus_plus(passed, labels))
    assert found.interval[0] < found.value < found.interval[1]
    assert found.labels == 40


@given(st.lists(st.tuples(st.booleans(), st.sampled_from([True, False, None]), st.integers(0, 9)), max_size=60))
def test_a_corrected_rate_lies_in_its_interval_or_says_why_there_is_none(answers):
    passed, labels, groups = zip(*answers, strict=True) if answers else ((), (), ())
    found = corrected_rate(passed, labels, groups)
    assert found.labels == sum(label is not None for label in labels)
    if found.value is None:
        assert found.reason
        assert found.interval is None
    else:
        low, high = found.interval
        assert 0 <= low <= found.value <= high <= 1
        assert width((low, high)) > 0
    if answers and None not in labels:  # all are labelled: the labels say it alone
        assert found.value == pytest.approx(sum(labels) / len(labels))


def test_verdicts_that_the_labels_confirm_still_leave_doubt():
    passed = [True] * 80 + [False] * 20
    labels = [True] * 8 + [None] * 72 + [False] * 2 + [None] * 18
    found = corrected_rate(passed, labels, range(100))
    assert found.value == pytest.approx(0.8)
    assert width(found.interval) > 2 * width(rate(passed, range(100)).interval)


@pytest.mark.parametrize(
    ("passed", "labels", "reason"),
    [
        ([True, False], [None, None], "no graded answer has a label"),
        ([True, False], [True, None], "no labelled answer does not pass; label some"),
        ([True, False], [None, False], "no labelled answer passes; label some"),
        ([], [], "no graded answer has a label"),
    ],
)
def test_what_cannot_be_corrected_is_told(passed, labels, reason):
    found = corrected_rate(passed, labels, range(len(passed)))
    assert (found.value, found.interval, found.reason) == (None, None, reason)


def test_verdicts_that_are_all_alike_leave_the_labels_alone():
    labels = [True] * 9 + [False] + [None] * 90
    found = corrected_rate([True] * 100, labels, range(100))
    assert (found.value, found.interval) == (0.9, rate([True] * 9 + [False], range(10)).interval)


@pytest.mark.parametrize(("n", "each", "n_labels", "share"), [(200, 1, 20, 0.9), (200, 5, 60, 0.7)])
def test_the_corrected_interval_covers_where_the_normal_one_does_not(n, each, n_labels, share):
    rng, draws, hits, normal = np.random.default_rng(17), 300, 0, 0
    groups = np.repeat(np.arange(n // each), each)
    for _ in range(draws):
        of_question = rng.beta(share, 1 - share, n // each) if each > 1 else np.full(n, share)
        truth = rng.random(n) < of_question[groups]
        passed = np.where(rng.random(n) < np.where(truth, 0.97, 0.9), truth, ~truth)
        asked = rng.choice(n, n_labels, replace=False)
        known = np.isin(np.arange(n), asked)
        labels = [bool(label) if shown else None for label, shown in zip(truth, known, strict=True)]
        found = corrected_rate(passed, labels, groups.tolist())
        if found.interval is None:
            draws -= 1
            continue
        hits += found.interval[0] <= share <= found.interval[1]
        f, y = passed.astype(float), truth.astype(float)
        tuning = np.cov(y[known], f[known])[0, 1] / np.var(f[known], ddof=1) / (1 + n_labels / (n - n_labels))
        error = np.var((y - tuning * f)[known], ddof=1) / n_labels + tuning**2 * np.var(f[~known]) / (n - n_labels)
        normal += abs(found.value - share) <= Z * math.sqrt(error)
    assert draws > 220
    assert hits / draws >= 0.93
    assert normal / draws < 0.91


# --- what cannot be -----------------------------------------------------------------------------------


@pytest.mark.parametrize("confidence", [0, 1, 95, -0.5, math.nan])
def test_a_confidence_is_a_share(confidence):
    with pytest.raises(InputError, match=r"confidence must lie between 0 and 1 \(both excluded\), not"):
        rate([True], ["q"], confidence)


def test_lengths_must_fit():
    with pytest.raises(InputError, match="2 answers and 1 groups; give the question of each answer"):
        rate([True, False], ["q"])
    with pytest.raises(InputError, match="1 answers before and 2 after; give the same ones"):
        paired_difference([True], [True, False], ["q"])
    with pytest.raises(InputError, match="1 answers and 0 labels"):
        corrected_rate([True], [], ["q"])
