import asyncio
import json
import logging
import random
import socket
import sys
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judge_server import DROP, HANG, Answer, JudgeServer, completion, refusal, reply

from calibkit.judge import BudgetSpent, JudgeError, Reply, as_judge, vote
from calibkit.judge_client import Budget, CachedJudge, OpenAIJudge, RecordedJudge, open_judge, retry_after
from calibkit.pairs import InputError, SetupError

KEY = "sk-very-secret-0123456789"
GARBAGE = Answer(b'{"choices": [{"message"')
PASS = json.dumps({"reason": "same fact", "score": 1.0})
FAIL = json.dumps({"reason": "another year", "score": 0.0})
FAULTS = {
    "429": refusal(429, "slow down", Retry_After="0"),
    "500": refusal(500, "oops"),
    "503 as a page": Answer(b"<html>busy</html>", 503, {"Content-Type": "text/html"}),
    "408": refusal(408),
    "half a body": reply(PASS, cut=40),
    "no connection": DROP,
    "half JSON": GARBAGE,
    "a page": Answer(b"<html>log in</html>", headers={"Content-Type": "text/html"}),
    "no text": Answer(b"\xff\xfe\x00\x80"),
    "empty body": Answer(b""),
    "deep JSON": Answer(b"[" * 100_000),
    "no object": Answer(b"[1]"),
    "no choices": Answer(b'{"choices": []}'),
    "other schema": Answer(b'{"choices": [{"text": "pass"}]}'),
    "choices of another kind": Answer(b'{"choices": {"0": 1}, "usage": 3}'),
    "an error with 200": Answer(b'{"error": {"message": "provider down"}}'),
    "content of another kind": reply({"score": 1.0}),
    "hang": HANG,
    "trickle": reply(PASS, pieces=200, pause=0.02),
}


@pytest.fixture(autouse=True)
def _environment(monkeypatch, tmp_path):
    for name in ("URL", "MODEL"):
        monkeypatch.delenv(f"CALIBKIT_JUDGE_{name}", raising=False)
    for name in (
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "OPENAI_LOG",
        "HTTP_PROXY",
        "http_proxy",
        "ALL_PROXY",
        "all_proxy",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CALIBKIT_JUDGE_KEY", KEY)
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))  # to load certificates would take most of a short test


def run(scenario):
    """Run to the end in a bounded time; nothing may be left running."""

    async def bounded():
        result = await asyncio.wait_for(scenario, 40)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return result

    return asyncio.run(bounded())


class Waits(list):
    """Sleeps not at all, but notes for how long it should have."""

    async def __call__(self, seconds):
        self.append(seconds)
        await asyncio.sleep(0)


def judge_at(server, **options):
    options = {"timeout": 5, "retries": 2, "sleep": Waits(), "rng": random.Random(1)} | options
    return OpenAIJudge("m", server.url, **options)


async def settled(judge, prompts):
    """Ask all at once; the replies and errors, in order."""
    return await asyncio.gather(*(judge.ask(p, key=p) for p in prompts), return_exceptions=True)


def served(behave, prompts=("prompt",), **options):
    """Ask a judge at a server that behaves so; gives the results, the server and the judge."""

    async def scenario():
        async with JudgeServer(behave) as server, judge_at(server, **options) as judge:
            return await settled(judge, prompts), server, judge

    return run(scenario())


def in_turn(*answers):
    return lambda call: answers[min(call.number, len(answers) - 1)]


# --- what is sent, what is read ---------------------------------------------------------------------


def test_a_call_says_what_the_api_wants():
    results, server, judge = served(lambda call: reply("good"), ["Is it so?"], max_tokens=77)
    assert results == [Reply("good", 11, 5)]
    (call,) = server.calls
    assert call.path == "/v1/chat/completions"
    assert call.headers["authorization"] == f"Bearer {KEY}"
    assert call.body == {
        "model": "m",
        "messages": [{"role": "user", "content": "Is it so?"}],
        "temperature": 0,
        "max_tokens": 77,
    }
    assert as_judge(judge) is judge
    assert judge.name == "m"


