import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from datetime import date

import pytest
from judge_server import HANG, JudgeServer, refusal, reply

from calibkit import Columns, load_pairs
from calibkit.collect import Question, agent_from, collect, load_questions
from calibkit.judge_client import Budget
from calibkit.pairs import InputError, SetupError

KEY = "sk-agent-0123456789"
QUESTIONS = [Question(f"q{n}", f"question {n}", {"references": [f"answer {n}"]}) for n in range(5)]


@pytest.fixture(autouse=True)
def _environment(monkeypatch, tmp_path):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name in ("URL", "MODEL"):
        monkeypatch.delenv(f"CALIBKIT_AGENT_{name}", raising=False)
    monkeypatch.setenv("CALIBKIT_AGENT_KEY", KEY)
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))  # to load certificates would take most of a short test


@pytest.fixture
def out(tmp_path):
    return tmp_path / "pairs.jsonl"


@pytest.fixture
def served(monkeypatch):
    """Collect from a server that behaves so; gives the server and what was collected."""

    def run(behave, questions, out, *, k=1, system=None, **options):
        with JudgeServer(behave).in_thread() as server:
            monkeypatch.setenv("CALIBKIT_AGENT_URL", server.url)
            agent = agent_from(
                "openai:m", system=system, **{"timeout": 5, "first_wait": 0.001, "longest_wait": 0.01, **options}
            )
            try:
                return server, collect(questions, agent, out=out, k=k)
            except InputError as error:
                return server, error

    return run


def answer(question):
    return question.replace("question", "answer")


def rows(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def write(path, *lines):
    path.write_text("".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines))
    return path


# --- questions --------------------------------------------------------------------------------------


def test_a_question_brings_what_its_answers_are_held_to(tmp_path):
    path = write(
        tmp_path / "questions.jsonl",
        {"id": "a", "question": "How long?", "references": "14 days", "tags": "refund, time", "critical": True},
        {"question": "Who?", "references": [], "group": "people", "meta": {"owner": "kb"}},
        {"id": 7, "question": "When?", "checks": {"max_length": 9}, "references": ""},
    )
    one, two, three = load_questions(path)
    assert (one.id, one.text) == ("a", "How long?")
    assert one.record == {"references": ["14 days"], "tags": ["refund", "time"], "critical": True}
    assert len(two.id) == 16
    assert two.record == {"references": [], "group": "people", "meta": {"owner": "kb"}}
    assert (three.id, three.record) == ("7", {"checks": {"max_length": 9}})


def test_the_answer_and_label_of_a_pair_are_another_answers(tmp_path):
    pair = {"id": "a", "question": "How long?", "references": ["14 days"], "candidate": "a week", "acceptable": False}
    (question,) = load_questions(write(tmp_path / "pairs.jsonl", pair))
    assert question.record == {"references": ["14 days"]}


def test_a_foreign_table_is_read_by_its_columns(tmp_path):
    path = write(
        tmp_path / "q.csv", "no,ask,gold,done\n1,How long?,14 days | two weeks,no\n2,Who?,,no\n3,What?,x,yes\n"
    )
    columns = Columns({"id": "no", "question": "ask", "references": "gold"}, " | ", [("done", "yes")])
    one, two = load_questions(path, columns)
    assert one.record == {"references": ["14 days", "two weeks"], "done": "no"}
    assert (two.id, two.record) == ("2", {"done": "no"})


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([{"id": "a", "question": "x"}, {"id": "a", "question": "y"}], ":2: the id 'a' stands on line 1 already"),
        (
            [{"id": "a", "question": "How?"}, {"id": "b", "question": " how?"}],
            ":2: the question stands on line 1 already",
        ),
        ([{"id": "a", "question": " "}, {"question": 1}], r":1: question is missing or blank \(2 such rows\)"),
        ([{"id": "a"}], ":1: question is missing"),
        ([{"id": "a", "question": "x", "references": [None]}], ":1: references holds a null"),
        ([{"id": "a", "question": "x", "references": [3]}], ":1: references is int, not text"),
        ([{"id": "a", "question": "x", "tags": 3}], ":1: tags is no list of texts"),
        ([{"id": "a", "question": "\ud800"}], ":1: question holds half of a surrogate pair"),
        (['{"id": \n'], ":1: the row is no JSON"),
        (["\n"], "there is no question in this file"),
    ],
)
def test_bad_questions_are_refused_before_anything_is_asked(tmp_path, out, lines, said):
    path = write(tmp_path / "questions.jsonl", *lines)
    with pytest.raises(InputError, match=said) as refused:
        collect(path, pytest.fail, out=out)
    assert "\n" not in str(refused.value)
    assert not out.exists()


