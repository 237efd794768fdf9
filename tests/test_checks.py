import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibkit.checks import (
    LONGEST_MATCHED,
    LONGEST_PATTERN,
    CheckReport,
    CheckResult,
    MaxLatency,
    MustContain,
    MustMatch,
    parse_checks,
    run_checks,
)
from calibkit.pairs import AnswerPair, InputError


def answer(text, **meta):
    return AnswerPair("a", (), text, meta=meta)


def outcome(check, text="", **meta):
    (result,) = run_checks(answer(text, **meta), parse_checks(check, "case")).results
    return result.outcome


def reason(check, text="", **meta):
    (result,) = run_checks(answer(text, **meta), parse_checks(check, "case")).results
    return result.reason


# --- patterns -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"^FW-\d{5}$", "FW-48213", True),
        (r"^FW-\d{5}$", " FW-48213 \n", True),
        (r"^FW-\d{5}$", "FW-482130", False),
        (r"^FW-\d{5}$", "Order FW-48213", False),
        (r"(?i)yes", "YES", True),
        ("yes", "YES", False),
        (r"\p{Lu}", "kraków", False),
        ("^$", "  ", True),
    ],
)
def test_a_pattern_is_searched_in_the_answer(pattern, text, found):
    assert outcome({"must_match": pattern}, text) == ("pass" if found else "fail")
    assert outcome({"must_not_match": pattern}, text) == ("fail" if found else "pass")


def test_the_reason_names_the_pattern():
    assert reason({"must_match": "^FW"}, "x") == "nothing matches '^FW'"
    assert reason({"must_not_match": "x"}, "x") == "something matches 'x'"


@pytest.mark.parametrize("name", ["must_match", "must_not_match"])
def test_a_pattern_that_takes_too_long_is_unreadable(name):
    started = time.perf_counter()
    assert outcome({name: r"(\w+\s?)*$"}, "word " * 10_000 + "!") == "unreadable"
    assert time.perf_counter() - started < 5
    assert reason({name: r"(\w+\s?)*$"}, "word " * 10_000 + "!") == "matching took longer than 1 s"


@pytest.mark.parametrize("name", ["must_match", "must_not_match"])
def test_an_answer_that_is_too_long_to_match_is_unreadable(name):
    assert outcome({name: "a"}, "a" * LONGEST_MATCHED) in ("pass", "fail")
    assert outcome({name: "a"}, "a" * (LONGEST_MATCHED + 1)) == "unreadable"
    assert reason({name: "a"}, "a" * 200_000) == "the answer has 200,000 characters; 100,000 are searched at most"


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("", "must_match: the pattern has 0 characters; give 1 to 1,000"),
        ("a" * 1001, "must_match: the pattern has 1,001 characters; give 1 to 1,000"),
        ("(", r"the pattern '\(' is no regular expression \(missing \) at position 1\); mend it"),
        (r"\p{Nothing}", r"is no regular expression \(unknown property"),
        (r"\L<names>", "is no regular expression"),
        ("(" * 500 + ")" * 500, "is no regular expression"),
        ("(?:a?){1000000000}", "asks for too many repeats; 10,000 may be"),
        ("(?:(?:a?){1000}){1000}", "asks for too many repeats"),
        ("(?x)(?:(?:a?) # twice\n {1000}) {1000}", "asks for too many repeats"),
        ("a{0000000000020000}", "asks for too many repeats"),
    ],
)
def test_a_pattern_that_cannot_be_run_is_refused(pattern, message):
    with pytest.raises(InputError, match=message) as raised:
        parse_checks({"must_match": pattern}, "policy.yaml:7")
    assert str(raised.value).startswith("policy.yaml:7: must_match: ")
    assert "\n" not in str(raised.value)


def test_ordinary_repeats_are_no_matter():
    uuid = r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
    assert outcome({"must_match": f"^{uuid} {uuid}$"}, "6ba7b810-9dad-11d1-80b4-00c04fd430c8 " * 2) == "pass"