def test_settings_may_be_left_to_the_server():
    _, server, _ = served(lambda call: reply("good"), temperature=None, max_tokens=None)
    assert server.calls[0].body.keys() == {"model", "messages"}


@pytest.mark.parametrize(("host", "name"), [("api.openai.com", "max_completion_tokens"), ("localhost", "max_tokens")])
def test_the_longest_reply_has_the_name_that_the_server_knows(host, name):
    assert OpenAIJudge("m", f"https://{host}/v1", max_tokens=9)._parameters == {"temperature": 0, name: 9}


def test_model_address_and_key_come_from_the_environment(monkeypatch):
    async def scenario():
        async with JudgeServer(lambda call: reply("good")) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", server.url + "/")
            monkeypatch.setenv("OPENAI_API_KEY", "other")
            async with open_judge("openai:a:b") as judge:
                await judge.ask("p", key="k")
            monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")
            monkeypatch.setenv("CALIBKIT_JUDGE_URL", server.url)
            monkeypatch.setenv("CALIBKIT_JUDGE_MODEL", "from-environment")
            monkeypatch.delenv("CALIBKIT_JUDGE_KEY")
            async with open_judge("openai") as judge:
                await judge.ask("p", key="k")
            monkeypatch.delenv("OPENAI_API_KEY")  # a server of one's own needs none
            async with open_judge("openai") as judge:
                await judge.ask("p", key="k")
        return [(call.body["model"], call.headers["authorization"]) for call in server.calls]

    named = "from-environment"
    assert run(scenario()) == [("a:b", f"Bearer {KEY}"), (named, "Bearer other"), (named, "Bearer none")]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"choices": [{"message": {"content": "yes"}}]}, Reply("yes")),
        (completion("yes", finish_reason=None, reasoning_content="hm", audio=None) | {"x": 1}, Reply("yes", 11, 5)),
        (completion("yes", usage={"prompt_tokens": None, "completion_tokens": "5"}), Reply("yes")),
        (completion("yes", usage=[1]), Reply("yes")),
        (completion([{"type": "thinking"}, {"type": "text", "text": "ye"}, {"text": "s"}]), Reply("yes", 11, 5)),
        (completion(None, refusal="I will not"), Reply("", 11, 5)),
        (completion(""), Reply("", 11, 5)),
        (completion("half \ud83d"), Reply("half ?", 11, 5)),
    ],
)
def test_what_servers_leave_out_or_add_does_no_harm(body, expected):
    answer = Answer(json.dumps(body).encode(), headers={"Content-Type": "text/plain"})
    results, server, _ = served(lambda call: answer)
    assert results == [expected]
    assert len(server.calls) == 1


def test_half_a_surrogate_pair_in_a_prompt_is_sent_as_a_question_mark():
    results, server, _ = served(lambda call: reply("good"), ["so \ud83d?"])
    assert results == [Reply("good", 11, 5)]
    assert server.calls[0].prompt == "so ??"


@pytest.mark.parametrize(
    ("finish", "word"), [("length", "raise max_tokens"), ("content_filter", "by a filter of the server")]
)
def test_a_reply_that_was_cut_is_no_reply_but_was_paid(finish, word):
    answer = Answer(json.dumps(completion('{"score": 1.0}', finish_reason=finish)).encode())
    (error,), server, judge = served(lambda call: answer)
    assert type(error) is JudgeError
    assert "cut off" in str(error)
    assert word in str(error)
    assert len(server.calls) == 1
    assert judge.budget.spent_tokens == 16


# --- faults -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", FAULTS)
def test_after_a_passing_fault_the_call_is_made_again(fault):
    timeout = 0.5 if fault in ("hang", "trickle") else 5
    results, server, judge = served(in_turn(FAULTS[fault], reply("good")), timeout=timeout)
    assert results == [Reply("good", 11, 5)]
    assert len(server.calls) == judge.budget.spent_calls == 2


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_that_stays_is_a_judge_error(fault):
    timeout = 0.3 if fault in ("hang", "trickle") else 5
    (error,), server, judge = served(in_turn(FAULTS[fault]), timeout=timeout)
    assert type(error) is JudgeError
    assert str(error).endswith(", in 3 calls")
    assert "\n" not in str(error)
    assert len(server.calls) == judge.budget.spent_calls == 3


