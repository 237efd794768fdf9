"""What the displays draw is what was computed: counts, bands, certified intervals, thresholds."""

import sys
from dataclasses import replace

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from scipy import stats

from calibkit import AnswerPair, HandSet, InputError, PairSet, Scores, calibrate
from calibkit.bands import Bands
from calibkit.curve import compute_curve, precision_band, recall_band
from calibkit.plots import CurveDisplay, Decision, HistogramDisplay, render

SEED = 20261130


class Given:
    """Scores that the pairs bring along."""

    def __init__(self, name="given"):
        self.name, self.version = name, 1

    def score(self, pairs):
        values = np.array([pair.meta["score"] for pair in pairs], dtype=float)
        reasons = tuple("not given" if np.isnan(value) else None for value in values)
        return Scores(values, reasons, self.name, self.version)


def answers(scores, acceptable, exact=0):
    """One labelled answer a score (None: cannot say); the first `exact` repeat their reference."""
    return PairSet(
        [
            AnswerPair(
                f"p{at}",
                (f"reference {at}",),
                f"reference {at}" if at < exact else f"other {at}",
                question=f"question {at}",
                labelled=True,
                acceptable=label,
                meta={"score": score},
            )
            for at, (score, label) in enumerate(zip(scores, acceptable, strict=True))
        ]
    )


def calibrated(scores, acceptable, exact=0, name="given", **options):
    return calibrate(answers(scores, acceptable, exact), scorer=Given(name), **{"development": 0.0, **options})


@pytest.fixture(scope="module")
def two_sides():
    """Wrong below .3, right above .5, mixed between; both sides certified."""
    scores = np.arange(400, 0, -1) / 400
    labels = np.where(scores < 0.3, False, np.where(scores > 0.5, True, np.arange(400) % 2 == 0)).tolist()
    return calibrated(scores, labels, exact=20, precision=0.9, fail_precision=0.8)


# --- bands round curves -----------------------------------------------------------------------------


def test_the_precision_band_is_clopper_and_pearson_at_the_level_of_the_walk():
    rng = np.random.default_rng(SEED)
    curve = compute_curve(rng.integers(0, 15, 80), rng.random(80) < 0.7)
    band = precision_band(curve, 0.1)

    steps = np.diff(curve.passes, prepend=0)
    draws = np.random.default_rng(0).standard_normal((len(steps), 4000))  # the documented generator
    walks = np.cumsum(draws * np.sqrt(steps)[:, None], axis=0)
    z = np.quantile((np.abs(walks) / np.sqrt(curve.passes)[:, None]).max(axis=0), 0.9)
    for at, (right, passes) in enumerate(zip(curve.true_passes.tolist(), curve.passes.tolist(), strict=True)):
        exact = stats.binomtest(right, passes).proportion_ci(1 - 2 * stats.norm.sf(z), "exact")
        assert (band.low[at], band.high[at]) == pytest.approx((exact.low, exact.high), abs=1e-9)


