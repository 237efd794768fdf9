"""Every place that a handle can take, with all its figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from calibkit.bands import Bands, FailEvidence, PassEvidence, fail_intervals, promise, short_decimal
from calibkit.calibration import Calibration
from calibkit.certificate import Certificate, boundary
from calibkit.curve import compute_curve, precision_band, recall_band
from calibkit.policy import Evidence
from calibkit.tuning.figures import SIDES, Figures, Prices, Side, Step

_BINS: Final = 40
_NO_BANDS: Final = Bands(None, None)
_PASS_REASON, _FAIL_REASON = "\ue000", "\ue001"
"""Stand in a sentence where the reason of a side that is not certified belongs."""


@dataclass(frozen=True)
class TuningTable:
    """All steps of both handles, for the labelled answers that one calibration may show.

    Step k of 0..n lies between the k-th and the (k + 1)-th of the n distinct scores: every threshold there decides
    the labelled answers alike. At step k the pass handle passes all from the (k + 1)-th score up, at the last one
    nothing by its score; the fail handle fails all up to the k-th, at the first one nothing by its score.
    """

    scores: NDArray[np.float64]
    """Shape (n,), rising: the distinct scores of the labelled answers."""
    passes: tuple[Step, ...]
    """Length n + 1."""
    fails: tuple[Step, ...]
    """Length n + 1."""
    labelled: int
    pool: int
    zones: Mapping[Side, Sequence[tuple[float, float]]]
    """Certified values of either threshold, as (low, high]; an end may be infinite."""
    histogram: Mapping[str, Sequence[float]]
    """Edges, and between them the counts of acceptable, not_acceptable and cannot_say labels and of the pool."""
    early: Mapping[Side, int]
    """Labelled answers that are decided before the score: they have no place on its axis."""
    sentences: Mapping[str, str] = field(repr=False)
    """How the two sides stand -> the promise, with marks for reasons."""

    @classmethod
    def of(cls, calibration: Calibration, pool: NDArray[np.float64], pinned: Bands = _NO_BANDS) -> TuningTable:
        """Compute it.

        Parameters
        ----------
        calibration
            Whose labelled answers are shown.
        pool
            Shape (n_pairs,): the place of every answer of the pool: inf and -inf where it is decided before the
            score, NaN where it has no score.
        pinned
            Thresholds that are shown as they are, in place of the short decimals of their steps.
        """
        place, evidence, labels = calibration.ranking.place, _evidence(calibration), _evidence(calibration).labels
        scores, pool = np.unique(place[np.isfinite(place)]), np.sort(pool)
        edges = np.concatenate([[-np.inf], scores, [np.inf]])
        pass_cuts, fail_cuts = _cuts(edges, pinned)
        fails = _steps(calibration, "fail", edges[:-1], fail_cuts, pool)
        certificates = calibration.pass_certificate, calibration.fail_certificate
        return cls(
            scores=scores,
            passes=_steps(calibration, "pass", edges[1:], pass_cuts, pool),
            fails=fails,
            labelled=labels.certifying if evidence.accounting else labels.development,
            pool=len(pool),
            zones={
                "pass": certificates[0].intervals if certificates[0] else [],
                "fail": fail_intervals(certificates[1]) if certificates[1] else [],
            },
            histogram=_histogram(calibration, pool),
            early={"pass": int(np.isposinf(place).sum()), "fail": int(np.isneginf(place).sum())},
            sentences=_sentences(evidence, fails[0].decided),
        )

    @property
    def last(self) -> int:
        """The last step."""
        return len(self.scores)

    def figures(self, pass_step: int, fail_step: int, prices: Prices | None = None) -> Figures:
        """Look up what two handles do."""
        passes, fails = self.passes[pass_step], self.fails[fail_step]
        sentence = self.sentences[f"{passes.standing}, {fails.standing}"]
        sentence = sentence.replace(_PASS_REASON, passes.reason).replace(_FAIL_REASON, fails.reason)
        return Figures(passes, fails, self.labelled, self.pool, sentence, prices or Prices())

    def step_of(self, side: Side, threshold: float | None) -> int:
        """The step at which a threshold lies."""
        if threshold is None:
            return self.last if side == "pass" else 0
        return int(np.searchsorted(self.scores, threshold, side="left"))

    def to_record(self) -> dict[str, Any]:
        """All that a browser needs, as JSON: columns by step, their texts made here."""
        record: dict[str, Any] = {
            "scores": self.scores.tolist(),
            "labelled": self.labelled,
            "pool": self.pool,
            "histogram": dict(self.histogram),
            "early": dict(self.early),
            "sentences": dict(self.sentences),
            "reason_marks": [_PASS_REASON, _FAIL_REASON],
            # JSON has no infinite numbers.
            "zones": {
                side: [[end if np.isfinite(end) else None for end in zone] for zone in self.zones[side]]
                for side in SIDES
            },
        }
        plain = ("cut", "decided", "wrong", "right", "pool", "certified", "reason", "standing", "slices")
        for side, steps in (("pass", self.passes), ("fail", self.fails)):
            texts = [step.texts() for step in steps]
            record[side] = {
                **{name: [getattr(step, name) for step in steps] for name in plain},
                "bands": [step.right_band for step in steps],
                "found_bands": [step.found_band for step in steps],
                "findable": steps[0].findable,
                "texts": {name: [text[name] for text in texts] for name in texts[0]},
            }
        return record


def _evidence(calibration: Calibration) -> Evidence:
    assert calibration.policy.evidence is not None  # every calibration makes some
    return calibration.policy.evidence


def _cuts(edges: NDArray[np.float64], pinned: Bands) -> tuple[list[float | None], list[float | None]]:
    """The threshold of every step, for either handle."""
    shown = [short_decimal(*gap) for gap in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)]
    passes: list[float | None] = [*shown[:-1], None]
    fails: list[float | None] = [None, *shown[1:]]
    # Where both handles stand at one step, the fail threshold must not lie above the pass threshold.
    if (high := pinned.pass_at_or_above) is not None:
        at = int(np.searchsorted(edges[1:-1], high, side="left"))
        passes[at] = high
        fails[at] = None if (other := fails[at]) is None else min(other, high)
    if (low := pinned.fail_below) is not None:
        at = int(np.searchsorted(edges[1:-1], low, side="left"))
        fails[at] = low
        passes[at] = None if (other := passes[at]) is None else max(other, low)
    return passes, fails


def _steps(
    calibration: Calibration,
    side: Side,
    ends: NDArray[np.float64],
    cuts: Sequence[float | None],
    pool: NDArray[np.float64],
) -> tuple[Step, ...]:
    """The steps of one handle; `ends` holds the last score that each decides, `pool` is sorted."""
    ranking, evidence = calibration.ranking, _evidence(calibration)
    # The fail side is the mirror: the lowest score ranks first.
    sign, wrong = (1, ranking.rejected) if side == "pass" else (-1, ranking.accepted)
    place, ends = sign * ranking.place, sign * ends
    decided, n_wrong = _inside(place, ends), _inside(place[wrong], ends)
    right_bands, found_bands = _curve_bands(place, ~wrong, evidence.pass_.confidence or 0.9)
    certificate = calibration.pass_certificate if side == "pass" else calibration.fail_certificate
    certified: dict[float, bool] = {}
    if certificate is not None:
        certified = dict(zip(certificate.thresholds.tolist(), certificate.certified.tolist(), strict=True))
    pooled = _pool_counts(side, cuts, pool)
    slices = _slices(calibration, side, place, wrong, ends, decided, n_wrong)
    steps = []
    for at, end in enumerate(ends.tolist()):
        n, k, holds = int(decided[at]), int(n_wrong[at]), certified.get(end, False)
        steps.append(
            Step(
                cut=cuts[at],
                decided=n,
                wrong=k,
                findable=int((~wrong).sum()),
                right_band=right_bands.get(end),
                found_band=found_bands.get(end),
                pool=pooled[at],
                certified=holds,
                why=_why(evidence, side, certificate, n, k, holds),
                reason=_reason(calibration, side, cuts[at]),
                slices=slices[at],
            )
        )
    return tuple(steps)


def _inside(place: NDArray[np.float64], ends: NDArray[np.float64]) -> NDArray[np.int64]:
    """How many answers rank at or above each end."""
    return len(place) - np.searchsorted(np.sort(place), ends, side="left")


_Limits = dict[float, tuple[float, float]]


def _curve_bands(place: NDArray[np.float64], right: NDArray[np.bool_], confidence: float) -> tuple[_Limits, _Limits]:
    """Threshold -> limits of the share of the decided that is right, and of the right ones that are found."""
    if not len(place):
        return {}, {}
    curve = compute_curve(place, right)
    found = []
    for band in (precision_band(curve, 1 - confidence), recall_band(curve, 1 - confidence)):
        limits = zip(band.low.tolist(), band.high.tolist(), strict=True)
        found.append(dict(zip(curve.thresholds.tolist(), limits, strict=True)))
    return found[0], found[1] if curve.n_acceptable else {}


def _pool_counts(side: Side, cuts: Sequence[float | None], pool: NDArray[np.float64]) -> list[int]:
    """Answers of the sorted pool that each threshold passes (fails)."""
    scored = pool[~np.isnan(pool)]
    outermost = np.inf if side == "pass" else -np.inf
    below = np.searchsorted(scored, [outermost if cut is None else cut for cut in cuts], side="left")
    if side == "pass":
        return [len(scored) - n for n in below.tolist()]
    early = int(np.isneginf(scored).sum())
    return [max(n, early) for n in below.tolist()]


def _slices(
    calibration: Calibration,
    side: Side,
    place: NDArray[np.float64],
    wrong: NDArray[np.bool_],
    ends: NDArray[np.float64],
    decided: NDArray[np.int64],
    n_wrong: NDArray[np.int64],
) -> list[tuple[str, ...]]:
    """For each step the tags that miss the target while the whole meets it, those with most wrong answers first."""
    evidence = _evidence(calibration)
    target = evidence.pass_.target if side == "pass" else evidence.fail.target
    if target is None:
        return [()] * len(ends)
    alpha, told = round(1 - target, 12), "passes" if side == "pass" else "fails"
    members: dict[str, list[int]] = {}
    for at, position in enumerate(calibration.ranked):
        for tag in dict.fromkeys(calibration.pairs[position].tags):
            members.setdefault(tag, []).append(at)
    found: list[list[tuple[int, str]]] = [[] for _ in ends]
    for tag, own in members.items():
        some, bad = _inside(place[own], ends), _inside(place[own][wrong[own]], ends)
        misses = (bad > 0) & (bad >= alpha * some) & (n_wrong < alpha * decided)
        for at in np.flatnonzero(misses).tolist():
            found[at].append((-int(bad[at]), f"{tag}: {bad[at]} of {some[at]} {told} wrong"))
    return [tuple(text for _, text in sorted(each)) for each in found]


def _why(
    evidence: Evidence, side: Side, certificate: Certificate | None, decided: int, wrong: int, certified: bool
) -> str:
    """What the certificate makes of a step, in counts."""
    what = "passes" if side == "pass" else "fails"
    if evidence.accounting is None:
        return "not certified: shown on the development part, where nothing is"
    if certificate is None:
        return f"not certified: no certificate for the {what} was asked for"
    if not decided:
        return f"not certified: no labelled answer {what}"
    tolerated = boundary(certificate.alpha, certificate.delta, certificate.n)
    if certified:
        return f"certified: {wrong} of {decided} {what} are wrong, {tolerated[decided]} may be"
    if tolerated[decided] >= 0:
        return f"not certified: {wrong} of {decided} {what} are wrong, no more than {tolerated[decided]} may be"
    least = fewest_labels(certificate.alpha, certificate.delta, certificate.n)
    return f"not certified: {decided} {what} are too few to tell, {least} without a wrong one are due"


def fewest_labels(alpha: float, delta: float, n: int) -> str:
    """How many of n labels certify a threshold when none of them is wrong.

    >>> fewest_labels(0.05, 0.1, 200), fewest_labels(0.05, 0.1, 20)
    ('62', 'more than 20')
    """
    enough = np.flatnonzero(boundary(alpha, delta, n) >= 0)
    return str(enough[0]) if len(enough) else f"more than {n}"


def _reason(calibration: Calibration, side: Side, threshold: float | None) -> str:
    """What the evidence says of a threshold that is not certified, once it is set."""
    evidence, stage = _evidence(calibration), calibration.policy.bands_stage
    assert stage is not None
    own: PassEvidence | FailEvidence = evidence.pass_ if side == "pass" else evidence.fail
    certificate = calibration.pass_certificate if side == "pass" else calibration.fail_certificate
    chosen = stage.pass_at_or_above if side == "pass" else stage.fail_below
    if threshold is None and chosen is None:
        needed = f"; about {own.labels_needed} random labels in all may do" if own.labels_needed else ""
        return f"{own.reason}{needed}"
    if evidence.accounting is None:
        return evidence.pass_.reason or ""
    if certificate is None:
        return "set by hand; a certificate for this side was not asked for"
    if threshold is None:
        return "the threshold was taken away by hand, and what is decided without it is not certified"
    where = "see intervals" if certificate.intervals else "which is empty"
    return f"{threshold:g} was set by hand and lies outside the certified set ({where})"


def _sentences(evidence: Evidence, early_fails: int) -> dict[str, str]:
    """The promise for every way in which the two sides may stand."""
    states = [Step(cut, 0, 0, 0, None, None, 0, held, "", "", ()) for cut in (0.0, None) for held in (True, False)]
    sentences = {}
    for passes in states:
        for fails in states:
            sides = (
                PassEvidence(certified=passes.certified, target=evidence.pass_.target, reason=_PASS_REASON),
                FailEvidence(certified=fails.certified, target=evidence.fail.target, reason=_FAIL_REASON),
            )
            confidence = {"confidence": evidence.pass_.confidence}
            sentences[f"{passes.standing}, {fails.standing}"] = tell_promise(
                evidence,
                sides[0].model_copy(update=confidence),
                sides[1].model_copy(update={**confidence, "below": early_fails}),
                Bands(passes.cut, fails.cut),
            )
    return sentences


def tell_promise(evidence: Evidence, passes: PassEvidence, fails: FailEvidence, bands: Bands) -> str:
    """The promise for these sides, about the pool and the labels of some evidence."""
    return promise(
        pool=evidence.pool.name,
        constructed=evidence.pool.kind == "constructed",
        drawn=evidence.labels.drawn,
        left_out=evidence.pool.left_out or (),
        passes=passes,
        fails=fails,
        bands=bands,
    )


def _histogram(calibration: Calibration, pool: NDArray[np.float64]) -> dict[str, list[float]]:
    ranking = calibration.ranking
    shown = np.concatenate([[0.0, 1.0], pool[np.isfinite(pool)], ranking.place[np.isfinite(ranking.place)]])
    edges = np.linspace(shown.min(), shown.max(), _BINS + 1)
    kinds = {
        "acceptable": ranking.place[~ranking.rejected],
        "not_acceptable": ranking.place[~ranking.accepted],
        "cannot_say": ranking.place[ranking.rejected & ranking.accepted],
        "pool": pool,
    }
    counts = {name: np.histogram(place[np.isfinite(place)], edges)[0].tolist() for name, place in kinds.items()}
    return {"edges": edges.tolist(), **counts}