@pytest.mark.parametrize(("status", "code"), [(400, None), (413, "large"), (422, ["odd"])])
def test_a_refused_prompt_is_not_sent_again(status, code):
    results, server, _ = served(lambda call: refusal(status, "too\nlong \x1b[31m" + "x" * 999, code), ["a", "b"])
    assert [type(error) for error in results] == [JudgeError] * 2
    assert str(results[0]).startswith(f"the server answered {status}: too long [31mxxx")
    assert len(str(results[0])) < 260
    assert len(server.calls) == 2


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (refusal(401, f"bad key {KEY}"), "refuses the key (401); set CALIBKIT_JUDGE_KEY"),
        (refusal(403), "may not use this model (403)"),
        (refusal(404, f"no model m for {KEY}"), "(404: no model m for ***); mend one of them"),
        (Answer(b'{"detail": "Not Found"}', 404), "/v1 (404: Not Found)"),
        (Answer(b"<h1>404</h1>", 404), "/v1 (404); mend"),
        (refusal(402, "pay"), "no quota left (402: pay)"),
        (refusal(429, "pay", "insufficient_quota"), "no quota left (429: pay)"),
        (refusal(400, "no temperature", "unsupported_value"), "refuses a setting (400: no temperature)"),
    ],
)
def test_what_would_meet_every_case_stops_the_run(answer, said):
    results, server, _ = served(lambda call: answer, [f"p{n}" for n in range(20)], concurrency=1)
    assert {type(error) for error in results} == {SetupError}
    assert len({str(error) for error in results}) == 1
    assert str(results[0]).startswith("judge m: ")
    assert said in str(results[0])
    assert "\n" not in str(results[0])
    assert len(server.calls) == 1


def test_a_server_never_reached_stops_the_run_but_one_that_went_away_does_not():
    async def scenario():
        with socket.socket() as taken:  # bound, but not listening
            taken.bind(("127.0.0.1", 0))
            nowhere = f"http://user:word@127.0.0.1:{taken.getsockname()[1]}/v1?token=t"
            async with OpenAIJudge("m", nowhere, retries=1, sleep=Waits()) as judge:
                never = await settled(judge, ["a", "b"])
        async with JudgeServer(lambda call: reply("good", headers={"Connection": "close"})) as server:
            judge = judge_at(server)
            before = await settled(judge, ["a"])
        async with judge:
            after = await settled(judge, ["b"])
        return never, before + after

    never, (before, after) = run(scenario())
    assert {type(error) for error in never} == {SetupError}
    assert "no server can be reached at http://127.0.0.1:" in str(never[0])
    assert "word" not in str(never[0])
    assert "token" not in str(never[0])
    assert before == Reply("good", 11, 5)
    assert str(after) == "no connection, in 3 calls"


def test_an_error_of_no_known_kind_is_a_judge_error(monkeypatch):
    async def scenario():
        async with JudgeServer(lambda call: reply("good")) as server, judge_at(server) as judge:
            await judge.ask("a", key="a")

            async def broken(**_):
                raise RuntimeError(f"header {KEY}")

            monkeypatch.setattr(judge._client.chat.completions.with_raw_response, "create", broken)
            return await settled(judge, ["b"])

    (error,) = run(scenario())
    assert type(error) is JudgeError
    assert str(error) == "the call failed (RuntimeError)"


# --- waits ------------------------------------------------------------------------------------------


def test_waits_double_and_are_jittered_by_the_generator_handed_in():
    def waits(seed):
        sleep = Waits()
        served(
            lambda call: refusal(500), retries=5, first_wait=2, longest_wait=20, rng=random.Random(seed), sleep=sleep
        )
        return sleep

    first = waits(1)
    for wait, most in zip(first, (2, 4, 8, 16, 20), strict=True):
        assert most / 2 <= wait <= most
    assert waits(1) == first != waits(2)


