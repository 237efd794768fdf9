"""A gate is held, missed, or refused when it is read; it is never held over nothing."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibkit import AnswerPair, InputError, Verdict
from calibkit.gates import Gates, Limits, check_gates, parse_gates
from calibkit.grading import add_up


def graded(**outcomes):
    """So many answers of each outcome, and what else the pairs have."""
    fields = outcomes.pop("fields", {})
    names = [(f"{outcome}-{at}", outcome) for outcome, n in outcomes.items() for at in range(n)]
    pairs = [AnswerPair(name, ("4",), "four", question=name, **fields) for name, _ in names]
    return add_up(pairs, [Verdict(name, outcome, None, None, "") for name, outcome in names])


def held(grading, **asked):
    return [result.held for result in check_gates(grading, parse_gates(asked))]


def test_gates_are_read_from_plain_values():
    value = {
        "pass_rate": 0.9,
        "tags": {"refund": {"pass_rate": 0.95, "max_reviews": 0}},
        "critical": "all",
        "max_errors": 0,
    }
    gates = parse_gates(value)
    assert gates == Gates(
        Limits(pass_rate=0.9, max_errors=0.0), {"refund": Limits(pass_rate=0.95, max_reviews=0.0)}, critical=True
    )


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "gates.yaml: gates are keys with values, as in pass_rate: 0.9, not None"),
        ([], "gates.yaml: gates are keys with values, as in pass_rate: 0.9, not []"),
        ({}, "gates.yaml: no gate is set; set one, as in pass_rate: 0.9"),
        ({"pass_rat": 1}, "gates.yaml: there is no gate 'pass_rat'; the nearest: pass_rate"),
        ({3: 1}, "gates.yaml: there is no gate 3; the nearest: "),
        ({"pass_rate": 90}, "gates.yaml: pass_rate is 90; give a share from 0 to 1, as in 0.9"),
        ({"pass_rate": "0.9"}, "gates.yaml: pass_rate is '0.9'; give a share from 0 to 1, as in 0.9"),
        ({"pass_rate": True}, "gates.yaml: pass_rate is True; give a share from 0 to 1, as in 0.9"),
        ({"max_errors": math.nan}, "gates.yaml: max_errors is nan; give a share from 0 to 1, as in 0.9"),
        ({"max_errors": None}, "gates.yaml: max_errors is None; give a share from 0 to 1, as in 0.9"),
        ({"critical": True}, "gates.yaml: critical is True; write all, or leave it out"),
        ({"tags": []}, "gates.yaml: tags must name tags with their gates, as in refund: {pass_rate: 0.95}"),
        ({"tags": {}}, "gates.yaml: tags must name tags with their gates, as in refund: {pass_rate: 0.95}"),
        ({"tags": None}, "gates.yaml: tags must name tags with their gates, as in refund: {pass_rate: 0.95}"),
        (
            {"tags": {"refund": 0.9}},
            "gates.yaml: tags.refund: gates are keys with values, as in pass_rate: 0.9, not 0.9",
        ),
        ({"tags": {"refund": {}}}, "gates.yaml: tags.refund: no gate is set; set one, as in pass_rate: 0.9"),
        (
            {"tags": {"refund": {"critical": "all"}}},
            "gates.yaml: tags.refund: there is no gate 'critical'; the nearest: ",
        ),
        ({"tags": {"a": {"pass_rate": 2}}}, "gates.yaml: tags.a: pass_rate is 2; give a share from 0 to 1, as in 0.9"),
    ],
)
def test_what_is_no_gate_is_told_in_a_line(value, message):
    with pytest.raises(InputError) as caught:
        parse_gates(value, "gates.yaml")
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(["pass_rate", "tags", "critical"]), inner)
    ),
)


@given(plain)
def test_any_plain_value_is_read_or_refused(value):
    try:
        told = parse_gates(value)
    except InputError as error:
        told = str(error)
    assert told != Gates()
    assert not isinstance(told, str) or "\n" not in told


def test_a_tag_of_several_lines_keeps_its_fault_on_one():
    with pytest.raises(InputError, match="^gates: tags.a b: there is no gate 'x\\\\ny'; the nearest: "):
        parse_gates({"tags": {"a\nb": {"x\ny": 1}}})


def test_a_pass_rate_at_the_gate_is_enough():
    assert held(graded(**{"pass": 9, "fail": 1}), pass_rate=0.9) == [True]
    assert held(graded(**{"pass": 89, "fail": 11}), pass_rate=0.9) == [False]


def test_the_lower_limit_asks_for_enough_answers():
    asked = {"pass_rate": 0.9, "pass_rate_lower": 0.9}
    assert held(graded(**{"pass": 19, "fail": 1}), **asked) == [True, False]
    assert held(graded(**{"pass": 1900, "fail": 100}), **asked) == [True, True]


def test_reviews_pass_nothing_and_errors_are_apart():
    grading = graded(**{"pass": 8, "review": 2, "error": 10})
    assert held(grading, pass_rate=0.8) == [True]
    assert held(grading, pass_rate=0.81) == [False]
    assert held(grading, max_reviews=0.1, max_errors=0.5) == [True, True]
    assert held(grading, max_reviews=0.09, max_errors=0.49) == [False, False]
    result = check_gates(grading, parse_gates({"pass_rate": 0.81}))[0]
    assert result.gate == "pass_rate at least 0.81"
    assert result.told == "0.8 (8 of 10 answers without error)"


def test_a_gate_over_nothing_is_missed():
    assert held(graded(error=3), pass_rate=0, pass_rate_lower=0) == [False, False]
    assert held(graded(), max_errors=0, max_reviews=1) == [False, False]
    grading = graded(**{"pass": 3})
    [result] = check_gates(grading, parse_gates({"tags": {"refund": {"pass_rate": 0.5}}}))
    assert (result.held, result.told) == (False, "no answer has the tag 'refund'")
    [result] = check_gates(grading, parse_gates({"critical": "all"}))
    assert (result.held, result.told) == (False, "no case is marked critical")


def test_a_tag_has_gates_of_its_own():
    grading = graded(**{"pass": 9, "fail": 1, "fields": {"tags": ("refund",)}})
    results = check_gates(grading, parse_gates({"tags": {"refund": {"pass_rate": 0.95, "max_errors": 0}}}))
    assert [(result.gate, result.held) for result in results] == [
        ("tag refund: pass_rate at least 0.95", False),
        ("tag refund: max_errors at most 0", True),
    ]


@pytest.mark.parametrize("outcome", ["fail", "review", "error"])
def test_one_critical_case_that_does_not_pass_is_named_however_good_the_rest(outcome):
    grading = graded(**{"pass": 500, outcome: 1, "fields": {"extra": {"critical": True}}})
    passing, critical = check_gates(grading, parse_gates({"pass_rate": 0.99, "critical": "all"}))
    assert passing.held
    assert not critical.held
    assert critical.cases == (f"{outcome}-0",)
    assert critical.told == f"500 of 501 critical cases pass; not {outcome}-0"
    assert held(graded(**{"pass": 2, "fields": {"tags": ("critical",)}}), critical="all") == [True]


def test_a_critical_case_without_a_verdict_does_not_pass():
    pairs = [AnswerPair(name, ("4",), "four", tags=("critical",)) for name in "ab"]
    grading = add_up(pairs, [Verdict("a", "pass", "exact", None, "")])
    [result] = check_gates(grading, parse_gates({"critical": "all"}))
    assert result.cases == ("b",)
