"""The command line with a judge: measured, asked about the gray zone, stopped and gone on with, gated."""

import json
import re

import pytest
from judge_server import JudgeServer, refusal, reply

POLICY = """schema: calibkit/policy/1
name: gray
stages:
  - {stage: exact, rung: 4}
  - {stage: rules, rules: [number, abstention]}
  - {stage: bands, scorer: {name: token_recall, version: 1}, pass_at_or_above: 0.9, fail_below: null}
  - {stage: judge, pass_at_or_above: 0.8}
"""


def answers(n=12):
    rows = [
        {"id": "same", "references": ["the red gate"], "candidate": "The red gate.", "acceptable": True},
        {"id": "other", "references": ["7 keys"], "candidate": "8 keys", "acceptable": False},
    ]
    rows += [
        {
            "id": f"gray{at}",
            "question": f"which door {at}?",
            "references": ["the oak door"],
            "candidate": f"a wooden one {'x' * at}",
            "acceptable": at % 3 != 0,
            "tags": ["door"],
        }
        for at in range(n)
    ]
    return rows


def replies(n=12, wrong=()):
    def said(at):
        return '{"reason": "as asked", "score": %s}' % (1.0 if (at % 3 != 0) != (at in wrong) else 0.0)

    return [{"id": f"gray{at}", "reply": said(at)} for at in range(n)]


@pytest.fixture
def files(tmp_path, write_pairs):
    (tmp_path / "policy.yaml").write_text(POLICY)
    write_pairs(answers())
    write_pairs(replies(wrong=(1,)), "replies.jsonl")
    return tmp_path


def verdicts(path):
    return {record["id"]: record for record in map(json.loads, path.read_text().splitlines())}


def test_a_judge_decides_the_gray_zone_alone(calibkit, files):
    status, out, _ = calibkit(
        "grade", "pairs.jsonl", "--policy", "policy.yaml", "--judge", "recorded:replies.jsonl", "--out", "v.jsonl"
    )
    assert status == 0
    found = verdicts(files / "v.jsonl")
    assert [found[name]["stage"] for name in ("same", "other", "gray0")] == ["exact", "rule:number", "judge"]
    assert found["gray2"]["outcome"] == "pass"
    assert found["gray1"]["outcome"] == "fail"
    assert found["gray2"]["details"]["judge"]["calls"] == 1
    assert "judge: 12 calls" in out
    assert not (files / "v.jsonl.part").exists()


def test_without_a_judge_the_gray_zone_is_left_to_review(calibkit, files):
    calibkit("grade", "pairs.jsonl", "--policy", "policy.yaml", "--out", "v.jsonl")
    assert verdicts(files / "v.jsonl")["gray2"]["outcome"] == "review"
    assert "no judge was given" in verdicts(files / "v.jsonl")["gray2"]["reason"]


def test_a_judge_without_its_stage_is_refused(calibkit, files):
    (files / "policy.yaml").write_text(POLICY.rpartition("  - {stage: judge")[0])
    status, _, err = calibkit("grade", "pairs.jsonl", "--policy", "policy.yaml", "--judge", "recorded:replies.jsonl")
    assert status == 2
    assert "has no stage judge" in err


def test_a_judge_is_measured_by_people(calibkit, files, write_pairs):
    write_pairs([row for row in answers(90) if row["id"].startswith("gray")])
    write_pairs(replies(90, wrong=range(1, 90, 9)), "replies.jsonl")
    judge = ("judge", "pairs.jsonl", "--judge", "recorded:replies.jsonl", "--json")
    status, out, _ = calibkit(*judge)
    explored = json.loads(out)
    assert (status, explored["labels"]) == (0, "the development part")
    status, out, _ = calibkit(*judge, "--precision", "0.8")
    told = json.loads(out)
    assert (status, told["labels"]) == (0, "certifying")
    # Every answer with a label is in one part or the other, and its label in one cell.
    assert told["answers"] + explored["answers"] == 90
    cells = ("true_pass", "false_pass", "true_fail", "false_fail")
    both = [told[cell] + explored[cell] for cell in cells]
    assert both == [50, 0, 30, 10]
    assert told["agreement"] == pytest.approx((told["true_pass"] + told["true_fail"]) / told["answers"])
    # Other replies, or another number of votes, are another judge: they need a plan of their own.
    write_pairs(replies(90), "replies.jsonl")
    status, out, _ = calibkit(*judge, "--precision", "0.8")
    assert "the ledger plans 1 configuration" in json.loads(out)["sentence"]


