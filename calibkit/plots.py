"""Pictures of a calibration, after scikit-learn's displays: `from_calibration` or `plot`, then `ax_` and `figure_`.

A display only draws; what it draws was computed elsewhere. Colours are those of Okabe and Ito (2008), and whatever
differs in colour differs in line style, hatch or marker too. There is no pyplot: figures are plain objects.
"""

from __future__ import annotations

import io
import itertools
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Self

import numpy as np
from numpy.typing import NDArray

from calibkit.bands import Bands, fail_intervals
from calibkit.calibration import Calibration
from calibkit.curve import Curve, CurveBand, precision_band, recall_band
from calibkit.pairs import InputError, counted
from calibkit.planning import Plan, Side
from calibkit.policy import Histogram

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

_BLUE: Final = "#0072B2"
_VERMILION: Final = "#D55E00"
_GREEN: Final = "#009E73"
_GREY: Final = "#595959"
# Tints of these and of reddish purple, mixed with white: transparency would take the hatch of an SVG with it.
_ZONES: Final[dict[str, dict[str, Any]]] = {
    "pass": {"fc": "#E6F5F1", "ec": "#73CAB2", "hatch": "///"},
    "fail": {"fc": "#FAF2F6", "ec": "#E0AFCB", "hatch": "\\\\\\"},
}
_BARS: Final[dict[str, dict[str, Any]]] = {
    "acceptable": {"fc": "#73B1D5"},
    "not acceptable": {"fc": "#E8A673", "hatch": "xxx"},
    "cannot say": {"fc": "#C8C8C8", "hatch": "|||"},
}

_FEW: Final = 12
"""So few points are marked one by one."""
_FAIL_LABEL, _PASS_LABEL = 0.4, 0.5
"""How much of the frame's width a threshold's label may take."""
_GAP: Final = 0.008


def require_matplotlib() -> None:
    """Refuse, before anything is computed or spent, where figures cannot be drawn.

    Raises
    ------
    InputError
        Where matplotlib is not installed.
    """
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise InputError("figures need matplotlib: pip install 'calibkit[notebooks]'") from None


@dataclass(frozen=True)
class Decision:
    """What both displays show of the policy: certified zones, exported thresholds, and what has no score."""

    scorer: str
    bands: Bands
    pass_certified: bool
    fail_certified: bool
    pass_zone: Sequence[tuple[float, float]]
    """Certified values of pass_at_or_above, as (low, high]; an end may be infinite."""
    fail_zone: Sequence[tuple[float, float]]
    """Certified values of fail_below, as (low, high]."""
    early_passes: int
    """Answers that pass before a score is asked for; they have no place on an axis of scores."""
    early_fails: int
    span: tuple[float, float]
    """The scores to show: 0 to 1, and what lies outside."""

    @classmethod
    def of(cls, calibration: Calibration) -> Decision:
        """Read it off a calibration."""
        stage, evidence = calibration.policy.bands_stage, calibration.policy.evidence
        assert stage is not None
        assert evidence is not None
        passes, fails, place = calibration.pass_certificate, calibration.fail_certificate, calibration.ranking.place
        cuts = [cut for cut in (stage.pass_at_or_above, stage.fail_below) if cut is not None]
        shown = [0.0, 1.0, *place[np.isfinite(place)].tolist(), *cuts]
        return cls(
            scorer=stage.scorer.name,
            bands=stage.bands,
            pass_certified=evidence.pass_.certified,
            fail_certified=evidence.fail.certified,
            pass_zone=passes.intervals if passes else (),
            fail_zone=fail_intervals(fails) if fails else (),
            early_passes=int(np.isposinf(place).sum()),
            early_fails=int(np.isneginf(place).sum()),
            span=(min(shown), max(shown)),
        )

    @property
    def limits(self) -> tuple[float, float]:
        """The ends of the axis: the span and a little air."""
        air = 0.02 * (self.span[1] - self.span[0])
        return self.span[0] - air, self.span[1] + air

    @property
    def without_score(self) -> str:
        """How many answers are decided before the score; empty where none is."""
        told = [
            f"{counted(n, 'answer')} {verb if n > 1 else singular}"
            for n, verb, singular in ((self.early_passes, "pass", "passes"), (self.early_fails, "fail", "fails"))
            if n
        ]
        return f"{' and '.join(told)} before the score" if told else ""


