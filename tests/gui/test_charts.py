"""The charts of a run: what they draw of given numbers, with and without data, and Qt's charts on this Python."""

import math
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as some
from PySide6.QtGui import QColor, QFontMetricsF
from pytestqt.qtbot import QtBot

from app.core.analysis.ab import PairResult
from app.core.analysis.series import Curve, RunSeries
from app.core.messages import sentence
from app.gui.charts.figure_scale import LABELS_APART_PX, label_step
from app.gui.charts.pair_plot import ratio_scale
from app.gui.charts.plots import CountAxis, Line, Plot, TimeAxis, ValueAxis, round_up, time_span
from app.gui.charts.speed_charts import EstimateChart, SustainedChart, in_percent
from app.gui.charts.telemetry_chart import TelemetryChart
from app.gui.charts.training_charts import EpochChart, Legend, LossChart, ThroughputChart
from app.gui.style.theme import Theme, tabular_font
from app.gui.style.tokens import DARK, LABEL_PX, LIGHT
from tests.build import telemetry_of
from tests.gui.driving import Driver, added, replay
from tests.gui.pixels import names, pixels
from tests.recording import as_preset, recorded_events, until_epoch
from tests.saying import said
from workloads.protocol import events


def test_epochs_are_bars_with_a_line_at_their_median(qtbot: QtBot, application_theme: Theme) -> None:
    chart = added(qtbot, EpochChart(application_theme))
    chart.show_epochs([90.0, 60.0, 70.0, 62.0], planned=10)
    bars, median = chart.bars.opts, chart.median
    assert list(bars["x"]) == [1, 2, 3, 4]
    assert list(bars["height"]) == [62 / 90, 62 / 60, 62 / 70, 1.0], "longer is faster"
    colours = [brush.color().name().upper() for brush in bars["brushes"]]
    tokens = application_theme.tokens
    assert colours[:2] == [tokens.neutral_bar.upper(), tokens.accent.upper()]
    assert set(median.getData()[1]) == {1.0}
    assert span(chart, "x") == (0.4, 10.6)
    assert span(chart, "y")[1] >= 62 / 60
    done = said("chart.epochs_done", done="4", planned="10", durations="90.0, 60.0, 70.0, 62.0")
    assert done.is_all_of(chart.accessibleDescription())
    chart.show_epochs([], planned=10)
    assert not chart.bars.isVisible()
    assert len(median.getData()[0]) == 0


def test_loss_stands_left_and_accuracy_in_percent_right(qtbot: QtBot, application_theme: Theme) -> None:
    chart = added(qtbot, LossChart(application_theme))
    series = RunSeries(10)
    for index in range(3):
        series.follow(
            events.Epoch(
                index=index, duration_s=1.0, train_s=1.0, loss=2.0 - index / 2, accuracy=0.5, val_loss=2.5
            )
        )
    chart.show_series(series, planned=5, live=True)
    assert points(chart.lines["loss"]) == [(1.0, 2.0), (2.0, 1.5), (3.0, 1.0)]
    assert points(chart.lines["val_loss"]) == [(1.0, 2.5), (2.0, 2.5), (3.0, 2.5)]
    assert points(chart.lines["accuracy"]) == [(1.0, 50.0), (2.0, 50.0), (3.0, 50.0)]
    assert all(math.isnan(y) for _, y in points(chart.lines["val_accuracy"]))
    assert chart.lines["accuracy"].item in chart.right.addedItems
    assert span(chart, "y")[1] >= 2.5
    assert f"{sentence('chart.validation_loss')} 2.500" in chart.accessibleDescription()


