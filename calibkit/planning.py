"""Planning: how many labels for which target, where to draw them, and what would then be decided without a person.

What is known beforehand are the places of all answers of the pool, and some idea of how wrong answers spread over them:
labels that will not certify (the development part, another set), a blend's own scores, or an assumption. From this a
forecast draws labels as a person would, certifies, and says what came out on average.

Labels that certify are no part of a plan: whoever stops labelling when a certificate appears has none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize

from calibkit.certificate import boundary
from calibkit.curve import as_flags
from calibkit.pairs import InputError, counted

Floats = NDArray[np.float64]
Side = Literal["pass", "fail"]

TARGETS: Final = (0.9, 0.95, 0.98)
"""Precisions that a plan compares unless told otherwise."""
BUDGETS: Final = (50, 75, 100, 150, 200, 300, 400, 500, 700, 1000, 1500, 2000)
"""Numbers of labels that a plan compares."""
POWER: Final = 0.8
"""Labels are called enough where something is certified in this share of the draws."""

_STEPS: Final = 50
_DRAWS: Final = 400
_REGIONS: Final = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
"""Parts of the pool that may be labelled alone."""


# --- what is thought of the errors ------------------------------------------------------------------


@dataclass(frozen=True)
class Profile:
    """How many answers of the pool are thought to be wrong, step by step from the top of one side's ranking."""

    side: Side
    cuts: Floats
    """Shape (n_steps,): where each step ends; falling on the pass side, rising on the fail side."""
    shares: Floats
    """Shape (n_steps,): the share of the pool in each step. They add up to the share that may be decided at all."""
    errors: Floats
    """Shape (n_steps,): the probability that an answer in it is wrong."""
    source: str
    """Where the errors come from."""

    @cached_property
    def reach(self) -> Floats:
        """The share of the pool up to the end of each step."""
        return np.cumsum(self.shares)

    @cached_property
    def error_up_to(self) -> Floats:
        """The share of wrong answers up to the end of each step."""
        wrong: Floats = np.cumsum(self.shares * self.errors) / self.reach
        return wrong

    def best_share(self, alpha: float) -> float:
        """The largest part from the top whose error is below alpha: what no number of labels goes beyond."""
        good = self.reach[self.error_up_to < alpha]
        return float(good[-1]) if len(good) else 0.0


def _steps(places: ArrayLike, side: Side) -> tuple[Floats, Floats, Floats]:
    """Falling places of the side, where at most `_STEPS` steps of equal places end, and their shares of the pool."""
    pool = np.asarray(places, dtype=np.float64)
    if pool.ndim != 1 or not len(pool):
        raise InputError(
            f"a plan needs the places of the pool's answers, one or more, not an array of shape {pool.shape}"
        )
    ranked = np.sort(pool[~np.isnan(pool)] if side == "pass" else -pool[~np.isnan(pool)])[::-1]
    ranked = ranked[ranked > -np.inf]  # what rules decide the other way
    if not len(ranked):
        raise InputError("no answer of the pool has a score; choose another scorer")
    ends = np.unique(np.linspace(0, len(ranked) - 1, _STEPS).round().astype(int))
    cuts = np.unique(ranked[ends])[::-1]
    above = len(ranked) - np.searchsorted(ranked[::-1], cuts)
    return ranked, cuts, np.diff(above, prepend=0) / len(pool)


