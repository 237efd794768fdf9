"""Asking the judge about many answers, on a loop of its own, and the judge as a scorer."""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from calibkit.judge import PROMPT_VERSION, Ballot, Judge, build_prompt, prompt_hash, vote
from calibkit.pairs import AnswerPair
from calibkit.policy import JudgeStage
from calibkit.scorers import Scores

T = TypeVar("T")


def ask_judge(pairs: Sequence[AnswerPair], judge: Judge, stage: JudgeStage, *, stop_early: bool = True) -> list[Ballot]:
    """Ask a judge about answers, as many at once as it allows, and wait for all.

    Parameters
    ----------
    pairs
        The answers.
    judge
        Who is asked.
    stage
        What is asked, how often, and how replies are read.
    stop_early
        Whether votes that can change nothing more are left out.

    Raises
    ------
    SetupError
        Where the judge cannot be asked at all: all else is in the ballots.

    Examples
    --------
    >>> from calibkit.judge import as_judge
    >>> judge = as_judge(lambda prompt: '{"score": 1.0}')
    >>> [ballot.outcome for ballot in ask_judge([AnswerPair("a", ("4",), "four")], judge, JudgeStage(stage="judge"))]
    ['pass']
    """

    async def ask(pair: AnswerPair) -> Ballot:
        prompt = build_prompt(pair, stage.prompt, stage.rubric, reply=stage.reply)
        return await vote(
            judge,
            prompt,
            key=pair.id,
            votes=stage.votes,
            retries=stage.retries,
            reply=stage.reply,
            pass_at=stage.pass_at_or_above,
            aggregate=stage.aggregate,
            criteria=stage.rubric,
            stop_early=stop_early,
        )

    async def ask_all() -> list[Ballot]:
        async with asyncio.TaskGroup() as group:  # one that cannot go on stops the others
            tasks = [group.create_task(ask(pair)) for pair in pairs]
        return [task.result() for task in tasks]

    return wait_for(ask_all())


def wait_for(work: Coroutine[Any, Any, T]) -> T:
    """Wait for what is asynchronous, on a loop of its own: a notebook's is running already.

    The loop stays, since a client keeps its connections between calls.
    """
    waiting = asyncio.run_coroutine_threadsafe(work, _loop())
    try:
        return waiting.result()
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None
    except BaseException:
        waiting.cancel()
        raise


@contextmanager
def closing(judge: Judge | None) -> Iterator[None]:
    """Leave no connection of a judge open."""
    try:
        yield
    finally:
        close = getattr(judge, "close", None)
        if close is not None:
            wait_for(close())


@lru_cache(maxsize=1)
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="calibkit judge", daemon=True).start()
    return loop


@dataclass
class JudgeScorer:
    """A judge's score as that of any scorer, so that its threshold is calibrated and certified like theirs.

    An answer on which the judge brings no readable reply is unscored.
    """

    judge: Judge
    stage: JudgeStage
    version: int = PROMPT_VERSION
    ballots: dict[str, Ballot] = field(default_factory=dict)
    """What came of each answer, by its id."""

    @property
    def name(self) -> str:
        """The judge, with its name."""
        return f"judge:{self.judge.name}"

    @property
    def fingerprint(self) -> str:
        """Hash of all that decides a score: the stage but its threshold, the judge's settings, recorded replies."""
        stage = self.stage.model_dump(exclude={"pass_at_or_above", "model"})
        about = [stage, prompt_hash(self.stage.prompt), self.judge.name, getattr(self.judge, "settings", None)]
        return "sha256:" + hashlib.sha256(json.dumps(about, sort_keys=True, default=str).encode()).hexdigest()

    def score(self, pairs: Sequence[AnswerPair]) -> Scores:
        """Score each labelled pair from 0 to 1: the median of its votes, all of them.

        Nobody is asked twice about an answer, nor about one without a label: there is nothing to measure by.
        """
        new = [pair for pair in pairs if pair.labelled and pair.id not in self.ballots]
        asked = ask_judge(new, self.judge, self.stage, stop_early=False) if new else []
        self.ballots |= {pair.id: ballot for pair, ballot in zip(new, asked, strict=True)}
        found = [self.ballots.get(pair.id) for pair in pairs]
        scores = [None if ballot is None else ballot.score for ballot in found]
        values = np.array([np.nan if score is None else score for score in scores], dtype=np.float64)
        reasons = tuple(
            None if score is not None else "has no label" if ballot is None else ballot.reason or ballot.outcome
            for ballot, score in zip(found, scores, strict=True)
        )
        return Scores(values, reasons, self.name, self.version)
