"""Counts add up, nothing that went wrong stands in a share of passes, and what changed is named."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibkit import AnswerPair, InputError, Verdict
from calibkit.cascade import Fault
from calibkit.grading import OUTCOMES, add_up, compare
from calibkit.judge import measure
from calibkit.pairs import read_pair
from calibkit.rates import corrected_rate, rate

STAGES = {
    "pass": ["exact", "bands", "judge"],
    "fail": ["rule:number", "bands", "judge"],
    "review": [None],
    "error": [None],
}


def pair(name="a", **fields):
    return AnswerPair(
        **{"id": name, "references": ("4",), "candidate": "four", "question": f"question {name}", **fields}
    )


def verdict(name="a", outcome="pass", stage=None, reason="", **details):
    return Verdict(name, outcome, stage, None, reason, details)


def graded(*outcomes, **fields):
    pairs = [pair(str(at), **fields) for at in range(len(outcomes))]
    return add_up(pairs, [verdict(str(at), outcome) for at, outcome in enumerate(outcomes)])


@st.composite
def gradings(draw):
    """Answers to a few questions with their verdicts, in an order of their own."""
    n = draw(st.integers(0, 25))
    pairs, verdicts = [], []
    for at in range(n):
        labelled = draw(st.booleans())
        pairs.append(
            pair(
                str(at),
                group=draw(st.sampled_from(["g", "h", None])),
                tags=tuple(draw(st.lists(st.sampled_from(["x", "y", "critical"]), max_size=3))),
                meta=draw(st.sampled_from([{}, {"model": "m"}, {"model": "n", "run": 1}, {"model": "n", "run": 2}])),
                labelled=labelled,
                acceptable=draw(st.sampled_from([True, False, None])) if labelled else None,
            )
        )
        outcome = draw(st.sampled_from(OUTCOMES))
        verdicts.append(verdict(str(at), outcome, draw(st.sampled_from(STAGES[outcome]))))
    return pairs, draw(st.permutations(verdicts))


# --- counts -----------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(gradings())
def test_counts_add_up(given_):
    pairs, verdicts = given_
    found = add_up(pairs, verdicts)
    total = found.total
    assert total.answers == len(pairs) == sum(sum(counts.values()) for counts in found.by_stage.values())
    for outcome, n in zip(OUTCOMES, (total.passed, total.failed, total.review, total.error), strict=True):
        assert n == sum(each.outcome == outcome for each in verdicts)
        assert n == sum(counts.get(outcome, 0) for counts in found.by_stage.values())
    assert total.pass_rate.part == total.of_decided.part == total.passed
    assert total.pass_rate.whole == total.answers - total.error
    assert total.of_decided.whole == total.passed + total.failed
    assert [case.id for case in found.cases] == [each.id for each in pairs]
    for tag, tally in found.by_tag.items():
        assert tally.answers == sum(tag in each.tags for each in pairs) > 0
    assert sum(tally.answers for tally in found.by_model.values()) == sum("model" in each.meta for each in pairs)
    assert {case.id for case in found.critical} == {each.id for each in pairs if "critical" in each.tags}
    labelled = [each for each in pairs if each.labelled]
    assert (found.people is None) == (not labelled)
    if found.people:
        assert found.people.quality.answers == len(labelled)
        assert sum(quality.answers for quality in found.people.by_stage.values()) == len(labelled)


def test_errors_and_reviews_are_counted_apart():
    found = graded("pass", "pass", "fail", "review", "error", tags=("sum",)).by_tag["sum"]
    assert (found.passed, found.failed, found.review, found.error) == (2, 1, 1, 1)
    assert found.pass_rate.value == 2 / 4
    assert found.of_decided.value == 2 / 3
    assert (found.review_share, found.error_share) == (1 / 5, 1 / 5)


def test_errors_alone_have_no_pass_rate():
    found = graded("error", "error").total
    assert found.pass_rate.value is None
    assert found.pass_rate.interval is None
    assert add_up([], []).total.error_share is None


def test_the_interval_knows_the_questions():
    pairs = [pair(f"{at}-{copy}", group=str(at)) for at in range(10) for copy in range(4)]
    outcomes = ["fail" if each.group == "3" else "pass" for each in pairs]
    found = add_up(pairs, [verdict(each.id, outcome) for each, outcome in zip(pairs, outcomes, strict=True)])
    due = rate([outcome == "pass" for outcome in outcomes], [each.group for each in pairs])
    assert found.total.pass_rate == due
    assert due.questions == 10


def test_stages_stand_in_the_order_that_answers_travel():
    names = ["judge", "bands", "rule:number", "field:/amount", "exact", "new_stage"]
    verdicts = [verdict(name, "fail", name) for name in names] + [verdict("r", "review"), verdict("e", "error")]
    found = add_up([pair(each.id) for each in verdicts], verdicts)
    assert list(found.by_stage) == [
        "exact", "rule:number", "field:/amount", "bands", "judge", "new_stage", "review", "error"
    ]  # fmt: skip


def test_an_answer_without_a_verdict_is_an_error_and_no_pass():
    found = add_up([pair("a"), pair("b")], [verdict("a")])
    assert found.total.error == 1
    assert found.cases[1].verdict.reason == "no verdict was given"
    assert found.total.pass_rate.whole == 1


def test_a_row_that_could_not_be_read_is_counted():
    fault = Fault("pairs.jsonl:7", "candidate is null")
    found = add_up([pair("a")], [verdict("a"), verdict(fault.id, "error", reason=fault.reason)])
    assert (found.total.answers, found.total.error) == (2, 1)
    assert found.cases[1].pair is None
    assert found.cases[1].tags == ()


@pytest.mark.parametrize(
    ("pairs", "verdicts", "message"),
    [
        ([pair(), pair()], [], "the id 'a' names two answers; give each its own"),
        ([pair()], [verdict(), verdict(outcome="fail")], "verdicts: the id 'a' has two verdicts; keep one"),
        ([pair()], [verdict("b")], "there is a verdict on 'b' but no such answer; give all answers"),
        ([pair()], [verdict(outcome="PASS")], "the verdict on 'a' is 'PASS'; it must be pass, fail, review, error"),
    ],
)
def test_what_does_not_fit_is_told(pairs, verdicts, message):
    with pytest.raises(InputError) as caught:
        add_up(pairs, verdicts)
    assert str(caught.value) == message


def test_the_model_is_of_meta_or_of_the_record():
    pairs = [
        read_pair({"id": "a", "references": "4", "candidate": "four", "model": "m"}),
        read_pair({"id": "b", "references": "4", "candidate": "four", "model": "m", "meta": {"model": "n"}}),
        read_pair({"id": "c", "references": "4", "candidate": "four", "model": " "}),
    ]
    found = add_up(pairs, map(verdict, "abc"))
    assert {model: tally.answers for model, tally in found.by_model.items()} == {"m": 1, "n": 1}


# --- critical cases ---------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [True, "true", "yes", 1, "high", "1"])
def test_a_case_is_critical_unless_the_record_says_no(value):
    for fields in ({"extra": {"critical": value}}, {"meta": {"critical": value}}):
        assert graded("pass", **fields).critical


@pytest.mark.parametrize("value", [False, "false", "No", 0, "", None, "nan"])
def test_a_no_is_a_no(value):
    assert not graded("pass", extra={"critical": value}, meta={"critical": value}).critical


def test_the_tag_marks_a_case_as_critical():
    assert graded("pass", tags=("Critical",), extra={"critical": False}).critical
    assert not graded("pass", tags=("uncritical",)).critical


# --- people -----------------------------------------------------------------------------------------


def test_verdicts_are_laid_beside_labels_stage_by_stage():
    labels = {"a": True, "b": False, "c": False, "d": True, "e": None, "f": True}
    outcomes = {
        "a": ("pass", "exact"), "b": ("pass", "bands"), "c": ("fail", "bands"), "d": ("fail", "rule:number"),
        "e": ("pass", "bands"), "f": ("review", None), "g": ("pass", "exact"),
    }  # fmt: skip
    pairs = [pair(name, labelled=name in labels, acceptable=labels.get(name)) for name in outcomes]
    found = add_up(pairs, [verdict(name, *of) for name, of in outcomes.items()]).people
    assert (found.quality.true_pass, found.quality.false_pass) == (1, 1)
    assert (found.quality.true_fail, found.quality.false_fail) == (1, 1)
    assert (found.quality.cannot_say, found.quality.review) == (1, 1)
    assert found.by_stage["bands"] == measure(["pass", "fail", "pass"], [False, False, None])
    passed = [outcomes[name][0] == "pass" for name in outcomes]
    due = corrected_rate(passed, [True, False, False, True, False, True, None], list(outcomes))
    assert found.corrected == due
    assert due.value is not None


def test_errors_are_no_part_of_the_correction():
    pairs = [pair(str(at), labelled=True, acceptable=at < 3) for at in range(4)]
    outcomes = ["pass", "error", "fail", "fail"]
    found = add_up(pairs, [verdict(str(at), outcome) for at, outcome in enumerate(outcomes)]).people
    assert found.corrected.labels == 3
    assert found.corrected.value == pytest.approx(2 / 3)


# --- the judge --------------------------------------------------------------------------------------


def judged(**counts):
    return {"judge": {"calls": 3, "cached": 0, "prompt_tokens": 300, "completion_tokens": 20, "model": "m", **counts}}


def test_calls_tokens_and_cost_are_summed():
    pairs = [pair(name) for name in "abcd"]
    verdicts = [
        verdict("a", "pass", "judge", **judged(unstable=True)),
        verdict("b", "fail", "judge", **judged(calls=1, cached=1, prompt_tokens=0, completion_tokens=0)),
        verdict("c", "error", **judged(calls=1, prompt_tokens=0, completion_tokens=0)),
        verdict("d", "pass", "exact"),
    ]
    use = add_up(pairs, verdicts, price_in=2.0, price_out=10.0).judge
    assert (use.asked, use.calls, use.cached, use.unstable) == (3, 5, 1, 1)
    assert (use.prompt_tokens, use.completion_tokens, use.models) == (300, 20, {"m": 3})
    assert use.cost == pytest.approx((300 * 2 + 20 * 10) / 1e6)
    assert use.unstable_share == 1 / 3
    assert add_up(pairs, verdicts).judge.cost is None
    assert add_up(pairs[3:], verdicts[3:]).judge is None


def test_replies_without_a_count_of_tokens_have_no_cost():
    verdicts = [verdict("a", "pass", "judge", **judged(prompt_tokens=0, completion_tokens=0))]
    assert add_up([pair()], verdicts, price_in=1, price_out=1).judge.cost is None


@pytest.mark.parametrize("value", ["3", -1, 2.5, True, None])
def test_a_count_that_is_none_is_told(value):
    with pytest.raises(InputError, match=r"the verdict on 'a': judge.calls is .*, which is no count; grade it again"):
        add_up([pair()], [verdict("a", "pass", "judge", **judged(calls=value))])


def test_prices_are_from_0_up():
    with pytest.raises(InputError, match="give numbers from 0 up"):
        add_up([], [], price_in=-1)


# --- repeats ----------------------------------------------------------------------------------------


def runs(*rows):
    """One row for each answer: question, model, run, outcome."""
    pairs = [
        pair(str(at), question=question, meta={"model": model, "run": run})
        for at, (question, model, run, _) in enumerate(rows)
    ]
    return add_up(pairs, [verdict(str(at), row[3]) for at, row in enumerate(rows)]).stability


def test_a_question_flips_where_its_outcome_is_not_the_same_in_all_runs():
    found = runs(
        ("q1", "m", 1, "pass"), ("q1", "m", 2, "fail"), ("q1", "m", 3, "pass"),
        ("q1", "n", 1, "pass"), ("q1", "n", 2, "pass"),
        ("q2", "m", 1, "fail"), ("q2", "m", 2, "fail"),
        ("q3", "m", 1, "pass"),
    )  # fmt: skip
    assert (found.questions, found.share) == (3, 1 / 3)
    [flip] = found.flips
    assert (flip.question, flip.model, flip.by_run) == ("q1", "m", {"1": "pass", "2": "fail", "3": "pass"})
    assert flip.ids == ("0", "1", "2")


def test_an_error_is_no_outcome_that_could_flip():
    assert runs(("q", "m", 1, "pass"), ("q", "m", 2, "error")) is None
    assert runs(("q", "m", 1, "pass"), ("q", "m", 2, "error"), ("q", "m", 3, "pass")).flips == ()
    assert len(runs(("q", "m", 1, "pass"), ("q", "m", 2, "review")).flips) == 1


def test_one_run_says_nothing_of_stability():
    assert runs(("q", "m", 1, "pass"), ("r", "m", 1, "fail")) is None
    assert graded("pass", "fail").stability is None


def test_questions_of_one_group_are_told_apart():
    pairs = [
        pair(f"{question}{run}", question=question, group="g", meta={"run": run}) for question in "xy" for run in (1, 2)
    ]
    found = add_up(pairs, [verdict(each.id, "pass" if "x" in each.id else "fail") for each in pairs])
    assert (found.stability.questions, found.stability.flips) == (2, ())


# --- what changed -----------------------------------------------------------------------------------


@settings(max_examples=40)
@given(gradings())
def test_a_run_does_not_differ_from_itself(given_):
    _, verdicts = given_
    found = compare(verdicts, verdicts[::-1])
    assert found.both == len(verdicts)
    assert found.changes == found.only_before == found.only_after == ()
    assert all(shift.came == shift.went == 0 and not shift.jump for shift in found.shifts)
    assert found.difference.value in (0, None)
    assert all(before == after for before, after in (*found.stages, *found.outcomes))


@settings(max_examples=40)
@given(gradings(), gradings())
def test_changes_add_up(one, other):
    before, after = one[1], other[1]
    found = compare(before, after)
    assert found.both + len(found.only_before) == len(before)
    assert found.both + len(found.only_after) == len(after)
    assert sum(found.stages.values()) == sum(found.outcomes.values()) == found.both
    assert sum(n for (old, new), n in found.outcomes.items() if old != new) == len(found.changes)
    assert sum(shift.came for shift in found.shifts) == sum(shift.went for shift in found.shifts)
    for shift in found.shifts:
        assert shift.after - shift.before == shift.came - shift.went
    back = compare(after, before)
    assert {change.id for change in back.changes} == {change.id for change in found.changes}
    assert (back.difference.gained, back.difference.lost) == (found.difference.lost, found.difference.gained)


def test_new_fails_new_passes_and_a_jump_of_a_stage():
    before = [verdict(str(at), "pass", "bands") for at in range(20)]
    after = [replace(each, outcome="fail", stage="rule:number") if int(each.id) < 6 else each for each in before]
    before[10] = verdict("10", "fail", "bands")
    before.append(verdict("old"))
    after += [verdict("new"), verdict("newer")]
    found = compare(before, after)
    assert [change.id for change in found.new_fails] == [str(at) for at in range(6)]
    assert [change.id for change in found.new_passes] == ["10"]
    assert (found.only_before, found.only_after) == (("old",), ("new", "newer"))
    assert found.stages["bands", "rule:number"] == 6
    jumps = {shift.place: (shift.before, shift.after) for shift in found.shifts if shift.jump}
    assert jumps == {"rule:number": (0, 6), "bands": (20, 14)}
    assert (found.difference.gained, found.difference.lost, found.difference.value) == (1, 6, -5 / 20)


@pytest.mark.parametrize(("came", "jump"), [(4, False), (5, True)])
def test_few_answers_make_no_jump(came, jump):
    before = [verdict(str(at), "pass", "exact") for at in range(came)]
    after = [verdict(str(at), "fail", "bands") for at in range(came)]
    assert all(shift.jump is jump for shift in compare(before, after).shifts)


def test_an_error_in_either_run_is_no_part_of_the_difference():
    before = [verdict("a"), verdict("b", "error"), verdict("c")]
    after = [verdict("a"), verdict("b"), verdict("c", "error")]
    found = compare(before, after)
    assert (found.difference.whole, found.difference.value) == (1, 0)
    assert [change.id for change in found.to("error")] == ["c"]
    assert [change.id for change in found.new_passes] == ["b"]


def test_the_difference_knows_the_questions():
    before = [verdict(str(at), "pass") for at in range(40)]
    after = [verdict(str(at), "fail" if at < 4 else "pass") for at in range(40)]
    alone, together = compare(before, after), compare(before, after, {str(at): str(at // 4) for at in range(40)})
    assert (alone.difference.questions, together.difference.questions) == (40, 10)
    assert together.difference.interval[0] < alone.difference.interval[0]


def test_two_verdicts_on_one_id_cannot_be_compared():
    with pytest.raises(InputError, match="after: the id 'a' has two verdicts; keep one"):
        compare([verdict()], [verdict(), verdict()])