class _Display:
    """The Axes of a display, and what all displays draw of the decision."""

    decision: Decision
    ax_: Axes
    """The Axes drawn on."""
    figure_: Figure
    """Their figure."""
    zones_: list[Patch]
    """The shaded certified zones."""
    _own_figure: bool

    def _begin(self, ax: Axes | None) -> Axes:
        self._own_figure = ax is None
        if ax is None:
            require_matplotlib()
            from matplotlib.figure import Figure

            ax = Figure(figsize=(5.8, 4.6), layout="constrained").add_subplot()
        self.ax_, self.figure_, self.zones_ = ax, ax.figure, []  # type: ignore[assignment]
        ax.spines[["top", "right"]].set_visible(False)
        return ax

    def _label(self, ax: Axes, what: str, note: str, vertical: str) -> None:
        """Name the axes, with a note below; a scorer's name that fonts may lack is left out."""
        scorer = self.decision.scorer
        name = f" ({scorer[:40]})" if scorer.isascii() else ""
        ax.set_xlabel("\n".join([f"{what}{name}", *textwrap.wrap(note, 66)]), parse_math=False)
        ax.set_ylabel(vertical)

    def _draw_decision(self, ax: Axes) -> None:
        """Zones behind the data, thresholds before them, labels above the frame where nothing can hide them."""
        decision, (left, right) = self.decision, self.decision.limits
        ax.set_xlim(left, right)
        for side, intervals in (("pass", decision.pass_zone), ("fail", decision.fail_zone)):
            label: str | None = f"certified {side} thresholds"
            for low, high in intervals:
                ends = max(low, left), min(high, right)
                self.zones_.append(ax.axvspan(*ends, lw=0, zorder=0, label=label, **_ZONES[side]))
                label = None
        bands = decision.bands
        cuts = {"fail": bands.fail_below, "pass": bands.pass_at_or_above}
        at = {side: (cut - left) / (right - left) for side, cut in cuts.items() if cut is not None}
        # The fail label stands left of its line, the pass label right of it; without room, at the frame's edge.
        fail_at, pass_at = at.get("fail", 0.0), at.get("pass", 1.0)
        aligned = {
            "fail": (fail_at - _GAP, "right") if fail_at > _FAIL_LABEL else (0, "left"),
            "pass": (pass_at + _GAP, "left") if pass_at < 1 - _PASS_LABEL else (1, "right"),
        }
        crowded = len(at) == 2 and max(fail_at, _FAIL_LABEL) > min(pass_at, 1 - _PASS_LABEL)
        raised = ("fail" if fail_at < 0.5 else "pass") if crowded else ""
        for side, told, style, certified in (
            ("fail", "fail below", "-.", decision.fail_certified),
            ("pass", "pass at or above", "-", decision.pass_certified),
        ):
            if side in at:
                ax.axvline(cuts[side], color="black", ls=style, lw=1.4, zorder=4)  # type: ignore[arg-type]
                height, (anchor, align) = 1.07 if side == raised else 1.01, aligned[side]
                ax.plot([at[side]] * 2, [1, height], color="black", lw=0.8, transform=ax.transAxes, clip_on=False)
                label = f"{told} {cuts[side]:.10g}, {'certified' if certified else 'not certified'}"
                look: dict[str, Any] = {"ha": align, "va": "bottom", "fontsize": "small", "transform": ax.transAxes}
                ax.text(anchor, height, label, **look)

    def _finish(self, ax: Axes) -> Self:
        handles, labels = ax.get_legend_handles_labels()
        if handles and self._own_figure:  # below the frame, where it covers no data
            self.figure_.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False, fontsize="small")
        elif handles:
            ax.legend(fontsize="small")
        return self

    def _repr_png_(self) -> bytes:
        """What a notebook shows."""
        return render(self.figure_, "png")


