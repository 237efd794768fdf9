import json
import os

import pytest

import calibkit
from calibkit import Cascade, Columns, judge_client, load_policy
from calibkit.cascade import Fault
from calibkit.judge import Reply
from calibkit.pairs import InputError
from calibkit.pytest_plugin import _opened, assert_acceptable, cases

pytest_plugins = ("pytester",)

POLICY = """
schema: calibkit/policy/1
name: desk
stages:
  - {stage: exact, rung: 3}
  - {stage: bands, scorer: {name: token_recall, version: 1}, pass_at_or_above: 0.8, fail_below: 0.3}
  - {stage: judge}
"""
ANSWERS = [
    {"id": "good", "question": "How long?", "references": ["14 days"], "candidate": "14 days."},
    {"id": "bad", "question": "How long?", "references": ["14 days", "two weeks"], "candidate": "a month\nor so"},
    {"id": "gray", "references": ["14 days"], "candidate": "14 hours"},
    {"id": "broken", "references": ["14 days"]},
]
EACH = """
import pytest
from calibkit.pytest_plugin import assert_acceptable, cases

@pytest.mark.parametrize("pair", cases("answers.jsonl"))
def test_answer(pair):
    assert_acceptable(pair, policy="policy.yaml")
"""
SAYS_PASS = json.dumps({"reason": "the same time", "score": 1.0})
SAYS_FAIL = json.dumps({"reason": "another time", "score": 0.0})


@pytest.fixture
def policy(tmp_path):
    path = tmp_path / "desk.yaml"
    path.write_text(POLICY)
    return path