def test_one_text_may_stand_in_two_groups(tmp_path):
    same = [{"id": name, "question": "How long?", "group": name} for name in "ab"]
    assert [question.id for question in load_questions(write(tmp_path / "q.jsonl", *same))] == ["a", "b"]


# --- answers ----------------------------------------------------------------------------------------


def test_answers_are_pairs(out):
    tagged = Question(
        "q9", "question 9", {"references": [], "group": "g", "tags": ["t"], "meta": {"owner": "kb", "run": 0}}
    )
    seen = []
    found = collect([*QUESTIONS, tagged], answer, out=out, k=3, progress=lambda *state: seen.append(state))
    assert (found.asked, found.kept, found.errors, found.left, found.notes) == (18, 0, (), 0, ())
    pairs = {pair.id: pair for pair in load_pairs(out)}
    assert sorted(pairs) == sorted(f"q{n}-{run}" for n in (*range(5), 9) for run in (1, 2, 3))
    one = pairs["q4-2"]
    assert (one.references, one.candidate, one.question, one.group) == (("answer 4",), "answer 4", "question 4", "q4")
    assert not one.labelled
    assert one.meta.keys() == {"model", "run", "at", "seconds"}
    assert (one.meta["model"], one.meta["run"]) == ("answer", 2)
    assert one.meta["at"].endswith("Z")
    assert 0 <= one.meta["seconds"] < 5
    assert (pairs["q9-1"].references, pairs["q9-1"].group, pairs["q9-1"].tags) == ((), "g", ("t",))
    assert (pairs["q9-1"].meta["owner"], pairs["q9-3"].meta["run"]) == ("kb", 3)
    assert sorted(seen) == [(n, 18) for n in range(1, 19)]


def test_what_a_question_says_of_other_answers_is_not_said_of_these(out):
    meta = {"model": "gpt", "system": "sha256:1", "temperature": 1.0, "seconds": 9, "prompt_tokens": 9, "owner": "kb"}
    question = Question("a", "Who?", {"meta": meta, "since": date(2026, 3, 1)})
    collect([question], answer, out=out)
    (row,) = rows(out)
    assert row["meta"].keys() == {"model", "run", "at", "seconds", "owner"}
    assert (row["meta"]["model"], row["since"]) == ("answer", "2026-03-01")
    assert collect([question], answer, out=out).kept == 1


def test_two_questions_with_one_id_are_refused(out):
    with pytest.raises(InputError, match="two questions have the same id; give each its own"):
        collect([QUESTIONS[0], QUESTIONS[0]], answer, out=out)
    assert not out.exists()


def test_a_question_without_references_gets_none(out):
    found = collect([Question("a", "Who?"), QUESTIONS[0]], str.upper, out=out)
    assert found.notes == ("1 question without references: add those to the answers before grading them",)
    assert "references" not in next(row for row in rows(out) if row["id"] == "a-1")


@pytest.mark.parametrize("kind", ["plain", "async", "a plain one that gives an awaitable"])
def test_as_many_are_asked_at_once_as_is_said(out, kind):
    at_once, most = set(), []
    begun = threading.Barrier(4)

    def note(question, entering):
        (at_once.add if entering else at_once.discard)(question)
        most.append(len(at_once))

    async def later(question):
        note(question, True)
        await asyncio.sleep(0.01)
        note(question, False)
        return "so"

    def plain(question):
        note(question, True)
        begun.wait(5)  # a thread each, or this breaks
        note(question, False)
        return "so"

    agent = {"plain": plain, "async": later}.get(kind) or (lambda question: later(question))
    questions = [Question(f"q{n}", f"q{n}") for n in range(12)]
    assert collect(questions, agent, out=out, concurrency=4).asked == 12
    assert max(most) == 4


def test_a_notebooks_loop_may_be_running(out):
    async def cell():
        return collect(QUESTIONS, answer, out=out)

    assert asyncio.run(cell()).asked == 5


@pytest.mark.parametrize("bad", [{"k": 0}, {"k": 1001}, {"concurrency": 0}])
def test_numbers_must_make_sense(out, bad):
    with pytest.raises(InputError, match=f"{next(iter(bad))} is {next(iter(bad.values()))}; give a number from 1 to"):
        collect(QUESTIONS, answer, out=out, **bad)


# --- errors -----------------------------------------------------------------------------------------


