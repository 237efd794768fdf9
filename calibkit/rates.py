"""Shares of graded answers with intervals that know that answers to one question belong together.

An interval speaks of questions like these: had others of their kind been asked, the share would have been another. Few
answers are the rule, and shares near 1 the aim; so all intervals are of Wilson's kind, which keep a width where every
answer passes (a bootstrap over questions has none there, and falls far short of its confidence where few fail).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

from calibkit.pairs import InputError

CONFIDENCE: Final = 0.95

Interval = tuple[float, float]
"""Lower and upper limit."""
Flags = Sequence[bool] | NDArray[np.bool_]
Groups = Sequence[Hashable]
"""The question of each answer, by whatever names it."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A share in counts, with its interval."""

    part: int
    whole: int
    questions: int
    """To how many questions the whole are answers."""
    interval: Interval | None
    """None where there is nothing to take a share of."""
    confidence: float = CONFIDENCE

    @property
    def value(self) -> float | None:
        """The share; None where there is nothing to take it of."""
        return self.part / self.whole if self.whole else None


@dataclass(frozen=True, slots=True)
class Difference:
    """What a share gained from one run to the next, on the same answers."""

    gained: int
    """Answers that are in the share only afterwards."""
    lost: int
    """Answers that were in it only before."""
    whole: int
    questions: int
    interval: Interval | None
    confidence: float = CONFIDENCE

    @property
    def value(self) -> float | None:
        """The share afterwards minus the share before; None where there is no answer."""
        return (self.gained - self.lost) / self.whole if self.whole else None


@dataclass(frozen=True, slots=True)
class Corrected:
    """The share that people would accept, from all verdicts and some labels."""

    value: float | None
    """None where it cannot be told."""
    interval: Interval | None
    labels: int
    """Labelled answers that the correction rests on."""
    reason: str = ""
    """Why it cannot be told."""
    confidence: float = CONFIDENCE


def rate(inside: Flags, groups: Groups, confidence: float = CONFIDENCE) -> Rate:
    """Count a share, and bound it by Wilson's interval at the effective number of answers.

    Answers to one question are less than as many independent ones. How much less is estimated from the questions: the
    variance of the share, linearised and summed by question, over that of independent answers is the design effect; it
    divides the number of answers (Rao & Scott 1992, Biometrics 48, 577-585), which is further lowered for the degrees
    of freedom that so few questions leave, as in Korn & Graubard (1998, Survey Methodology 24, 193-201). Wilson's
    interval (1927, JASA 22, 209-212) at that number did well in the comparison of Franco, Little, Louis & Slud (2019,
    Journal of Survey Statistics and Methodology 7, 334-364). Few questions with the rarer outcome tell little of the
    design effect, so it is averaged with its largest value (answers to one question always agree), which weighs as much
    as one such question, and stands alone where there is none. One answer to each question: Wilson's interval itself.

    Parameters
    ----------
    inside
        Whether each answer is in the share.
    groups
        The question of each answer.
    confidence
        Of the interval, between 0 and 1.

    Raises
    ------
    InputError
        For lengths that differ, or a confidence outside (0, 1).

    Examples
    --------
    >>> alone = rate([True] * 36 + [False] * 4, range(40))
    >>> alone.value, [round(limit, 3) for limit in alone.interval]
    (0.9, [0.769, 0.96])
    >>> four_each = rate([True] * 36 + [False] * 4, [at // 4 for at in range(40)])
    >>> [round(limit, 3) for limit in four_each.interval]
    [0.548, 0.985]
    """
    flags, names = np.asarray(inside, dtype=bool), _numbered(groups, len(inside), confidence)
    part, whole, questions = int(flags.sum()), len(flags), _count(names)
    if not whole:
        return Rate(0, 0, 0, None, confidence)
    size = effective_size(flags.astype(float), names, confidence)
    return Rate(part, whole, questions, wilson(part / whole, size, confidence), confidence)