@pytest.mark.parametrize(
    ("header", "least", "most"), [("7", 7, 7), ("2.5", 2.5, 2.5), ("86400", 30, 30), ("soon", 0, 0.01), ("-5", 0, 0.01)]
)
def test_a_server_that_asks_for_patience_gets_it_up_to_the_longest_wait(header, least, most):
    sleep = Waits()
    answers = in_turn(refusal(429, Retry_After=header), reply("good"))
    results, _, _ = served(answers, first_wait=0.01, longest_wait=30, sleep=sleep)
    assert results == [Reply("good", 11, 5)]
    (wait,) = sleep
    assert least <= wait <= most


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0),
        (" 120 ", 120),
        ("Sun, 06 Nov 1994 08:49:37 GMT", 37),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 37),
        ("Sun Nov  6 08:49:37 1994", 37),
        ("Sun, 06 Nov 1994 09:49:37 +0100", 37),
        ("Sun, 06 Nov 1994 08:48:00 GMT", 0),
        ("nan", 0),
        ("inf", 0),
        ("1e9", 0),
        ("٣", 0),
        ("", 0),
        (None, 0),
    ],
)
def test_retry_after_is_seconds_or_a_date(value, seconds):
    assert retry_after(value, now=784_111_740) == seconds


@settings(max_examples=40)
@given(st.text() | st.from_regex(r"[A-Z][a-z]{2}, \d{1,2} [A-Z][a-z]{2} \d{1,9} \d\d:\d\d:\d\d [-+A-Z]+\d*"))
def test_no_header_makes_the_wait_anything_but_a_number_from_0_up(value):
    assert 0 <= retry_after(value, now=0) < float("inf")


# --- a crowd ----------------------------------------------------------------------------------------


def misbehaving(seed):
    """Every second case fails; the faults hold a pass wherever they hold anything."""
    rng = random.Random(seed)
    plain = [name for name in FAULTS if name not in ("hang", "trickle")]

    def behave(call):
        luck = rng.random()
        if luck < 0.002:
            return HANG
        if luck < 0.004:
            return reply(PASS, pieces=50, pause=0.1)
        if luck < 0.02:
            return refusal(400, "not this one")
        if luck < 0.3:
            return FAULTS[rng.choice(plain)]
        if luck < 0.31:
            return Answer(json.dumps(completion(PASS, finish_reason="length")).encode())
        good = reply(PASS if call.prompt[-1] in "02468" else FAIL, delay=rng.choice([0, 0.001, 0.003]))
        return replace(good, pieces=3, pause=0.001) if luck < 0.4 else good

    return behave


def test_2000_cases_at_a_misbehaving_server_get_their_own_verdict_or_an_error():
    prompts = [f"case {n}" for n in range(2000)]

    async def scenario():
        async with JudgeServer(misbehaving(7)) as server, judge_at(server, timeout=1.5, concurrency=16) as judge:
            return await asyncio.gather(*(vote(judge, prompt, key=prompt) for prompt in prompts)), server, judge

    ballots, server, judge = run(scenario())
    outcomes = [ballot.outcome for ballot in ballots]
    assert set(outcomes[::2]) == {"pass", "error"}
    assert set(outcomes[1::2]) == {"fail", "error"}
    assert 20 < outcomes.count("error") < 200
    assert 8 < server.most_at_once <= 16
    assert len(server.calls) == judge.budget.spent_calls
    most = Counter(call.prompt for call in server.calls)
    assert most.keys() == set(prompts)
    assert max(most.values()) == 3


def test_cases_are_asked_at_once_up_to_the_limit():
    _, server, _ = served(lambda call: reply("good", delay=0.02), [f"p{n}" for n in range(40)], concurrency=5)
    assert server.most_at_once == 5


def test_a_cancelled_run_leaves_no_task_no_call_and_no_place_taken():
    async def scenario():
        behave = lambda call: HANG if call.number < 4 else reply("good")  # noqa: E731
        async with JudgeServer(behave) as server, judge_at(server, concurrency=4) as judge:
            asks = asyncio.gather(*(judge.ask(f"p{n}", key="k") for n in range(20)))
            while len(server.calls) < 4:
                await asyncio.sleep(0.01)
            asks.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asks
            return await settled(judge, [f"q{n}" for n in range(8)]), server.most_at_once

    results, at_once = run(scenario())
    assert results == [Reply("good", 11, 5)] * 8
    assert at_once <= 4