def test_what_goes_wrong_is_no_answer_and_is_asked_again(out):
    def agent(question):
        return {"0": "fine", "1": " \n", "2": 4, "3": "\udc80"}.get(question[-1]) or {}["no such key"]

    found = collect(QUESTIONS, agent, out=out)
    assert dict(found.errors) == {
        "q1-1": "candidate is blank",
        "q2-1": "the agent gave int, not text",
        "q3-1": "candidate holds half of a surrogate pair, which is no character",
        "q4-1": "KeyError: 'no such key'",
    }
    assert [row["id"] for row in rows(out)] == ["q0-1"]
    asked = []
    agent.__qualname__ = "agent"
    again = collect(QUESTIONS, named(lambda question: asked.append(question) or "so", rows(out)[0]), out=out)
    assert (again.asked, again.kept, again.errors) == (4, 1, ())
    assert sorted(asked) == [f"question {n}" for n in (1, 2, 3, 4)]


def named(function, row):
    """The function under the name that an answer's meta holds."""
    function.__qualname__ = row["meta"]["model"]
    return function


def test_a_full_disk_stops_the_run_and_leaves_no_part_of_a_line(tmp_path, run_python):
    code = f"""
import resource, signal
from calibkit.collect import Question, collect
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    collect([Question(f"q{{n}}", "?") for n in range(20)], lambda question: "so", out={str(tmp_path / "o.jsonl")!r}, concurrency=2)
except ValueError as error:
    print(error)
"""
    said = run_python(code)
    assert "o.jsonl: the answers cannot be written (File too large); make room and run this again" in said
    assert 3 <= len(rows(tmp_path / "o.jsonl")) <= 8


# --- resuming ---------------------------------------------------------------------------------------


def test_an_answer_that_stands_there_is_not_asked_for(out):
    asked = Counter()

    def agent(question):
        asked[question] += 1
        return "so"

    assert collect(QUESTIONS[:3], agent, out=out).asked == 3
    more = collect(QUESTIONS, agent, out=out, k=2)
    assert (more.asked, more.kept) == (7, 3)
    assert set(asked.values()) == {2}
    assert len(load_pairs(out)) == 10
    before = out.read_bytes()
    assert collect(QUESTIONS[:1], agent, out=out).kept == 1  # the others' answers stay
    assert out.read_bytes() == before


def test_a_torn_last_line_is_set_aside_and_said(out):
    collect(QUESTIONS, answer, out=out)
    whole = out.read_bytes()
    for piece in (b'{"id": "q9-1", "cand', b'{"id"', b"\xff\xfe"):
        out.write_bytes(whole + piece)
        found = collect(QUESTIONS, answer, out=out)
        (note,) = found.notes
        assert note.startswith(f"{out}:6: the last line was torn")
        assert "pairs.jsonl.torn" in note
        assert (out.read_bytes(), found.asked, found.kept) == (whole, 0, 5)
    assert out.with_name("pairs.jsonl.torn").read_bytes() == b'{"id": "q9-1", "cand\n{"id"\n\xff\xfe\n'


def test_a_last_line_without_its_break_is_whole(out):
    collect(QUESTIONS[:2], answer, out=out)
    out.write_bytes(out.read_bytes().rstrip(b"\n"))
    assert collect(QUESTIONS, answer, out=out).notes == ()
    assert len(load_pairs(out)) == 5


def edited(out, **change):
    first, *rest = rows(out)
    first["meta"] |= change.pop("meta", {})
    write(out, first | change, *rest)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"question": "another"}, ":1: 'q0-1' answers another question than the one with this id now"),
        ({"meta": {"model": "gpt"}}, ":1: the model of 'q0-1' was 'gpt' and is 'answer' now; name another file"),
        ({"meta": {"system": "sha256:1"}}, ":1: the system of 'q0-1' was 'sha256:1' and is None now"),
        ({"meta": {"temperature": 1.0}}, ":1: the temperature of 'q0-1' was 1.0 and is None now"),
        ({"candidate": ""}, ":1: candidate is blank; mend this line, or name another file"),
        ({"id": "q1-1"}, ":2: the id 'q1-1' stands on line 1 already"),
    ],
)
def test_other_answers_under_the_same_ids_are_refused(out, change, said):
    collect(QUESTIONS, answer, out=out, concurrency=1)
    edited(out, **change)
    before = out.read_bytes()
    with pytest.raises(InputError, match=said):
        collect(QUESTIONS, answer, out=out)
    assert out.read_bytes() == before


def test_a_broken_line_within_the_file_is_refused(out):
    write(out, "{\n", {"id": "a-1", "candidate": "x", "question": "?"})
    with pytest.raises(InputError, match="pairs.jsonl:1: the row is no JSON"):
        collect(QUESTIONS, answer, out=out)


