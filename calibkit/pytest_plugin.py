"""Answers as test cases: a pytest plugin, registered by installing the package.

One answer, wherever a test gets it from::

    from calibkit.pytest_plugin import assert_acceptable

    def test_refund(agent):
        assert_acceptable(agent("How long do refunds take?"), ["14 days"], policy="policy.yaml")

A file of answers, each one a test with the answer's id::

    import pytest
    from calibkit.pytest_plugin import assert_acceptable, cases

    @pytest.mark.parametrize("pair", cases("answers.jsonl"))
    def test_answer(pair):
        assert_acceptable(pair, policy="policy.yaml")

What all tests share may stand in pytest's configuration, as calibkit_policy, calibkit_judge and calibkit_review.
Relative paths start at pytest's root folder, wherever it is called from.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import pytest

if TYPE_CHECKING:  # pytest loads this module in every run, and these take seconds
    from calibkit.cascade import Cascade, Fault, Verdict
    from calibkit.judge import Judge
    from calibkit.pairs import AnswerPair
    from calibkit.store import Columns

    Asked = Judge | Callable[[str], str] | str
    PolicyFile = str | os.PathLike[str]

Review = Literal["fail", "skip", "pass"]

_SETTINGS: Final = {
    "policy": "the policy's file",
    "judge": "who is asked about the gray zone: openai:MODEL or recorded:FILE",
    "review": "what becomes of an answer that goes to review: fail (default), skip or pass",
}
_MOST_TEXT: Final = 2000
_MOST_REFERENCES: Final = 10

_configs: Final[list[pytest.Config]] = []
"""That of the run, last; a run within a run (pytester) puts its own on top."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Tell pytest of the settings."""
    for name, told in _SETTINGS.items():
        parser.addini(f"calibkit_{name}", f"calibkit: {told}", default="")


