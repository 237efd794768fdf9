"""Collecting answers: an agent is asked each question of a file, and what it says becomes answer pairs.

An agent is asked as a judge is, text in and text out (`calibkit.judge.Judge`), so that the client of judges serves
here too, with its patience and its budget.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import inspect
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path
from typing import IO, Any, Final, cast

from calibkit import store
from calibkit.judge import BudgetSpent, Judge, JudgeError, Reply
from calibkit.judge_client import OpenAIJudge
from calibkit.normalize import normalize
from calibkit.pairs import AnswerPair, InputError, RowFault, SetupError, counted, read_pair
from calibkit.store import Columns

AgentFunction = Callable[[str], str | Awaitable[str]]
"""A question in, an answer out; plain or async."""

CONCURRENCY: Final = 8
"""How many questions are asked at once, where neither the call nor the agent says."""

MOST_RUNS: Final = 1000

_TELLING: Final = ("model", "system", "temperature")
"""The settings that make answers of one file comparable. (A longer reply may be allowed for what was cut off.)"""

_OWN_META: Final = (*_TELLING, "max_tokens", "run", "at", "seconds", "prompt_tokens", "completion_tokens")
"""What a question's own meta cannot say of an answer."""


# --- questions --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Question:
    """What an agent is asked, and what its answers will be held to."""

    id: str
    text: str
    record: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """What the records of its answers take over: group, references, tags, checks and further keys, meta included."""


def load_questions(path: str | os.PathLike[str], columns: Columns | None = None) -> list[Question]:
    """Read the questions of a file (JSONL, JSON, CSV, TSV, Parquet): records of answer pairs without the candidate.

    A candidate and a label in the file belong to another answer and are passed over. A question without references is
    asked too; those of its answers are added before they are graded.

    Parameters
    ----------
    path
        The file.
    columns
        How a foreign file's columns become the keys of a pair.

    Raises
    ------
    InputError
        For a file that cannot be read, bad rows, an id or a question that stands twice, and a file without questions.
    """
    columns = columns or Columns()
    found: dict[str, tuple[int, Question]] = {}
    topics: dict[tuple[str | None, str], int] = {}
    faults: list[tuple[int, str]] = []
    for number, row in store._rows(Path(path)):
        try:
            if isinstance(row, RowFault):
                raise row
            if columns.leaves_out(row):
                continue
            question, topic = _read_question(columns.arrange(row))
        except RowFault as fault:
            faults.append((number, str(fault)))
            continue
        if question.id in found:
            faults.append((number, f"the id {question.id!r} stands on line {found[question.id][0]} already"))
        elif topics.setdefault(topic, number) != number:
            faults.append((number, f"the question stands on line {topics[topic]} already, in no other group"))
        else:
            found[question.id] = (number, question)
    if faults:
        more = f" ({counted(len(faults), 'such row')})" if len(faults) > 1 else ""
        raise InputError(f"{path}:{faults[0][0]}: {faults[0][1]}{more}; mend the file, or take such rows out")
    if not found:
        raise InputError(f"{path}: there is no question in this file")
    return [question for _, question in found.values()]


def _read_question(row: Mapping[str, Any]) -> tuple[Question, tuple[str | None, str]]:
    """A question, and what it must not share with another one: its answers would count as independent."""
    record = {key: value for key, value in row.items() if key not in ("id", "candidate", "acceptable")}
    if not str(record.get("references") or "").strip() and record.get("references") != []:
        record.pop("references", None)
    text = record.pop("question", None)
    if not isinstance(text, str) or not text.strip():
        raise RowFault("question", "is missing or blank", malformed=True)
    name = row.get("id")
    pair = read_pair({"references": ["?"], **record, "id": name, "question": text, "candidate": "?"}, with_label=False)
    if name is None or not str(name).strip():
        name = hashlib.sha256(text.encode()).hexdigest()[:16]
    known = {"group": pair.group, "references": list(pair.references), "tags": list(pair.tags)}
    record |= {key: value for key, value in known.items() if key in record}
    record = {key: value for key, value in record.items() if value not in (None, "", [], {}) or key == "references"}
    return Question(str(name), text, record), (pair.group, normalize(text, 2))


# --- agents -----------------------------------------------------------------------------------------


