"""What several people's labels come to, and how far they agree."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Final, Literal

from calibkit.pairs import InputError, PairSet, SetupError, counted

Label = bool | None
"""What a person said: acceptable, not acceptable, or None for "cannot say"."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """What counts as the label of one pair."""

    label: Label
    how: Literal["adjudicated", "unanimous", "majority", "split"]
    """Split: people disagree and no side has more than half, which counts as "cannot say"."""


def resolve(
    labels: Mapping[str, Mapping[str, Label]], adjudicated: Mapping[str, Label] | None = None
) -> dict[str, Resolved]:
    """Decide what counts as the label: adjudicated, else unanimous, else majority, else "cannot say".

    Parameters
    ----------
    labels
        Annotator -> pair id -> label. "Cannot say" is a vote like the others.
    adjudicated
        Pair id -> what was decided.

    Examples
    --------
    >>> found = resolve({"ann": {"a": True, "b": True, "c": True}, "bob": {"a": True, "b": False}}, {"c": False})
    >>> {name: (one.label, one.how) for name, one in found.items()}
    {'a': (True, 'unanimous'), 'b': (None, 'split'), 'c': (False, 'adjudicated')}
    """
    votes: dict[str, list[Label]] = {}
    for given in labels.values():
        for name, label in given.items():
            votes.setdefault(name, []).append(label)
    resolved = {name: _vote(cast) for name, cast in votes.items()}
    for name, label in (adjudicated or {}).items():
        resolved[name] = Resolved(label, "adjudicated")
    return resolved


def _vote(cast: Sequence[Label]) -> Resolved:
    label, most = Counter(cast).most_common(1)[0]
    if most == len(cast):
        return Resolved(label, "unanimous")
    return Resolved(label, "majority") if 2 * most > len(cast) else Resolved(None, "split")


def label_pairs(pairs: PairSet, labels: Mapping[str, Resolved]) -> PairSet:
    """Put labels on pairs; pairs without an entry keep what their file says."""
    labelled = [
        replace(pair, labelled=True, acceptable=labels[pair.id].label) if pair.id in labels else pair for pair in pairs
    ]
    return replace(pairs, pairs=tuple(labelled))


def disagreements(labels: Mapping[str, Mapping[str, Label]], decided: Container[str] = ()) -> tuple[str, ...]:
    """Ids of the pairs that people label differently and nobody has decided, in the order that they were labelled.

    >>> disagreements({"ann": {"a": True, "b": None}, "bob": {"a": True, "b": False}})
    ('b',)
    """
    votes: dict[str, set[Label]] = {}
    for given in labels.values():
        for name, label in given.items():
            votes.setdefault(name, set()).add(label)
    return tuple(name for name, cast in votes.items() if len(cast) > 1 and name not in decided)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its interval."""

    value: float
    interval: tuple[float, float] | None
    """By the jackknife over questions; None where all of them agree or too few are there."""


@dataclass(frozen=True)
class Agreement:
    """How far people agree on the pairs that two or more of them labelled."""

    annotators: tuple[str, ...]
    pairs: int
    questions: int
    percent: Estimate
    """Share of agreeing labels among all twos of labels of a pair."""
    measure: Literal["Cohen's kappa", "Krippendorff's alpha"]
    beyond_chance: Estimate | None
    """None where every label is the same: chance alone would agree as well."""
    confidence: float
    disagreed: tuple[str, ...] = field(repr=False, default=())
    """Ids of the pairs that they label differently."""

    def __str__(self) -> str:
        beyond = f"{self.measure} " + (
            _shown(self.beyond_chance) if self.beyond_chance else "is undefined, for every label is the same"
        )
        seen = f"{counted(self.pairs, 'pair')} of {counted(self.questions, 'question')}"
        return (
            f"{len(self.annotators)} annotators, {seen}: {_shown(self.percent)} agree, {beyond} "
            f"({self.confidence:.0%} intervals, jackknife over questions)"
        )


def _shown(estimate: Estimate) -> str:
    if estimate.interval is None:
        return f"{estimate.value:.2f}"
    return f"{estimate.value:.2f} [{estimate.interval[0]:.2f}, {estimate.interval[1]:.2f}]"


_Pattern = tuple[int, ...]
"""What each annotator said of one pair: 0 not acceptable, 1 acceptable, 2 cannot say, -1 nothing."""