def test_a_judge_may_be_closed_and_asked_again_in_another_loop():
    with JudgeServer(lambda call: reply("good")).in_thread() as server:
        judge = judge_at(server)

        async def scenario():
            async with judge:
                return await judge.ask("p", key="k")

        assert [run(scenario()), run(scenario())] == [Reply("good", 11, 5)] * 2


# --- the budget -------------------------------------------------------------------------------------


def test_no_call_is_made_beyond_the_budget_and_the_rest_goes_to_review():
    budget = Budget(calls=150)
    results, server, _ = served(misbehaving(8), [f"p{n}" for n in range(400)], timeout=1.5, budget=budget)
    assert len(server.calls) == budget.spent_calls == 150
    spent = [error for error in results if isinstance(error, BudgetSpent)]
    assert len(spent) >= 250
    assert {str(error) for error in spent} == {"the judge's budget of 150 calls is used up"}
    assert {error.outcome for error in spent} == {"review"}


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        (Budget(tokens=40), "40 tokens"),
        (Budget(money=0.045), "0.045"),
        (Budget(calls=3), "3 calls"),
        (Budget(1, 1), "1 call"),
    ],
)
def test_tokens_and_money_stop_further_calls(budget, said):
    results, server, _ = served(
        lambda call: reply("good"), ["a"] * 9, concurrency=1, budget=budget, price_in=1000, price_out=1000
    )
    calls = 1 if budget.calls == 1 else 3  # of 16 tokens, each 0.016
    assert results[:calls] == [Reply("good", 11, 5)] * calls
    assert {str(error) for error in results[calls:]} == {f"the judge's budget of {said} is used up"}
    assert (len(server.calls), budget.spent_calls, budget.spent_tokens) == (calls, calls, 16 * calls)
    assert budget.spent_money == pytest.approx(0.016 * calls)


@pytest.mark.parametrize("usage", [[], {"prompt_tokens": 0, "completion_tokens": 0}])
def test_tokens_that_are_not_reported_are_charged_by_the_byte(usage):
    answer = Answer(json.dumps(completion("gut: für", usage=usage)).encode())
    _, _, judge = served(lambda call: answer, ["prompt"], price_in=1e6, price_out=2e6)
    assert judge.budget.spent_tokens == len("prompt") + len("gut: für") + 1
    assert judge.budget.spent_money == 6 + 2 * 9


def test_a_budget_of_nothing_makes_no_call():
    (error,), server, _ = served(lambda call: reply("good"), budget=Budget(calls=0))
    assert isinstance(error, BudgetSpent)
    assert not server.calls


@pytest.mark.parametrize("limits", [{"calls": -1}, {"tokens": -1}, {"money": float("nan")}])
def test_a_budget_is_a_number_from_0_up(limits):
    with pytest.raises(InputError, match="give a number from 0 up"):
        Budget(**limits)


# --- set up -----------------------------------------------------------------------------------------