class FunctionAgent:
    """A function that is asked. A plain one is called from several threads at once, an async one on one loop.

    Parameters
    ----------
    function
        The function.
    name
        What the answers name as their model (default: the function's name).
    """

    def __init__(self, function: AgentFunction, name: str | None = None) -> None:
        self._function = function
        self.name: str = name or str(getattr(function, "__qualname__", type(function).__qualname__))

    async def ask(self, prompt: str, *, key: str, attempt: int = 0) -> Reply:
        """Answer a question, see `calibkit.judge.Judge`.

        Raises
        ------
        JudgeError
            For an answer that is no text.
        """
        if inspect.iscoroutinefunction(self._function):
            said = await self._function(prompt)
        else:
            said = await asyncio.to_thread(self._function, prompt)
            said = await said if inspect.isawaitable(said) else said
        if not isinstance(said, str):
            raise JudgeError(f"the agent gave {type(said).__name__}, not text")
        return Reply(said)


def agent_from(spec: str, *, system: str | None = None, **options: Any) -> OpenAIJudge | FunctionAgent:
    """Find the agent that a text names: `openai:MODEL`, `openai` (CALIBKIT_AGENT_MODEL) or `module:function`.

    Address and key of a model are those of CALIBKIT_AGENT_URL and CALIBKIT_AGENT_KEY, or else of OPENAI_BASE_URL and
    OPENAI_API_KEY. A module is looked for in the working folder, too.

    Parameters
    ----------
    spec
        The text.
    system
        The system prompt of a model.
    options
        Those of `calibkit.judge_client.OpenAIJudge`; temperature and max_tokens are the server's own unless they are
        given. A function needs none.

    Raises
    ------
    InputError
        For a text that names no agent, a system prompt for a function, and what the client raises.

    Examples
    --------
    >>> agent_from("textwrap:dedent").name
    'textwrap:dedent'
    """
    kind, _, rest = (part.strip() for part in spec.partition(":"))
    if kind == "openai":
        options = {"temperature": None, "max_tokens": None, **options}
        return OpenAIJudge(rest or None, system=system, serves="agent", **options)
    if not kind or not rest:
        raise InputError(f"there is no agent {spec!r}; name openai:MODEL or module:function")
    if system is not None:
        raise InputError(f"the agent {spec!r} is a function, which has its own prompt; leave the system prompt out")
    return FunctionAgent(_function(kind, rest), f"{kind}:{rest}")


def _function(module: str, name: str) -> AgentFunction:
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        found = reduce(getattr, name.split("."), importlib.import_module(module))
    except Exception as error:
        told = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(f"the agent {module}:{name} cannot be imported ({told}); mend the name or the code") from None
    if not callable(found):
        raise InputError(f"the agent {module}:{name} is {type(found).__name__}, not a function; name one")
    return cast(AgentFunction, found)


# --- asking -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Collected:
    """What collecting came to."""

    asked: int
    """Answers that were written now."""
    kept: int
    """Answers that stood in the file already and were not asked for."""
    errors: Sequence[tuple[str, str]]
    """Id and reason of what brought no answer; the next run asks again."""
    left: int
    """Answers that were not asked for, since the budget was spent."""
    notes: Sequence[str]
    """What else a person should know, a line each."""