def paired_difference(before: Flags, after: Flags, groups: Groups, confidence: float = CONFIDENCE) -> Difference:
    """Bound what a share gained between two runs over the same answers.

    Tango's score interval for paired shares (1998, Statistics in Medicine 17, 891-908), its counts divided by the
    design effect of the answers' differences as in `rate`.

    Parameters
    ----------
    before, after
        Whether each answer was, and is, in the share.
    groups
        The question of each answer.
    confidence
        Of the interval, between 0 and 1.

    Raises
    ------
    InputError
        For lengths that differ, or a confidence outside (0, 1).

    Examples
    --------
    >>> before, after = [True] * 2 + [False] * 19, [True] + [False] + [True] * 7 + [False] * 12
    >>> found = paired_difference(before, after, range(21))
    >>> found.gained, found.lost, [round(limit, 3) for limit in found.interval]
    (7, 1, [0.026, 0.517])
    """
    if len(before) != len(after):
        raise InputError(f"{len(before)} answers before and {len(after)} after; give the same ones")
    first, second = np.asarray(before, dtype=bool), np.asarray(after, dtype=bool)
    names = _numbered(groups, len(first), confidence)
    gained, lost, whole = int((second & ~first).sum()), int((first & ~second).sum()), len(first)
    if not whole:
        return Difference(0, 0, 0, 0, None, confidence)
    size = effective_size(second.astype(float) - first.astype(float), names, confidence)
    interval = _tango(gained / whole, lost / whole, size, _quantile(confidence))
    return Difference(gained, lost, whole, _count(names), interval, confidence)


def corrected_rate(
    passed: Flags,
    labels: Sequence[bool | None],
    groups: Groups,
    confidence: float = CONFIDENCE,
) -> Corrected:
    """Correct the pass rate for the measured errors of the verdicts.

    The labelled answers must be a random sample of the graded ones. Then the share that people accept is w p + (1-w) q
    with w the pass rate over all, p and q the accepted shares of the labelled answers that pass and that do not: the
    maximum-likelihood estimate in double sampling (Tenenbein 1970, JASA 65, 1350-1361). It is what prediction-powered
    inference gives for verdicts, with its best tuning (PPI++: Angelopoulos, Duchi & Zrnic 2023, arXiv 2311.01453, after
    Angelopoulos, Bates, Fannjiang, Jordan & Zrnic 2023, Science 382, 669-674). Rogan & Gladen's correction (1978,
    American Journal of Epidemiology 107, 71-76) is for error rates known from elsewhere: it divides by sensitivity plus
    specificity minus 1, which few labels leave wide open.

    Its own interval is the normal one, which has no width left where the labels show no error. Here those of w, p and q
    (each as in `rate`) are put together instead, by the squares of the distances to their limits (MOVER: Zou & Donner
    2008, Statistics in Medicine 27, 1693-1702), widened where errors of one question hang together across the parts.

    Parameters
    ----------
    passed
        Whether each graded answer passes.
    labels
        Whether a person accepts it; None where nobody judged it.
    groups
        The question of each answer.
    confidence
        Of the interval, between 0 and 1.

    Raises
    ------
    InputError
        For lengths that differ, or a confidence outside (0, 1).

    Examples
    --------
    >>> passed = [True] * 80 + [False] * 20
    >>> labels = [True] * 18 + [False] * 2 + [None] * 60 + [False] * 10 + [None] * 10
    >>> found = corrected_rate(passed, labels, range(100))
    >>> round(found.value, 3), [round(limit, 3) for limit in found.interval], found.labels
    (0.72, [0.54, 0.82], 30)
    """
    flags = np.asarray(passed, dtype=bool)
    if len(labels) != len(flags):
        raise InputError(f"{len(flags)} answers and {len(labels)} labels; give one each, None where there is none")
    names = _numbered(groups, len(flags), confidence)
    known = np.array([label is not None for label in labels], dtype=bool)
    accepted = np.array([label is True for label in labels], dtype=bool)
    n_labels = int(known.sum())
    if not n_labels:
        return Corrected(None, None, 0, "no graded answer has a label", confidence)
    share = float(flags.mean())
    if share in (0.0, 1.0):  # the verdicts tell nothing that the labels do not
        only = rate(accepted[known], names[known].tolist(), confidence)
        return Corrected(only.value, only.interval, n_labels, "", confidence)
    parts = []
    for inside, which in ((flags & known, "passes"), (~flags & known, "does not pass")):
        if not inside.any():
            return Corrected(None, None, n_labels, f"no labelled answer {which}; label some", confidence)
        parts.append(rate(accepted[inside], names[inside].tolist(), confidence))
    all_, (p, q) = rate(flags, names.tolist(), confidence), ((part.value or 0.0) for part in parts)
    value = share * p + (1 - share) * q
    pieces = [(share, p, parts[0].interval), (1 - share, q, parts[1].interval), (p - q, share, all_.interval)]
    wide = math.sqrt(_togetherness(flags, known, accepted, names, p, q))
    reach = []
    for side in (0, 1):
        squares = 0.0
        for weight, middle, limits in pieces:
            assert limits is not None
            squares += (weight * (limits[side if weight >= 0 else 1 - side] - middle)) ** 2
        reach.append(wide * math.sqrt(squares))
    return Corrected(value, (max(value - reach[0], 0.0), min(value + reach[1], 1.0)), n_labels, "", confidence)


