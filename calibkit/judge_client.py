"""Judges behind an API or in a file: an OpenAI-compatible client, recorded replies, a cache of replies, a budget."""

from __future__ import annotations

import asyncio
import email.utils
import hashlib
import json
import math
import os
import random
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, Final, Literal, NoReturn, Self
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

from calibkit.judge import BudgetSpent, Judge, JudgeError, Reply
from calibkit.pairs import InputError, SetupError, counted

_HOSTED: Final = "https://api.openai.com/v1"
_PASSING: Final = frozenset({408, 409, 425, 429})
"""Statuses that may be otherwise next time, as may all from 500 up."""
_UNSUPPORTED: Final = frozenset({"unsupported_parameter", "unsupported_value"})
_CUT: Final = {"length": "at its longest; raise max_tokens", "content_filter": "by a filter of the server"}
_LONGEST_SHOWN: Final = 200


@dataclass(slots=True)
class Budget:
    """What a run may spend on its judge, and what it has spent.

    A call counts when it begins, so that calls under way cannot exceed the limit; tokens and money are known when a
    reply is there, so that the calls then under way may go beyond theirs. A call without a reply counts as a call
    only, and a server that does not report its tokens is charged one for each byte of prompt and reply, which is
    more than there can have been.

    Examples
    --------
    >>> budget = Budget(calls=2, money=1.0)
    >>> budget.spend(calls=1, money=0.25)
    >>> budget.allows(), budget.spent_calls
    (True, 1)
    >>> budget.spend(money=0.75)
    >>> budget.allows()
    False
    """

    calls: int | None = None
    """At most so many calls, repeated ones included; None: no limit."""
    tokens: int | None = None
    """No call begins after so many tokens of prompts and replies."""
    money: float | None = None
    """No call begins after so much money, in the currency of the judge's prices."""
    spent_calls: int = field(default=0, init=False)
    spent_tokens: int = field(default=0, init=False)
    spent_money: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        for name, limit in (("calls", self.calls), ("tokens", self.tokens), ("money", self.money)):
            if limit is not None and not limit >= 0:
                raise InputError(f"the judge's budget of {name} is {limit}; give a number from 0 up")

    def allows(self) -> bool:
        """Whether another call may begin."""
        return self._used_up() is None

    def spend(self, *, calls: int = 0, tokens: int = 0, money: float = 0.0) -> None:
        """Count what was spent."""
        self.spent_calls += calls
        self.spent_tokens += tokens
        self.spent_money += money

    def begin_call(self) -> None:
        """Count a call that begins now.

        Raises
        ------
        BudgetSpent
            Where none may.
        """
        if limit := self._used_up():
            raise BudgetSpent(f"the judge's budget of {limit} is used up")
        self.spend(calls=1)

    def _used_up(self) -> str | None:
        if self.calls is not None and self.spent_calls >= self.calls:
            return counted(self.calls, "call")
        if self.tokens is not None and self.spent_tokens >= self.tokens:
            return counted(self.tokens, "token")
        if self.money is not None and self.spent_money >= self.money:
            return f"{self.money:g}"
        return None