def test_the_key_stands_in_no_message_log_or_file(tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    logging.getLogger("openai").setLevel(logging.DEBUG)
    cache = tmp_path / "replies.jsonl"
    answers = (refusal(500, f"key {KEY}"), reply("good"), refusal(400, f"your key is {KEY}"), refusal(401, KEY))

    async def scenario():
        async with JudgeServer(in_turn(*answers)) as server, judge_at(server) as judge:
            cached = CachedJudge(judge, cache)
            found = [await settled(cached, [prompt]) for prompt in "abc"]
            return [judge, cached, judge.settings, judge.budget, found]

    shown = run(scenario())
    assert caplog.text
    for text in (
        repr(shown),
        str(shown),
        caplog.text,
        cache.read_text(),
        *(repr(record.__dict__) for record in caplog.records),
    ):
        assert KEY not in text
    assert "your key is ***" in repr(shown)


@pytest.mark.parametrize("key", ["sk two", "sk\nInjected: yes", "schlüssel", "sk\x00"])
def test_a_key_that_no_header_can_hold_is_refused_unseen(monkeypatch, key):
    if "\x00" in key:
        monkeypatch.setattr("os.environ", {"CALIBKIT_JUDGE_KEY": key})
    else:
        monkeypatch.setenv("CALIBKIT_JUDGE_KEY", key)
    with pytest.raises(SetupError, match="CALIBKIT_JUDGE_KEY") as refused:
        OpenAIJudge("m", "http://localhost:1/v1")
    assert key not in str(refused.value)


def test_hosted_models_need_a_key(monkeypatch):
    monkeypatch.delenv("CALIBKIT_JUDGE_KEY")
    with pytest.raises(SetupError, match="no key: set CALIBKIT_JUDGE_KEY"):
        OpenAIJudge("m")


def test_a_judge_needs_a_model():
    with pytest.raises(SetupError, match="no model: name it"):
        open_judge("openai:")


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(SetupError, match=r"pip install 'calibkit\[judge\]'"):
        OpenAIJudge("m")


@pytest.mark.parametrize(
    "url", ["localhost:11434", "ftp://host/v1", "http://", "http://[1", "http://h:99999/v1", "http://a b/v1"]
)
def test_an_address_that_is_no_url_is_refused(url):
    with pytest.raises(InputError, match="the judge's address is no URL"):
        OpenAIJudge("m", url)


@pytest.mark.parametrize(
    "options",
    [
        {"timeout": 0},
        {"timeout": float("inf")},
        {"timeout": float("nan")},
        {"concurrency": 0},
        {"concurrency": 1001},
        {"retries": -1},
        {"max_tokens": 0},
        {"first_wait": -1},
        {"first_wait": 3, "longest_wait": 2},
        {"longest_wait": float("inf")},
        {"price_in": -1},
        {"price_out": float("nan")},
        {"budget": Budget(money=1), "price_in": 1},
    ],
)
def test_settings_that_make_no_sense_are_refused(options):
    with pytest.raises(InputError, match="; give "):
        OpenAIJudge("m", **options)


def test_a_proxy_that_cannot_be_used_is_an_error_of_set_up(monkeypatch):
    monkeypatch.setenv("ALL_PROXY", "gopher://user:word@proxy:1")
    with pytest.raises(SetupError, match="no connection can be made") as refused:
        run(OpenAIJudge("m").ask("p", key="k"))
    assert "word" not in str(refused.value)


@pytest.mark.parametrize("spec", ["", "openia:m", "recorded:", "recorded", "http://localhost/v1"])
def test_a_text_that_names_no_judge_is_refused(spec):
    with pytest.raises(InputError, match="name openai:MODEL or recorded:FILE"):
        open_judge(spec)


# --- recorded replies -------------------------------------------------------------------------------


def rows(path, *records):
    path.write_text("\n".join(record if isinstance(record, str) else json.dumps(record) for record in records))
    return path


def test_recorded_replies_are_given_in_order_and_a_single_one_always(tmp_path):
    path = rows(
        tmp_path / "replies.jsonl",
        {"id": "once", "reply": "yes", "prompt": "..."},
        {"id": 7, "reply": "first"},
        "",
        {"id": "7", "reply": "second \ud83d"},
    )

    async def scenario():
        async with open_judge(f"recorded:{path}", concurrency=3) as judge:
            assert as_judge(judge) is judge
            assert judge.name == "recorded:replies.jsonl"
            once = [(await judge.ask("p", key="once", attempt=n)).text for n in range(3)]
            several = [(await judge.ask("p", key="7", attempt=n)).text for n in (1, 0)]
            with pytest.raises(JudgeError, match=r"^no further recorded reply for '7': 2 were all read$"):
                await judge.ask("p", key="7", attempt=2)
            with pytest.raises(JudgeError, match=r"^no recorded reply for 'other'$"):
                await judge.ask("p", key="other")
            return once, several, (await judge.ask("p", key="once")).cached

    assert run(scenario()) == (["yes"] * 3, ["second ?", "first"], True)


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ("{", "is no JSON object"),
        ([1], "is no JSON object"),
        ({"reply": "yes"}, "has no id"),
        ({"id": None, "reply": "yes"}, "has no id"),
        ({"id": True, "reply": "yes"}, "has no id"),
        ({"id": "a"}, "has no reply"),
        ({"id": "a", "reply": {"score": 1}}, "has no reply, or one that is no text"),
    ],
)
def test_bad_rows_are_named_by_line(tmp_path, row, fault):
    path = rows(tmp_path / "replies.jsonl", {"id": "a", "reply": "yes"}, row, row)
    with pytest.raises(InputError) as refused:
        RecordedJudge(path)
    assert str(refused.value).startswith(f"{path}:2: the row {fault}")
    assert "(2 such rows)" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_of_replies_must_be_there(tmp_path):
    with pytest.raises(InputError, match="no-such.jsonl: the recorded replies cannot be read"):
        open_judge(f"recorded:{tmp_path / 'no-such.jsonl'}")