class CurveDisplay(_Display):
    """Precision and recall at every threshold, or against each other.

    Parameters
    ----------
    curve
        The counts; None where no labelled answer has a place.
    decision
        Certified zones and exported thresholds.
    precision_band, recall_band
        Bands round the two; None for none.
    against
        "threshold", or "recall" for precision against recall.
    target
        The precision asked for, drawn as a thin line; None for none.

    Examples
    --------
    >>> from calibkit import AnswerPair, PairSet, calibrate
    >>> pairs = PairSet([
    ...     AnswerPair(str(n), (f"{n} crowns",), f"{n} {'crowns or so' if n % 5 else 'marks'}", labelled=True,
    ...                acceptable=n % 5 > 0) for n in range(100)
    ... ])
    >>> display = CurveDisplay.from_calibration(calibrate(pairs, precision=0.9))
    >>> display.ax_.get_ylabel(), len(display.zones_)
    ('precision, recall', 1)
    """

    def __init__(
        self,
        curve: Curve | None,
        decision: Decision,
        *,
        precision_band: CurveBand | None = None,
        recall_band: CurveBand | None = None,
        against: Literal["threshold", "recall"] = "threshold",
        target: float | None = None,
    ) -> None:
        self.curve, self.decision, self.against, self.target = curve, decision, against, target
        self.precision_band, self.recall_band = precision_band, recall_band

    @classmethod
    def from_calibration(
        cls,
        calibration: Calibration,
        ax: Axes | None = None,
        *,
        against: Literal["threshold", "recall"] = "threshold",
        bands: bool = True,
    ) -> Self:
        """Draw the curve of a calibration, with bands at its confidence (`bands=False`: without)."""
        evidence, curve = calibration.policy.evidence, calibration.curve
        assert evidence is not None
        delta = round(1 - (evidence.pass_.confidence or 0.9), 12)
        return cls(
            curve,
            Decision.of(calibration),
            precision_band=precision_band(curve, delta) if curve and bands else None,
            recall_band=recall_band(curve, delta) if curve and bands else None,
            against=against,
            target=evidence.pass_.target,
        ).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on given Axes, or on a figure of its own."""
        ax = self._begin(ax)
        if self.against == "threshold":
            self._against_threshold(ax)
        else:
            self._against_recall(ax)
        ax.set_ylim(-0.03, 1.03)
        if self.target is not None:
            ax.axhline(self.target, color=_GREY, lw=1, ls=(0, (1, 3)), zorder=1, label=f"target {self.target:.6g}")
        return self._finish(ax)

    def _against_threshold(self, ax: Axes) -> None:
        early = self.decision.without_score
        note = f"{early}; counted at every threshold" if early else ""
        self._label(ax, "threshold", note, "precision, recall")
        self._draw_decision(ax)
        curve, (left, right) = self.curve, self.decision.limits
        if curve is None or not np.isfinite(curve.thresholds).any():
            _say(ax, "no labelled answer has a score")
            return
        # Counts at t hold for all t down to the next lower score: "pre" steps over rising thresholds. Beyond the
        # highest score only what passes before the score is left.
        kept = np.flatnonzero(curve.thresholds > -np.inf)[::-1]
        kept = np.append(kept[0], kept)
        x = np.append(left, np.minimum(curve.thresholds[kept[1:]], right))
        for name, values, band, colour, style, marker in (
            ("precision", curve.precision, self.precision_band, _BLUE, "-", "o"),
            ("recall", curve.recall, self.recall_band, _VERMILION, "--", "s"),
        ):
            if np.isnan(values).any():
                continue
            if band is not None:
                look: dict[str, Any] = {"fc": (colour, 0.16), "ec": (colour, 0.6), "lw": 0.8, "ls": style}
                label = f"{name}, band for the eye"
                ax.fill_between(x, band.low[kept], band.high[kept], step="pre", label=label, **look)
            few: dict[str, Any] = {"marker": marker, "ms": 4.5, "markevery": slice(1, None)}
            marks = few if len(kept) <= _FEW else {}
            ax.step(x, values[kept], where="pre", color=colour, ls=style, lw=1.8, label=name, **marks)

    def _against_recall(self, ax: Axes) -> None:
        note = f"\n{self.decision.without_score}" if self.decision.without_score else ""
        ax.set(xlabel=f"recall{note}", ylabel="precision", xlim=(-0.02, 1.02))
        curve = self.curve
        if curve is None or not curve.n_acceptable:
            _say(ax, "no labelled answer is acceptable" if curve else "no labelled answer has a score")
            return
        kept = curve.thresholds > -np.inf
        thresholds, x, y = curve.thresholds[kept], curve.recall[kept], curve.precision[kept]
        if self.precision_band is not None:
            look: dict[str, Any] = {"fc": (_BLUE, 0.16), "ec": (_BLUE, 0.6), "lw": 0.8}
            low, high = self.precision_band.low[kept], self.precision_band.high[kept]
            ax.fill_between(x, low, high, label="precision, band for the eye", **look)
        ax.plot(x, y, color=_BLUE, lw=1.8, marker="o" if len(x) <= _FEW else "", ms=4.5, label="precision")
        certified = np.array([any(low < t <= high for low, high in self.decision.pass_zone) for t in thresholds])
        if certified.any():
            points = np.where(certified, x, np.nan), np.where(certified, y, np.nan)
            look = {"color": _GREEN, "lw": 7, "alpha": 0.4, "marker": "o", "ms": 6, "mew": 0}
            ax.plot(*points, label="certified pass thresholds", **look)
        cut = self.decision.bands.pass_at_or_above
        if cut is not None and len(above := np.flatnonzero(thresholds >= cut)):
            at = above[-1]
            ax.plot(x[at], y[at], "D", color="black", ms=7, label=f"pass at or above {cut:.10g}", zorder=5)


class HistogramDisplay(_Display):
    """Scores of the labelled answers: acceptable ones upwards, the others downwards.

    Parameters
    ----------
    edges
        Shape (n_bins + 1,).
    acceptable, not_acceptable, cannot_say
        Shape (n_bins,): how many answers in each bin.
    decision
        Certified zones and exported thresholds.
    pool
        Scores of all answers, whose outline is drawn to the height of the largest bar; None for none.
    """

    def __init__(
        self,
        edges: NDArray[np.float64],
        acceptable: NDArray[np.int64],
        not_acceptable: NDArray[np.int64],
        cannot_say: NDArray[np.int64],
        decision: Decision,
        *,
        pool: Histogram | None = None,
    ) -> None:
        self.edges, self.acceptable, self.not_acceptable = edges, acceptable, not_acceptable
        self.cannot_say, self.decision, self.pool = cannot_say, decision, pool

    @classmethod
    def from_calibration(
        cls, calibration: Calibration, ax: Axes | None = None, *, bins: int = 20, pool: bool = False
    ) -> Self:
        """Draw the scores that a calibration looked at (`pool=True`: with the outline of the pool)."""
        decision, ranking, evidence = Decision.of(calibration), calibration.ranking, calibration.policy.evidence
        edges, finite = np.linspace(*decision.span, bins + 1), np.isfinite(ranking.place)
        acceptable, not_acceptable, cannot_say = (
            np.histogram(ranking.place[finite & kind], edges)[0]
            for kind in (~ranking.rejected, ~ranking.accepted, ranking.rejected & ranking.accepted)
        )
        outline = evidence.pool.histogram if pool and evidence else None
        return cls(edges, acceptable, not_acceptable, cannot_say, decision, pool=outline).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on given Axes, or on a figure of its own."""
        ax = self._begin(ax)
        from matplotlib.ticker import MaxNLocator

        early = self.decision.without_score
        self._label(ax, "score", f"not drawn: {early}" if early else "", "labelled answers")
        self._draw_decision(ax)
        widths = np.diff(self.edges)
        for (name, look), heights, bottom in zip(
            _BARS.items(),
            (self.acceptable, -self.not_acceptable, -self.cannot_say),
            (nothing := np.zeros_like(self.not_acceptable), nothing, -self.not_acceptable),
            strict=True,
        ):
            if name != "cannot say" or heights.any():
                label = f"{name} ({abs(heights).sum()})"
                frame: dict[str, Any] = {"align": "edge", "ec": "black", "lw": 0.7, "zorder": 2}
                ax.bar(self.edges[:-1], heights, widths, bottom, label=label, **frame, **look)
        up, down = int(self.acceptable.max()), int((self.not_acceptable + self.cannot_say).max())
        if not up + down:
            _say(ax, "no labelled answer has a score")
        if self.pool is not None and max(self.pool.counts) > 0:
            up = max(up, down, 1)
            outline = np.array(self.pool.counts) * up / max(self.pool.counts)
            label = f"all {sum(self.pool.counts)} answers, scaled"
            ax.stairs(outline, self.pool.edges, color="black", ls=":", lw=1.4, label=label, zorder=3)
        ax.axhline(0, color="black", lw=0.8, zorder=3)
        air = 0.05 * max(up + down, 1)
        ax.set_ylim(-max(down, 0.1) - air, max(up, 1) + air)
        ax.yaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
        ax.yaxis.set_major_formatter(lambda value, _at: f"{abs(value):g}")
        return self._finish(ax)


