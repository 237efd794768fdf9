"""Scorers side by side: what each makes of the same answers, and the questions on which they disagree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final, Literal, get_args

from calibkit.bands import Bands
from calibkit.pairs import AnswerPair, InputError
from calibkit.scorers import Scorer, score_pairs

Level = Literal["success", "partial", "failed", "unscored"]
LEVELS: Final[tuple[Level, ...]] = get_args(Level)
_LEVEL: Final[Mapping[str, Level]] = {"pass": "success", "review": "partial", "fail": "failed"}
_HEIGHT: Final[Mapping[Level, float]] = {"success": 1.0, "partial": 0.5, "failed": 0.0}


@dataclass(frozen=True, slots=True)
class Mark:
    """What one scorer makes of one answer."""

    level: Level | None
    """None where the scorer has no cuts: then the score alone is told."""
    score: float | None
    reason: str = ""
    """Why there is no score."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A question on whose answers scorers disagree."""

    question: str
    amount: float
    """Of the answer on which they disagree most: the mean distance of two scorers, success 1, partial .5, failed 0."""
    at: tuple[int, ...]
    """Positions of the answers on which they disagree."""


@dataclass(frozen=True)
class SideBySide:
    """Several scorers on the same answers."""

    scorers: tuple[str, ...]
    bands: Mapping[str, Bands]
    """The cuts of those scorers that have some."""
    pairs: tuple[AnswerPair, ...] = field(repr=False)
    marks: Mapping[str, tuple[Mark, ...]] = field(repr=False)
    """Scorer -> what it makes of each answer, in their order."""
    disagreements: tuple[Disagreement, ...] = field(repr=False)
    """Most disagreeing first."""

    def counts(self, scorer: str) -> Mapping[Level, int]:
        """Answers by level; those of a scorer without cuts have none but unscored."""
        found = Counter(mark.level for mark in self.marks[scorer])
        return {level: found[level] for level in LEVELS}


def compare_scorers(
    pairs: Iterable[AnswerPair], scorers: Iterable[Scorer], bands_by_scorer: Mapping[str, Bands] | None = None
) -> SideBySide:
    """Lay several scorers side by side.

    Parameters
    ----------
    pairs
        The answers.
    scorers
        The scorers, each with a name of its own.
    bands_by_scorer
        Name -> cuts. Success: at or above the pass cut. Failed: below the fail cut. Partial: neither.

    Raises
    ------
    InputError
        For two scorers of one name, cuts of a scorer that is not there, or a scorer that breaks its protocol.

    Examples
    --------
    >>> from calibkit.scorers import find_scorer
    >>> pairs = [AnswerPair("a", ("12 March 2026",), "It ships on 12 March 2026.")]
    >>> names = ["token_recall", "token_precision", "rougeL"]
    >>> found = compare_scorers(pairs, map(find_scorer, names), dict.fromkeys(names[:2], Bands(0.9, 0.6)))
    >>> [found.marks[name][0].level for name in names]
    ['success', 'failed', None]
    >>> found.disagreements[0].amount
    1.0
    """
    answers, asked, bands = tuple(pairs), list(scorers), dict(bands_by_scorer or {})
    names = [scorer.name for scorer in asked]
    for name, times in Counter(names).items():
        if times > 1:
            raise InputError(f"the scorer {name!r} is given {times} times; give each once")
    for name in bands:
        if name not in names:
            raise InputError(f"cuts are given for {name!r}, which is none of the scorers: {', '.join(names)}")
    marks: dict[str, tuple[Mark, ...]] = {}
    for scorer in asked:
        scores = score_pairs(answers, scorer)
        cuts = bands.get(scorer.name)
        marks[scorer.name] = tuple(
            Mark("unscored", None, why) if why is not None else Mark(_level(value, cuts), value)
            for value, why in zip(scores.values.tolist(), scores.reasons, strict=True)
        )
    return SideBySide(tuple(names), bands, answers, marks, _disagreements(answers, list(marks.values())))


def _level(score: float, cuts: Bands | None) -> Level | None:
    return None if cuts is None else _LEVEL[cuts.decide(score)]


def _disagreements(pairs: Sequence[AnswerPair], marks: Sequence[Sequence[Mark]]) -> tuple[Disagreement, ...]:
    by_question: dict[str, list[tuple[int, float]]] = {}
    for at, pair in enumerate(pairs):
        heights = [_HEIGHT[level] for own in marks if (level := own[at].level) is not None and level in _HEIGHT]
        apart = [abs(one - other) for one, other in combinations(heights, 2)]
        if any(apart):
            by_question.setdefault(pair.group_key, []).append((at, sum(apart) / len(apart)))
    found = []
    for some in by_question.values():
        first = pairs[some[0][0]]
        question = first.question or first.group or first.id
        found.append(Disagreement(question, max(amount for _, amount in some), tuple(at for at, _ in some)))
    return tuple(sorted(found, key=lambda each: -each.amount))