def profile_from_labels(places: ArrayLike, labelled: ArrayLike, wrong: ArrayLike, side: Side = "pass") -> Profile:
    """Estimate the errors from labels that will not certify, as falling towards the top as these allow.

    An isotonic regression of "wrong" on the place, with half a wrong answer added to each of its blocks: of few labels
    none of which is wrong, some error is expected all the same.

    Parameters
    ----------
    places
        Shape (n_pool,): where the answers of the pool rank (inf: deterministic pass, -inf: deterministic fail, NaN:
        unscored).
    labelled
        Shape (n,): where the labelled answers rank.
    wrong
        Shape (n,): on the pass side whether a person rejects them, on the fail side whether a person accepts them.
    side
        Which side is planned.

    Raises
    ------
    InputError
        For no scored answers, no labels, or shapes that differ.

    Examples
    --------
    >>> pool = np.arange(1000) / 1000
    >>> profile = profile_from_labels(pool, [0.9, 0.8, 0.6, 0.3, 0.2, 0.1], [False, False, False, True, False, True])
    >>> profile.errors[[0, 35, -1]].round(3)
    array([0.125, 0.5  , 0.75 ])
    """
    _, cuts, shares = _steps(places, side)
    at, flags = np.asarray(labelled, dtype=np.float64), as_flags("wrong", wrong)
    if at.shape != flags.shape or at.ndim != 1:
        raise InputError(f"labelled and wrong must be of one length, not of shapes {at.shape} and {flags.shape}")
    at = at if side == "pass" else -at
    kept = at > -np.inf  # neither unscored (NaN) nor decided the other way
    if not kept.any():
        raise InputError("none of the labelled answers has a score; label some, or plan without labels")
    order = np.argsort(-at[kept], kind="stable")
    ranked, flagged = at[kept][order], flags[kept][order].astype(np.float64)
    ends = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))
    sizes = np.diff(ends, prepend=-1).astype(np.float64)
    means = np.add.reduceat(flagged, np.r_[0, ends[:-1] + 1]) / sizes
    fitted = optimize.isotonic_regression(means, weights=sizes)
    blocks = np.repeat(fitted.weights, np.diff(fitted.blocks))
    errors = (fitted.x * blocks + 0.5) / (blocks + 1)
    errors = np.minimum.accumulate(errors[::-1])[::-1]  # halves count more in small blocks
    next_label = np.minimum(np.searchsorted(-ranked[ends], -cuts), len(errors) - 1)
    return _profile(side, cuts, shares, errors[next_label], f"{counted(len(at), 'label')} that do not certify")


def profile_from_scores(places: ArrayLike, side: Side = "pass") -> Profile:
    """Take the scores of a blend for what they look like: the probability that a person accepts.

    Examples
    --------
    >>> profile = profile_from_scores([np.inf, 0.98, 0.9, 0.2])
    >>> profile.errors.round(3), profile.best_share(0.05)
    (array([0.02, 0.02, 0.1 , 0.8 ]), 0.75)
    """
    ranked, cuts, shares = _steps(places, side)
    finite = np.isfinite(ranked)
    accept = np.clip(np.where(finite, ranked if side == "pass" else -ranked, 0), 0, 1)
    wrong = 1 - accept if side == "pass" else accept
    if finite.any():
        wrong = np.where(finite, wrong, wrong[finite][0])  # deterministic decisions: like the best of the others
    upto = np.r_[0, np.cumsum(wrong)]
    above = (len(ranked) - np.searchsorted(ranked[::-1], cuts)).astype(int)
    errors = np.diff(upto[above], prepend=0) / np.diff(above, prepend=0)
    return _profile(side, cuts, shares, errors, "the blend's scores")


def profile_assumed(places: ArrayLike, error: float, share: float, side: Side = "pass") -> Profile:
    """Assume that a top part of the pool has one error, and that half of the rest is wrong.

    Examples
    --------
    >>> profile = profile_assumed(np.arange(1000), error=0.005, share=0.5)
    >>> round(profile.best_share(0.05), 2)
    0.53
    """
    for name, value in (("error", error), ("share", share)):
        if not 0 <= value <= 1:
            raise InputError(f"{name} must lie between 0 and 1, not {value}")
    _, cuts, shares = _steps(places, side)
    errors = np.where(np.cumsum(shares) <= share + 0.5 / _STEPS, error, 0.5)
    return _profile(side, cuts, shares, errors, f"the assumption that {error:.3g} of the best {share:.0%} are wrong")


def _profile(side: Side, cuts: Floats, shares: Floats, errors: Floats, source: str) -> Profile:
    return Profile(side, cuts if side == "pass" else -cuts, shares, errors, source)


# --- forecasts --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Forecast:
    """What a number of labels is likely to certify."""

    side: Side
    target: float
    """The precision: 1 - alpha."""
    labels: int
    region: float
    """The part of the pool that the labels are drawn from, from the top: 1 is a random draw."""
    cut: float | None
    """Where that region ends; None for a random draw."""
    chance: float
    """How often anything was certified."""
    share: float
    """The share of the pool that was certified on average, 0 where nothing was."""