def plot_plan(plan: Plan, side: Side = "pass", ax: Axes | None = None) -> Axes:
    """Draw what share of the answers a number of labels is likely to let pass (or fail) by themselves.

    One colour and marker a target; solid: labels of the whole pool, dashed: of its best region.

    Parameters
    ----------
    plan
        What `calibkit.planning.plan` found.
    side
        Which side.
    ax
        Where to draw; None: a figure of its own.
    """
    if ax is None:
        from matplotlib.figure import Figure

        ax = Figure(figsize=(7, 4.2), layout="constrained").subplots()
    targets = dict.fromkeys(row.random.target for row in plan.rows if row.random.side == side)
    for (at, target), colour in zip(
        enumerate(targets), itertools.cycle((_BLUE, _VERMILION, _GREEN, _GREY)), strict=False
    ):
        rows = plan.of(side, target)
        labels = [row.random.labels for row in rows]
        marker = "os^Dv"[at % 5]
        for drawn, line in (("random", "-"), ("region", "--")):
            shares = [getattr(row, drawn).share for row in rows]
            what = f"{target:g}, labels of {'the whole pool' if drawn == 'random' else 'its best region'}"
            ax.plot(labels, shares, linestyle=line, color=colour, marker=marker, markersize=4, label=what)
    ax.set(xlabel="labels", ylabel=f"answers that {side} by themselves", ylim=(0, 1))
    ax.legend(title="precision", frameon=False, fontsize="small", bbox_to_anchor=(1.01, 1), loc="upper left")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _say(ax: Axes, text: str) -> None:
    ax.text(0.5, 0.5, text, transform=ax.transAxes, ha="center", va="center", color=_GREY)


def render(figure: Figure, kind: Literal["svg", "png"]) -> bytes:
    """Write a figure as an image; the same figure gives the same bytes.

    Parameters
    ----------
    figure
        The figure of a display.
    kind
        "svg" or "png".
    """
    import matplotlib

    stream = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "calibkit", "svg.fonttype": "path"}):
        figure.savefig(stream, format=kind, dpi=160, metadata={"Date": None} if kind == "svg" else {"Software": None})
    return stream.getvalue()