def test_telemetry_is_drawn_against_the_axis_of_its_unit(qtbot: QtBot, application_theme: Theme) -> None:
    chart = added(qtbot, TelemetryChart(application_theme))
    curves = {
        "cpu_pct": Curve([1.0, 2.0], [50.0, 98.0]),
        "memory_used_bytes": Curve([1.0, 2.0], [4e9, 8e9]),
        "cpu_clock_mhz": Curve([1.0, 2.0], [2_350.0, 4_700.0]),
        "gpu0_power_w": Curve([1.0, 2.0], [88.0, 288.0]),
        "gpu0_memory_used_bytes": Curve([1.0, 2.0], [1e9, 2e9]),
        "steal_pct": Curve([1.0, 2.0], [0.0, 0.9]),
    }
    chart.show_curves(curves, memory_bytes=16_000_000_000)
    assert points(chart.lines["cpu_pct"]) == [(1.0, 50.0), (2.0, 98.0)]
    assert points(chart.lines["memory_used_bytes"]) == [(1.0, 25.0), (2.0, 50.0)]
    assert points(chart.lines["cpu_clock_mhz"]) == [(1.0, 50.0), (2.0, 100.0)]
    assert points(chart.lines["gpu0_power_w"]) == [(1.0, 88.0), (2.0, 288.0)]
    assert chart.lines["gpu0_power_w"].item in chart.right.addedItems
    assert chart.right.viewRange()[1][1] >= 288.0
    assert set(chart.lines) == set(curves) - {"steal_pct", "gpu0_memory_used_bytes"}
    cpu, memory, clock, gpu = map(sentence, ("part.cpu", "chart.memory", "chart.clock", "part.gpu"))
    texts = [f"{cpu} 98 %", f"{memory} 7.5 GB", f"{clock} 4.7 GHz", f"{gpu} 288 W"]
    assert [text for _, text, _ in chart.entries] == texts
    chart.show_curves(curves, memory_bytes=16_000_000_000, live=False)
    assert chart.entries[0][1] == f"{cpu} 74 %"  # of a run that is over, what was typical
    moved = {"steal_pct": Curve([1.0, 2.0], [0.0, 1.0]), "cpu_clock_mhz": Curve([1.0, 2.0], [2_350.0, 2_370.0])}
    chart.show_curves({**curves, **moved})
    assert points(chart.lines["steal_pct"]) == [(1.0, 0.0), (2.0, 1.0)]
    chart.show_curves({**curves, "cpu_clock_mhz": Curve([1.0, 2.0], [2_350.0, 2_351.0])})
    assert points(chart.lines["cpu_clock_mhz"]) == [], "a constant clock"
    chart.show_curves({"cpu_pct": Curve([3.0], [None])})
    assert [text for _, text, _ in chart.entries] == [f"{cpu} n/a"]
    assert points(chart.lines["gpu0_power_w"]) == []


def test_axes_are_labelled_in_whole_units(qtbot: QtBot, application_theme: Theme) -> None:
    time_axis, count_axis = TimeAxis(), CountAxis()
    assert time_axis.tickSpacing(0, 600, 400) == [(120.0, 0.0)]
    assert time_axis.tickStrings([0, 90, 3_725], 1, 1) == ["0:00", "1:30", "1:02:05"]
    assert count_axis.tickSpacing(0, 10, 400) == [(1.0, 0.0)]
    assert count_axis.tickSpacing(0, 1_000, 400) == [(100.0, 0.0)]
    assert count_axis.tickStrings([0, 1, 2], 1, 1) == ["", "1", "2"]
    value_axis = ValueAxis("left")
    assert value_axis.tickSpacing(0, 100, 200) == [(10.0, 0.0)]
    assert value_axis.tickSpacing(0, 100, 50) == [(50.0, 0.0)]
    assert value_axis.tickSpacing(0, 0.003, 100) == [(0.001, 0.0)]
    assert [round_up(value) for value in (0, 0.0021, 1, 81.8, 320)] == [1.0, 0.003, 1.0, 100.0, 400.0]
    for value, text in ((0.002, "0.002"), (100.0, "100"), (1e5, "100,000"), (2.5e6, "2,500,000")):
        assert value_axis.tickStrings([value], 1.0, min(value, 1.0)) == [text]
    plot = added(qtbot, Plot(application_theme))
    widths_px = []
    for low, high in ((0.0, 20.0), (1_331_000.0, 1_339_000.0)):
        plot.set_range("y", low, high)
        widths_px.append(plot.getAxis("left").minimumWidth())
    label_px = QFontMetricsF(tabular_font(LABEL_PX)).horizontalAdvance("1,339,000")
    assert widths_px[0] < label_px < widths_px[1]
    assert [time_span(value) >= value for value in (1, 11, 61, 5_000)] == [True] * 4


