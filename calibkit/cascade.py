"""The cascade: ordered stages that pass, fail or hand on an answer, and the verdict that says which one decided."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal

from calibkit.normalize import normalize
from calibkit.pairs import AnswerPair, InputError, SetupError
from calibkit.policy import BandsStage, ExactStage, Policy
from calibkit.scorers import EMBEDDING_SCORERS, Embedder, Scorer, find_scorer, score_pairs

Outcome = Literal["pass", "fail", "review", "error"]

NEAR: Final = {"float32": 1e-5, "bfloat16": 5e-3}
"""Scores of embeddings this near a threshold may fall on its other side on another machine; of a model that computes
in bfloat16, also beside other texts (up to 0.002 was seen)."""

_CHUNK: Final = 512


@dataclass(frozen=True)
class Verdict:
    """What becomes of one answer, decided where and why."""

    id: str
    outcome: Outcome
    stage: str | None
    """The stage that decided; None where none did (review, error)."""
    score: float | None
    reason: str

    def to_record(self) -> dict[str, Any]:
        """The verdict as it stands in a file."""
        return {
            "id": self.id,
            "outcome": self.outcome,
            "stage": self.stage,
            "score": self.score,
            "reason": self.reason,
        }


@dataclass(frozen=True)
class Fault:
    """An answer that could not be read; it gets an error verdict in its place."""

    id: str
    reason: str


def exact_match(pair: AnswerPair, rung: int) -> str | None:
    """The first reference whose normal form the candidate has; None where there is none.

    >>> exact_match(AnswerPair("a", ("12 March", "March 12"), "march 12."), 3)
    'March 12'
    """
    candidate = normalize(pair.candidate, rung)
    if not candidate:
        return None
    return next((text for text in pair.references if _normal_form(text, rung) == candidate), None)


@lru_cache(maxsize=4096)
def _normal_form(reference: str, rung: int) -> str:
    return normalize(reference, rung)  # several answers share their references


class Cascade:
    """Grades answers by a policy.

    Parameters
    ----------
    policy
        The policy.
    embedder
        The model, for a policy whose scorer embeds; its fingerprint must be the policy's.
    scorer
        A scorer in place of the one that the policy names, with the same name and version.

    Raises
    ------
    InputError
        For a stage that is not built, a model or a scorer other than the policy's.

    Examples
    --------
    >>> cascade = Cascade(Policy.from_yaml(\"\"\"
    ... schema: calibkit/policy/1
    ... name: by-hand
    ... stages:
    ...   - {stage: exact, rung: 3}
    ...   - {stage: bands, scorer: {name: token_recall, version: 1}, pass_at_or_above: 0.8, fail_below: 0.3}
    ... \"\"\"))
    >>> verdict = cascade.grade(references=["12 March 2026"], candidate="On 12 March 2026, by lorry.")
    >>> verdict.outcome, verdict.stage, verdict.score, verdict.reason
    ('pass', 'bands', 1.0, 'token_recall 1 is at or above 0.8')
    """

    def __init__(self, policy: Policy, *, embedder: Embedder | None = None, scorer: Scorer | None = None) -> None:
        self.policy = policy
        self.embedder = embedder
        self._rung: int | None = None
        self._bands: BandsStage | None = None
        self._scorer = scorer
        for stage in policy.stages:
            match stage:
                case ExactStage():
                    self._rung = stage.rung
                case BandsStage():
                    self._bands = stage
                    self._scorer = scorer or find_scorer(stage.scorer.name, _checked(embedder, stage))
                    found = (self._scorer.name, self._scorer.version)
                    if found != (stage.scorer.name, stage.scorer.version):
                        raise InputError(
                            f"the policy {policy.name!r} was made with the scorer {stage.scorer.name} version "
                            f"{stage.scorer.version}, here is {found[0]} version {found[1]}; calibrate again"
                        )
                case _:
                    raise InputError(
                        f"the policy {policy.name!r} has the stage {stage.stage!r}, which this calibkit does not know "
                        "how to run yet; remove the stage or use a newer calibkit"
                    )

    def grade(self, *, references: Sequence[str], candidate: str, question: str = "", id: str = "answer") -> Verdict:
        """Grade one answer.

        Raises
        ------
        InputError
            For references that are no list of texts, or a candidate or question that is no text.
        """
        texts = [candidate, question, *references]
        if isinstance(references, str) or not all(isinstance(text, str) for text in texts):
            raise InputError("references must be a list of texts, candidate and question texts")
        pair = AnswerPair(id=id, references=tuple(references), candidate=candidate, question=question)
        return next(self.grade_all([pair]))

    def grade_all(self, answers: Iterable[AnswerPair | Fault]) -> Iterator[Verdict]:
        """Grade answers as they come, in order; no more than a few hundred are held at a time.

        Whatever is wrong with one answer makes its verdict an error, and no other's.
        """
        answers = iter(answers)
        while chunk := list(itertools.islice(answers, _CHUNK)):
            yield from self._grade_chunk(chunk)

    def decide_early(self, pairs: Sequence[AnswerPair]) -> list[Verdict | None]:
        """The verdicts of the deterministic stages; None where they decide nothing."""
        return [self._exact(pair) for pair in pairs]

    def _grade_chunk(self, chunk: Sequence[AnswerPair | Fault]) -> list[Verdict]:
        verdicts: list[Verdict | None] = []
        for answer in chunk:
            if isinstance(answer, Fault):
                verdicts.append(_error(answer.id, answer.reason))
            else:
                try:
                    verdicts.append(self._exact(answer))
                except Exception as error:
                    verdicts.append(_error(answer.id, _told(error)))
        open_at = [at for at, verdict in enumerate(verdicts) if verdict is None]
        undecided = [answer for at in open_at if isinstance(answer := chunk[at], AnswerPair)]
        for at, verdict in zip(open_at, self._by_score(undecided), strict=True):
            verdicts[at] = verdict
        return [verdict for verdict in verdicts if verdict is not None]

    def _exact(self, pair: AnswerPair) -> Verdict | None:
        if self._rung is None:
            return None
        reference = exact_match(pair, self._rung)
        if reference is None:
            return None
        return Verdict(pair.id, "pass", "exact", None, f"equals the reference {_cut(reference)!r} at rung {self._rung}")

    def _by_score(self, pairs: Sequence[AnswerPair]) -> list[Verdict]:
        if self._bands is None or self._scorer is None:
            return [Verdict(pair.id, "review", None, None, "no stage decided") for pair in pairs]
        try:
            return self._banded(pairs, self._scorer)
        except SetupError:
            raise
        except Exception:
            verdicts: list[Verdict] = []
            for pair in pairs:  # find the culprit
                try:
                    verdicts += self._banded([pair], self._scorer)
                except SetupError:
                    raise
                except Exception as error:
                    verdicts.append(_error(pair.id, _told(error)))
            return verdicts

    def _banded(self, pairs: Sequence[AnswerPair], scorer: Scorer) -> list[Verdict]:
        assert self._bands is not None
        scores = score_pairs(pairs, scorer)
        return [
            self._verdict(pair, None if why else value, why)
            for pair, value, why in zip(pairs, scores.values.tolist(), scores.reasons, strict=True)
        ]

    def _verdict(self, pair: AnswerPair, score: float | None, why_unscored: str | None) -> Verdict:
        assert self._bands is not None
        name, bands = self._bands.scorer.name, self._bands.bands
        if score is None:
            return Verdict(pair.id, "review", None, None, f"unscored by {name}: {why_unscored}")
        outcome = bands.decide(score)
        cuts = {"at or above": bands.pass_at_or_above, "below": bands.fail_below}
        if outcome == "pass":
            reason = f"{name} {score:.6g} is at or above {bands.pass_at_or_above:.10g}"
        elif outcome == "fail":
            reason = f"{name} {score:.6g} is below {bands.fail_below:.10g}"
        elif cuts["at or above"] is None and cuts["below"] is None:
            reason = f"{name} {score:.6g}: the policy sets no threshold"
        elif cuts["at or above"] is None:
            reason = f"{name} {score:.6g} is not below {bands.fail_below:.10g}, and the policy sets no pass threshold"
        elif cuts["below"] is None:
            reason = f"{name} {score:.6g} is below {bands.pass_at_or_above:.10g}"
        else:
            reason = f"{name} {score:.6g} is between {bands.fail_below:.10g} and {bands.pass_at_or_above:.10g}"
        near = NEAR[self._bands.model.dtype] if self._bands.model else 0.0
        if name in EMBEDDING_SCORERS and any(cut is not None and abs(score - cut) <= near for cut in cuts.values()):
            reason += f"; within {near:f} of the threshold, where machines may differ"
        return Verdict(pair.id, outcome, None if outcome == "review" else "bands", score, reason)


def _checked(embedder: Embedder | None, stage: BandsStage) -> Embedder | None:
    if stage.model is not None and embedder is not None and embedder.fingerprint != stage.model.fingerprint:
        raise InputError(
            f"the policy was made with the model {stage.model.name} ({stage.model.fingerprint}, {stage.model.dtype}, "
            f"{stage.model.max_tokens} tokens), here is one with the fingerprint {embedder.fingerprint}; "
            "give the policy's model, or calibrate again with this one"
        )
    return embedder


def _error(name: str, reason: str) -> Verdict:
    return Verdict(name, "error", None, None, reason)


def _told(error: Exception) -> str:
    return " ".join(str(error).split()) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"


def _cut(text: str, most: int = 60) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