def agreement(
    labels: Mapping[str, Mapping[str, Label]], groups: Mapping[str, str] | None = None, *, confidence: float = 0.95
) -> Agreement:
    """Measure how far people agree: in percent, and beyond chance.

    Cohen's kappa (scikit-learn) for two annotators on the pairs that both labelled, Krippendorff's alpha for nominal
    data (the package `krippendorff`) for more, where pairs may lack some labels. "Cannot say" is a category of its own.
    The intervals are by the jackknife over questions, since answers to one question are judged alike
    (Fleiss & Davies 1982, Applied Psychological Measurement 6, for kappa).

    Parameters
    ----------
    labels
        Annotator -> pair id -> label.
    groups
        Pair id -> group; a pair without one is a question of its own.
    confidence
        Of the intervals.

    Raises
    ------
    InputError
        Where no pair was labelled by two people, and SetupError where the packages are not installed.
    """
    if not 0 < confidence < 1:
        raise InputError(f"confidence must lie between 0 and 1 (both excluded), not {confidence}")
    names = tuple(name for name, given in labels.items() if given)
    questions: dict[str, Counter[_Pattern]] = {}
    for pair_id in dict.fromkeys(pair_id for given in labels.values() for pair_id in given):
        pattern = tuple(_CODES[labels[name][pair_id]] if pair_id in labels[name] else -1 for name in names)
        if sum(code >= 0 for code in pattern) > 1:
            question = (groups or {}).get(pair_id, f"pair:{pair_id}")
            questions.setdefault(question, Counter())[pattern] += 1
    if not questions:
        raise InputError("no pair was labelled by two people: agreement needs a second annotator on the same pairs")
    measure, beyond = ("Cohen's kappa", _kappa) if len(names) == 2 else ("Krippendorff's alpha", _alpha)
    percent = _jackknife(_percent, list(questions.values()), confidence, lowest=0.0)
    assert percent is not None
    return Agreement(
        annotators=names,
        pairs=sum(map(Counter.total, questions.values())),
        questions=len(questions),
        percent=percent,
        measure=measure,  # type: ignore[arg-type]
        beyond_chance=_jackknife(beyond, list(questions.values()), confidence),
        confidence=confidence,
        disagreed=disagreements(labels),
    )


_CODES: Final[Mapping[Label, int]] = {False: 0, True: 1, None: 2}
_Statistic = Callable[[Counter[_Pattern]], float | None]


def _jackknife(
    statistic: _Statistic, questions: Sequence[Counter[_Pattern]], confidence: float, lowest: float = -1.0
) -> Estimate | None:
    """The figure, with the interval that leaving out one question at a time gives."""
    from scipy.stats import t

    whole: Counter[_Pattern] = sum(questions, Counter())
    value = statistic(whole)
    if value is None:
        return None
    # Questions that say the same leave the same rest.
    kinds = Counter(frozenset(question.items()) for question in questions)
    rests = {kind: statistic(whole - Counter(dict(kind))) for kind in kinds}
    n, left = len(questions), [rest for rest in rests.values() if rest is not None]
    if n < 2 or len(left) < len(rests) or max(left) - min(left) < 1e-12:
        return Estimate(value, None)
    mean = sum(kinds[kind] * (rest or 0.0) for kind, rest in rests.items()) / n
    spread = sum(kinds[kind] * ((rest or 0.0) - mean) ** 2 for kind, rest in rests.items())
    wide = float(t.ppf((1 + confidence) / 2, n - 1)) * math.sqrt((n - 1) / n * spread)
    return Estimate(value, (max(value - wide, lowest), min(value + wide, 1.0)))


def _percent(patterns: Counter[_Pattern]) -> float | None:
    twos = agreeing = 0
    for pattern, times in patterns.items():
        for one, other in combinations([code for code in pattern if code >= 0], 2):
            twos += times
            agreeing += times * (one == other)
    return agreeing / twos if twos else None


def _says_one_thing(patterns: Counter[_Pattern]) -> bool:
    return len({code for pattern in patterns for code in pattern if code >= 0}) < 2


def _kappa(patterns: Counter[_Pattern]) -> float | None:
    if _says_one_thing(patterns):
        return None
    try:
        from sklearn.metrics import cohen_kappa_score
    except ImportError:
        raise SetupError(_MISSING.format("scikit-learn")) from None
    one, other = zip(*patterns, strict=True)
    return float(cohen_kappa_score(one, other, labels=[0, 1, 2], sample_weight=list(patterns.values())))


def _alpha(patterns: Counter[_Pattern]) -> float | None:
    if _says_one_thing(patterns):
        return None
    try:
        import krippendorff
    except ImportError:
        raise SetupError(_MISSING.format("krippendorff")) from None
    counts = [[pattern.count(code) for code in (0, 1, 2)] for pattern in patterns.elements()]
    return float(krippendorff.alpha(value_counts=counts, level_of_measurement="nominal"))


_MISSING: Final = "agreement between annotators needs {}: pip install 'calibkit[notebooks]'"