def test_a_theme_recolours_what_is_drawn(qtbot: QtBot, application_theme: Theme) -> None:
    chart, estimates = added(qtbot, EpochChart(application_theme)), estimate_chart(qtbot, application_theme)
    chart.show_epochs([5.0, 4.0, 4.0], planned=3)
    application_theme.choose("dark")
    assert chart.bars.opts["brushes"][1].color().name().upper() == DARK.accent
    for each in (chart, estimates):
        assert each.backgroundBrush().color().name().upper() == DARK.surface
    legend = added(qtbot, Legend(application_theme))
    legend.resize(200, 20)
    legend.show_entries([("caution", "3 interruptions", False)])
    assert DARK.caution in names(pixels(legend.grab().toImage())[:, :13])
    application_theme.choose("light")
    assert LIGHT.caution in names(pixels(legend.grab().toImage())[:, :13])


def span(chart: Plot, axis: str) -> tuple[float, float]:
    low, high = chart.getViewBox().viewRange()["xy".index(axis)]
    return round(low, 6), round(high, 6)


def points(line: Line) -> list[tuple[float, float]]:
    x, y = line.item.getData()
    return [] if x is None else [(float(one), float(other)) for one, other in zip(x, y, strict=True)]


EPOCH = "seconds_per_epoch_s"


def add_estimate(series: RunSeries, t_s: float, value: float, half: float | None) -> None:
    low, high = (None, None) if half is None else (value - half, value + half)
    series.follow(events.Estimate(t_s=t_s, value=value, low=low, high=high))


def estimate_chart(qtbot: QtBot, theme: Theme) -> EstimateChart:
    chart = added(qtbot, EstimateChart(theme))
    chart.resize(400, 160)
    chart.show()
    return chart


def test_the_estimate_lies_in_its_interval(qtbot: QtBot, application_theme: Theme) -> None:
    chart = estimate_chart(qtbot, application_theme)
    series = RunSeries(500)
    chart.show_estimates(series, EPOCH, 10.0, live=True)
    assert said("chart.nothing_yet").is_all_of(chart.accessibleDescription())
    add_estimate(series, 12.0, 70.0, None)
    for t_s, half in ((13.0, 8.0), (14.0, 4.0), (15.0, 1.3)):
        add_estimate(series, t_s, 66.0, half)
    chart.show_estimates(series, EPOCH, 20.0, live=True)
    assert points(chart.line) == [(12.0, 70.0), (13.0, 66.0), (14.0, 66.0), (15.0, 66.0)]
    assert [list(curve.getData()[1]) for curve in (chart.low, chart.high)] == [[58, 62, 64.7], [74, 70, 67.3]]
    assert chart.band.isVisible()
    assert span(chart, "x") == (12.0, 20.0)
    assert is_whole(chart)
    shown = said("chart.value_with_half", value="66.0 s per epoch", half_pct="± 2.0 %")
    assert shown.is_all_of(chart.accessibleDescription())
    chart.show_estimates(RunSeries(500), EPOCH, 10.0, live=True)
    assert not chart.band.isVisible()
    assert points(chart.line) == []
    series, views = RunSeries(500), set()
    for number in range(40):
        add_estimate(series, float(number), 66.0 + 0.02 * number, 3.0 - 0.05 * number)
        chart.show_estimates(series, EPOCH, 60.0, live=True)
        views.add(span(chart, "y"))
    assert len(views) == 1, "the axis stays while the estimate stays in view"
    rates = RunSeries(500)
    add_estimate(rates, 1.0, 2.5e12, 1e11)
    chart.show_estimates(rates, "flop_per_s", 10.0, live=True)
    assert points(chart.line) == [(1.0, 2.5)]
    assert chart.accessibleDescription().startswith("2.50 TFLOP/s")


