"""The cascade: ordered stages that pass, fail or hand on an answer, and the verdict that says which one decided."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final, Literal

from calibkit.asking import ask_judge
from calibkit.blend import Blend
from calibkit.checks import Check, parse_checks, run_checks
from calibkit.judge import Ballot, Judge, as_judge
from calibkit.normalize import normalize
from calibkit.pairs import AnswerPair, InputError, SetupError
from calibkit.policy import BandsStage, ExactStage, FieldsStage, JudgeStage, Policy, RulesStage
from calibkit.replies import Opinion
from calibkit.rules import check_rules
from calibkit.scorers import EMBEDDING_SCORERS, CosineScorer, Embedder, Scorer, Scores, find_scorer, score_pairs
from calibkit.structured import Strategy, StructuredReport, compare_structured, parse_strategies, parse_strategy

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
    details: Mapping[str, Any] = field(default_factory=dict)
    """What else a stage has to say: the judge's calls and votes, failed checks, fields of a structured answer."""

    def to_record(self) -> dict[str, Any]:
        """The verdict as it stands in a file."""
        record = {
            "id": self.id,
            "outcome": self.outcome,
            "stage": self.stage,
            "score": self.score,
            "reason": self.reason,
        }
        return record | ({"details": dict(self.details)} if self.details else {})


@dataclass(frozen=True)
class Fault:
    """An answer that could not be read; it gets an error verdict in its place."""

    id: str
    reason: str


def exact_match(pair: AnswerPair, rung: int, locale: str | None = None) -> str | None:
    """The first reference whose normal form the candidate has; None where there is none.

    >>> exact_match(AnswerPair("a", ("12 March", "March 12"), "march 12."), 3)
    'March 12'
    """
    candidate = normalize(pair.candidate, rung, locale)
    if not candidate:
        return None
    return next((text for text in pair.references if _normal_form(text, rung, locale) == candidate), None)


