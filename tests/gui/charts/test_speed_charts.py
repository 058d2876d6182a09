"""The charts of how sure a number is, and of the speed that is kept: what they draw of given numbers."""

import gc
import sys

import pytest
from PySide6.QtGui import QColor
from pytestqt.qtbot import QtBot

from app.core.analysis.series import Curve, RunSeries
from app.core.storage.database import Database
from app.gui.charts.speed_charts import EstimateChart, SustainedChart, in_percent
from app.gui.charts.training_charts import Legend, ThroughputChart
from app.gui.run.charts import RunCharts
from app.gui.style.theme import Theme
from app.gui.style.tokens import DARK, LIGHT
from tests.gui.charts.test_training_charts import points, span
from tests.gui.driving import Driver, replay
from tests.gui.pixels import names, pixels
from tests.recording import as_preset, recorded_events, store_recording, until_epoch
from tests.saying import said
from tests.telemetry import telemetry_of
from workloads.protocol import events

EPOCH = "seconds_per_epoch_s"


def add_estimate(series: RunSeries, t_s: float, value: float, half: float | None) -> None:
    low, high = (None, None) if half is None else (value - half, value + half)
    series.follow(events.Estimate(t_s=t_s, value=value, low=low, high=high))


def estimate_chart(qtbot: QtBot, theme: Theme) -> EstimateChart:
    chart = EstimateChart(theme)
    qtbot.addWidget(chart)
    chart.resize(400, 160)
    chart.show()
    return chart


def test_the_estimate_lies_in_its_interval(qtbot: QtBot, application_theme: Theme) -> None:
    chart = estimate_chart(qtbot, application_theme)
    series = RunSeries(500)
    chart.show_estimates(series, EPOCH, 10.0, live=True)
    assert said("chart.no_estimate").is_all_of(chart.accessibleDescription())
    add_estimate(series, 12.0, 70.0, None)
    for t_s, half in ((13.0, 8.0), (14.0, 4.0), (15.0, 1.3)):
        add_estimate(series, t_s, 66.0, half)
    chart.show_estimates(series, EPOCH, 20.0, live=True)
    assert points(chart.line) == [(12.0, 70.0), (13.0, 66.0), (14.0, 66.0), (15.0, 66.0)]
    assert points(chart.bounds[1])[1:] == [(13.0, 74.0), (14.0, 70.0), (15.0, 67.3)]
    assert [list(curve.getData()[1]) for curve in (chart.low, chart.high)] == [[58, 62, 64.7], [74, 70, 67.3]]
    assert chart.band.isVisible()
    assert span(chart, "x") == (12.0, 20.0)
    low, high = span(chart, "y")
    assert (low < 64.7, high > 67.3) == (True, True)
    assert chart.accessibleDescription() == "66.0 s per epoch, ± 2.0 %"
    chart.show_estimates(RunSeries(500), EPOCH, 10.0, live=True)
    assert not chart.band.isVisible()
    assert points(chart.line) == []


def test_rates_are_drawn_in_their_unit(qtbot: QtBot, application_theme: Theme) -> None:
    chart = estimate_chart(qtbot, application_theme)
    series = RunSeries(500)
    add_estimate(series, 1.0, 2.5e12, 1e11)
    add_estimate(series, 2.0, 2.5e12, 1e11)
    chart.show_estimates(series, "flop_per_s", 10.0, live=True)
    assert points(chart.line) == [(1.0, 2.5), (2.0, 2.5)]
    assert chart.accessibleDescription().startswith("2.50 TFLOP/s")


def test_its_axis_stays_while_the_estimate_stays_in_view(qtbot: QtBot, application_theme: Theme) -> None:
    chart = estimate_chart(qtbot, application_theme)
    series, views = RunSeries(500), set()
    for number in range(40):
        add_estimate(series, float(number), 66.0 + 0.02 * number, 3.0 - 0.05 * number)
        chart.show_estimates(series, EPOCH, 60.0, live=True)
        views.add(span(chart, "y"))
    assert len(views) == 1
    add_estimate(series, 41.0, 90.0, 1.0)
    chart.show_estimates(series, EPOCH, 60.0, live=True)
    low, high = span(chart, "y")
    assert (low < 89, high > 91) == (True, True)


def test_it_takes_another_theme(qtbot: QtBot, application_theme: Theme) -> None:
    chart = estimate_chart(qtbot, application_theme)
    application_theme.choose("dark")
    assert chart.backgroundBrush().color().name().upper() == DARK.surface


