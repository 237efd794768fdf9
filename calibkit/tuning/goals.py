"""Where to put the handles for a goal: steps of a table, and what was reached in a sentence.

Among certified thresholds only, where the table has any: a goal never leaves them silently. While exploring, where
nothing is certified, all thresholds stand to choice.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

from calibkit.pairs import InputError
from calibkit.tuning.figures import Prices, Step, cut_text, percent
from calibkit.tuning.table import TuningTable


@dataclass(frozen=True, slots=True)
class Place:
    """Where both handles stand."""

    pass_step: int
    fail_step: int


def _certified(steps: tuple[Step, ...]) -> list[int]:
    return [at for at, step in enumerate(steps) if step.certified]


def smallest_pass(table: TuningTable, now: Place) -> tuple[Place, str]:
    """The smallest certified pass threshold; the fail handle makes room."""
    certified = _certified(table.passes)
    if not certified:
        return now, f"No pass threshold is certified. Here: {table.passes[now.pass_step].why}."
    at, fail_step = certified[0], now.fail_step
    if fail_step > at:
        fail_step = max((one for one in _certified(table.fails) if one <= at), default=0)
    return Place(at, fail_step), f"The smallest certified pass threshold: {cut_text(table.passes[at].cut)}."


def largest_fail(table: TuningTable, now: Place) -> tuple[Place, str]:
    """The largest certified fail threshold; the pass handle makes room."""
    certified = _certified(table.fails)
    if not certified:
        return now, f"No fail threshold is certified. Here: {table.fails[now.fail_step].why}."
    at, pass_step = certified[-1], now.pass_step
    if pass_step < at:
        pass_step = min((one for one in _certified(table.passes) if one >= at), default=table.last)
    return Place(pass_step, at), f"The largest certified fail threshold: {cut_text(table.fails[at].cut)}."


def _choice(table: TuningTable, now: Place, explored: bool) -> tuple[list[int], list[int], str]:
    """The steps to choose from: all while exploring; certified ones; where a side has none, its handle stays."""
    if explored:
        every = list(range(table.last + 1))
        return every, every, "all thresholds (nothing is certified here)"
    return (
        _certified(table.passes) or [now.pass_step],
        _certified(table.fails) or [now.fail_step],
        "the certified thresholds" if _certified(table.passes) else "what the certificate leaves (no pass threshold)",
    )


_CROSSED = "Every certified pass threshold lies below the fail handle: move that one down first."


def lowest_cost(table: TuningTable, now: Place, prices: Prices, explored: bool) -> tuple[Place, str]:
    """The lowest expected cost on the labels shown: false passes, false fails and reviews, each at its price."""
    passes, fails, what = _choice(table, now, explored)
    price = prices.in_millionths()
    best: tuple[int, int, int] | None = None
    options = []
    following = iter(fails)
    other = next(following, None)
    for at in passes:
        while other is not None and other <= at:  # the best fail step so far stays open to all later pass steps
            step = table.fails[other]
            cost = price["false_fail"] * step.wrong - price["review"] * step.decided
            best = min(best or (cost, step.wrong, other), (cost, step.wrong, other))
            other = next(following, None)
        if best is not None:
            step = table.passes[at]
            cost = price["false_pass"] * step.wrong - price["review"] * step.decided
            options.append((cost + best[0], step.wrong + best[1], at, best[2]))
    if not options:
        return now, _CROSSED
    place = Place(*min(options)[2:])
    cost_text = table.figures(place.pass_step, place.fail_step, prices).texts()["expected_cost"]
    return place, f"The lowest expected cost among {what}: {cost_text} for 1,000 answers."


def review_at_most(table: TuningTable, now: Place, most: float, explored: bool) -> tuple[Place, str]:
    """The fewest wrong answers with at most a share `most` of the pool left to review; else the least review."""
    if isinstance(most, bool) or not isinstance(most, int | float) or not 0 <= most <= 1:
        raise InputError(f"the share to review is {most!r}; give one from 0 to 1 (0.25 for 25 %)")
    passes, fails, what = _choice(table, now, explored)
    failed, wrongs = ([getattr(table.fails[at], name) for at in fails] for name in ("pool", "wrong"))
    options = []
    for at in passes:
        room = bisect_right(fails, at)
        if not room:
            continue
        # Both rise with the step: the first that is enough has the fewest wrong fails, and so has the last of its like.
        due = table.pool - table.passes[at].pool - most * table.pool
        other = min(bisect_left(failed, due, hi=room), room - 1)
        other = bisect_right(wrongs, wrongs[other], hi=room) - 1
        left = table.pool - table.passes[at].pool - failed[other]
        missed = left > most * table.pool
        wrong = table.passes[at].wrong + table.fails[fails[other]].wrong
        options.append((missed, left if missed else 0, wrong, left, at, fails[other]))
    if not options:
        return now, _CROSSED
    missed, _, _, left, pass_step, fail_step = min(options)
    reached = percent(left, table.pool)
    if missed:
        return Place(pass_step, fail_step), f"No less than {reached} to review among {what}: there the handles are."
    return Place(pass_step, fail_step), f"{reached} to review, with the fewest wrong answers among {what}."