@lru_cache(maxsize=4096)
def _normal_form(reference: str, rung: int, locale: str | None) -> str:
    return normalize(reference, rung, locale)  # several answers share their references


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
    judge
        Who is asked about what is left, where the policy has such a stage: a judge, or a function from prompt to
        reply. None: it stays in review.

    Raises
    ------
    InputError
        For a model, a scorer or a judge other than the policy's.

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

    def __init__(
        self,
        policy: Policy,
        *,
        embedder: Embedder | None = None,
        scorer: Scorer | None = None,
        judge: Judge | Callable[[str], str] | None = None,
    ) -> None:
        self.policy = policy
        self.judge = None if judge is None else as_judge(judge)
        self.embedder = embedder
        self._rung: int | None = None
        self._checks: tuple[Check, ...] = ()
        self._strategies: dict[str, Strategy] = {}
        self._default_strategy: Strategy | None = None
        self._rules: RulesStage | None = None
        self._bands: BandsStage | None = None
        self._judge_stage: JudgeStage | None = None
        self._scorer = scorer
        for stage in policy.stages:
            match stage:
                case ExactStage():
                    self._rung = stage.rung
                case FieldsStage():
                    self._strategies = parse_strategies(stage.fields, "fields")
                    self._default_strategy = (
                        parse_strategy(stage.default, "default") if stage.default is not None else None
                    )
                case RulesStage():
                    self._rules = stage
                    self._checks = parse_checks(stage.checks, "checks")
                case BandsStage():
                    self._bands = stage
                    model = _checked(embedder, stage)
                    if scorer is None and stage.blend is not None:
                        self._scorer = Blend(stage.blend, model)
                    else:
                        self._scorer = scorer or find_scorer(stage.scorer.name, model)
                    _check_same(self._scorer, stage)
                    found = (self._scorer.name, self._scorer.version)
                    if found != (stage.scorer.name, stage.scorer.version):
                        raise InputError(
                            f"the policy {policy.name!r} was made with the scorer {stage.scorer.name} version "
                            f"{stage.scorer.version}, here is {found[0]} version {found[1]}; calibrate again"
                        )
                case JudgeStage():
                    self._judge_stage = stage
                    if self.judge is not None and stage.model not in (None, self.judge.name):
                        raise InputError(
                            f"the policy {policy.name!r} was made for the judge {stage.model!r}, here is "
                            f"{self.judge.name!r}; give that one, or measure this one and change the policy"
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
        return [self._decide_early(pair)[0] for pair in pairs]

    def _decide_early(self, pair: AnswerPair) -> tuple[Verdict | None, dict[str, Any]]:
        """The verdict of the deterministic stages, and what they have to say if another one decides."""
        details: dict[str, Any] = {}
        # Checks come first: a text may be the reference's own and the answer too late all the same.
        verdict = self._by_check(pair, details) or self._exact(pair) or self._by_field(pair, details)
        return verdict or self._by_rule(pair), details

    def _grade_chunk(self, chunk: Sequence[AnswerPair | Fault]) -> list[Verdict]:
        verdicts: list[Verdict | None] = []
        details: list[dict[str, Any]] = []
        for answer in chunk:
            said: dict[str, Any] = {}
            if isinstance(answer, Fault):
                verdicts.append(_error(answer.id, answer.reason))
            else:
                try:
                    verdict, said = self._decide_early(answer)
                    verdicts.append(verdict)
                except SetupError:
                    raise
                except Exception as error:
                    verdicts.append(_error(answer.id, _told(error)))
            details.append(said)
        open_at = [at for at, verdict in enumerate(verdicts) if verdict is None]
        undecided = [answer for at in open_at if isinstance(answer := chunk[at], AnswerPair)]
        scored = self._by_score(undecided)
        if self._judge_stage is not None:
            gray = [at for at, verdict in enumerate(scored) if verdict.outcome == "review"]
            judged = self._by_judge([undecided[at] for at in gray], [scored[at] for at in gray])
            for at, verdict in zip(gray, judged, strict=True):
                scored[at] = verdict
        for at, verdict in zip(open_at, scored, strict=True):
            verdicts[at] = verdict
        return [
            replace(verdict, details={**verdict.details, **said}) if said else verdict
            for verdict, said in zip(verdicts, details, strict=True)
            if verdict is not None
        ]

    def _by_check(self, pair: AnswerPair, details: dict[str, Any]) -> Verdict | None:
        checks = self._checks
        if pair.checks:
            checks = (*checks, *parse_checks(pair.checks, f"the checks of {pair.id!r}"))
        if not checks:
            return None
        report = run_checks(pair, checks)
        if report.failed or report.score is not None:
            details["checks"] = {"failed": list(report.failed), "score": report.score}
        for failed, outcome in ((report.first_failed, "fail"), (report.first_unreadable, "error")):
            if failed is not None:
                return Verdict(pair.id, outcome, f"rule:{failed.name}", None, failed.reason)  # type: ignore[arg-type]
        return None

    def _by_field(self, pair: AnswerPair, details: dict[str, Any]) -> Verdict | None:
        """Decide by the reference that the answer comes nearest to: one that it passes, else the first."""
        stage = self.policy.fields_stage
        if stage is None:
            return None
        strategies = {**self._strategies, **parse_strategies(pair.fields, f"the fields of {pair.id!r}")}
        reports = [
            compare_structured(
                reference,
                pair.candidate,
                strategies,
                self._default_strategy,
                locale=self.policy.locale,
                scorer=self._score_texts,
                extra=stage.extra,
            )
            for reference in pair.references
        ]
        known = [report for report in reports if report is not None]
        if not known:
            return None
        passing = [report for report in known if _passes(report, stage.pass_at_or_above)]
        undecided = [report for report in known if report.outcome != "fail"]
        report = (passing or undecided or known)[0]
        details["fields"] = {result.pointer: result.outcome for result in report.results}
        if report.score is not None:
            details["fields_score"] = report.score
        if passing:
            agreeing = sum(result.outcome == "pass" for result in report.results)
            return Verdict(
                pair.id, "pass", "fields", None, f"{agreeing} of {len(report.results)} fields agree, none differs"
            )
        failed = report.first_failed
        if failed is None or len(known) < len(reports):
            return None
        return Verdict(pair.id, "fail", f"field:{failed.pointer}", None, failed.reason)

    def _score_texts(self, name: str, pairs: Sequence[AnswerPair]) -> Scores:
        return score_pairs(pairs, name, embedder=self.embedder)

    def _exact(self, pair: AnswerPair) -> Verdict | None:
        if self._rung is None:
            return None
        reference = exact_match(pair, self._rung, self.policy.locale)
        if reference is None:
            return None
        return Verdict(pair.id, "pass", "exact", None, f"equals the reference {_cut(reference)!r} at rung {self._rung}")

    def _by_rule(self, pair: AnswerPair) -> Verdict | None:
        if self._rules is None:
            return None
        results = check_rules(
            pair,
            self._rules.rules,
            locale=self.policy.locale,
            settings=self._rules.settings,
            abstentions=self._rules.abstentions,
        )
        failed = next((result for result in results if result.outcome == "fail"), None)
        if failed is not None:
            return Verdict(pair.id, "fail", f"rule:{failed.rule}", None, failed.reason)
        # That every value agrees makes no answer right; only a due abstention is.
        passed = next((result for result in results if (result.rule, result.outcome) == ("abstention", "pass")), None)
        return Verdict(pair.id, "pass", "rule:abstention", None, passed.reason) if passed else None

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

    def _by_judge(self, pairs: Sequence[AnswerPair], scored: Sequence[Verdict]) -> list[Verdict]:
        if self.judge is None:
            return [replace(verdict, reason=f"{verdict.reason}; no judge was given") for verdict in scored]
        assert self._judge_stage is not None
        ballots = ask_judge(pairs, self.judge, self._judge_stage)
        return [self._judged(before, ballot) for before, ballot in zip(scored, ballots, strict=True)]

    def _judged(self, before: Verdict, ballot: Ballot) -> Verdict:
        assert self.judge is not None
        opinions = [opinion for opinion in ballot.opinions if isinstance(opinion, Opinion)]
        told = {
            "model": self.judge.name,
            "calls": ballot.calls,
            "cached": ballot.cached,
            "prompt_tokens": ballot.prompt_tokens,
            "completion_tokens": ballot.completion_tokens,
            "votes": [opinion.score for opinion in opinions],
            "unparsed": len(ballot.opinions) - len(opinions),
            "unstable": ballot.unstable,
        }
        if before.score is not None:
            told["score_before"] = before.score
        decided = ballot.outcome in ("pass", "fail")
        return Verdict(
            before.id, ballot.outcome, "judge" if decided else None, ballot.score, ballot.reason, {"judge": told}
        )

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


def _passes(report: StructuredReport, least: float) -> bool:
    weighed = [result for result in report.results if result.weight is not None and result.outcome != "not_applicable"]
    if report.outcome != "pass" or any(result.score is None for result in weighed):
        return False
    return report.score is None or report.score >= least


def _check_same(scorer: Scorer, stage: BandsStage) -> None:
    """Refuse a scorer that has the policy's name and another model or other weights."""
    if isinstance(scorer, CosineScorer | Blend):
        _checked(scorer.embedder, stage)
    if isinstance(scorer, Blend) and stage.blend is not None and scorer.definition != stage.blend:
        raise InputError("the blend given is not the policy's; leave it out, or calibrate again with this one")


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