# --- kept replies -----------------------------------------------------------------------------------


class Counting:
    """Answers each call with its number."""

    name = "counting"

    def __init__(self, settings=None, fails=()):
        self.settings = settings or {}
        self.fails = fails
        self.asked = []

    async def ask(self, prompt, *, key, attempt=0):
        self.asked.append((prompt, attempt))
        number = len(self.asked)
        await asyncio.sleep(0)
        if number in self.fails:
            raise JudgeError("not now")
        return Reply(f"{number} – {prompt}", 3, 2)


def kept(path, prompts, judge=None, attempts=1):
    """Ask a cached judge all prompts at once; gives texts and errors, the judge asked, and the notes."""
    judge = judge or Counting()

    async def scenario():
        async with CachedJudge(judge, path) as cached:
            asks = (cached.ask(p, key=p, attempt=n) for p in prompts for n in range(attempts))
            return await asyncio.gather(*asks, return_exceptions=True), cached.notes

    results, notes = run(scenario())
    return results, judge.asked, notes


def test_a_second_run_asks_nothing_and_gets_the_same(tmp_path):
    path = tmp_path / "new" / "replies.jsonl"
    first, asked, _ = kept(path, ["a", "b\u2028\U0001f600"], attempts=3)
    assert len(asked) == 6
    assert len({reply.text for reply in first}) == 6  # each attempt is a call of its own
    again, asked, notes = kept(path, ["a", "b\u2028\U0001f600"], attempts=3)
    assert again == [replace(reply, cached=True) for reply in first]
    assert (asked, notes) == ([], [])
    assert [json.loads(line).keys() for line in path.read_text().splitlines()] == [
        {"ask", "id", "attempt", "reply", "prompt_tokens", "completion_tokens"}
    ] * 6


def test_one_prompt_of_many_cases_is_asked_once_even_at_once(tmp_path):
    results, asked, _ = kept(tmp_path / "replies.jsonl", ["same"] * 10)
    assert asked == [("same", 0)]
    assert [reply.cached for reply in results] == [False] + [True] * 9


def test_an_error_is_not_kept(tmp_path):
    path = tmp_path / "replies.jsonl"
    results, asked, _ = kept(path, ["same"] * 3, Counting(fails=[1]))
    assert [type(result) for result in results] == [JudgeError, Reply, Reply]
    assert len(asked) == 2
    assert len(path.read_text().splitlines()) == 1


def test_another_model_or_setting_is_another_judge(tmp_path):
    path = tmp_path / "replies.jsonl"
    kept(path, ["a"], Counting({"temperature": 0}))
    _, asked, _ = kept(path, ["a"], Counting({"temperature": 1}))
    assert asked == [("a", 0)]
    other = Counting({"temperature": 0})
    other.name = "other"
    _, asked, _ = kept(path, ["a"], other)
    assert asked == [("a", 0)]
    assert len(path.read_text().splitlines()) == 3


def test_a_reply_that_is_kept_costs_nothing_of_a_spent_budget(tmp_path):
    async def scenario():
        async with (
            JudgeServer(lambda call: reply("good")) as server,
            judge_at(server, budget=Budget(calls=1)) as judge,
            CachedJudge(judge, tmp_path / "replies.jsonl") as cached,
        ):
            assert as_judge(cached) is cached
            return [await settled(cached, [prompt]) for prompt in "aba"], judge.budget.spent_calls

    ((first,), (refused,), (again,)), calls = run(scenario())
    assert (first.cached, again.cached, type(refused), calls) == (False, True, BudgetSpent, 1)