# --- texts --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "answer", "stands"),
    [
        ("sorry", "Sorry, no.", True),
        ("sorry", "sorrysome", False),
        ("Kraków", "It is in Krakow.", True),
        ("12", "12", True),
        ("12", "at 12.", True),
        ("12", "312", False),
        ("12", "12.5", False),
        ("12", "1,12", False),
        ("12", "-12", False),
        ("12", "3-12", False),
        ("4471", "Order FW-4471", True),
        ("4471", "Order FW-14471", False),
        ("12", "(12)", True),
        ("can", "I can't.", False),
        ("北京", "首都是北京市", True),
        ("5 %", "It is 5 %.", True),
        ("€", "5 €", True),
        ("the The", "The The played.", True),
        ("?!", "Really?!", True),
        ("?!", "Really!", False),
    ],
)
def test_texts_stand_as_whole_words_and_numbers(text, answer, stands):
    assert outcome({"must_contain": [text]}, answer) == ("pass" if stands else "fail")
    assert outcome({"must_not_contain": text}, answer) == ("fail" if stands else "pass")


@pytest.mark.parametrize(("rung", "stands"), [(1, False), (2, False), (3, True)])
def test_texts_are_compared_at_a_rung(rung, stands):
    assert outcome({"must_contain": {"texts": "Zürich, main station", "rung": rung}}, "In ZURICH: main station!") == (
        "pass" if stands else "fail"
    )
    assert outcome({"must_contain": {"texts": ["Don't"], "rung": rung}}, "Well, don't!") == (
        "fail" if rung == 1 else "pass"
    )


def test_all_texts_are_due_and_none_is_allowed():
    assert reason({"must_contain": ["a1", "b2", "c3", "d4", "e5"]}, "b2") == "lacks 'a1', 'c3', 'd4' and 1 more"
    assert reason({"must_not_contain": ["a1", "b2"]}, "B2") == "contains 'b2'"


@pytest.mark.parametrize("texts", [[], [""], [" "], ["\u200b"], "", ["a" * 1001], [5], 5, None, {"a": 1}])
def test_texts_that_are_none_are_refused(texts):
    with pytest.raises(InputError, match="^case: must_contain: "):
        parse_checks({"must_contain": texts}, "case")


# --- length, tools, latency -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "text", "length"),
    [
        ("characters", " abc \n", 3),
        ("characters", "", 0),
        ("words", "one two-three  four", 3),
        ("words", "首都 是北京", 5),
        ("words", "हिन्दी", 1),
    ],
)
def test_length_is_counted_in_characters_or_words(options, text, length):
    for limit in range(8):
        assert outcome({"max_length": {options: limit}}, text) == ("pass" if length <= limit else "fail")
        assert outcome({"min_length": {options: limit}}, text) == ("pass" if length >= limit else "fail")


def test_a_plain_length_is_in_characters():
    assert reason({"max_length": 3}, "abcd") == "has 4 characters; at most 3 are due"
    assert reason({"min_length": {"words": 3}}, "ab cd") == "has 2 words; at least 3 are due"


@pytest.mark.parametrize(
    ("called", "required", "free", "ordered"),
    [
        (["look_up", "refund"], ["look_up", "refund"], "pass", "pass"),
        (["refund", "look_up"], ["look_up", "refund"], "pass", "fail"),
        (["look_up", "other", "refund"], ["look_up", "refund"], "pass", "pass"),
        (["refund", "look_up", "refund"], ["look_up", "refund"], "pass", "pass"),
        (["look_up"], ["look_up", "refund"], "fail", "fail"),
        (["look_up"], ["look_up", "look_up"], "fail", "fail"),
        (["look_up", "look_up"], ["look_up", "look_up"], "pass", "pass"),
        ([], ["look_up"], "fail", "fail"),
        ([{"name": "look_up", "arguments": {}}], ["look_up"], "pass", "pass"),
        (["look_up"], "look_up", "pass", "pass"),
        (["look_up_all"], ["look_up"], "fail", "fail"),
        (None, ["look_up"], "not_applicable", "not_applicable"),
        ("look_up", ["look_up"], "unreadable", "unreadable"),
        ([{"tool": "look_up"}], ["look_up"], "unreadable", "unreadable"),
        ([None], ["look_up"], "unreadable", "unreadable"),
    ],
)
def test_required_tools(called, required, free, ordered):
    assert outcome({"tools": required}, tools=called) == free
    assert outcome({"tools": {"names": required, "in_order": True}}, tools=called) == ordered