def pytest_configure(config: pytest.Config) -> None:
    """Note the run's configuration."""
    _configs.append(config)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Forget it."""
    if config in _configs:
        _configs.remove(config)


def cases(path: str | os.PathLike[str], columns: Columns | None = None) -> list[Any]:
    """The answers of a file (JSONL, JSON, CSV, TSV, Parquet), for `pytest.mark.parametrize`; ids are the answers'.

    A row that is no answer is a case, too, and `assert_acceptable` fails it.

    Parameters
    ----------
    path
        The file, or a set's folder.
    columns
        How a foreign file's columns become the keys of a pair.

    Raises
    ------
    InputError
        For a file that cannot be read, that holds no answer, or two with one id.
    """
    __tracebackhide__ = True
    from calibkit.pairs import InputError
    from calibkit.store import iter_answers

    found: dict[str, Any] = {}
    try:
        for answer in iter_answers(_at_root(path), columns):
            if answer.id in found:
                raise InputError(f"{path}: the id {answer.id!r} names two answers; give each its own")
            found[answer.id] = pytest.param(answer, id=answer.id)
        if not found:  # pytest would skip the test, and nobody would notice
            raise InputError(f"{path}: there is no answer in this file")
    except InputError as fault:
        raise fault.with_traceback(None) from None  # the line that says it all is enough
    return list(found.values())


def assert_acceptable(
    candidate: str | AnswerPair | Fault,
    references: str | Iterable[str] | None = None,
    *,
    policy: PolicyFile | Cascade | None = None,
    question: str = "",
    judge: Asked | None = None,
    review: Review | None = None,
) -> Verdict:
    """Fail the test unless a policy passes the answer.

    Policies and their models are loaded once a run. A judge that is named by a text keeps its replies in pytest's cache
    folder, so that the same answer costs nothing the next time; `--cache-clear` forgets them.

    Parameters
    ----------
    candidate
        The answer, or a case of `cases`.
    references
        The acceptable texts, where the answer is a text; an empty list where the question has no answer.
    policy
        The policy's file, or a cascade that is used as it is (default: the setting calibkit_policy).
    question
        The question, where the answer is a text.
    judge
        Who is asked about the gray zone: a judge, a function from prompt to reply, openai:MODEL or recorded:FILE
        (default: the setting calibkit_judge; without either such answers stay in review).
    review
        What becomes of an answer that the policy leaves to a person: "fail", "skip" or "pass" (default: the setting
        calibkit_review, or else "fail", since a review is no pass). An error fails whatever is said here.

    Returns
    -------
    Verdict
        Of an answer that passes, or that may go to review.

    Raises
    ------
    AssertionError
        With outcome, stage, reason, score, question, references and answer.
    InputError
        For a policy or a judge that cannot be used, and for a call that makes no sense.
    """
    __tracebackhide__ = True
    from calibkit.pairs import InputError

    try:
        answer = _answer(candidate, references, question)
        on_review = review or _setting("review") or "fail"
        if on_review not in ("fail", "skip", "pass"):
            raise InputError(f"review is {on_review!r}; give fail, skip or pass")
        verdict = next(_cascade(policy, judge).grade_all([answer]))
    except InputError as fault:
        raise fault.with_traceback(None) from None
    if verdict.outcome == "review" and on_review == "skip":
        pytest.skip(f"review: {verdict.reason}")
    if verdict.outcome == "pass" or (verdict.outcome == "review" and on_review == "pass"):
        return verdict
    raise AssertionError(_told(verdict, answer))


def _answer(
    candidate: str | AnswerPair | Fault, references: str | Iterable[str] | None, question: str
) -> AnswerPair | Fault:
    from calibkit.cascade import Fault
    from calibkit.pairs import AnswerPair, InputError

    if isinstance(candidate, AnswerPair | Fault):
        if references is not None or question:
            raise InputError("a case has its references and question; leave these out, or give the answer as a text")
        return candidate
    if not isinstance(candidate, str) or references is None:
        found = "without references" if isinstance(candidate, str) else f"as {type(candidate).__name__}"
        raise InputError(f"the answer is given {found}; give a text with references, or a case of cases(...)")
    texts = (references,) if isinstance(references, str) else tuple(references)
    if not all(isinstance(text, str) for text in (*texts, question)):
        raise InputError("references must be a text or a list of texts, the question a text")
    return AnswerPair("answer", texts, candidate, question)


# --- what is loaded once ----------------------------------------------------------------------------


def _setting(name: str) -> str:
    return str(_configs[-1].getini(f"calibkit_{name}")).strip() if _configs else ""


def _at_root(path: str | os.PathLike[str]) -> Path:
    return _configs[-1].rootpath / path if _configs else Path(path)


def _cascade(policy: PolicyFile | Cascade | None, judge: Asked | None) -> Cascade:
    from calibkit.cascade import Cascade
    from calibkit.pairs import InputError

    if isinstance(policy, Cascade):
        if judge is not None:
            raise InputError("a cascade has its judge; give the policy's file with this one, or leave the judge out")
        return policy
    policy = policy or _setting("policy")
    if not policy:
        raise InputError("no policy is given; give policy=..., or set calibkit_policy in pytest's configuration")
    path = _at_root(policy)
    try:
        now = path.stat()
        stamp = (now.st_mtime_ns, now.st_size)
    except OSError:
        stamp = (0, 0)  # to read it will say what is wrong
    loaded = _loaded(path, stamp)
    judge = judge or _setting("judge") or None
    if judge is None:
        return loaded
    if isinstance(judge, str):
        judge = _opened(judge, _kept_replies())
    return Cascade(loaded.policy, embedder=loaded.embedder, judge=judge)


@lru_cache(maxsize=16)
def _loaded(path: Path, stamp: tuple[int, int]) -> Cascade:
    from calibkit.calibration import load_cascade

    return load_cascade(path)


@lru_cache(maxsize=16)
def _opened(spec: str, cache: Path | None) -> Judge:
    from calibkit.judge_client import open_judge

    kind, _, rest = spec.partition(":")
    if kind.strip() == "recorded" and rest.strip():
        spec = f"recorded:{_at_root(rest.strip())}"
    return open_judge(spec, cache=cache)


def _kept_replies() -> Path | None:
    cache = getattr(_configs[-1], "cache", None) if _configs else None
    return cache.mkdir("calibkit") / "replies.jsonl" if cache is not None else None


# --- what a failure says ----------------------------------------------------------------------------


def _told(verdict: Verdict, answer: AnswerPair | Fault) -> str:
    """The verdict in the first line, which pytest repeats in its summary, and then the texts."""
    from calibkit.pairs import AnswerPair

    outcome = {"fail": f"fail by {verdict.stage}", "review": "review, which is no pass"}.get(verdict.outcome, "error")
    lines = [f"{outcome}: {verdict.reason}"]
    if verdict.score is not None:
        lines.append(f"score      {verdict.score:.6g}")
    if isinstance(answer, AnswerPair):
        texts = [("question", answer.question)] if answer.question else []
        texts += [("reference", text) for text in answer.references[:_MOST_REFERENCES]]
        if (more := len(answer.references) - _MOST_REFERENCES) > 0:
            texts.append(("", f"and {more} more"))
        if not answer.references:
            texts.append(("reference", "none: the question has no answer"))
        lines += [_shown(name, text) for name, text in [*texts, ("answer", answer.candidate)]]
    return "\n".join(lines)


def _shown(name: str, text: str) -> str:
    text = text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}... ({len(text)} characters)"
    return f"{name:<11}" + text.replace("\n", "\n" + " " * 11)
