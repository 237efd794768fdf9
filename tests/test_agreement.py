import csv
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibkit.agreement import Resolved, agreement, disagreements, label_pairs, resolve
from calibkit.pairs import AnswerPair, InputError, PairSet, SetupError

DATA = Path(__file__).parents[2] / "shared" / "data"

VOTES = st.dictionaries(
    st.sampled_from(["ann", "bob", "cy", "di"]),
    st.dictionaries(st.sampled_from("abcdef"), st.sampled_from([True, False, None])),
)


# --- what counts as the label ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("votes", "label", "how"),
    [
        ([True], True, "unanimous"),
        ([None], None, "unanimous"),
        ([False, False], False, "unanimous"),
        ([True, True, False], True, "majority"),
        ([True, True, None], True, "majority"),
        ([None, None, True], None, "majority"),
        ([True, False], None, "split"),
        ([True, None], None, "split"),
        ([True, False, None], None, "split"),
        ([True, True, False, False], None, "split"),
        ([True, True, False, None], None, "split"),  # half is no majority
    ],
)
def test_what_counts_as_the_label(votes, label, how):
    labels = {f"annotator {n}": {"a": vote} for n, vote in enumerate(votes)}
    assert resolve(labels) == {"a": Resolved(label, how)}
    assert resolve(labels, {"a": False}) == {"a": Resolved(False, "adjudicated")}


@given(VOTES, st.permutations(["ann", "bob", "cy", "di"]))
def test_the_label_does_not_depend_on_who_comes_first(labels, order):
    shuffled = {name: labels[name] for name in order if name in labels}
    assert resolve(shuffled) == resolve(labels)
    split = {name for name, found in resolve(labels).items() if found.how in ("split", "majority")}
    assert set(disagreements(labels)) == split


def test_labels_are_put_on_pairs_and_others_keep_what_their_file_says():
    pairs = PairSet(
        [
            AnswerPair("a", (), "x"),
            AnswerPair("b", (), "x", labelled=True, acceptable=True),
            AnswerPair("c", (), "x", labelled=True, acceptable=True),
        ]
    )
    found = label_pairs(pairs, {"a": Resolved(None, "split"), "c": Resolved(False, "unanimous")})
    assert [(pair.id, pair.labelled, pair.acceptable) for pair in found] == [
        ("a", True, None),
        ("b", True, True),
        ("c", True, False),
    ]


def test_decided_pairs_are_no_longer_disagreed_on():
    labels = {"ann": {"a": True, "b": True, "c": None}, "bob": {"a": False, "b": True, "c": False}}
    assert disagreements(labels) == ("a", "c")
    assert disagreements(labels, {"a": True}) == ("c",)


# --- agreement ---------------------------------------------------------------------------------------


def votes(*columns):
    """Labels of annotators, one text each: + - ? or space for none."""
    words = {"+": True, "-": False, "?": None}
    return {
        f"annotator {n}": {f"p{at}": words[char] for at, char in enumerate(column) if char != " "}
        for n, column in enumerate(columns)
    }


def test_cohens_kappa_of_a_textbook_table():
    # 20 both yes, 15 both no, 5 and 10 apart: p_o = .7, p_e = .5, kappa = .4.
    found = agreement(votes("+" * 20 + "+" * 5 + "-" * 10 + "-" * 15, "+" * 20 + "-" * 5 + "+" * 10 + "-" * 15))
    assert (found.pairs, found.questions, found.measure) == (50, 50, "Cohen's kappa")
    assert found.percent.value == pytest.approx(0.7)
    assert found.beyond_chance.value == pytest.approx(0.4)
    assert len(found.disagreed) == 15
    low, high = found.percent.interval
    assert (low, high) == pytest.approx((0.7 - 0.1316, 0.7 + 0.1316), abs=1e-3)  # t(49) * sqrt(.7 * .3 / 49)
    assert str(found) == (
        "2 annotators, 50 pairs of 50 questions: 0.70 [0.57, 0.83] agree, Cohen's kappa 0.40 [0.14, 0.66] "
        "(95% intervals, jackknife over questions)"
    )


def test_krippendorffs_alpha_of_a_published_table():
    # Krippendorff, "Computing Krippendorff's Alpha-Reliability", example B: two observers, binary data: .095.
    columns = ("-+------+-", "+++--+----")
    one = {f"p{at}": char == "+" for at, char in enumerate(columns[0])}
    other = {f"p{at}": char == "+" for at, char in enumerate(columns[1])}
    third = {"elsewhere": True}  # a third person with no pair in common does not change it
    found = agreement({"a": one, "b": other, "c": third})
    assert (found.measure, found.pairs) == ("Krippendorff's alpha", 10)
    assert found.beyond_chance.value == pytest.approx(0.095, abs=5e-4)
    assert found.percent.value == pytest.approx(0.6)


def test_pairs_that_only_one_labelled_do_not_count():
    found = agreement(votes("++--+ ", "+++- +"))
    assert found.pairs == 4
    assert found.percent.value == pytest.approx(0.75)


def test_cannot_say_is_a_label_of_its_own():
    assert agreement(votes("+-??", "+-??")).percent.value == 1.0
    assert agreement(votes("+-??", "+-+-")).percent.value == 0.5


def test_without_chance_to_agree_otherwise_nothing_is_measured():
    found = agreement(votes("++++", "++++"))
    assert (found.percent.value, found.percent.interval, found.beyond_chance) == (1.0, None, None)
    assert "Cohen's kappa is undefined, for every label is the same" in str(found)
    assert agreement(votes("++++", "++++", "+++ ")).beyond_chance is None


