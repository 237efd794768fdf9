"""A small server that speaks the OpenAI chat-completions API and misbehaves when it is told to."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

HANG = "hang"
"""No byte until the client leaves."""
DROP = "drop"
"""The connection is closed without a byte."""


@dataclass(frozen=True)
class Call:
    """One request, as the server saw it."""

    number: int
    """How many requests were served before."""
    prompt: str
    body: Mapping[str, Any]
    headers: Mapping[str, str]
    path: str


@dataclass(frozen=True)
class Answer:
    """What is sent back, and how."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: int | None = None
    """The connection is closed after so many bytes of the body."""
    delay: float = 0
    """Seconds before the first byte."""
    pieces: int = 1
    pause: float = 0
    """Seconds between two pieces."""


def completion(text: Any, *, usage: Any = None, finish_reason: str | None = "stop", **more: Any) -> dict[str, Any]:
    """A reply's body; `more` are further keys of the message."""
    message = {"role": "assistant", "content": text, **more}
    body = {"id": "c-1", "object": "chat.completion", "created": 1, "model": "m"}
    body["choices"] = [{"index": 0, "message": message, "finish_reason": finish_reason}]
    body["usage"] = {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16} if usage is None else usage
    return body


def reply(text: Any, **how: Any) -> Answer:
    return Answer(json.dumps(completion(text)).encode(), **how)


def refusal(status: int, message: str = "no", code: str | None = None, **headers: str) -> Answer:
    body = {"error": {"message": message, "type": "t", "param": None, "code": code}}
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(json.dumps(body).encode(), status, names)


class JudgeServer:
    """Serves on a free port of the loopback; `behave` decides on each call."""

    def __init__(self, behave: Callable[[Call], Answer | str]) -> None:
        self._behave = behave
        self.calls: list[Call] = []
        self.most_at_once = 0
        self._serving: set[asyncio.StreamReader] = set()
        self._handlers: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> JudgeServer:
        self._server = await asyncio.start_server(self._connection, "127.0.0.1", 0, limit=2**20)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for handler in self._handlers:
            handler.cancel()
        await asyncio.gather(*self._handlers, return_exceptions=True)
        await self._server.wait_closed()

    @contextmanager
    def in_thread(self) -> Iterator[JudgeServer]:
        """Serve from a thread, for clients that run a loop of their own."""
        ready, loop = threading.Event(), asyncio.new_event_loop()
        stop = asyncio.Event()

        async def serve() -> None:
            async with self:
                ready.set()
                await stop.wait()

        thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
        thread.start()
        try:
            assert ready.wait(10)
            yield self
        finally:
            loop.call_soon_threadsafe(stop.set)
            thread.join(10)
            loop.close()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        handler = asyncio.current_task()
        self._handlers.add(handler)
        try:
            with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
                while await self._request(reader, writer):
                    pass
        finally:
            self._serving.discard(reader)
            self._handlers.discard(handler)
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Serve one request; whether the connection stays open."""
        head, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").rstrip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = json.loads(await reader.readexactly(int(headers["content-length"])))
        # A client that has left is served no longer, though its handler may not have run since.
        self._serving.add(reader)
        at_once = sum(not (one.at_eof() or one.exception()) for one in self._serving)
        self.most_at_once = max(self.most_at_once, at_once)
        call = Call(len(self.calls), body["messages"][-1]["content"], body, headers, head.split(" ")[1])
        self.calls.append(call)
        answer = self._behave(call)
        if answer == HANG:
            await reader.read(1)
            return False
        if answer == DROP:
            return False
        return await self._send(answer, reader, writer)

    async def _send(self, answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        headers = {"Content-Type": "application/json", "Content-Length": str(len(answer.body)), **answer.headers}
        head = f"HTTP/1.1 {answer.status} Said\r\n" + "".join(f"{name}: {headers[name]}\r\n" for name in headers)
        if answer.delay and await _left(reader, answer.delay):
            return False
        writer.write(head.encode("latin-1") + b"\r\n")
        body = answer.body[: answer.cut]
        size = max(1, -(-len(body) // answer.pieces))
        for start in range(0, len(body), size):
            if start and await _left(reader, answer.pause):
                return False
            writer.write(body[start : start + size])
        self._serving.discard(reader)  # in the same step as the last byte: the client may call again at once
        await writer.drain()
        return answer.cut is None


async def _left(reader: asyncio.StreamReader, seconds: float) -> bool:
    """Wait; whether the client has closed the connection meanwhile."""
    try:
        return not await asyncio.wait_for(reader.read(1), seconds)
    except TimeoutError:
        return False