def test_what_the_data_does_not_say_is_not_applicable():
    assert outcome({"tools": ["look_up"]}) == "not_applicable"
    assert reason({"tools": ["look_up"]}) == "the answer's meta has no 'tools'"
    assert reason({"max_latency": 2}) == "the answer's meta has no 'latency'"


def test_reasons_name_the_tools():
    assert reason({"tools": ["a", "b"]}, tools=["b"]) == "did not call 'a'"
    in_order = {"names": ["a", "b"], "in_order": True}
    assert reason({"tools": in_order}, tools=["b", "a"]) == "called 'b' out of order: 'b', 'a'"


@pytest.mark.parametrize(
    ("latency", "says"),
    [
        (1.9, "pass"),
        (2, "pass"),
        (2.1, "fail"),
        (10**400, "fail"),
        (0, "pass"),
        (-1, "unreadable"),
        (float("nan"), "unreadable"),
        (float("inf"), "unreadable"),
        (True, "unreadable"),
        ("1.2", "unreadable"),
        (None, "not_applicable"),
    ],
)
def test_latency(latency, says):
    assert outcome({"max_latency": 2}, latency=latency) == says


# --- reports ------------------------------------------------------------------------------------------


def test_a_report_tells_hard_from_soft():
    checks = parse_checks(
        {
            "max_length": {"words": 1, "weight": 3},
            "must_contain": {"texts": "b", "weight": 1},
            "must_match": "z",
            "must_not_match": {"pattern": "a", "hard": True},
            "tools": {"names": "t", "hard": False},
        },
        "case",
    )
    report = run_checks(answer("a b"), checks)
    assert [(r.name, r.outcome, r.hard, r.weight) for r in report.results] == [
        ("max_length", "fail", False, 3),
        ("must_contain", "pass", False, 1),
        ("must_match", "fail", True, None),
        ("must_not_match", "fail", True, None),
        ("tools", "not_applicable", False, 1),
    ]
    assert report.failed == ("max_length", "must_match", "must_not_match")
    assert report.first_failed is report.results[2]
    assert report.first_unreadable is None
    assert report.score == 0.25


def test_without_soft_checks_there_is_no_score():
    assert run_checks(answer("a"), parse_checks({"must_match": "a"}, "case")).score is None
    assert run_checks(answer("a"), ()) == CheckReport(())


def test_what_cannot_be_told_is_neither_a_pass_nor_in_the_score():
    soft = CheckResult("tools", "unreadable", 5, "")
    report = CheckReport((CheckResult("must_match", "unreadable", None, ""), soft, CheckResult("x", "pass", 1, "")))
    assert report.failed == ()
    assert report.first_unreadable is report.results[0]
    assert report.score == 1
    assert CheckReport((soft,)).score is None
    assert CheckReport((soft,)).first_unreadable is None


def test_checks_are_made_in_python_too():
    report = run_checks(answer("a", latency=3), [MustMatch(pattern="a"), MaxLatency(seconds=2, weight=1)])
    assert report.failed == ("max_latency",)
    with pytest.raises(ValueError, match="is no regular expression"):
        MustMatch(pattern="(")
    assert MustContain(texts=("a",)) == MustContain(texts="a")


# --- reading them -------------------------------------------------------------------------------------