def test_twenty_points_cost_a_z_of_about_2_38_and_one_point_that_of_one_interval():
    def z(n_points):
        curve = compute_curve(np.repeat(np.arange(n_points), 100 // n_points), np.ones(100, dtype=bool))
        return stats.norm.isf(precision_band(curve, 0.1).low[-1] ** 100)  # of 100 right ones: low = tail ** (1 / 100)

    assert z(20) == pytest.approx(2.38, abs=0.05)
    assert z(1) == pytest.approx(stats.norm.isf(0.05), abs=0.05)


def test_the_precision_band_repeats_itself_and_takes_a_generator():
    curve = compute_curve(np.arange(50), np.arange(50) % 3 > 0)
    again = precision_band(curve)
    assert np.array_equal(precision_band(curve).low, again.low)
    other = precision_band(curve, rng=np.random.default_rng(5))
    assert not np.array_equal(other.low, again.low)
    assert other.low == pytest.approx(again.low, abs=0.02)
    assert (precision_band(curve, 0.01).low <= again.low).all()


def test_the_recall_band_is_dvoretzky_kiefer_wolfowitz():
    curve = compute_curve([0.9, 0.8, 0.7, 0.6, 0.5], [True, False, True, True, True])
    half = np.sqrt(np.log(2 / 0.2) / (2 * 4))
    band = recall_band(curve, 0.2)
    assert band.low == pytest.approx(np.clip(curve.recall - half, 0, 1))
    assert band.high == pytest.approx(np.clip(curve.recall + half, 0, 1))
    assert np.isnan(recall_band(compute_curve([0.5], [False])).low).all()


@pytest.mark.parametrize("band", [precision_band, recall_band])
@pytest.mark.parametrize("delta", [0, 1, -0.1, np.nan])
def test_bands_refuse_a_risk_that_is_none(band, delta):
    with pytest.raises(InputError, match="delta must lie between 0 and 1"):
        band(compute_curve([0.5], [True]), delta)


@pytest.mark.parametrize(
    ("n", "right"),
    [
        (100, np.linspace(0.2, 1, 20)),
        (100, np.full(20, 0.9)),
        (300, np.linspace(0.5, 0.95, 20)),
        (40, np.full(20, 0.6)),
    ],
)
def test_nine_bands_in_ten_hold_the_whole_true_line(n, right):
    rng = np.random.default_rng(SEED)
    true_recall = np.minimum(np.cumsum(right[::-1])[::-1] / right.sum(), 1)
    precision_held = recall_held = 0
    for _ in range(500):
        scores = rng.integers(0, 20, n)
        curve = compute_curve(scores, rng.random(n) < right[scores])
        at = curve.thresholds.astype(int)
        truth = np.array([right[t:].mean() for t in at])
        band, recall = precision_band(curve), recall_band(curve)
        precision_held += ((band.low <= truth) & (truth <= band.high)).all()
        recall_held += ((recall.low <= true_recall[at]) & (true_recall[at] <= recall.high)).all()
    assert precision_held >= 0.88 * 500
    assert recall_held >= 0.88 * 500


# --- the curve --------------------------------------------------------------------------------------


def line(display, label):
    return next(line for line in display.ax_.get_lines() if line.get_label() == label)


def texts(display):
    return [text.get_text() for text in display.ax_.texts]


def ends(patch):
    return patch.get_x(), patch.get_x() + patch.get_width()


@pytest.mark.parametrize("display", [CurveDisplay, HistogramDisplay])
def test_the_shaded_zones_are_the_certified_intervals(display, two_sides):
    drawn = display.from_calibration(two_sides)
    evidence = two_sides.policy.evidence
    left, right = drawn.ax_.get_xlim()
    intervals = [*evidence.pass_.intervals, *evidence.fail.intervals]
    assert len(intervals) >= 2
    for patch, (low, high) in zip(drawn.zones_, intervals, strict=True):
        assert ends(patch) == pytest.approx((left if low is None else low, right if high is None else high))
    hatches = {patch.get_hatch() for patch in drawn.zones_}
    assert len(hatches) == 2
    assert None not in hatches


@pytest.mark.parametrize("display", [CurveDisplay, HistogramDisplay])
def test_a_certified_set_with_a_hole_is_drawn_with_the_hole(display):
    rejected = [False] * 120 + [True] * 6 + [False] * 300
    found = calibrated(np.arange(426, 0, -1) / 426, [not flag for flag in rejected], precision=0.96)
    assert len(found.pass_certificate.intervals) == 2
    drawn = display.from_calibration(found)
    left = drawn.ax_.get_xlim()[0]
    for patch, (low, high) in zip(drawn.zones_, found.pass_certificate.intervals, strict=True):
        assert ends(patch) == pytest.approx((max(low, left), high))


@pytest.mark.parametrize("display", [CurveDisplay, HistogramDisplay])
def test_exported_thresholds_are_lines_with_their_value_and_standing(display, two_sides):
    drawn = display.from_calibration(two_sides)
    bands = two_sides.policy.bands_stage.bands
    assert f"pass at or above {bands.pass_at_or_above:.10g}, certified" in texts(drawn)
    assert f"fail below {bands.fail_below:.10g}, certified" in texts(drawn)
    vertical = {
        line.get_xdata()[0]: line.get_linestyle() for line in drawn.ax_.get_lines() if line.get_linewidth() == 1.4
    }
    assert set(vertical) == {bands.pass_at_or_above, bands.fail_below}
    assert len(set(vertical.values())) == 2


def test_a_threshold_set_by_hand_outside_the_scores_is_drawn_and_not_called_certified():
    found = calibrated(np.arange(50) / 50, [True] * 50, hand_set=HandSet(pass_at=3.5))
    drawn = CurveDisplay.from_calibration(found)
    assert texts(drawn) == ["pass at or above 3.5, not certified"]
    assert drawn.ax_.get_xlim()[1] > 3.5


def test_the_drawn_steps_are_the_counts(two_sides):
    drawn = CurveDisplay.from_calibration(two_sides)
    curve = two_sides.curve
    finite = curve.thresholds[np.isfinite(curve.thresholds)]
    for name, values in (("precision", curve.precision), ("recall", curve.recall)):
        drawn_line = line(drawn, name)
        x, y = np.asarray(drawn_line.get_xdata()), np.asarray(drawn_line.get_ydata())
        assert drawn_line.get_drawstyle() == "steps-pre"  # y[i] stands for x[i - 1] < t <= x[i]
        for t in finite:
            at = int(np.searchsorted(x, t - 1e-9))
            assert y[at] == values[curve.thresholds == t]
        assert y[0] == values[curve.thresholds == finite[-1]]
        assert y[-1] == values[0]  # beyond all scores: the 20 that pass before
    assert line(drawn, "precision").get_linestyle() != line(drawn, "recall").get_linestyle()
    assert "20 answers pass before the score; counted at every threshold" in drawn.ax_.get_xlabel().replace("\n", " ")


def test_precision_against_recall_marks_what_is_certified_and_exported(two_sides):
    drawn = CurveDisplay.from_calibration(two_sides, against="recall")
    curve, cut = two_sides.curve, two_sides.policy.bands_stage.pass_at_or_above
    assert line(drawn, "precision").get_xdata() == pytest.approx(curve.recall)
    certified = np.isfinite(line(drawn, "certified pass thresholds").get_xdata())
    assert certified.tolist() == two_sides.pass_certificate.certified.tolist()
    diamond = line(drawn, f"pass at or above {cut:.10g}")
    at = np.flatnonzero(curve.thresholds >= cut)[-1]
    assert (diamond.get_xdata()[0], diamond.get_ydata()[0]) == (curve.recall[at], curve.precision[at])


def test_the_bands_drawn_are_those_of_the_confidence(two_sides):
    assert len(CurveDisplay.from_calibration(two_sides, bands=False).ax_.collections) == 0
    drawn = CurveDisplay.from_calibration(two_sides)
    assert drawn.precision_band.low == pytest.approx(precision_band(two_sides.curve, 0.1).low)
    assert drawn.recall_band.high == pytest.approx(recall_band(two_sides.curve, 0.1).high)
    assert [part.get_label() for part in drawn.ax_.collections] == [
        "precision, band for the eye",
        "recall, band for the eye",
    ]


# --- the histogram ----------------------------------------------------------------------------------


def test_bars_count_labels_acceptable_up_and_others_down():
    scores = [0.02, 0.02, 0.51, 0.52, 0.53, 0.97, 1.0]
    drawn = HistogramDisplay.from_calibration(calibrated(scores, [False, None, True, False, True, True, True], exact=1))
    heights = {bars.get_label(): [round(bar.get_height()) for bar in bars] for bars in drawn.ax_.containers}
    assert heights["acceptable (4)"] == [0] * 10 + [2] + [0] * 8 + [2]
    assert heights["not acceptable (1)"] == [0] * 10 + [-1] + [0] * 9
    assert heights["cannot say (1)"] == [-1] + [0] * 19
    assert "not drawn: 1 answer passes before the score" in drawn.ax_.get_xlabel()
    assert {patch.get_hatch() for bars in drawn.ax_.containers for patch in bars} == {None, "xxx", "|||"}
    assert {patch.get_edgecolor() for bars in drawn.ax_.containers for patch in bars} == {(0, 0, 0, 1)}


def test_cannot_say_is_stacked_on_the_not_acceptable():
    drawn = HistogramDisplay.from_calibration(calibrated([0.5] * 5, [False, False, None, True, True]))
    cannot_say = next(bars for bars in drawn.ax_.containers if bars.get_label() == "cannot say (1)")
    bar = next(bar for bar in cannot_say if bar.get_height())
    assert (bar.get_y(), bar.get_height()) == (-2, -1)


def test_the_outline_of_the_pool_is_drawn_on_demand(two_sides):
    with_pool, without = (HistogramDisplay.from_calibration(two_sides, pool=pool).ax_.patches for pool in (True, False))
    assert with_pool[-1].get_label() == "all 400 answers, scaled"
    assert len(with_pool) == len(without) + 1


@pytest.mark.parametrize("display", [CurveDisplay, HistogramDisplay])
def test_negative_scores_have_room(display):
    rng = np.random.default_rng(SEED)
    scores = rng.uniform(-0.9, 0.9, 100)
    drawn = display.from_calibration(calibrated(scores, (scores > 0).tolist()))
    left, right = drawn.ax_.get_xlim()
    assert left < scores.min()
    assert right > 1


# --- what may go wrong ------------------------------------------------------------------------------

ODD = {
    "all equal": ([0.5] * 10, [True, False] * 5, 0),
    "all acceptable": (np.arange(10) / 10, [True] * 10, 0),
    "none acceptable": (np.arange(10) / 10, [False] * 10, 0),
    "nobody can say": (np.arange(10) / 10, [None] * 10, 0),
    "a single label": ([0.7], [True], 0),
    "exact matches only": ([0.7] * 60, [True] * 60, 60),
    "nothing scored": ([np.nan] * 5, [True] * 5, 0),
    "huge scores": ([1e9, -1e9, 3.0], [True, False, True], 0),
}


@pytest.mark.parametrize("case", ODD)
def test_odd_sets_are_drawn_without_a_warning(case):
    scores, labels, exact = ODD[case]
    found = calibrated(scores, labels, exact)
    for display in (
        CurveDisplay.from_calibration(found),
        CurveDisplay.from_calibration(found, against="recall"),
        HistogramDisplay.from_calibration(found, pool=True),
    ):
        assert render(display.figure_, "png").startswith(b"\x89PNG")
    said = texts(CurveDisplay.from_calibration(found))
    assert ("no labelled answer has a score" in said) == (case in ("exact matches only", "nothing scored"))


def test_a_refused_look_draws_the_development_part_without_zones(tmp_path):
    labels = [True] * 150 + [False] * 50
    pairs, ledger = answers(np.arange(200, 0, -1) / 200, labels), tmp_path / "ledger.jsonl"
    calibrate(pairs, scorer=Given(), ledger=ledger)
    refused = calibrate(pairs, scorer=Given(), precision=0.8, ledger=ledger)
    assert refused.pass_certificate is None
    drawn = HistogramDisplay.from_calibration(refused)
    assert drawn.acceptable.sum() + drawn.not_acceptable.sum() == refused.policy.evidence.labels.development
    assert drawn.zones_ == []
    assert CurveDisplay.from_calibration(refused).zones_ == []


@pytest.mark.parametrize("name", ["$x^{", "河流", "_underscore", "a" * 300])
def test_any_name_of_a_scorer_can_be_drawn(name):
    found = calibrated(np.arange(20) / 20, [False] * 10 + [True] * 10, name=name)
    assert render(CurveDisplay.from_calibration(found).figure_, "svg")


def test_displays_draw_on_given_axes(two_sides):
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert CurveDisplay.from_calibration(two_sides, left).ax_ is left
    drawn = HistogramDisplay.from_calibration(two_sides, ax=right)
    assert drawn.ax_ is right
    assert drawn.figure_ is figure
    assert figure.legends == []
    assert right.get_legend() is not None
    assert drawn.plot().figure_ is not figure


def test_the_same_figure_gives_the_same_bytes(two_sides):
    for kind in ("svg", "png"):
        first, second = (render(CurveDisplay.from_calibration(two_sides).figure_, kind) for _ in range(2))
        assert first == second


def test_rendering_leaves_the_settings_alone(two_sides):
    before = dict(matplotlib.rcParams)
    render(HistogramDisplay.from_calibration(two_sides).figure_, "svg")
    assert dict(matplotlib.rcParams) == before


def test_no_pyplot_is_loaded(run_python):
    out = run_python(
        "import sys\n"
        "from calibkit import AnswerPair, PairSet, calibrate\n"
        "from calibkit.report import calibration_report\n"
        "pair = AnswerPair('a', ('4',), 'five', labelled=True, acceptable=False)\n"
        "calibration_report(calibrate(PairSet([pair]), development=0))\n"
        "print('matplotlib' in sys.modules, 'matplotlib.pyplot' in sys.modules)"
    )
    assert out.strip() == "True False"


def test_missing_matplotlib_is_told_with_its_cure(two_sides, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(InputError, match=r"pip install 'calibkit\[notebooks\]'"):
        CurveDisplay.from_calibration(two_sides)


def test_what_differs_in_colour_differs_in_grey_or_style(two_sides):
    drawn = HistogramDisplay.from_calibration(two_sides)
    up, down = ({(patch.get_hatch(), to_rgb(patch.get_facecolor())) for patch in bars} for bars in drawn.ax_.containers)
    assert {hatch for hatch, _ in up}.isdisjoint({hatch for hatch, _ in down})


@pytest.mark.parametrize(
    ("fail_below", "pass_at"),
    [
        (0.0, 0.05),
        (0.2, 0.3),
        (0.3, 0.6),
        (0.39, 0.41),
        (0.45, 0.52),
        (0.5, 0.5),
        (0.05, 0.97),
        (0.8, 0.9),
        (0.98, 1.0),
    ],
)
def test_labels_of_two_thresholds_never_overlap(two_sides, fail_below, pass_at):
    bands = Bands(pass_at + 0.00012345, fail_below + 0.00012345)
    decision = replace(Decision.of(two_sides), bands=bands, fail_certified=False, pass_certified=False)
    one = np.array([1])
    drawn = HistogramDisplay(np.array([0.0, 1.0]), one, one, one, decision).plot()
    drawn.figure_.draw_without_rendering()
    frame = drawn.figure_.bbox
    first, second = (text.get_window_extent() for text in drawn.ax_.texts)
    assert not first.overlaps(second)
    assert all(frame.x0 <= box.x0 and box.x1 <= frame.x1 for box in (first, second))