@pytest.mark.long
@pytest.mark.slow
def test_many_updates_leave_the_reference_count_of_none_alone(qtbot: QtBot, application_theme: Theme) -> None:
    """See test_charts."""
    chart, rate = estimate_chart(qtbot, application_theme), ThroughputChart(application_theme)
    qtbot.addWidget(rate)
    rate.show()
    series = RunSeries(500)

    def update(times: int) -> None:
        for number in range(times):
            for curve in (series.estimate, series.low, series.high):
                del curve.x[:-60], curve.y[:-60]  # as many points as Quick has at most
            add_estimate(series, float(number), 66.0, None if number % 50 == 0 else 1.0 + number % 3)
            chart.shown = ()  # the number of points stays
            chart.show_estimates(series, EPOCH, float(number + 60), live=True)
            marks = tuple(0.01 * number + at for at in range(number % 20))
            rate.show_curve(Curve([0.0], [9.0]), 60.0, live=True, interrupted_t_s=marks)
            qtbot.wait(0) if number % 100 == 0 else None

    update(100)
    gc.collect()  # what earlier tests left would go while this one counts
    before = sys.getrefcount(None)
    update(3_000)
    assert sys.getrefcount(None) > before - 500


def test_interruptions_are_marked_at_the_top_of_the_throughput(qtbot: QtBot, application_theme: Theme) -> None:
    chart = ThroughputChart(application_theme)
    qtbot.addWidget(chart)
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
        [(chart.entries[0][0], "speed", False)],
        "No speed yet",
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
    assert [text for _, text, _ in chart.entries] == ["speed", "clock", "°C"]
    assert said("chart.speed_now", share_pct="90").is_all_of(chart.accessibleDescription())


def test_a_moment_of_standstill_does_not_flatten_the_rest(qtbot: QtBot, application_theme: Theme) -> None:
    chart, series = SustainedChart(application_theme), RunSeries(10)
    qtbot.addWidget(chart)
    for number in range(100):
        series.steps_per_s.add(float(number), 0.1 if number == 50 else 20.0)
    chart.show_series(series, 100.0, live=False)
    assert span(chart, "y")[0] > 80


def test_without_a_beginning_there_are_no_shares() -> None:
    assert in_percent(Curve()) == Curve()
    assert in_percent(Curve([0.0, 1.0, 2.0, 3.0], [None, 5.0, 5.0, 5.0])) == Curve()
    assert in_percent(Curve([0.0, 1.0], [4.0, None])) == Curve([0.0, 1.0], [100.0, None])


def charts_of(driver: Driver) -> RunCharts:
    return driver.view.charts


def note_of(charts: RunCharts) -> str:
    return f"{charts.epochs_card.heading.text()}: {charts.epochs_card.note.whole_text}"


def test_each_preset_has_the_chart_that_shows_most_about_it(driver: Driver) -> None:
    recorded = recorded_events()
    replay(driver.window, driver.services, as_preset(until_epoch(recorded, 0, more_steps=200), "quick"))
    charts = charts_of(driver)
    assert charts.estimate.isVisible()
    assert not charts.epochs.isVisible()
    assert note_of(charts).startswith("Seconds per epoch, estimated: ± ")
    assert len(points(charts.estimate.line)) > 10
    replay(driver.window, driver.services, as_preset(until_epoch(recorded, 2), "sustained"))
    assert charts.sustained.isVisible()
    assert note_of(charts) == "Sustained speed: pass: 97 %"
    assert charts.speed_legend.isVisible()
    assert charts.speed_legend.accessibleName().startswith("speed, clock")
    replay(driver.window, driver.services, until_epoch(recorded, 2))
    assert charts.epochs.isVisible()
    assert not charts.speed_legend.isVisible()


def test_stored_runs_show_the_same_charts(driver: Driver) -> None:
    recorded = recorded_events()
    with Database(driver.services.paths.database) as database:
        quick = store_recording(database, as_preset(until_epoch(recorded, 0, more_steps=320), "quick"))
        sustained = store_recording(database, as_preset(recorded, "sustained"))
    driver.page.show_result(quick)
    driver.until(lambda: driver.page.run is not None)
    charts = charts_of(driver)
    assert len(points(charts.estimate.line)) > 30
    assert driver.page.run is not None
    assert points(charts.estimate.line)[-1][1] == pytest.approx(driver.page.run.summary.value, rel=0.02)
    driver.page.show_result(sustained)
    driver.until(lambda: driver.page.run is not None)
    assert note_of(charts).startswith("Sustained speed: last third 106.7")
    assert note_of(charts).endswith(" % (pass: 97 %)")
    assert len(points(charts.sustained.speed)) > 400
    assert len(charts.throughput.marks.getData()[0]) > 10


def test_a_legend_takes_the_colours_of_another_theme(qtbot: QtBot, application_theme: Theme) -> None:
    legend = Legend(application_theme)
    qtbot.addWidget(legend)
    legend.resize(200, 20)
    legend.show_entries([("caution", "3 interruptions", False)])
    application_theme.choose("dark")
    assert DARK.caution in names(pixels(legend.grab().toImage())[:, :13])