def test_a_file_is_named_for_what_it_holds_and_may_be_asked_to_be_new(tmp_path, out):
    with pytest.raises(InputError, match="o.csv: answers are written as JSON lines; name the file .jsonl"):
        collect(QUESTIONS, answer, out=tmp_path / "o.csv")
    assert collect(QUESTIONS, answer, out=tmp_path / "new" / "o.jsonl", resume=False).asked == 5
    with pytest.raises(InputError, match="o.jsonl: there are answers in this file; resume, or name another file"):
        collect(QUESTIONS, answer, out=tmp_path / "new" / "o.jsonl", resume=False)
    (tmp_path / "d.jsonl").mkdir()
    with pytest.raises(InputError, match=r"d.jsonl: cannot be opened \(Is a directory\)"):
        collect(QUESTIONS, answer, out=tmp_path / "d.jsonl")


@pytest.mark.skipif(sys.platform == "win32", reason="no such lock there")
def test_two_runs_do_not_write_to_one_file(out):
    refused = []

    def agent(question):
        with pytest.raises(InputError, match="another run is writing to this file") as error:
            collect(QUESTIONS, answer, out=out)
        refused.append(error)
        return "so"

    assert collect(QUESTIONS[:2], agent, out=out).errors == ()
    assert len(refused) == 2