class _Closing:
    """A judge that is closed at the end of a run, as by `async with`."""

    async def close(self) -> None:
        """Let go of connections."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


# --- an OpenAI-compatible server --------------------------------------------------------------------


class _Passing(Exception):
    """A fault that may be gone at the next call."""

    def __init__(self, reason: str, *, wait: float = 0.0, unreachable: bool = False) -> None:
        super().__init__(reason)
        self.wait = wait
        """Seconds that the server asked for."""
        self.unreachable = unreachable


class OpenAIJudge(_Closing):
    """A model behind an OpenAI-compatible API: hosted, vLLM, Ollama and others.

    The model is taken from CALIBKIT_JUDGE_MODEL where none is given, the address from CALIBKIT_JUDGE_URL or
    OPENAI_BASE_URL, the key from CALIBKIT_JUDGE_KEY or OPENAI_API_KEY and from nowhere else; it stands in no message,
    log or file. A server with an address of its own may need no key.

    A call that brings no whole reply is made again where that may help (429, 5xx, a lost connection, no reply in
    time, a body that is none), after a growing wait or as long as the server asks for; meanwhile the case keeps its
    place among those asked at once, so that a server that asks for patience gets it. What would meet every case
    (wrong key, unknown model, no quota, a setting that the model refuses, a server never reached) is a SetupError and
    stops all further calls. A reply that was cut off is no reply: what is missing could have said the opposite.

    An agent whose answers are collected is asked in the same way (`serves="agent"`): its variables are called
    CALIBKIT_AGENT_..., and so is it in messages.

    Parameters
    ----------
    model
        The model's name on the server.
    base_url
        The server's address, as in "http://localhost:11434/v1".
    timeout
        Seconds for one call, from its beginning to the last byte.
    concurrency
        How many cases are asked at once.
    retries
        How often a call is made again.
    temperature
        None leaves it to the server; some models take no other.
    max_tokens
        The longest reply, with what a reasoning model thinks; None: the server's own limit.
    price_in, price_out
        Money per million tokens of prompt and of reply.
    budget
        What the run may spend; also counts what it spends.
    first_wait, longest_wait
        Seconds before the first repeated call (doubled for each further one, and jittered), and at most.
    system
        What is sent as the system's message before each prompt; None: nothing.
    serves
        What the model is here.
    rng, sleep
        Where the jitter comes from, and what waits.

    Raises
    ------
    SetupError
        Where the package, the model or the key is missing.
    InputError
        For a setting that makes no sense.
    """

    def __init__(
        self,
        model: str | None = None,
        base_url: str | None = None,
        *,
        timeout: float = 60.0,
        concurrency: int = 8,
        retries: int = 4,
        temperature: float | None = 0.0,
        max_tokens: int | None = 1024,
        price_in: float | None = None,
        price_out: float | None = None,
        budget: Budget | None = None,
        first_wait: float = 1.0,
        longest_wait: float = 120.0,
        system: str | None = None,
        serves: Literal["judge", "agent"] = "judge",
        rng: random.Random | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._openai = _openai()
        self._serves, self._variables = serves, f"CALIBKIT_{serves.upper()}"
        self.name = model or _variable(f"{self._variables}_MODEL")
        if not self.name:
            raise SetupError(f"the {serves} has no model: name it (openai:MODEL) or set {self._variables}_MODEL")
        self._url = self._address(base_url or _variable(f"{self._variables}_URL", "OPENAI_BASE_URL") or _HOSTED)
        self._key = self._read_key(needed=self._url == _HOSTED)
        self._system = None if system is None else _whole(system)
        self.timeout, self.concurrency, self.retries = timeout, concurrency, retries
        self.temperature, self.max_tokens = temperature, max_tokens
        self.price_in, self.price_out = price_in, price_out
        self.budget = budget if budget is not None else Budget()
        self._first_wait, self._longest_wait = first_wait, longest_wait
        self._rng = rng or random.Random()
        self._sleep = sleep
        self._check()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._client: Any = None
        self._places: asyncio.Semaphore
        self._reached = False
        self._stopped: str | None = None

    def _check(self) -> None:
        for name, value, fits, rule in (
            ("timeout", self.timeout, 0 < self.timeout < math.inf, "a number of seconds above 0"),
            ("concurrency", self.concurrency, 1 <= self.concurrency <= 1000, "a number from 1 to 1000"),
            ("retries", self.retries, self.retries >= 0, "a number from 0 up"),
            ("max_tokens", self.max_tokens, self.max_tokens is None or self.max_tokens >= 1, "a number from 1 up"),
            ("first_wait", self._first_wait, 0 <= self._first_wait <= self._longest_wait, "0 up to longest_wait"),
            ("longest_wait", self._longest_wait, self._longest_wait < math.inf, "a number of seconds"),
        ):
            if not fits:
                raise InputError(f"the {self._serves}'s {name} is {value}; give {rule}")
        prices = (self.price_in, self.price_out)
        if self.budget.money is not None and None in prices:
            raise InputError(f"a budget of money needs the {self._serves}'s prices; give price_in and price_out")
        if any(price is not None and not 0 <= price < math.inf for price in prices):
            given = f"{self.price_in} and {self.price_out}"
            raise InputError(f"the {self._serves}'s prices are {given}; give numbers from 0 up")

    def _address(self, url: str) -> str:
        try:
            parts = urlsplit(url)
            fits = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
        except ValueError:
            fits = False
        if not fits or not url.isprintable() or " " in url:
            example = f"give one as in http://localhost:11434/v1 ({self._variables}_URL)"
            raise InputError(f"the {self._serves}'s address is no URL; {example}")
        return url.rstrip("/")

    def _read_key(self, *, needed: bool) -> str:
        name = f"{self._variables}_KEY"
        key = _variable(name, "OPENAI_API_KEY")
        if needed and not key:
            url = f"{self._variables}_URL"
            raise SetupError(f"the {self._serves} has no key: set {name}, or {url} for a server without")
        if not re.fullmatch(r"[!-~]*", key):  # the error of the call itself would show the header
            fault = "holds a space, line break or letter that no key has"
            raise SetupError(f"the {self._serves}'s key {fault}; set {name}")
        return key

    @property
    def settings(self) -> dict[str, Any]:
        """What decides a reply beside prompt and model."""
        decides: dict[str, Any] = {"temperature": self.temperature, "max_tokens": self.max_tokens}
        if self._system is not None:
            decides["system"] = "sha256:" + hashlib.sha256(self._system.encode()).hexdigest()
        return decides

    def __repr__(self) -> str:
        return f"OpenAIJudge({self.name!r}, {self._shown_url!r})"

    @property
    def _shown_url(self) -> str:
        parts = urlsplit(self._url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"  # user, password and query are secrets

    async def ask(self, prompt: str, *, key: str, attempt: int = 0) -> Reply:
        """Answer a prompt, see `calibkit.judge.Judge`.

        Raises
        ------
        JudgeError
            Where there is no reply; BudgetSpent where there must not be one.
        SetupError
            Where no case can get one.
        """
        self._connect()
        async with self._places:
            repeated = 0
            while True:
                if self._stopped:
                    raise SetupError(self._stopped)
                self.budget.begin_call()
                try:
                    return await self._call(prompt)
                except _Passing as fault:
                    if repeated == self.retries:
                        self._give_up(fault, repeated + 1)
                    backoff = min(self._longest_wait, self._first_wait * 2.0 ** min(repeated, 60))
                    wait = max(backoff * self._rng.uniform(0.5, 1), min(fault.wait, self._longest_wait))
                await self._sleep(wait)
                repeated += 1

    def _give_up(self, fault: _Passing, calls: int) -> NoReturn:
        if fault.unreachable and not self._reached:
            self._stop(f"no server can be reached at {self._shown_url}; start it, or mend {self._variables}_URL")
        raise JudgeError(f"{fault}, in {counted(calls, 'call')}") from None

    def _stop(self, reason: str) -> NoReturn:
        self._stopped = f"{self._serves} {self.name}: {reason}"
        raise SetupError(self._stopped) from None

    def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        if self._client is not None and self._loop is loop:
            return
        try:
            limits = self._openai.Timeout(self.timeout, connect=min(self.timeout / 2, 10))
            self._client = self._openai.AsyncOpenAI(
                api_key=self._key or "none", base_url=self._url, timeout=limits, max_retries=0
            )
        except Exception as error:  # proxies and certificates named in the environment
            raise SetupError(
                f"{self._serves} {self.name}: no connection can be made ({self._shown(str(error))})"
            ) from None
        self._places = asyncio.Semaphore(self.concurrency)
        self._loop = loop

    async def close(self) -> None:
        """Close the connections; a later prompt opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _call(self, prompt: str) -> Reply:
        text = _whole(prompt)
        messages = [{"role": "user", "content": text}]
        if self._system is not None:
            messages.insert(0, {"role": "system", "content": self._system})
        try:
            async with asyncio.timeout(self.timeout):  # the client's own limit begins anew with each byte
                answer = await self._client.chat.completions.with_raw_response.create(
                    model=self.name, messages=messages, **self._parameters
                )
        except self._openai.APIStatusError as error:
            self._reached = True
            self._refused(error)
        except (TimeoutError, self._openai.APIConnectionError) as error:
            raise self._lost(error) from None
        except Exception as error:  # its text may hold the request
            raise JudgeError(f"the call failed ({type(error).__name__})") from None
        self._reached = True
        # Read here, for the client takes any body for a reply.
        return self._read(answer.http_response.content, (self._system or "") + text)

    def _lost(self, error: Exception) -> _Passing:
        if type(error.__cause__).__name__ in ("ConnectError", "ConnectTimeout"):  # httpx's, or its successor's
            return _Passing("no connection", unreachable=True)
        late = isinstance(error, TimeoutError | self._openai.APITimeoutError)
        return _Passing(f"no whole reply within {self.timeout:g} s" if late else "the connection was lost")

    @property
    def _parameters(self) -> dict[str, Any]:
        host = urlsplit(self._url).hostname or ""
        # OpenAI's newer models refuse the one name, Ollama passes over the other.
        longest = "max_completion_tokens" if host.endswith((".openai.com", ".openai.azure.com")) else "max_tokens"
        given = {"temperature": self.temperature, longest: self.max_tokens}
        return {name: value for name, value in given.items() if value is not None}

    def _refused(self, error: Any) -> NoReturn:
        status, said = error.status_code, self._said(error.body)
        code = str(error.body.get("code")) if isinstance(error.body, Mapping) else ""
        if status == 401:
            self._stop(f"the server refuses the key (401); set {self._variables}_KEY")
        if status == 403:
            self._stop(
                f"the key may not use this model (403); set another {self._variables}_KEY, or name another model"
            )
        if status == 404:
            self._stop(f"no such model or address at {self._shown_url} (404{said}); mend one of them")
        if status == 402 or code == "insufficient_quota":
            self._stop(f"the account has no quota left ({status}{said}); top it up")
        if code in _UNSUPPORTED:
            self._stop(f"the model refuses a setting ({status}{said}); change or leave out temperature or max_tokens")
        if status in _PASSING or status >= 500:
            wait = retry_after(error.response.headers.get("retry-after"), time.time())
            raise _Passing(f"the server answered {status}{said}", wait=wait) from None
        raise JudgeError(f"the server answered {status}{said}") from None

    def _read(self, body: bytes, prompt: str) -> Reply:
        data = _json(body)
        if not isinstance(data, dict):
            raise _Passing(f"the server sent {counted(len(body), 'byte')} that are no reply")
        choices = data.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        message = choice.get("message") if isinstance(choice, dict) else None
        if not isinstance(choice, dict) or not isinstance(message, dict):
            raise _Passing(f"the server sent no reply{self._said(data.get('error'))}")
        text = _content(message.get("content"))
        if text is None:
            raise _Passing("the server sent a reply that is no text")
        tokens_in, tokens_out = self._charge(data.get("usage"), prompt, text)
        if cut := _CUT.get(str(choice.get("finish_reason"))):
            raise JudgeError(f"the reply was cut off {cut}")
        return Reply(text, tokens_in, tokens_out)

    def _charge(self, usage: object, prompt: str, text: str) -> tuple[int, int]:
        tokens = [_tokens(usage, name) for name in ("prompt_tokens", "completion_tokens")]
        counts = [n or len(part.encode()) for n, part in zip(tokens, (prompt, text), strict=True)]
        money = (counts[0] * (self.price_in or 0) + counts[1] * (self.price_out or 0)) / 1e6
        self.budget.spend(tokens=sum(counts), money=money)
        return tokens[0] or 0, tokens[1] or 0

    def _said(self, body: object) -> str:
        said = (body.get("message") or body.get("detail")) if isinstance(body, Mapping) else body
        return f": {self._shown(said)}" if isinstance(said, str) and said.strip() and "<" not in said else ""

    def _shown(self, text: str) -> str:
        """What a server or package said, fit for a line of ours."""
        if self._key:
            text = text.replace(self._key, "***")
        text = re.sub(r"//[^/@\s]*+@", "//***@", text)
        text = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
        return text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "..."


