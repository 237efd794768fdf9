"""Bands: the two cuts, how they are chosen within the certified set, and the evidence that goes with them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from itertools import pairwise
from typing import Annotated, Final, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from calibkit.certificate import MOST_LABELS, Certificate, certify, labels_needed
from calibkit.pairs import AnswerPair, InputError, counted

MARGIN: Final = 1e-5
"""How far an exported threshold keeps from observed scores, where the gap allows: last-bit differences
between machines must not flip the answer that defined it."""

# YAML and JSON know lists only, which a strict model would not take for tuples.
Interval = Annotated[tuple[float | None, float | None], Field(strict=False)]
"""(low, high): every t with low < t <= high; None where there is no bound."""


@dataclass(frozen=True)
class Bands:
    """Pass: score >= pass_at_or_above. Fail: score < fail_below. Review between.

    Examples
    --------
    >>> Bands(0.8, 0.3).decide(0.8), Bands(0.8, 0.3).decide(0.3), Bands(None, None).decide(1.0)
    ('pass', 'review', 'review')
    """

    pass_at_or_above: float | None
    """None: nothing passes by its score."""
    fail_below: float | None
    """None: nothing fails by its score."""

    def __post_init__(self) -> None:
        for name, cut in (("pass_at_or_above", self.pass_at_or_above), ("fail_below", self.fail_below)):
            if cut is not None and not math.isfinite(cut):
                raise InputError(f"{name} must be a finite number, or none, not {cut}")
        if (
            self.pass_at_or_above is not None
            and self.fail_below is not None
            and self.pass_at_or_above < self.fail_below
        ):
            raise InputError(
                f"pass_at_or_above {self.pass_at_or_above} is below fail_below {self.fail_below}: "
                "an answer between them would pass and fail; raise the one or lower the other"
            )

    def decide(self, score: float) -> Literal["pass", "fail", "review"]:
        """Say what becomes of a score."""
        if self.pass_at_or_above is not None and score >= self.pass_at_or_above:
            return "pass"
        if self.fail_below is not None and score < self.fail_below:
            return "fail"
        return "review"


# --- the ranking that is certified ------------------------------------------------------------------


@dataclass(frozen=True)
class Ranking:
    """Labelled answers as the policy ranks them: deterministic passes, then by score, deterministic fails last.

    Certifying this ranking, not the scorer, covers all that the policy decides before a judge. Unscored
    answers go to review and stand in no ranking.
    """

    place: NDArray[np.float64]
    """Shape (n,): inf for deterministic passes, -inf for deterministic fails, else the score."""
    stage: Sequence[str]
    """Length n: the deterministic stage that decided, or "bands"."""
    rejected: NDArray[np.bool_]
    """Shape (n,): a person rejects the answer, or cannot say."""
    accepted: NDArray[np.bool_]
    """Shape (n,): a person accepts the answer, or cannot say."""

    @classmethod
    def of(cls, pairs: Sequence[AnswerPair], place: NDArray[np.float64], stage: Sequence[str]) -> Ranking:
        """Rank labelled pairs, leaving out those whose place is NaN (unscored).

        Raises
        ------
        InputError
            For a pair without a label: it would count as right on both sides.
        """
        for pair in pairs:
            if not pair.labelled:
                raise InputError(f"the pair {pair.id!r} has no label; rank labelled pairs only")
        kept = [at for at, value in enumerate(place) if not math.isnan(value)]
        return cls(
            place=place[kept],
            stage=[stage[at] for at in kept],
            rejected=np.array([pairs[at].counts_as_rejected for at in kept], dtype=bool),
            accepted=np.array([pairs[at].counts_as_accepted for at in kept], dtype=bool),
        )

    def certify_pass(self, alpha: float, delta: float) -> Certificate:
        """Certify the thresholds above which a person rejects less than alpha."""
        return certify(self.place, self.rejected, alpha, delta)

    def certify_fail(self, alpha: float, delta: float) -> Certificate:
        """Certify, on the negative scores, the cuts below which a person accepts less than alpha."""
        return certify(-self.place, self.accepted, alpha, delta)

    def counts(self, inside: NDArray[np.bool_], wrong: NDArray[np.bool_]) -> dict[str, tuple[int, int]]:
        """Answers inside a region, and the wrong ones among them, stage by stage."""
        stages: dict[str, tuple[int, int]] = {}
        for at in np.flatnonzero(inside).tolist():
            n, k = stages.get(self.stage[at], (0, 0))
            stages[self.stage[at]] = (n + 1, k + int(wrong[at]))
        return stages

    def passes(self, bands: Bands) -> NDArray[np.bool_]:
        """Shape (n,): whether the policy passes each answer."""
        cut = np.inf if bands.pass_at_or_above is None else bands.pass_at_or_above
        return self.place >= cut

    def fails(self, bands: Bands) -> NDArray[np.bool_]:
        """Shape (n,): whether the policy fails each answer."""
        if bands.fail_below is None:
            return np.isneginf(self.place)
        return self.place < bands.fail_below


# --- choosing within the certified set --------------------------------------------------------------


def fail_intervals(certificate: Certificate) -> list[tuple[float, float]]:
    """The certified values of fail_below, as (low, high] intervals, rising.

    The certificate stands on negative scores and certifies "score <= s" for observed s; as FAIL is
    score < fail_below, the same answers fail for all fail_below in (s, next higher score].

    >>> fail_intervals(certify([-0.1] * 90 + [-0.6] * 10, [False] * 90 + [True] * 10))
    [(0.1, 0.6)]
    """
    return [(-high, -low) for low, high in certificate.intervals]


def short_decimal(low: float, high: float) -> float:
    """The shortest decimal in (low, high], `MARGIN` away from both ends, or a quarter of a gap that is too narrow.

    Of several the one nearest the middle. An end may be infinite.

    >>> short_decimal(0.8297, 0.8312475), short_decimal(0.5, 0.50000002), short_decimal(-math.inf, 0.0)
    (0.83, 0.50000001, -0.5)
    """
    if math.isinf(low) and math.isinf(high):
        return 0.0
    if math.isinf(low):
        low = high - 1 - abs(high) * 1e-9
    if math.isinf(high):
        high = low + 1 + abs(low) * 1e-9
    floor, ceiling = Decimal(low), Decimal(high)
    gap, margin = ceiling - floor, Decimal(MARGIN)
    if gap < 2 * margin:
        margin = gap / 4
    middle = (floor + ceiling) / 2
    for digits in range(18):
        unit = Decimal(1).scaleb(-digits)
        first = ((floor + margin) / unit).to_integral_value(ROUND_CEILING)
        last = ((ceiling - margin) / unit).to_integral_value(ROUND_FLOOR)
        if first <= last:
            nearest = min(max((middle / unit).to_integral_value(), first), last)
            value = float(nearest * unit) + 0.0  # no -0.0
            if low < value <= high:
                return value
    value = float(middle)
    return value if low < value <= high else high


def _gaps(intervals: Sequence[tuple[float, float]], observed: NDArray[np.float64]) -> list[tuple[float, float]]:
    """Cut (low, high] intervals at the observed scores: within one gap every threshold decides alike."""
    cuts = np.unique(observed[np.isfinite(observed)]).tolist()
    gaps = []
    for low, high in intervals:
        inner = [low, *(cut for cut in cuts if low < cut < high), high]
        gaps += list(pairwise(inner))
    return sorted(gaps)


def choose_bands(
    ranking: Ranking,
    pass_certificate: Certificate,
    fail_certificate: Certificate | None = None,
    *,
    pass_at: float | None = None,
    fail_below: float | None = None,
) -> tuple[Bands, bool, bool]:
    """Choose the smallest certified pass threshold and the largest certified fail cut.

    Where the two cross, one of them moves to another certified value of its own side: the one that leaves less
    to review.

    Parameters
    ----------
    ranking, pass_certificate, fail_certificate
        What was certified, and on what.
    pass_at, fail_below
        Cuts that are set already; the other side makes room for them.

    Returns
    -------
    (bands, pass_certified, fail_certified)
        A side whose value is None is certified where its deterministic decisions alone are.

    Examples
    --------
    >>> ranking = Ranking(np.arange(100) / 100, ["bands"] * 100, np.arange(100) < 20, np.arange(100) >= 20)
    >>> choose_bands(ranking, ranking.certify_pass(0.05, 0.1))
    (Bands(pass_at_or_above=0.195, fail_below=None), True, False)
    """
    pass_gaps = _gaps(pass_certificate.intervals, ranking.place)
    fail_gaps = _gaps(fail_intervals(fail_certificate), ranking.place) if fail_certificate else []
    pass_values = [_exported(gap, np.inf) for gap in pass_gaps] if pass_at is None else [pass_at]
    fail_values = [_exported(gap, -np.inf) for gap in fail_gaps][::-1] if fail_below is None else [fail_below]
    lowest_pass = pass_values[0] if pass_values else None
    highest_fail = fail_values[0] if fail_values else None
    if lowest_pass is None or highest_fail is None or highest_fail <= lowest_pass:
        options = [(lowest_pass, highest_fail)]
    else:
        options = []
        if fail_below is None:
            options.append((lowest_pass, next((fail for fail in fail_values if fail <= lowest_pass), None)))
        if pass_at is None:
            options.append((next((value for value in pass_values if value >= highest_fail), None), highest_fail))

    def decided(option: tuple[float | None, float | None]) -> int:
        bands = _bands(option)
        return int((ranking.passes(bands) | ranking.fails(bands)).sum())

    chosen = max(options, key=decided)
    certified_pass = chosen[0] is not None if pass_at is None else pass_certificate.holds_at(pass_at)
    certified_fail = chosen[1] is not None
    if fail_below is not None:
        certified_fail = fail_certificate is not None and any(
            low < fail_below <= high for low, high in fail_intervals(fail_certificate)
        )
    return _bands(chosen), certified_pass, certified_fail


def _exported(gap: tuple[float, float], deterministic: float) -> float:
    """The value to export for a gap; an infinite one where only deterministic decisions are certified."""
    if deterministic > 0 and gap[1] == np.inf:
        return math.inf
    if deterministic < 0 and gap[0] == -np.inf:
        return -math.inf
    return short_decimal(*gap)


def _bands(option: tuple[float | None, float | None]) -> Bands:
    pass_at, fail_below = (None if value is None or math.isinf(value) else value for value in option)
    return Bands(pass_at, fail_below)


# --- evidence ---------------------------------------------------------------------------------------


class _SideEvidence(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    certified: bool
    target: float | None = None
    """The precision asked for: 1 - alpha."""
    confidence: float | None = None
    by_stage: dict[str, Annotated[tuple[int, int], Field(strict=False)]] | None = None
    """For each stage how many certifying answers it decides, and how many of these wrongly."""
    intervals: list[Interval] | None = None
    """The certified thresholds."""
    reason: str | None = None
    """Why it is not certified."""
    labels_needed: int | None = None
    """About how many random labels would certify the best region seen, with probability 0.8."""
    set_by: str | None = None
    """Who set the threshold by hand."""
    because: str | None = None
    """Why they did."""


class PassEvidence(_SideEvidence):
    """What is known of the passes."""

    above: int | None = None
    """Certifying answers that pass."""
    rejects: int | None = None
    """Those among them that a person rejects, or cannot say."""


class FailEvidence(_SideEvidence):
    """What is known of the fails."""

    below: int | None = None
    """Certifying answers that fail."""
    accepts: int | None = None
    """Those among them that a person accepts, or cannot say."""


def unbounded(intervals: Sequence[tuple[float, float]]) -> list[Interval]:
    """Write infinite ends as None."""
    return [(None if math.isinf(low) else low, None if math.isinf(high) else high) for low, high in intervals]


def explain_missing(certificate: Certificate) -> tuple[str, int | None]:
    """Say why a certificate is empty, and about how many labels would fill it.

    The estimate takes for each step the observed share of wrong answers, a half added, for the true one; of too few
    labels to see anything, a tenth of alpha everywhere.

    Examples
    --------
    >>> explain_missing(certify([0.9, 0.8, 0.7], [False, False, False]))
    ('3 labels can tell too little: without any wrong answer among them at least 45 are due', 86)
    >>> explain_missing(certify(np.arange(200), [True, False] * 100))[1] is None
    True
    """
    alpha, delta, n = certificate.alpha, certificate.delta, certificate.n
    if certificate.intervals:
        return "all its certified thresholds lie across the other side's", None
    floor = math.ceil(math.log(delta) / math.log(1 - alpha))
    if n < floor:
        due = f"without any wrong answer among them at least {floor} are due"
        return f"{counted(n, 'label')} can tell too little: {due}", labels_needed(alpha, delta, alpha / 10, 1)
    finite = certificate.thresholds > -np.inf
    above, wrong = certificate.above[finite], certificate.rejects[finite]
    if not len(above):
        return "no labelled answer has a score", None
    shares = wrong / above
    best = int(np.lexsort((-above, shares))[0])
    seen = f"at the best threshold {wrong[best]} of {above[best]} labelled answers are wrong"
    places = {best, *np.linspace(0, len(above) - 1, 12).round().astype(int).tolist()}
    regions = [((wrong[at] + 0.5) / (above[at] + 1), above[at] / n) for at in sorted(places)]
    regions.sort(key=lambda region: -region[1] * max(alpha - region[0], 0) ** 2)  # the likely best bounds the others
    needed: int | None = None
    for error, share in regions:
        estimate = labels_needed(alpha, delta, error, share, most=needed or MOST_LABELS)
        needed = needed if estimate is None else estimate
    if needed is None:
        return f"{seen}, and nothing points to a threshold of this score that keeps the share under {alpha:.3g}", None
    return f"{seen}: too few to tell that the share is under {alpha:.3g}", max(needed, n + 1)


def promise(
    *,
    pool: str,
    constructed: bool,
    drawn: str,
    left_out: Sequence[str],
    passes: PassEvidence,
    fails: FailEvidence,
    bands: Bands,
) -> str:
    """The promise in plain words, or that there is none and why."""
    written = f"{pool} (a set written for the purpose, no traffic)" if constructed else pool
    pool_words = written + (f" without the rows where {' or '.join(left_out)}" if left_out else "")
    condition = (
        f"provided that the labelled answers are a random sample of {pool_words}, " if drawn == "assumed" else ""
    )
    sides = []
    if passes.certified and passes.target is not None:
        what = (
            "passes by itself"
            if bands.pass_at_or_above is not None
            else "passes before any score (it passes no others)"
        )
        sides.append(
            f"fewer than {_percent(1 - passes.target)} of the answers that this policy {what} would be rejected"
        )
    if fails.certified and fails.target is not None:
        what = "those that it" if sides else "the answers that this policy"
        sides.append(f"fewer than {_percent(1 - fails.target)} of {what} fails would be accepted")
    confidence = passes.confidence or fails.confidence
    if not sides or confidence is None:
        return f"Nothing is certified for {pool_words}: {_why_not(passes)}."
    sentence = (
        f"{condition}with {_percent(confidence)} confidence {' and '.join(sides)} by a person, for a random answer to "
        f"a random question of {pool_words}; this holds for every certified threshold at once."
    )
    if not passes.certified:
        sentence += f" What it passes is not certified: {_why_not(passes)}."
    elif not fails.certified and (bands.fail_below is not None or fails.below):
        sentence += f" What it fails is not certified: {_why_not(fails)}."
    return sentence[0].upper() + sentence[1:]


def _why_not(side: PassEvidence | FailEvidence) -> str:
    needed = f"; about {side.labels_needed} random labels in all may do" if side.labels_needed else ""
    return f"{side.reason or 'it carries no evidence'}{needed}"


def _percent(share: float) -> str:
    return f"{round(100 * share, 6):g} %"