AGENT = """
import os, time

def ask(question):
    with open("asked.txt", "a") as file:
        file.write(question + "\\n")
    time.sleep(0.02)
    return "answer to " + question
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL there")
def test_a_killed_run_resumes_and_nothing_that_was_answered_is_asked_again(tmp_path, out, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "slow_agent.py").write_text(AGENT)
    write(tmp_path / "questions.jsonl", *({"id": f"q{n}", "question": f"question {n}"} for n in range(150)))
    code = (
        "from calibkit.collect import agent_from, collect; "
        "collect('questions.jsonl', agent_from('slow_agent:ask'), out='pairs.jsonl', k=2, concurrency=4)"
    )
    for n_answers in (20, 90):
        process = subprocess.Popen([sys.executable, "-c", code])
        deadline = time.monotonic() + 60
        while (not out.exists() or out.read_bytes().count(b"\n") < n_answers) and time.monotonic() < deadline:
            assert process.poll() is None
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        answered = out.read_bytes().count(b"\n")
        assert n_answers <= answered < 300
    found = collect("questions.jsonl", agent_from("slow_agent:ask"), out=out, k=2, concurrency=16)
    assert (found.asked + found.kept, found.kept, found.errors) == (300, answered, ())
    pairs = {row["id"]: row["candidate"] for row in rows(out)}
    assert len(pairs) == 300
    assert all(text == f"answer to question {name[1:].partition('-')[0]}" for name, text in pairs.items())
    # Only what was under way when a run was killed had to be asked for once more: four questions each time.
    asked = Counter((tmp_path / "asked.txt").read_text().splitlines())
    assert 300 <= asked.total() <= 300 + 2 * 4


# --- an agent behind an API -------------------------------------------------------------------------


def test_a_model_gets_the_system_prompt_and_leaves_its_settings_in_meta(served, out):
    server, found = served(
        lambda call: reply("14 days"), QUESTIONS[:1], out, system="Be brief.", temperature=0.7, max_tokens=50
    )
    assert found.asked == 1
    (call,) = server.calls
    assert call.headers["authorization"] == f"Bearer {KEY}"
    assert call.body == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "question 0"}],
        "temperature": 0.7,
        "max_tokens": 50,
    }
    (row,) = rows(out)
    meta = row["meta"]
    assert row["candidate"] == "14 days"
    assert (meta["model"], meta["temperature"], meta["max_tokens"]) == ("m", 0.7, 50)
    assert meta["system"].startswith("sha256:")
    assert (meta["prompt_tokens"], meta["completion_tokens"]) == (11, 5)
    assert KEY not in out.read_text()


def test_without_settings_those_of_the_server_hold(served, out):
    server, _ = served(lambda call: reply("14 days"), QUESTIONS[:1], out)
    assert server.calls[0].body == {"model": "m", "messages": [{"role": "user", "content": "question 0"}]}
    assert "system" not in rows(out)[0]["meta"]


def test_another_system_prompt_makes_other_answers(served, out):
    served(lambda call: reply("so"), QUESTIONS, out, system="Be brief.")
    assert served(lambda call: reply("so"), QUESTIONS, out, system="Be brief.")[1].kept == 5
    server, error = served(lambda call: reply("so"), QUESTIONS, out, system="Be kind.")
    assert "the system of 'q" in str(error)
    assert server.calls == []


def test_no_answer_is_lost_or_made_up_at_a_server_that_misbehaves(served, out):
    faults = [refusal(429, "slow", Retry_After="0"), refusal(500), HANG, reply("cut", cut=30), reply({"no": "text"})]
    lame = {f"question {n}" for n in range(0, 60, 10)}

    def behave(call):
        if call.prompt in lame:
            return refusal(400, "bad words")
        return faults[call.number % 7] if call.number % 7 < len(faults) else reply(answer(call.prompt))

    questions = [Question(f"q{n}", f"question {n}") for n in range(60)]
    server, found = served(behave, questions, out, k=2, concurrency=6, retries=30, timeout=0.3)
    assert {name for name, _ in found.errors} == {f"q{n}-{run}" for n in range(0, 60, 10) for run in (1, 2)}
    assert {reason for _, reason in found.errors} == {"the server answered 400: bad words"}
    assert {row["id"]: row["candidate"] for row in rows(out)} == {
        f"q{n}-{run}": f"answer {n}" for n in range(60) for run in (1, 2) if n % 10
    }
    assert server.most_at_once <= 6


def test_a_spent_budget_leaves_the_rest_unasked(served, out):
    server, found = served(lambda call: reply("so"), QUESTIONS, out, k=2, budget=Budget(calls=4), concurrency=2)
    assert (found.asked, found.left, found.errors) == (4, 6, ())
    assert len(server.calls) == 4


def test_what_meets_every_question_stops_the_run_and_speaks_of_the_agent(served, out):
    server, error = served(lambda call: refusal(401), QUESTIONS, out, concurrency=1)
    assert isinstance(error, SetupError)
    assert str(error) == "agent m: the server refuses the key (401); set CALIBKIT_AGENT_KEY"
    assert len(server.calls) == 1
    assert out.read_bytes() == b""


def test_a_run_after_one_that_stopped_goes_on(served, out):
    served(lambda call: reply("so") if call.number < 3 else refusal(402), QUESTIONS, out, concurrency=1)
    assert len(rows(out)) == 3
    _, found = served(lambda call: reply("so"), QUESTIONS, out)
    assert (found.asked, found.kept) == (2, 3)


def test_the_environment_names_the_agent(monkeypatch):
    monkeypatch.setenv("CALIBKIT_AGENT_MODEL", "from-environment")
    monkeypatch.setenv("CALIBKIT_JUDGE_URL", "http://judge.invalid/v1")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://agent.invalid/v1")
    assert repr(agent_from("openai")) == "OpenAIJudge('from-environment', 'http://agent.invalid/v1')"
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.delenv("CALIBKIT_AGENT_KEY")
    monkeypatch.setenv("CALIBKIT_JUDGE_KEY", "another")
    with pytest.raises(SetupError, match="the agent has no key: set CALIBKIT_AGENT_KEY, or CALIBKIT_AGENT_URL for a"):
        agent_from("openai:m")
    monkeypatch.delenv("CALIBKIT_AGENT_MODEL")
    with pytest.raises(SetupError, match="the agent has no model: name it .* or set CALIBKIT_AGENT_MODEL"):
        agent_from("openai")
    with pytest.raises(InputError, match="the agent's timeout is 0"):
        agent_from("openai:m", base_url="http://a.invalid", timeout=0)


# --- naming an agent --------------------------------------------------------------------------------


def test_a_function_of_the_working_folder_can_be_named(tmp_path, monkeypatch, out):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_agents.py").write_text(
        "class Desk:\n    @staticmethod\n    async def ask(q):\n        return q * 2\n"
    )
    agent = agent_from("my_agents:Desk.ask", concurrency=3)
    assert agent.name == "my_agents:Desk.ask"
    assert collect([Question("a", "x")], agent, out=out).asked == 1
    assert (rows(out)[0]["candidate"], rows(out)[0]["meta"]["model"]) == ("xx", "my_agents:Desk.ask")


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("gpt-4o", "there is no agent 'gpt-4o'; name openai:MODEL or module:function"),
        (":f", "there is no agent ':f'"),
        ("no_such_module:f", "the agent no_such_module:f cannot be imported .ModuleNotFoundError: No module named"),
        ("json:nothing", "the agent json:nothing cannot be imported .AttributeError: module 'json' has no attribute"),
        ("json:__name__", "the agent json:__name__ is str, not a function; name one"),
    ],
)
def test_what_names_no_agent_is_refused(spec, said):
    with pytest.raises(InputError, match=said):
        agent_from(spec)


def test_a_function_takes_no_system_prompt():
    with pytest.raises(InputError, match="is a function, which has its own prompt; leave the system prompt out"):
        agent_from("textwrap:dedent", system="Be brief.")