def collect(
    questions: str | os.PathLike[str] | Sequence[Question],
    agent: Judge | AgentFunction,
    *,
    out: str | os.PathLike[str],
    k: int = 1,
    concurrency: int | None = None,
    resume: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> Collected:
    """Ask an agent each question, and write its answers as answer pairs, one a line, as they come.

    The id of an answer is the question's with the number of the run behind it ("refund-017-2"), its group the
    question's, so that the answers to one question count as dependent. `meta` holds model, run, the hash of the system
    prompt and the other settings, the time, the seconds that the answer took (repeated calls included) and the tokens.

    The file is only added to, a whole line at a time: a run may be killed at any time, and the next one asks for what
    is not there. What a kill left of a last line is moved to a file beside it (".torn"). What goes wrong with a call is
    no answer: it is listed, and nothing is written.

    Parameters
    ----------
    questions
        A file of questions, or the questions.
    agent
        An agent (see `agent_from`), or a function from question to answer, plain or async.
    out
        The file of pairs (JSONL); the order of its lines is not that of the questions.
    k
        How often each question is asked.
    concurrency
        How many are asked at once (default: as many as the agent allows, or else 8). A plain function is called from
        as many threads; give 1 where it does not bear that.
    resume
        Whether the file may hold answers already.
    progress
        Called with the number of answers there are and that of all.

    Raises
    ------
    InputError
        For bad questions, a file that is no file of such pairs, holds answers to other questions or of another agent
        under the same ids, or is written to by another run; for a number that makes no sense.
    SetupError
        Where the agent cannot be asked at all.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = collect([Question("q1", "2 + 2?")], lambda question: "4", out=f"{folder}/pairs.jsonl", k=2)
    >>> found.asked, found.kept, found.errors
    (2, 0, ())
    """
    if isinstance(questions, str | os.PathLike):
        questions = load_questions(questions)
    asked: Judge = cast(Judge, agent) if hasattr(agent, "ask") else FunctionAgent(agent)
    at_once = concurrency if concurrency is not None else getattr(asked, "concurrency", CONCURRENCY)
    for name, value, most in (("k", k, MOST_RUNS), ("concurrency", at_once, 1000)):
        if not 1 <= value <= most:
            raise InputError(f"{name} is {value}; give a number from 1 to {most}")
    wanted = {f"{question.id}-{number}": (question, number) for question in questions for number in range(1, k + 1)}
    if len(wanted) < k * len(questions):
        raise InputError("two questions have the same id; give each its own")
    with _open(Path(out), resume) as (file, rows, notes):
        run = _Run(asked, Path(out), file, progress)
        kept = run.check(rows, wanted)
        missing = {name: case for name, case in wanted.items() if name not in kept}
        _wait_for(run.ask_all(missing, len(kept), at_once), run.stop)
    bare = sum("references" not in question.record for question in questions)
    if bare:
        notes.append(f"{counted(bare, 'question')} without references: add those to the answers before grading them")
    return Collected(run.written, len(kept), tuple(run.errors), run.left, tuple(notes))


class _Run:
    def __init__(self, agent: Judge, path: Path, file: IO[bytes], progress: Callable[[int, int], None] | None) -> None:
        self._agent, self._path, self._file, self._progress = agent, path, file, progress
        settings = {"model": agent.name, **getattr(agent, "settings", {})}
        self._told = {name: value for name, value in settings.items() if value is not None}
        self.written = self.left = 0
        self.errors: list[tuple[str, str]] = []
        self._stopped = False

    def stop(self) -> None:
        """Ask for nothing more; what is under way is still written."""
        self._stopped = True

    def check(self, rows: Mapping[str, tuple[int, AnswerPair]], wanted: Mapping[str, tuple[Question, int]]) -> set[str]:
        """Which of the wanted answers the file holds; refuses those that are other ones."""
        kept = wanted.keys() & rows.keys()
        for name, (number, pair) in rows.items():
            if name not in kept:
                continue
            place, cure = f"{self._path}:{number}", "name another file for these answers"
            if pair.question != wanted[name][0].text:
                raise InputError(f"{place}: {name!r} answers another question than the one with this id now; {cure}")
            for key in _TELLING:
                if pair.meta.get(key) != self._told.get(key):
                    then, now = pair.meta.get(key), self._told.get(key)
                    raise InputError(f"{place}: the {key} of {name!r} was {then!r} and is {now!r} now; {cure}")
        return set(kept)

    async def ask_all(self, cases: Mapping[str, tuple[Question, int]], n_there: int, concurrency: int) -> None:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(concurrency))
        waiting = iter(cases.items())

        async def work() -> None:
            for name, (question, number) in waiting:  # the workers share it
                if self._stopped:
                    return
                await self._ask(name, question, number)
                if self._progress is not None:
                    self._progress(n_there + self.written, n_there + len(cases))

        try:
            async with asyncio.TaskGroup() as group:  # one that cannot go on stops the others
                for _ in range(min(concurrency, len(cases))):
                    group.create_task(work())
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from None
        finally:
            if isinstance(self._agent, OpenAIJudge):
                await self._agent.close()

    async def _ask(self, name: str, question: Question, number: int) -> None:
        at, begun = datetime.now(UTC), time.monotonic()
        try:
            reply = await self._agent.ask(question.text, key=name, attempt=number - 1)
            seconds = time.monotonic() - begun
            record = self._record(name, question, number, reply, at, seconds)
            read_pair({"references": ["?"], **record})
            line = json.dumps(record, ensure_ascii=False, default=str).encode() + b"\n"
        except BudgetSpent:
            self.left += 1
        except SetupError:
            raise
        except (JudgeError, RowFault) as error:
            self.errors.append((name, str(error)))
        except Exception as error:
            self.errors.append((name, " ".join(f"{type(error).__name__}: {error}".split())))
        else:
            self._write(line)
            self.written += 1

    def _record(
        self, name: str, question: Question, number: int, reply: Reply, at: datetime, seconds: float
    ) -> dict[str, Any]:
        tokens = {"prompt_tokens": reply.prompt_tokens, "completion_tokens": reply.completion_tokens}
        meta = {
            **{key: value for key, value in question.record.get("meta", {}).items() if key not in _OWN_META},
            **self._told,
            "run": number,
            "at": at.isoformat(timespec="seconds").replace("+00:00", "Z"),
            "seconds": round(seconds, 3),
            **(tokens if any(tokens.values()) else {}),
        }
        given = {"group": question.id, "question": question.text, **question.record}
        return {"id": name, **given, "candidate": reply.text, "meta": meta}

    def _write(self, line: bytes) -> None:
        length = os.fstat(self._file.fileno()).st_size
        try:
            while line:
                line = line[self._file.write(line) :]
        except OSError as error:
            with suppress(OSError):
                self._file.truncate(length)  # no part of a line stays
            raise InputError(
                f"{self._path}: the answers cannot be written ({error.strerror}); make room and run this again, "
                "which asks for what is missing"
            ) from None