def test_verdicts_on_other_texts_of_the_same_id_are_not_taken_over(calibkit, files):
    grade = ("grade", "pairs.jsonl", "--policy", "policy.yaml", "--judge", "recorded:replies.jsonl", "--out", "v.jsonl")
    rows = answers()
    (files / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [*rows, rows[0]]))
    status, _, err = calibkit(*grade)
    assert (status, "two answers are called 'same'" in err) == (2, True)
    rows[0] = rows[0] | {"candidate": "something else"}
    (files / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    status, _, err = calibkit(*grade)
    assert status == 0
    assert verdicts(files / "v.jsonl")["same"]["outcome"] != "pass"


def test_the_report_tells_what_changed_and_corrects_the_pass_rate(calibkit, files):
    grade = ("grade", "pairs.jsonl", "--policy", "policy.yaml", "--judge", "recorded:replies.jsonl")
    calibkit(*grade, "--out", "old.jsonl")
    (files / "replies.jsonl").write_text("".join(json.dumps(row) + "\n" for row in replies()))
    status, out, _ = calibkit(
        *grade, "--out", "new.jsonl", "--against", "old.jsonl", "--report", "r.html", "--beside", "token_recall=0.8:0.2"
    )
    assert status == 0
    assert "against the earlier run: 0 new fails, 1 new passes" in out
    page = (files / "r.html").read_text()
    assert "token_recall" in page
    assert "gray1" in page
    status, out, _ = calibkit(*grade, "--json", "--against", "old.jsonl")
    record = json.loads(out)["grading"]
    assert record["against"]["new_passes"] == ["gray1"]
    assert record["people"]["corrected_pass_rate"] is not None


def test_gates_decide_the_exit_status(calibkit, files):
    (files / "gates.yaml").write_text("{pass_rate: 0.5, max_errors: 0, tags: {door: {pass_rate: 0.5}}}")
    evaluate = ("evaluate", "pairs.jsonl", "--policy", "policy.yaml", "--judge", "recorded:replies.jsonl", "--gates")
    status, out, _ = calibkit(*evaluate, "gates.yaml")
    assert (status, out.count("NOT met")) == (0, 0)
    (files / "gates.yaml").write_text("{pass_rate: 0.9}")
    status, out, _ = calibkit(*evaluate, "gates.yaml")
    assert status == 1
    assert "NOT met" in out
    (files / "gates.yaml").write_text("{pass_rat: 0.9}")
    status, _, err = calibkit(*evaluate, "gates.yaml")
    assert status == 2
    assert "pass_rate" in err


@pytest.fixture
def ask_server(calibkit, files, monkeypatch):
    """Grade with a server that behaves so; gives the prompts that it was asked, and the status."""

    def run(behave, *more):
        with JudgeServer(behave).in_thread() as server:
            monkeypatch.setenv("CALIBKIT_JUDGE_URL", server.url)
            status, out, err = calibkit(
                "grade", "pairs.jsonl", "--policy", "policy.yaml", "--judge", "openai:m", "--out", "v.jsonl", *more
            )
            return [call.prompt for call in server.calls], status, out + err

    return run


def by_length(call):
    return reply('{"reason": "r", "score": %s}' % (1.0 if "wooden one xx" in call.prompt else 0.0))


def test_an_error_is_no_verdict_and_a_second_run_asks_for_the_rest_alone(ask_server, files):
    def failing(call):
        return refusal(400, "not today") if re.search(r"wooden one x{3}\n", call.prompt) else by_length(call)

    asked, status, _ = ask_server(failing)
    assert (len(asked), status) == (12, 0)
    found = verdicts(files / "v.jsonl")
    assert (found["gray3"]["outcome"], found["gray3"]["stage"]) == ("error", None)
    assert found["gray2"]["outcome"] == "pass"
    assert found["gray1"]["outcome"] == "fail"
    asked, _, _ = ask_server(by_length)
    assert len(asked) == 1  # replies are kept
    assert verdicts(files / "v.jsonl")["gray3"]["outcome"] == "pass"


def test_a_run_that_was_stopped_goes_on(ask_server, files):
    seen = []

    def stopping(call):
        seen.append(call)
        return refusal(401, "wrong key") if len(seen) > 6 else by_length(call)

    _, status, _ = ask_server(stopping, "--concurrency", "1")
    assert status == 2
    assert not (files / "v.jsonl").exists()
    asked, status, _ = ask_server(by_length, "--concurrency", "1")
    assert status == 0
    assert len(asked) == 6
    assert len(verdicts(files / "v.jsonl")) == 14
    assert not (files / "v.jsonl.part").exists()


def test_after_the_budget_the_rest_is_left_to_review(ask_server, files):
    asked, status, _ = ask_server(by_length, "--max-calls", "5")
    assert (len(asked), status) == (5, 0)
    outcomes = [record["outcome"] for record in verdicts(files / "v.jsonl").values()]
    assert outcomes.count("review") == 7


def test_answers_are_collected_from_a_function(calibkit, tmp_path, write_pairs, monkeypatch):
    write_pairs([{"id": "q1", "question": "2 + 2?", "references": ["4"]}], "questions.jsonl")
    (tmp_path / "own_agent.py").write_text("def answer(question):\n    return 'four'\n")
    monkeypatch.syspath_prepend(tmp_path)
    status, out, _ = calibkit(
        "collect", "questions.jsonl", "--agent", "own_agent:answer", "--out", "a.jsonl", "-k", "2"
    )
    assert status == 0
    assert "2 answers written" in out
    assert [row["candidate"] for row in map(json.loads, (tmp_path / "a.jsonl").read_text().splitlines())] == [
        "four"
    ] * 2


def test_equal_answers_without_an_id_are_told_apart(calibkit, files):
    row = {"references": ["4"], "candidate": "four"}
    (files / "pairs.jsonl").write_text((json.dumps(row) + "\n") * 2)
    status, _, err = calibkit(
        "grade", "pairs.jsonl", "--policy", "policy.yaml", "--out", "v.jsonl", "--report", "r.txt"
    )
    assert status == 0, err
    assert len(verdicts(files / "v.jsonl")) == 2
    (files / "pairs.jsonl").write_text((json.dumps(row | {"id": "a"}) + "\n") * 2)
    (files / "v.jsonl").unlink()
    status, _, err = calibkit(
        "grade", "pairs.jsonl", "--policy", "policy.yaml", "--out", "v.jsonl", "--report", "r.txt"
    )
    assert (status, "two answers are called 'a'" in err) == (2, True)
    assert not (files / "v.jsonl").exists()