@pytest.fixture
def suite(pytester, monkeypatch):
    """Run a test suite with the plugin; gives pytest's result."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def run(test, *arguments, answers=ANSWERS, ini="", files=None):
        pytester.makefile(".yaml", policy=POLICY)
        pytester.makefile(".jsonl", answers="".join(json.dumps(answer) + "\n" for answer in answers))
        pytester.makeini(f"[pytest]\n{ini}")
        for name, text in (files or {}).items():
            (pytester.path / name).write_text(text)
        pytester.makepyfile(test_answers=test)
        return pytester.runpytest("-p", "calibkit.pytest_plugin", *arguments)

    return run


# --- a file of answers ------------------------------------------------------------------------------


def test_each_answer_is_a_test_with_its_id_and_says_what_decided_it(suite):
    result = suite(EACH, "-v")
    result.assert_outcomes(passed=1, failed=3)
    result.stdout.fnmatch_lines(
        [
            "*test_answer?good? PASSED*",
            "*test_answer?bad? FAILED*",
            "*test_answer?gray? FAILED*",
            "*test_answer?broken? FAILED*",
        ]
    )
    result.stdout.fnmatch_lines(
        [
            "E       AssertionError: fail by bands: token_recall 0 is below 0.3",
            "E       score      0",
            "E       question   How long?",
            "E       reference  14 days",
            "E       reference  two weeks",
            "E       answer     a month",
            "E                  or so",
            "test_answers.py:6: AssertionError",
        ],
        consecutive=False,
    )
    result.stdout.fnmatch_lines(
        ["E*AssertionError: review, which is no pass: token_recall 0.5 is between 0.3 and 0.8; no judge was given"]
    )
    result.stdout.fnmatch_lines(["E*AssertionError: error: *answers.jsonl:4: candidate is missing"])
    result.stdout.fnmatch_lines(["FAILED test_answers.py::test_answer[[]bad] - AssertionError: fail by bands: *"])
    result.stdout.no_fnmatch_line("*pytest_plugin.py*")


def test_one_answer_can_be_chosen_by_its_id(suite):
    suite(EACH, "test_answers.py::test_answer[good]").assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("given", "outcomes"), [("skip", {"skipped": 1}), ("pass", {"passed": 1}), ("fail", {"failed": 1})]
)
def test_what_becomes_of_a_review_can_be_said_for_all(suite, given, outcomes):
    result = suite(EACH, "-rs", ini=f"calibkit_review = {given}", answers=ANSWERS[2:3])
    result.assert_outcomes(**outcomes)
    if given == "skip":
        result.stdout.fnmatch_lines(["SKIPPED*review: token_recall 0.5 is between 0.3 and 0.8; no judge was given"])


@pytest.mark.parametrize("given", ["skip", "pass"])
def test_an_error_and_a_fail_stay_what_they_are(suite, given):
    suite(EACH, ini=f"calibkit_review = {given}", answers=[ANSWERS[1], ANSWERS[3]]).assert_outcomes(failed=2)


def test_a_file_without_answers_is_no_green_suite(suite):
    result = suite(EACH, answers=[])
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["E*InputError: answers.jsonl: there is no answer in this file"])
    result.stdout.no_fnmatch_line("*store.py*")


def test_paths_start_at_the_root_wherever_pytest_is_called_from(suite, pytester, monkeypatch):
    inner = pytester.mkdir("elsewhere")
    monkeypatch.chdir(inner)
    suite(
        EACH, "--rootdir", str(pytester.path), str(pytester.path / "test_answers.py"), answers=ANSWERS[:1]
    ).assert_outcomes(passed=1)


def test_policy_and_judge_may_be_settings(suite):
    test = EACH.replace(', policy="policy.yaml"', "")
    replies = "".join(json.dumps({"id": name, "reply": SAYS_PASS}) + "\n" for name in ("gray", "bad"))
    ini = "calibkit_policy = policy.yaml\ncalibkit_judge = recorded:replies.jsonl"
    result = suite(test, ini=ini, files={"replies.jsonl": replies}, answers=ANSWERS[:3])
    result.assert_outcomes(passed=2, failed=1)  # what the bands fail is not asked about


def test_a_named_judge_keeps_its_replies_in_pytests_cache(suite, pytester, monkeypatch):
    asked = []

    class Model:
        name = "m"

        async def ask(self, prompt, *, key, attempt=0):
            asked.append(key)
            return Reply(SAYS_PASS)

    monkeypatch.setattr(judge_client, "OpenAIJudge", lambda model, **options: Model())
    ini = "calibkit_judge = openai:m"
    for arguments, calls in (((), 1), ((), 1), (("--cache-clear",), 2)):
        suite(EACH, *arguments, ini=ini, answers=ANSWERS[2:3]).assert_outcomes(passed=1)
        assert len(asked) == calls
        _opened.cache_clear()  # as a new process would
    assert list((pytester.path / ".pytest_cache" / "d" / "calibkit").iterdir())


def test_a_missing_policy_is_told_in_a_line(suite):
    result = suite(EACH.replace("policy.yaml", "nowhere.yaml"), answers=ANSWERS[:1])
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E*InputError: *nowhere.yaml: there is no such file; mend the path"])
    result.stdout.no_fnmatch_line("*store.py*")


def test_two_answers_with_one_id_are_refused(tmp_path, write_pairs):
    path = write_pairs([ANSWERS[0], ANSWERS[0]])
    with pytest.raises(InputError, match="the id 'good' names two answers; give each its own"):
        cases(path)


def test_a_foreign_table_is_read_by_its_columns(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("no,gold,said\n1,a | b,b\n")
    (case,) = cases(path, Columns({"id": "no", "references": "gold", "candidate": "said"}, " | "))
    assert case.id == "1"
    assert case.values[0].references == ("a", "b")


# --- one answer -------------------------------------------------------------------------------------


def test_a_pass_gives_its_verdict(policy):
    verdict = assert_acceptable("It takes 14 days.", ["14 days"], policy=policy, question="How long?")
    assert (verdict.outcome, verdict.stage) == ("pass", "bands")
    assert assert_acceptable("14 days", "14 days", policy=str(policy)).stage == "exact"


def test_a_fail_is_an_assertion_error_with_the_texts(policy):
    with pytest.raises(AssertionError) as failed:
        assert_acceptable("x" * 3000, [f"word {n}" for n in range(12)], policy=policy, question="Which?")
    lines = str(failed.value).split("\n")
    assert lines[:4] == [
        "fail by bands: token_recall 0 is below 0.3",
        "score      0",
        "question   Which?",
        "reference  word 0",
    ]
    assert lines[-2].split() == ["and", "2", "more"]
    assert lines[-1] == "answer     " + "x" * 2000 + "... (3000 characters)"


def test_an_unanswerable_question_is_told_as_such(policy):
    with pytest.raises(
        AssertionError, match="review, which is no pass: (.|\n)*reference  none: the question has no answer"
    ):
        assert_acceptable("Surely 14 days.", [], policy=policy)


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (SAYS_FAIL, "^fail by judge: .*another time\nscore      0\n"),
        ("I would say so.", "^review, which is no pass: .*no JSON object"),
        (RuntimeError("down"), "^error: RuntimeError: down"),
    ],
)
def test_the_judge_decides_the_gray_zone_and_no_fault_of_it_passes(policy, reply, said):
    def judge(prompt):
        if isinstance(reply, Exception):
            raise reply
        return reply

    with pytest.raises(AssertionError, match=said):
        assert_acceptable("14 hours", ["14 days"], policy=policy, judge=judge)
    if isinstance(reply, Exception):
        with pytest.raises(AssertionError, match="^error"):
            assert_acceptable("14 hours", ["14 days"], policy=policy, judge=judge, review="pass")


def test_each_call_may_bring_its_own_judge(policy):
    assert assert_acceptable("14 hours", ["14 days"], policy=policy, judge=lambda prompt: SAYS_PASS).stage == "judge"
    with pytest.raises(AssertionError, match="fail by judge"):
        assert_acceptable("14 hours", ["14 days"], policy=policy, judge=lambda prompt: SAYS_FAIL)


def test_a_review_may_pass_where_the_call_says_so(policy):
    assert assert_acceptable("14 hours", ["14 days"], policy=policy, review="pass").outcome == "review"
    with pytest.raises(pytest.skip.Exception, match="review: token_recall 0.5 is between"):
        assert_acceptable("14 hours", ["14 days"], policy=policy, review="skip")


def test_a_cascade_is_used_as_it_is(policy):
    cascade = Cascade(load_policy(policy), judge=lambda prompt: SAYS_PASS)
    assert assert_acceptable("14 hours", ["14 days"], policy=cascade).stage == "judge"
    with pytest.raises(InputError, match="a cascade has its judge"):
        assert_acceptable("14 hours", ["14 days"], policy=cascade, judge=lambda prompt: SAYS_PASS)


def test_a_policy_is_loaded_once_and_again_when_it_changes(policy, monkeypatch):
    loads = []
    real = load_policy
    monkeypatch.setattr("calibkit.store.load_policy", lambda path: loads.append(path) or real(path))
    for _ in range(3):
        assert_acceptable("14 days", ["14 days"], policy=policy)
    assert len(loads) == 1
    policy.write_text(POLICY.replace("0.8", "0.4"))
    os.utime(policy, ns=(1, 1))
    assert assert_acceptable("14 hours", ["14 days"], policy=policy).outcome == "pass"
    assert len(loads) == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((None, ["a"]), "the answer is given as NoneType; give a text with references, or a case"),
        (("a",), "the answer is given without references"),
        (("a", ["a", 3]), "references must be a text or a list of texts"),
        ((Fault("a", "no"), ["a"]), "a case has its references and question"),
    ],
)
def test_calls_that_make_no_sense_are_refused(policy, arguments, said):
    with pytest.raises(InputError, match=said):
        assert_acceptable(*arguments, policy=policy)


def test_policy_and_review_are_checked(policy):
    with pytest.raises(InputError, match=r"no policy is given; give policy=..., or set calibkit_policy"):
        assert_acceptable("a", ["a"])
    with pytest.raises(InputError, match="review is 'maybe'; give fail, skip or pass"):
        assert_acceptable("a", ["a"], policy=policy, review="maybe")


# --- what it costs those who do not use it ----------------------------------------------------------


def test_the_module_itself_brings_nothing_heavy(run_python):
    code = """
import sys, types
package = types.ModuleType("calibkit")
package.__path__ = [PATH]
sys.modules["calibkit"] = package
import calibkit.pytest_plugin
print([name for name in sys.modules if name.startswith("calibkit.") or name in ("numpy", "scipy", "pydantic")])
"""
    assert run_python(code.replace("PATH", repr(calibkit.__path__[0]))).strip() == "['calibkit.pytest_plugin']"
