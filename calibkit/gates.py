"""Gates: what a run of grading must keep to, read from plain values and checked one by one."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from calibkit.grading import Grading, Tally
from calibkit.pairs import InputError, counted

_FEW: Final = 5
"""Ids that a line names."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What some answers must keep to; None where nothing is asked."""

    pass_rate: float | None = None
    """The pass rate must be at least this."""
    pass_rate_lower: float | None = None
    """The lower limit of its interval must be at least this, which asks for enough answers too."""
    max_reviews: float | None = None
    """The share of all answers that is left to review must be at most this."""
    max_errors: float | None = None
    """The share of all answers that brought an error must be at most this."""


_LIMITS: Final = ("pass_rate", "pass_rate_lower", "max_reviews", "max_errors")


@dataclass(frozen=True, slots=True)
class Gates:
    """What a run must keep to."""

    overall: Limits = Limits()
    tags: Mapping[str, Limits] = field(default_factory=dict)
    critical: bool = False
    """Whether each critical case must pass."""


@dataclass(frozen=True, slots=True)
class GateResult:
    """Whether a run keeps to one gate."""

    gate: str
    """What is asked, as in "tag refund: pass_rate at least 0.95"."""
    held: bool
    told: str
    """What was found."""
    cases: tuple[str, ...] = ()
    """Ids of the critical cases that do not pass."""


def parse_gates(value: object, where: str = "gates") -> Gates:
    """Read gates from plain values, as YAML or JSON gives them.

    Parameters
    ----------
    value
        A mapping with some of: pass_rate, pass_rate_lower, max_reviews, max_errors (shares from 0 to 1), tags (tag ->
        the same four), critical ("all").
    where
        What an error calls them.

    Raises
    ------
    InputError
        With where, the key, what is wrong and the cure.

    Examples
    --------
    >>> gates = parse_gates({"pass_rate": 0.9, "tags": {"refund": {"pass_rate": 0.95}}, "critical": "all"})
    >>> gates.overall.pass_rate, gates.tags["refund"].pass_rate, gates.critical
    (0.9, 0.95, True)
    >>> parse_gates({"pass_rat": 0.9}, "gates.yaml")
    Traceback (most recent call last):
    calibkit.pairs.InputError: gates.yaml: there is no gate 'pass_rat'; the nearest: pass_rate
    """
    found = _known(value, (*_LIMITS, "tags", "critical"), where)
    tags = found.get("tags", {})
    if not isinstance(tags, Mapping) or ("tags" in found and not tags):
        raise InputError(f"{where}: tags must name tags with their gates, as in refund: {{pass_rate: 0.95}}")
    if "critical" in found and found["critical"] != "all":
        raise InputError(f"{where}: critical is {_shown(found['critical'])}; write all, or leave it out")
    by_tag = {}
    for tag, asked in tags.items():
        of_tag = f"{where}: tags.{' '.join(str(tag).split())[:60]}"
        by_tag[str(tag)] = _limits(_known(asked, _LIMITS, of_tag), of_tag)
    return Gates(_limits(found, where), by_tag, "critical" in found)


def _known(value: object, names: Sequence[str], where: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise InputError(f"{where}: gates are keys with values, as in pass_rate: 0.9, not {_shown(value)}")
    for key in value:
        if key not in names:
            nearest = difflib.get_close_matches(str(key)[:60], names, n=1, cutoff=0) or names
            raise InputError(f"{where}: there is no gate {_shown(key)}; the nearest: {nearest[0]}")
    if not value:
        raise InputError(f"{where}: no gate is set; set one, as in pass_rate: 0.9")
    return value


def _limits(found: Mapping[str, object], where: str) -> Limits:
    shares: dict[str, float] = {}
    for name in _LIMITS:
        if name in found:
            share = found[name]
            if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share <= 1:
                raise InputError(f"{where}: {name} is {_shown(share)}; give a share from 0 to 1, as in 0.9")
            shares[name] = float(share)
    return Limits(**shares)


def _shown(value: object) -> str:
    shown = " ".join(repr(value[:60] if isinstance(value, str) else value).split())
    return shown if len(shown) <= 60 else shown[:59] + "…"


def check_gates(grading: Grading, gates: Gates) -> list[GateResult]:
    """Say of each gate whether a run keeps to it.

    A gate over nothing (a tag that no answer has, no critical case) is not held: it would guard nothing.

    Examples
    --------
    >>> from calibkit.grading import AnswerPair, Verdict, add_up
    >>> grading = add_up([AnswerPair("a", ("4",), "5", tags=("critical",))], [Verdict("a", "fail", "bands", 0.1, "")])
    >>> [result] = check_gates(grading, Gates(critical=True))
    >>> result.held, result.cases
    (False, ('a',))
    """
    results = _check_limits("", gates.overall, grading.total)
    for tag, limits in gates.tags.items():
        if tag in grading.by_tag:
            results += _check_limits(f"tag {tag}: ", limits, grading.by_tag[tag])
        else:
            results.append(GateResult(f"tag {tag}", False, f"no answer has the tag {tag!r}"))
    if gates.critical:
        missed = tuple(case.id for case in grading.critical if case.outcome != "pass")
        told = f"{len(grading.critical) - len(missed)} of {counted(len(grading.critical), 'critical case')} pass"
        if missed:
            told += f"; not {_few(missed)}"
        elif not grading.critical:
            told = "no case is marked critical"
        results.append(GateResult("critical: all pass", bool(grading.critical) and not missed, told, missed))
    return results


def _check_limits(scope: str, limits: Limits, tally: Tally) -> list[GateResult]:
    passing = tally.pass_rate
    lower = passing.interval[0] if passing.interval else None
    graded = f"{passing.part} of {counted(passing.whole, 'answer')} without error"
    found: dict[str, tuple[float | None, str]] = {
        "pass_rate": (passing.value, graded),
        "pass_rate_lower": (lower, f"lower limit, {passing.confidence:.4g} confidence; {graded}"),
        "max_reviews": (tally.review_share, f"{tally.review} of {counted(tally.answers, 'answer')}"),
        "max_errors": (tally.error_share, f"{tally.error} of {counted(tally.answers, 'answer')}"),
    }
    results = []
    for name, (value, counts) in found.items():
        asked = getattr(limits, name)
        if asked is not None:
            least = name in ("pass_rate", "pass_rate_lower")
            held = value is not None and (value >= asked if least else value <= asked)
            told = "no answer was graded" if value is None else f"{value:.4g} ({counts})"
            gate = f"{scope}{name} {'at least' if least else 'at most'} {asked:g}"
            results.append(GateResult(gate, held, told))
    return results


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
    return ", ".join(names[:_FEW]) + more