def _openai() -> ModuleType:
    try:
        import openai
    except ImportError:
        raise SetupError("a model behind an API needs the openai package: pip install 'calibkit[judge]'") from None
    return openai


def _variable(*names: str) -> str:
    return next((value for name in names if (value := os.environ.get(name, "").strip())), "")


def retry_after(value: str | None, now: float) -> float:
    """Read a Retry-After header: seconds or an HTTP date (RFC 9110, section 10.2.3).

    Parameters
    ----------
    value
        The header; one that cannot be read asks for no wait.
    now
        Seconds since 1970.

    Returns
    -------
    Seconds to wait, from 0 up.

    Examples
    --------
    >>> retry_after("20", 0), retry_after("Thu, 01 Jan 1970 00:01:40 GMT", 40), retry_after("soon", 0)
    (20.0, 60.0, 0.0)
    """
    text = (value or "").strip()
    if re.fullmatch(r"[0-9]{1,15}(\.[0-9]{1,15})?", text):
        return float(text)
    try:
        date = email.utils.parsedate_to_datetime(text)
        return max(0.0, (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - now)
    except (ValueError, OverflowError, TypeError, IndexError):
        return 0.0


def _json(body: bytes | str) -> object:
    """The JSON in a body; None where there is none."""
    try:
        data: object = json.loads(body)
    except (ValueError, RecursionError):  # bytes that are no text, too; nested too deeply
        return None
    return data


def _content(content: object) -> str | None:
    """The text of a message, which some servers send in parts; None where it is none."""
    if isinstance(content, list) and all(isinstance(part, dict) for part in content):
        content = "".join(part["text"] for part in content if isinstance(part.get("text"), str))
    return _whole(content) if isinstance(content, str) else "" if content is None else None


def _whole(text: str) -> str:
    """Text without halves of surrogate pairs, which JSON can hold, but no file or request."""
    return text.encode("utf-8", "replace").decode()


def _tokens(usage: object, name: str) -> int | None:
    number = usage.get(name) if isinstance(usage, dict) else None
    return number if isinstance(number, int) and not isinstance(number, bool) and number >= 0 else None


# --- files ------------------------------------------------------------------------------------------


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """Line and record of each row that is not blank; None for what is no object."""
    for number, line in enumerate(path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if line.strip():
            record = _json(line)
            yield number, record if isinstance(record, dict) else None


class RecordedJudge(_Closing):
    """Replies from a JSONL file, one row with `id` and `reply` for each.

    The only row of an id answers every call for it; of several, the first answers the first call, the second the
    second, and a call beyond them gets a JudgeError. Other keys of a row are passed over.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    InputError
        For a file that cannot be read, and for rows without id or reply, with file and line.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        path = Path(path)
        self.name = f"recorded:{path.name}"
        self._replies: dict[str, list[str]] = {}
        bad: list[tuple[int, str]] = []
        try:
            for number, record in _rows(path):
                if fault := _fault(record):
                    bad.append((number, fault))
                elif record is not None:
                    self._replies.setdefault(str(record["id"]), []).append(_whole(record["reply"]))
        except OSError as error:
            raise InputError(f"{path}: the recorded replies cannot be read ({error.strerror}); mend the path") from None
        if bad:
            more = f" ({counted(len(bad), 'such row')})" if len(bad) > 1 else ""
            raise InputError(f'{path}:{bad[0][0]}: {bad[0][1]}{more}; a row is {{"id": "...", "reply": "..."}}')

    @property
    def settings(self) -> dict[str, Any]:
        """What tells two recordings of one name apart."""
        content = json.dumps(self._replies, sort_keys=True).encode(errors="surrogatepass")
        return {"replies": hashlib.sha256(content).hexdigest()}

    def __repr__(self) -> str:
        return f"RecordedJudge({self.name!r})"

    async def ask(self, prompt: str, *, key: str, attempt: int = 0) -> Reply:
        """Give the recorded reply, see `calibkit.judge.Judge`.

        Raises
        ------
        JudgeError
            Where there is none, or no further one.
        """
        replies = self._replies.get(key)
        if replies is None:
            raise JudgeError(f"no recorded reply for {key!r}")
        if len(replies) == 1:
            return Reply(replies[0], cached=True)
        if attempt >= len(replies):
            raise JudgeError(f"no further recorded reply for {key!r}: {len(replies)} were all read")
        return Reply(replies[attempt], cached=True)


def _fault(record: dict[str, Any] | None) -> str | None:
    if record is None:
        return "the row is no JSON object"
    name, reply = record.get("id"), record.get("reply")
    if not isinstance(name, str | int) or isinstance(name, bool):
        return "the row has no id"
    return None if isinstance(reply, str) else "the row has no reply, or one that is no text"


class CachedJudge(_Closing):
    """A judge whose replies are kept in a JSONL file, so that a run that was stopped asks nothing twice.

    A reply is known by its prompt, the model, its settings and the number of the attempt. Each is one line, handed to
    the system whole as soon as it is there, and the file is only ever added to: a run may be killed at any time, and
    several may share the file. A line that is no whole reply is passed over. The file holds replies and ids, and no
    key. Two cases with one prompt share a reply, and faults are not kept.

    Parameters
    ----------
    judge
        Who is asked for what the file does not hold; its `settings`, where it has any, are part of what is known.
    path
        The file; it need not be there.

    Raises
    ------
    InputError
        Where the file cannot be read and written.
    """

    def __init__(self, judge: Judge, path: str | os.PathLike[str]) -> None:
        self._judge = judge
        self._path = Path(path)
        self._settings = dict(getattr(judge, "settings", {}))
        self._replies: dict[str, Reply] = {}
        self._under_way: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._writes = True
        self.notes: list[str] = []
        """What went wrong with the file and cost no reply but those named."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("ab"):
                pass
            self._load()
        except OSError as error:
            raise InputError(f"{path}: replies cannot be kept there ({error.strerror}); name another file") from None

    def _load(self) -> None:
        broken = []
        for number, record in _rows(self._path):
            record = record or {}
            reply, tokens = record.get("reply"), [_tokens(record, n) for n in ("prompt_tokens", "completion_tokens")]
            if not isinstance(record.get("ask"), str) or not isinstance(reply, str) or None in tokens:
                broken.append(number)
            else:
                self._replies.setdefault(record["ask"], Reply(reply, tokens[0] or 0, tokens[1] or 0, cached=True))
        if broken:
            lines = ", ".join(map(str, broken[:10])) + (", ..." if len(broken) > 10 else "")
            self.notes.append(
                f"{self._path}:{broken[0]}: {counted(len(broken), 'line')} passed over (line {lines}), which hold no "
                "whole reply, as when a run is killed while it writes; what they held is asked again"
            )

    @property
    def name(self) -> str:
        """The judge's own."""
        return self._judge.name

    def __repr__(self) -> str:
        return f"CachedJudge({self._judge!r}, {str(self._path)!r})"

    async def ask(self, prompt: str, *, key: str, attempt: int = 0) -> Reply:
        """Give the reply that is kept, or ask and keep it, see `calibkit.judge.Judge`.

        Raises
        ------
        JudgeError
            As the judge does.
        """
        known_by = json.dumps([prompt, self.name, self._settings, attempt], sort_keys=True)
        ask = hashlib.sha256(known_by.encode()).hexdigest()
        async with self._under_way.setdefault(ask, asyncio.Lock()):
            if (kept := self._replies.get(ask)) is not None:
                return kept
            reply = await self._judge.ask(prompt, key=key, attempt=attempt)
            tokens = {"prompt_tokens": reply.prompt_tokens, "completion_tokens": reply.completion_tokens}
            self._keep({"ask": ask, "id": key, "attempt": attempt, "reply": reply.text, **tokens})
            self._replies[ask] = Reply(reply.text, reply.prompt_tokens, reply.completion_tokens, cached=True)
            return reply

    def _keep(self, row: Mapping[str, Any]) -> None:
        if not self._writes:
            return
        line = json.dumps(row).encode() + b"\n"
        try:
            with self._path.open("a+b", buffering=0) as file:
                if file.seek(0, os.SEEK_END) and file.seek(-1, os.SEEK_END) >= 0 and file.read(1) != b"\n":
                    line = b"\n" + line  # another run was killed while it wrote
                if file.write(line) == len(line):
                    return
                reason = "the disk is full"
        except OSError as error:
            reason = error.strerror or type(error).__name__
        self._writes = False
        self.notes.append(f"{self._path}: further replies are not kept ({reason})")

    async def close(self) -> None:
        """Close the judge."""
        if isinstance(self._judge, _Closing):
            await self._judge.close()


def open_judge(
    spec: str, *, cache: str | os.PathLike[str] | None = None, **options: Any
) -> OpenAIJudge | RecordedJudge | CachedJudge:
    """Find the judge that a text names: `openai:MODEL`, `openai` (the model from the environment), `recorded:FILE`.

    Parameters
    ----------
    spec
        The text.
    cache
        The file that keeps the replies of a model.
    options
        Those of OpenAIJudge; recorded replies need none.

    Raises
    ------
    InputError
        For a text that names no judge, and what the judges themselves raise.
    """
    kind, _, rest = (part.strip() for part in spec.partition(":"))
    if kind == "openai":
        judge = OpenAIJudge(rest or None, **options)
        return CachedJudge(judge, cache) if cache is not None else judge
    if kind == "recorded" and rest:
        return RecordedJudge(rest)
    raise InputError(f"there is no judge {spec!r}; name openai:MODEL or recorded:FILE")