def _togetherness(
    flags: NDArray[np.bool_],
    known: NDArray[np.bool_],
    accepted: NDArray[np.bool_],
    names: NDArray[np.intp],
    p: float,
    q: float,
) -> float:
    """The variance of w p + (1 - w) q over the sum of its parts' own, at least 1; linearised and summed by question."""
    share, n = float(flags.mean()), len(flags)
    terms = [(p - q) * (flags - share) / n]
    for inside, middle, weight in ((flags & known, p, share), (~flags & known, q, 1 - share)):
        terms.append(inside * weight * (accepted - middle) / inside.sum())
    sums = [np.bincount(names, weights=term) for term in terms]
    apart = sum(float((by_question**2).sum()) for by_question in sums)
    together = float((np.sum(sums, axis=0) ** 2).sum())
    return max(together / apart, 1.0) if apart > 0 else 1.0


def wilson(share: float, size: float, confidence: float = CONFIDENCE) -> Interval:
    """Wilson's score interval for a share of so many independent answers; the number may be a fraction.

    >>> [round(limit, 4) for limit in wilson(0.5, 10)]
    [0.2366, 0.7634]
    """
    z2 = _quantile(confidence) ** 2
    middle = (share + z2 / (2 * size)) / (1 + z2 / size)
    half = math.sqrt(z2 * (share * (1 - share) / size + z2 / (4 * size * size))) / (1 + z2 / size)
    return (0.0 if share <= 0 else max(middle - half, 0.0), 1.0 if share >= 1 else min(middle + half, 1.0))


def effective_size(values: NDArray[np.float64], names: NDArray[np.intp], confidence: float = CONFIDENCE) -> float:
    """How many independent answers would tell as much of the mean of `values`; see `rate`.

    Parameters
    ----------
    values
        Shape (n,), n > 0.
    names
        Shape (n,): the number of each answer's question, from 0 without a gap.

    Examples
    --------
    >>> effective_size(np.array([1.0, 0.0, 1.0, 1.0]), np.arange(4))
    4.0
    """
    n, per_question = len(values), np.bincount(names)
    questions = len(per_question)
    if questions == n:
        return float(n)
    largest = float((per_question.astype(float) ** 2).sum()) / n
    rest = values - values.mean()
    telling = min(len(np.unique(names[values != value])) for value in np.unique(values))
    if not telling or questions == 1:
        return n / largest
    independent = float((rest**2).sum()) / (n * (n - 1))
    clustered = questions / (questions - 1) * float((np.bincount(names, weights=rest) ** 2).sum()) / n**2
    effect = (telling * max(clustered / independent, 1.0) + largest) / (telling + 1)
    tail = (1 + confidence) / 2
    freedom = float(stats.t.ppf(tail, n - 1) / stats.t.ppf(tail, questions - 1)) ** 2
    return n / effect * freedom


def _tango(gained: float, lost: float, size: float, z: float) -> Interval:
    """The differences that the score test does not refute, for shares gained and lost of so many pairs."""
    seen = gained - lost

    def excess(difference: float) -> float:
        # The likeliest share lost, given that difference: the larger root of a quadratic equation.
        b = difference * (2 - seen) - (gained + lost)
        c = -lost * difference * (1 - difference)
        share = (math.sqrt(max(b * b - 8 * c, 0.0)) - b) / 4
        variance = max(2 * share + difference * (1 - difference), 0.0) / size
        return (seen - difference) ** 2 - z * z * variance

    near = 1e-9  # where all pairs changed alike, or none did, what was seen itself has no variance and would be a root
    low = -1.0 if excess(-1.0) <= 0 else float(optimize.brentq(excess, -1.0, seen - near))
    high = 1.0 if excess(1.0) <= 0 else float(optimize.brentq(excess, seen + near, 1.0))
    return low, high


def _numbered(groups: Groups, n: int, confidence: float) -> NDArray[np.intp]:
    if len(groups) != n:
        raise InputError(f"{n} answers and {len(groups)} groups; give the question of each answer")
    if not 0 < confidence < 1:
        raise InputError(f"confidence must lie between 0 and 1 (both excluded), not {confidence}")
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in groups], dtype=np.intp)


def _count(names: NDArray[np.intp]) -> int:
    return int(names.max()) + 1 if len(names) else 0


def _quantile(confidence: float) -> float:
    return float(stats.norm.ppf((1 + confidence) / 2))