def forecast(profile: Profile, target: float, labels: int, delta: float, *, region: float = 1.0) -> Forecast:
    """Draw labels, certify, and average over 400 draws; the same numbers for the same arguments.

    Parameters
    ----------
    profile
        What is thought of the errors.
    target
        1 - alpha.
    labels
        How many are drawn.
    delta
        The risk of this one certificate, as the accounting gives it.
    region
        The part of the pool from the top that they are drawn from.

    Raises
    ------
    InputError
        For a target, risk or region outside its range, or no labels.

    Examples
    --------
    >>> profile = profile_assumed(np.arange(1000), error=0.005, share=0.5)
    >>> for part in (1.0, 0.5):
    ...     found = forecast(profile, 0.95, 100, 0.1, region=part)
    ...     print(round(found.region, 2), round(found.chance, 1), round(found.share, 1))
    1.0 0.2 0.1
    0.51 0.9 0.5
    """
    alpha = round(1 - target, 12)
    if labels < 1:
        raise InputError(f"a forecast needs 1 label or more, not {labels}")
    if not 0 < region <= 1:
        raise InputError(f"region must be a part of the pool, above 0 and at most 1, not {region}")
    c = boundary(alpha, delta, labels)
    steps = len(profile.reach)
    if region < 1:
        steps = min(int(np.searchsorted(profile.reach, region - 1e-9)) + 1, steps)
    shares = profile.shares[:steps]
    elsewhere = max(0.0, 1 - shares.sum()) if region == 1 else 0.0
    parts = np.r_[shares, elsewhere]
    rng = np.random.default_rng([labels, steps])
    drawn = rng.multinomial(labels, parts / parts.sum(), size=_DRAWS)[:, :steps]
    wrong = rng.binomial(drawn, profile.errors[:steps])
    certified = wrong.cumsum(axis=1) <= c[drawn.cumsum(axis=1)]
    lowest = steps - 1 - certified[:, ::-1].argmax(axis=1)
    any_certified = certified.any(axis=1)
    share = np.where(any_certified, profile.reach[lowest], 0.0)
    return Forecast(
        side=profile.side,
        target=target,
        labels=labels,
        region=1.0 if region == 1 else float(profile.reach[steps - 1]),
        cut=None if region == 1 else float(profile.cuts[steps - 1]),
        chance=float(any_certified.mean()),
        share=float(share.mean()),
    )


def floor(target: float, delta: float, labels: int | None = None) -> int:
    """How many labels above a threshold are due at least, were none of them wrong.

    Parameters
    ----------
    target, delta
        1 - alpha, and the risk of one certificate.
    labels
        How many are drawn in all; None: as many as there are above the threshold, which is the least.

    Examples
    --------
    >>> [floor(0.95, 0.1, n) for n in (100, 200, 500)], floor(0.95, 0.1)
    ([53, 62, 73], 45)
    """
    alpha = round(1 - target, 12)
    if labels is None:
        boundary(alpha, delta, 0)  # refuses what is no target and no risk
        return math.ceil(math.log(delta) / math.log(1 - alpha) - 1e-9)
    return int((boundary(alpha, delta, labels) < 0).sum())


# --- the plan ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """One number of labels for one target: drawn at random, and from the best region."""

    random: Forecast
    region: Forecast
    """The region that certifies most; a random draw where none certifies more."""
    floor: int
    """How many labels above the threshold are due at least, of so many random ones."""