def test_perfect_agreement_has_no_interval_of_no_width():
    found = agreement(votes("++--", "++--"))
    assert (found.beyond_chance.value, found.beyond_chance.interval) == (1.0, None)


def test_an_interval_that_hangs_on_one_question_is_not_drawn():
    # Without p0 every label is the same.
    found = agreement(votes("-+++", "++++"))
    assert found.beyond_chance.value == pytest.approx(0.0)
    assert found.beyond_chance.interval is None
    assert found.percent.interval is not None


def test_answers_to_one_question_are_left_out_together():
    labels = votes("+-+-+-+-" * 5, "+--++-+-" * 5)
    alone = agreement(labels)
    groups = {f"p{at}": f"q{at // 8}" for at in range(40)}
    together = agreement(labels, groups)
    assert (alone.questions, together.questions) == (40, 5)
    assert together.percent.value == alone.percent.value
    assert together.percent.interval is None  # all five questions are alike
    groups = {f"p{at}": f"q{at % 8}" for at in range(40)}
    spread = agreement(labels, groups)
    low, high = alone.percent.interval
    assert spread.percent.interval[1] - spread.percent.interval[0] > high - low


def test_agreement_needs_two_people_on_one_pair():
    for labels in ({}, {"ann": {"a": True}}, {"ann": {"a": True}, "bob": {"b": True}}):
        with pytest.raises(InputError, match="no pair was labelled by two people: agreement needs a second annotator"):
            agreement(labels)
    with pytest.raises(InputError, match=r"confidence must lie between 0 and 1 \(both excluded\), not 1"):
        agreement(votes("+-", "+-"), confidence=1)


@pytest.mark.parametrize(("package", "columns"), [("sklearn", 2), ("krippendorff", 3)])
def test_a_missing_package_is_named_with_the_cure(monkeypatch, package, columns):
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SetupError, match=r"agreement between annotators needs .*: pip install 'calibkit\[notebooks\]'"):
        agreement(votes(*["+-+"] * columns))


@given(st.lists(st.tuples(*[st.sampled_from("+-? ")] * 3), max_size=12))
def test_figures_stay_in_their_bounds(rows):
    labels = votes(*map("".join, zip(*rows, strict=True))) if rows else {}
    try:
        found = agreement(labels)
    except InputError:
        return
    assert 0 <= found.percent.value <= 1
    for estimate in (found.percent, found.beyond_chance):
        if estimate is not None and estimate.interval is not None:
            low, high = estimate.interval
            assert -1 <= low <= estimate.value <= high <= 1
    assert set(found.disagreed) == set(disagreements(labels))


def test_the_intervals_cover_what_they_say():
    # 60 questions of two answers; a question is hard or not, so answers to one question go together.
    chance = np.random.default_rng(5)
    truth, runs = None, []
    for run in range(61):
        n = 60 if run else 20_000
        hard = chance.random(n).repeat(2) < 0.4
        right = chance.random(2 * n) < 0.6
        other = np.where(chance.random(2 * n) < np.where(hard, 0.35, 0.03), ~right, right)
        labels = {
            name: {str(at): bool(value) for at, value in enumerate(column)}
            for name, column in (("a", right), ("b", other))
        }
        found = agreement(labels, {str(at): str(at // 2) for at in range(2 * n)})
        if run == 0:
            truth = found.beyond_chance.value
        else:
            runs.append(found.beyond_chance.interval)
    assert sum(low <= truth <= high for low, high in runs) >= 0.85 * len(runs)
    assert truth == pytest.approx(0.66, abs=0.02)
    assert np.mean([high - low for low, high in runs]) < 0.35  # and are of use


@pytest.fixture
def nq301():
    path = DATA / "nq301.tsv"
    if not path.exists():
        pytest.skip("the real annotators' labels are not here")
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    words = {"Yes": True, "No": False}
    labels = {
        name: {str(at): words[row[name]] for at, row in enumerate(rows) if row[name]}
        for name in ("annotator1", "annotator2", "annotator3")
    }
    return rows, labels


def test_real_annotators_agree_at_a_kappa_of_about_073(nq301):
    rows, labels = nq301
    groups = {str(at): row["id"] for at, row in enumerate(rows)}
    first_two = {name: labels[name] for name in ("annotator1", "annotator2")}
    found = agreement(first_two, groups)
    assert (found.pairs, found.questions, found.measure) == (784, 158, "Cohen's kappa")
    assert found.percent.value == pytest.approx(671 / 784)
    # .71 on all answers, .74 on the first answer to each question; the interval says that both are about .73.
    assert found.beyond_chance.value == pytest.approx(0.708, abs=1e-3)
    low, high = found.beyond_chance.interval
    assert 0.62 < low < 0.66 < 0.73 < 0.76 < high < 0.8
    first = {name: at for at, name in reversed(groups.items())}
    one_each = {who: {at: given[at] for at in first.values() if at in given} for who, given in first_two.items()}
    assert agreement(one_each).beyond_chance.value == pytest.approx(0.737, abs=1e-3)


def test_the_rule_gives_the_real_set_its_labels(nq301):
    rows, labels = nq301
    found = resolve(labels)
    same = sum(found[str(at)].label is (row["acceptable"] == "Yes") for at, row in enumerate(rows))
    assert same == len(rows)
    assert agreement(labels).measure == "Krippendorff's alpha"