def _wait_for(work: Coroutine[Any, Any, None], stop: Callable[[], None]) -> None:
    """Run to the end, also where a loop is running already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as thread:
        try:
            return thread.submit(asyncio.run, work).result()
        except BaseException:
            stop()  # a notebook's cell was interrupted, which the thread does not hear of
            raise


# --- the file of answers ----------------------------------------------------------------------------


@contextmanager
def _open(path: Path, resume: bool) -> Iterator[tuple[IO[bytes], dict[str, tuple[int, AnswerPair]], list[str]]]:
    """The file, open at its end for this run alone; the answers that it holds, by id, with their lines; notes."""
    if path.suffix.lower() not in (".jsonl", ".ndjson"):
        raise InputError(f"{path}: answers are written as JSON lines; name the file .jsonl")
    with ExitStack() as stack:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = stack.enter_context(path.open("a+b", buffering=0))
            if not _lock(file):
                raise InputError(f"{path}: another run is writing to this file; wait for it, or stop it")
            raw = path.read_bytes()
            if raw and not resume:
                raise InputError(f"{path}: there are answers in this file; resume, or name another file")
            notes = _set_torn_line_aside(path, file, raw)
        except OSError as error:
            raise InputError(f"{path}: cannot be opened ({error.strerror}); mend that, or name another file") from None
        yield file, _read_answers(path), notes


def _lock(file: IO[bytes]) -> bool:
    try:
        import fcntl
    except ImportError:  # on Windows, two runs at once would write answers twice, which a load then refuses
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def _set_torn_line_aside(path: Path, file: IO[bytes], raw: bytes) -> list[str]:
    head, end, last = raw.rpartition(b"\n")
    if not last.strip():
        return []
    try:
        json.loads(last)
    except ValueError:
        aside = path.with_name(f"{path.name}.torn")
        with aside.open("ab") as torn:
            torn.write(last + b"\n")
            torn.flush()
            os.fsync(torn.fileno())
        file.truncate(len(head) + len(end))
        number = raw.count(b"\n") + 1
        reason = "was torn, as when a run is killed while it writes; it was moved to"
        return [f"{path}:{number}: the last line {reason} {aside.name}, and its question is asked again"]
    file.write(b"\n")  # an editor took the last line break away
    return []


def _read_answers(path: Path) -> dict[str, tuple[int, AnswerPair]]:
    found: dict[str, tuple[int, AnswerPair]] = {}
    for number, row in store._rows(path):
        try:
            if isinstance(row, RowFault):
                raise row
            pair = read_pair({"references": ["?"], **row}, with_label=False)
        except RowFault as fault:
            raise InputError(f"{path}:{number}: {fault}; mend this line, or name another file") from None
        if pair.id in found:
            first = found[pair.id][0]
            raise InputError(
                f"{path}:{number}: the id {pair.id!r} stands on line {first} already; take one of them out"
            )
        found[pair.id] = (number, pair)
    return found