def test_a_check_that_is_due_twice_stands_in_a_list():
    checks = parse_checks([{"must_match": "a"}, {"must_match": "b", "max_length": 5}], "case")
    assert [check.name for check in checks] == ["must_match", "must_match", "max_length"]
    assert parse_checks([], "case") == parse_checks({}, "case") == ()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("must_match", "checks are 'must_match'; give a mapping of names, as in max_length: 200"),
        ([5], "checks are 5; give a mapping of names, as in max_length: 200"),
        (None, "checks are None; give a mapping of names, as in max_length: 200"),
        ({"must_mach": "a"}, "there is no check 'must_mach'; the nearest: must_match"),
        ({"must_match": {"patern": "a"}}, "must_match: the option 'pattern' is missing; add it"),
        (
            {"must_match": {"pattern": "a", "wieght": 2}},
            "must_match: there is no option 'wieght'; the nearest: weight",
        ),
        ({"must_match": 5}, "must_match: pattern is 5: input should be a valid string; mend it"),
        ({"must_match": ["a"]}, "must_match: pattern is ['a']: input should be a valid string; mend it"),
        ({"max_length": -1}, "max_length: characters is -1: input should be greater than or equal to 0; mend it"),
        ({"max_length": 2.5}, "max_length: characters is 2.5: input should be a valid integer; mend it"),
        ({"max_length": True}, "max_length: characters is True: input should be a valid integer; mend it"),
        ({"max_length": {}}, "max_length: a length is in characters or in words; give one of them"),
        (
            {"max_length": {"words": 1, "characters": 1}},
            "max_length: a length is in characters or in words; give one of them",
        ),
        (
            {"must_contain": {"texts": ["a"], "rung": 4}},
            "must_contain: rung is 4: input should be less than or equal to 3; mend it",
        ),
        ({"max_latency": 0}, "max_latency: seconds is 0: input should be greater than 0; mend it"),
        ({"max_latency": float("nan")}, "max_latency: seconds is nan: input should be a finite number; mend it"),
        ({"max_latency": float("inf")}, "max_latency: seconds is inf: input should be a finite number; mend it"),
        (
            {"max_latency": {"seconds": 1, "weight": 0}},
            "max_latency: weight is 0: input should be greater than 0; mend it",
        ),
        ({"max_latency": {"seconds": 1, "hard": "no"}}, "max_latency: hard is 'no'; say true or false"),
        (
            {"max_latency": {"seconds": 1, "hard": True, "weight": 1}},
            "max_latency: hard: true has no weight; leave out one of them",
        ),
        ({"tools": []}, "tools: names is []: tuple should have at least 1 item after validation, not 0; mend it"),
    ],
)
def test_a_wrong_check_is_named_in_one_line(value, message):
    with pytest.raises(InputError) as raised:
        parse_checks(value, "case 7")
    assert str(raised.value) == f"case 7: {message}"


def assert_one_line(error):
    assert str(error).startswith("case: ")
    assert "\n" not in str(error)


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.text(max_size=8), parts, max_size=3),
    max_leaves=6,
)
names = st.sampled_from(
    [
        "must_match",
        "must_not_match",
        "must_contain",
        "must_not_contain",
        "min_length",
        "max_length",
        "tools",
        "max_latency",
    ]
)
keys = st.sampled_from(
    ["pattern", "texts", "rung", "characters", "words", "names", "in_order", "seconds", "hard", "weight"]
)


@settings(deadline=None)
@given(st.dictionaries(names, plain | st.dictionaries(keys, plain, max_size=3), max_size=3), st.text(), plain, plain)
def test_no_value_raises_anything_but_a_line(value, text, tools, latency):
    try:
        checks = parse_checks(value, "case")
    except InputError as error:
        assert_one_line(error)
        return
    report = run_checks(answer(text, tools=tools, latency=latency), checks)
    assert len(report.results) == len(checks)


@settings(deadline=None)
@given(st.text(max_size=20), st.text(min_size=1, max_size=5).filter(lambda text: text.strip("\u200b").strip()))
def test_containing_and_not_containing_exclude_each_other(text, part):
    try:
        both = parse_checks({"must_contain": part, "must_not_contain": part}, "case")
    except InputError:
        return  # nothing but what shows nothing
    assert {result.outcome for result in run_checks(answer(text), both).results} == {"pass", "fail"}
    assert run_checks(answer(part), both[:1]).failed == ()


@pytest.mark.parametrize("piece", ["1", "1,", "not ", " ", "'", "a "])
def test_long_answers_take_no_time(piece):
    words = {"max_length": {"words": 10}}
    contains = {"must_contain": [(piece * 50).strip() or "x"]}
    started = time.perf_counter()
    assert outcome(contains, piece * (10_000_000 // len(piece))) == "unreadable"
    assert outcome(contains, piece * (LONGEST_MATCHED // len(piece))) in ("pass", "fail")
    assert outcome(words, piece * (10_000_000 // len(piece))) in ("pass", "fail")
    assert time.perf_counter() - started < 10


def test_the_longest_pattern_is_matched():
    assert outcome({"must_match": "a" * LONGEST_PATTERN}, "a" * LONGEST_PATTERN) == "pass"