def is_whole(chart: EstimateChart) -> bool:
    low, high = span(chart, "y")
    curves = (chart.line.item, *((chart.low, chart.high) if chart.band.isVisible() else ()))
    drawn: list[float] = [y for curve in curves for y in curve.getData()[1] if not math.isnan(y)]
    return bool(low < min(drawn) and max(drawn) < high)


def test_interruptions_are_marked_at_the_top_of_the_throughput(qtbot: QtBot, application_theme: Theme) -> None:
    chart = added(qtbot, ThroughputChart(application_theme))
    curve = Curve([1.0, 2.0, 3.0], [10.0, 4.0, 10.0])
    chart.show_curve(curve, 10.0, live=True)
    assert len(chart.marks.getData()[0]) == 0
    chart.show_curve(curve, 10.0, live=True, interrupted_t_s=(2.0,))
    (x,), (y,) = chart.marks.getData()
    assert (x, 10.0 < y < span(chart, "y")[1]) == (2.0, True)
    assert said("chart.steps_now_interrupted").is_in(chart.accessibleDescription())
    assert chart.marks.opts["brush"].color() == QColor(LIGHT.caution)
    application_theme.choose("dark")
    assert chart.marks.opts["brush"].color() == QColor(DARK.caution)


def test_speed_and_clock_are_shares_of_their_initial_values(qtbot: QtBot, application_theme: Theme) -> None:
    chart, series = SustainedChart(application_theme), RunSeries(10)
    qtbot.addWidget(chart)
    chart.show_series(series, 60.0, live=True)
    assert (chart.entries, chart.accessibleDescription()) == (
        [(chart.entries[0][0], sentence("chart.speed"), False)],
        sentence("chart.nothing_yet"),
    )
    for number in range(60):
        series.steps_per_s.add(float(number), 20.0 if number < 30 else 18.0)
        telemetry = {"cpu_clock_mhz": 4_000.0 if number < 30 else 3_000.0, "cpu_temperature_c": 60.0 + number / 2}
        series.follow(events.TelemetryEvent(t_s=float(number), telemetry=telemetry_of(telemetry)))
    chart.show_series(series, 60.0, live=False)
    assert points(chart.speed)[0] == (0.0, 100.0)
    assert points(chart.speed)[-1] == (59.0, 90.0)
    assert points(chart.clock)[-1] == (59.0, 75.0)
    assert points(chart.degrees)[-1] == (59.0, 89.5)
    assert chart.degrees.item in chart.right.addedItems
    assert chart.limit.value() == 97.0
    assert span(chart, "x") == (0.0, 60.0)
    low, high = span(chart, "y")
    assert (low < 90, high > 100) == (True, True)
    assert [text for _, text, _ in chart.entries] == [sentence("chart.speed"), sentence("chart.clock"), "°C"]
    assert said("chart.speed_now", share_pct="90").is_all_of(chart.accessibleDescription())


def test_without_a_beginning_there_are_no_shares() -> None:
    assert in_percent(Curve()) == Curve()
    assert in_percent(Curve([0.0, 1.0, 2.0, 3.0], [None, 5.0, 5.0, 5.0])) == Curve()
    assert in_percent(Curve([0.0, 1.0], [4.0, None])) == Curve([0.0, 1.0], [100.0, None])


def test_each_preset_has_the_chart_that_shows_most_about_it(driver: Driver) -> None:
    recorded = recorded_events()
    replay(driver.window, driver.services, as_preset(until_epoch(recorded, 0, more_steps=200), "quick"))
    charts = driver.view.charts
    assert charts.estimate.isVisible()
    assert not charts.epochs.isVisible()
    assert said("chart.estimated").is_all_of(charts.epochs_card.heading.text())
    assert said("share.within").is_all_of(charts.epochs_card.note.whole_text)
    assert len(points(charts.estimate.line)) > 10
    replay(driver.window, driver.services, as_preset(until_epoch(recorded, 2), "sustained"))
    assert charts.sustained.isVisible()
    assert said("chart.sustained_heading").is_all_of(charts.epochs_card.heading.text())
    assert said("chart.sustained_pass", pass_pct="97").is_all_of(charts.epochs_card.note.whole_text)
    assert charts.speed_legend.isVisible()
    assert charts.speed_legend.accessibleName().startswith(f"{sentence('chart.speed')}, {sentence('chart.clock')}")
    replay(driver.window, driver.services, until_epoch(recorded, 2))
    assert charts.epochs.isVisible()
    assert not charts.speed_legend.isVisible()