@dataclass(frozen=True)
class Plan:
    """What numbers of labels are likely to certify, for each target."""

    profiles: tuple[Profile, ...]
    delta: float
    """The risk of each certificate."""
    rows: tuple[Row, ...]
    """By side, target and number of labels."""

    def of(self, side: Side, target: float) -> tuple[Row, ...]:
        """The rows of one side and target, by number of labels."""
        return tuple(row for row in self.rows if (row.random.side, row.random.target) == (side, target))

    def enough(self, side: Side, target: float, *, region: bool = False) -> Forecast | None:
        """The fewest of the planned numbers of labels that are enough; None where all are too few."""
        found = (row.region if region else row.random for row in self.of(side, target))
        return next((each for each in found if each.chance >= POWER), None)

    def line(self, side: Side, target: float) -> str:
        """Say in one line what is due for a target, where to draw it, and what it is worth."""
        profile = next(profile for profile in self.profiles if profile.side == side)
        ever = profile.best_share(round(1 - target, 12))
        does = "pass" if side == "pass" else "fail"
        at_random, in_region = self.enough(side, target), self.enough(side, target, region=True)
        least = floor(target, self.delta)
        due = f"at least {least} labels without a wrong one are due"
        if at_random is None and in_region is None:
            most = max((row.random.labels for row in self.of(side, target)), default=0)
            seen = f"the errors reach {1 - target:.3g} at once" if ever == 0 else f"at most {ever:.0%} could {does}"
            if not most:
                return f"{side} {target:g}: the pool has too few questions for the planned numbers of labels; {due}"
            return f"{side} {target:g}: {most} labels are too few by {profile.source} ({seen}; {due})"
        ways = []
        if at_random is not None:
            ways.append(f"about {at_random.labels} random labels ({at_random.share:.0%} would {does} by themselves)")
        if in_region is not None and in_region.cut is not None:
            ways.append(
                f"{in_region.labels} from the {'best' if side == 'pass' else 'worst'} {in_region.region:.0%}, scores "
                f"{'from' if side == 'pass' else 'up to'} {in_region.cut:.6g} ({in_region.share:.0%})"
            )
        return f"{side} {target:g}: {', or '.join(ways)}; at most {ever:.0%} ever could by {profile.source}; {due}"

    def table(self) -> str:
        """The plan as a table in Markdown."""
        lines = [
            "| side | precision | labels | floor | random: certified | decided | region | scores | certified "
            "| decided |",
            "|---" * 10 + "|",
        ]
        for row in self.rows:
            one, other = row.random, row.region
            cells = [one.side, f"{one.target:g}", str(one.labels), str(row.floor)]
            cells += [f"{one.chance:.0%}", f"{one.share:.0%}"]
            if other.cut is None:
                cells += ["-"] * 4
            else:
                sign = ">=" if one.side == "pass" else "<="
                cells += [f"{other.region:.0%}", f"{sign} {other.cut:.4g}", f"{other.chance:.0%}", f"{other.share:.0%}"]
            lines.append("| " + " | ".join(cells) + " |")
        return "\n".join(lines)


def plan(
    profiles: Profile | Sequence[Profile],
    *,
    targets: Sequence[float] = TARGETS,
    budgets: Sequence[int] = BUDGETS,
    delta: float = 0.1,
    questions: int | None = None,
) -> Plan:
    """Compare numbers of labels, random and region draws, over targets.

    Parameters
    ----------
    profiles
        What is thought of the errors of one side, or of both.
    targets
        Precisions (1 - alpha).
    budgets
        Numbers of labels.
    delta
        The risk of each certificate: what the accounting leaves of 1 - confidence, shared out over looks,
        configurations and sides.
    questions
        How many questions the pool has: no more labels can be drawn, and no more from a region than it holds.

    Raises
    ------
    InputError
        For a target, risk or number outside its range.

    Examples
    --------
    >>> found = plan(profile_assumed(np.arange(1000) / 1000, error=0.005, share=0.5), budgets=[50, 100, 200])
    >>> print(found.line("pass", 0.95))  # doctest: +NORMALIZE_WHITESPACE
    pass 0.95: about 200 random labels (40% would pass by themselves), or 50 from the best 51%, scores from 0.489
    (40%); at most 53% ever could by the assumption that 0.005 of the best 50% are wrong; at least 45 labels without a
    wrong one are due
    >>> [row.floor for row in found.of("pass", 0.95)]
    [45, 53, 62]
    """
    sides = (profiles,) if isinstance(profiles, Profile) else tuple(profiles)
    rows = []
    for profile, target, labels in product(sides, targets, sorted(set(budgets))):
        if questions is not None and labels > questions:
            continue
        drawn = [forecast(profile, target, labels, delta, region=part) for part in _REGIONS]
        regions = [
            each
            for each in drawn
            if each.cut is not None
            and math.isfinite(each.cut)
            and (questions is None or labels <= each.region * questions)
        ]
        best = max([drawn[0], *regions], key=lambda each: each.share)
        rows.append(Row(drawn[0], best, floor(target, delta, labels)))
    return Plan(sides, delta, tuple(rows))