def test_a_file_cut_anywhere_loses_the_cut_reply_alone(tmp_path):
    path = tmp_path / "replies.jsonl"
    kept(path, ["a", "b", "c"])
    whole = path.read_bytes()
    ends = [n + 1 for n, byte in enumerate(whole) if byte == ord("\n")]
    for cut in range(0, len(whole), 3):
        path.write_bytes(whole[:cut])
        complete = sum(cut >= end - 1 for end in ends)  # the line break alone is no loss
        _, asked, notes = kept(path, ["a", "b", "c"])
        assert len(asked) == 3 - complete
        torn = cut not in (0, *ends, *(end - 1 for end in ends))
        assert len(notes) == torn
        if torn:
            assert notes[0].startswith(f"{path}:{complete + 1}: 1 line passed over")
        _, asked, _ = kept(path, ["a", "b", "c"])
        assert asked == []


def test_damage_in_the_middle_is_passed_over_and_noted(tmp_path):
    path = tmp_path / "replies.jsonl"
    kept(path, ["a", "b"])
    first, second = path.read_bytes().splitlines(keepends=True)
    damaged = [
        b"\xff\x00\n",
        b"[]\n",
        b'{"ask": 1, "reply": "pass"}\n',
        first.replace(b'"prompt_tokens": 3', b'"prompt_tokens": "x"'),
    ]
    path.write_bytes(b"".join([*damaged, second]))
    _, asked, (note,) = kept(path, ["a", "b"])
    assert asked == [("a", 0)]
    assert "4 lines passed over (line 1, 2, 3, 4)" in note


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_asked(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "file" / "replies.jsonl"):
        with pytest.raises(InputError, match="replies cannot be kept there"):
            CachedJudge(Counting(), path)


def test_a_file_that_breaks_in_a_run_costs_no_reply(tmp_path):
    path = tmp_path / "replies.jsonl"

    async def scenario():
        async with CachedJudge(Counting(), path) as cached:
            await cached.ask("a", key="a")
            path.unlink()
            path.mkdir()
            return [(await cached.ask(p, key=p)).cached for p in "bcb"], cached.notes

    cached, notes = run(scenario())
    assert cached == [False, False, True]
    assert len(notes) == 1
    assert "further replies are not kept" in notes[0]


CASES = [f"case {n}" for n in range(300)]
CLIENT = f"""
import asyncio, sys
from calibkit.judge_client import open_judge

assert "openai" not in sys.modules  # it is heavy, and most runs ask no model

async def main():
    async with open_judge("openai:m", cache=sys.argv[1], retries=6, first_wait=0.001) as judge:
        await asyncio.gather(*(judge.ask(case, key=case) for case in {CASES}))

asyncio.run(main())
"""


def test_a_run_killed_at_any_moment_resumes_and_asks_nothing_twice(tmp_path, monkeypatch):
    cache = tmp_path / "replies.jsonl"
    answered = Counter()

    def behave(call):
        if call.number % 7 == 3:
            return refusal(500)
        answered[call.prompt] += 1
        return reply(f"verdict on {call.prompt}", delay=0.001)

    async def scenario():
        async with JudgeServer(behave) as server:
            monkeypatch.setenv("CALIBKIT_JUDGE_URL", server.url)
            client = await asyncio.create_subprocess_exec(sys.executable, "-c", CLIENT, str(cache))
            while answered.total() < 130:
                await asyncio.sleep(0.001)
            client.kill()
            await client.wait()
            for asked in (False, True):
                async with open_judge("openai:m", cache=cache, retries=6, first_wait=0.001) as judge:
                    replies = await settled(judge, CASES)
                assert [reply.text for reply in replies] == [f"verdict on {case}" for case in CASES]
                assert all(reply.cached for reply in replies) == asked
                assert sum(reply.cached for reply in replies) > 120
            return server.most_at_once

    assert run(scenario()) <= 8
    assert len(answered) == 300
    assert answered.total() - 300 <= 8  # those under way when it was killed
    assert max(answered.values()) <= 2