TELEMETRY = {"cpu_pct": Curve([1.0, 2.0], [50.0, 98.0])}
CHARTS: dict[type[Plot], Callable[[Plot, RunSeries, bool], None]] = {
    EpochChart: lambda chart, series, live: chart.show_epochs(
        [epoch.duration_s for epoch in series.epochs], planned=3, live=live
    ),
    LossChart: lambda chart, series, live: chart.show_series(series, 3, live=live),
    ThroughputChart: lambda chart, series, live: chart.show_curve(series.steps_per_s, 5.0, live=live),
    EstimateChart: lambda chart, series, live: chart.show_estimates(series, "seconds_per_epoch_s", 5.0, live=live),
    SustainedChart: lambda chart, series, live: chart.show_series(series, 5.0, live=live),
    TelemetryChart: lambda chart, series, live: chart.show_curves(series.telemetry, live=live),
}


def a_run() -> RunSeries:
    series = RunSeries(3)
    series.telemetry |= TELEMETRY
    series.steps_per_s = Curve([1.0, 2.0, 3.0], [9.0, 9.5, 9.0])
    series.estimate = series.low = series.high = Curve([1.0, 2.0], [5.0, 5.1])
    for index in range(2):
        series.follow(events.Epoch(index=index, duration_s=1.0, train_s=1.0, loss=2.0, accuracy=0.5))
    return series


@pytest.mark.parametrize("kind", CHARTS)
def test_a_chart_has_axes_only_with_data(kind: type[Plot], qtbot: QtBot, application_theme: Theme) -> None:
    chart, show = kind(application_theme), CHARTS[kind]
    qtbot.addWidget(chart)
    chart.resize(400, 200)
    chart.show()

    for series, live in ((None, True), (RunSeries(3), True), (RunSeries(3), False)):
        if series is not None:
            show(chart, series, live)
        assert chart.instead.isVisible()
        assert said("chart.nothing_yet" if live else "chart.nothing_recorded").is_all_of(chart.instead.text())
        assert not has_axes(chart)
    show(chart, a_run(), True)
    assert has_axes(chart)
    assert not chart.instead.isVisible()
    show(chart, RunSeries(3), True)
    assert not has_axes(chart)


def has_axes(chart: Plot) -> bool:
    return chart.theme.tokens.grid in names(pixels(chart.grab().toImage()))


@given(some.lists(some.tuples(some.floats(0, 60), some.floats(1, 90)), max_size=12))
def test_no_label_touches_the_next(gaps: list[tuple[float, float]]) -> None:
    places, left = list[tuple[float, float]](), 0.0
    for gap, width in gaps:
        left += gap
        places.append((left, left + width))
    kept = places[:: label_step(places)]
    assert kept[:1] == places[:1]
    assert all(after[0] - before[1] > LABELS_APART_PX for before, after in pairwise(kept))


RATIOS = some.floats(min_value=1e-3, max_value=1e3)


@given(some.lists(RATIOS, max_size=10), RATIOS, RATIOS)
def test_one_and_all_ratios_are_on_the_scale(ratios: list[float], one: float, other: float) -> None:
    low, high = min(one, other), max(one, other)
    known = (low, high) if len(ratios) > 1 else (None, None)
    scale = ratio_scale(PairResult(tuple(ratios), ratios[0] if ratios else None, *known))
    assert scale.low < min([1.0, *ratios])
    assert scale.high > max([1.0, *ratios])
    assert all(0 < scale.share(ratio) < 1 for ratio in (1.0, *ratios))
    assert scale.share(scale.low / 2) == 0
    assert math.isfinite(scale.high)
