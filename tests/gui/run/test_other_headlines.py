"""What the window shows of runs that are not measured in epochs, stored or on the way."""

import pytest

from app.core.analysis.headline import estimate_so_far
from app.core.analysis.series import RunSeries, live_summary
from app.core.analysis.timed_steps import Timed
from app.core.report.share import share_card
from app.core.storage.database import Database
from app.core.storage.recording import RunWriter
from app.core.storage.runs import list_runs, load_run
from app.gui.pages.results.cells import cell_text
from app.gui.run.view import RunView
from tests.core.storage.storing import begin
from tests.gui.driving import Driver
from tests.saying import said
from workloads.protocol import events
from workloads.protocol.machine import Machine


def store_steps(
    driver: Driver, machine: Machine, workload: str, metrics: dict[str, float], rounds: int = 3, steps: int = 4
) -> int:
    """Store a run of half-second steps, after a slow first round, and show it as after its end."""
    with Database(driver.services.paths.database) as database:
        run_id = begin(database, machine, workload=workload)
        writer = RunWriter(database, run_id)
        for number in range(rounds):
            durations_s = (2.0 if number == 0 else 0.5,) * steps
            block = events.Steps(
                seq=number, phase="measure", epoch=number, first_index=0, durations_s=durations_s, t_s=number
            )
            writer.add(block)
            if not metrics:
                writer.add(events.Epoch(index=number, duration_s=sum(durations_s), train_s=sum(durations_s)))
        for key, value in metrics.items():
            writer.add(events.Metric(key=key, value=value))
        writer.finish("completed", None)
    driver.page.show_result(run_id)
    driver.until(lambda: driver.page.run is not None and driver.page.run.summary.id == run_id)
    return run_id


def view_of(driver: Driver) -> RunView:
    assert driver.page.view is not None
    return driver.page.view


def test_images_per_second_are_the_headline_and_rounds_are_called_so(driver: Driver, machine: Machine) -> None:
    run_id = store_steps(driver, machine, "vgg16", {})
    view = view_of(driver)
    assert (view.headline.value.text(), view.headline.unit.text()) == ("64.0", "images / s")
    assert said("result.later_steps", part="round").is_in(view.headline.note.whole_text)
    assert said("chart.seconds_per_round", steps="100").is_all_of(view.charts.epochs_card.heading.text())
    assert said("note.epoch_takes_long", samples="1,281,167").is_in(view.headline.message.whole_text)
    assert said("chart.against_known").is_all_of(view.charts.bars_card.heading.text())
    with Database(driver.services.paths.database) as database:
        run = load_run(database, run_id)
    card = share_card(run)
    assert (card.value, card.unit) == ("64.0", "images per second")
    assert said("short.steps_missing").is_in(card.badge[0])
    assert cell_text(run.summary, "value") == "64.0 images/s"
    assert not said("chart.seconds_per_epoch").is_in(view.charts.bars.accessibleName())


def test_limits_show_their_figures_and_no_empty_charts(driver: Driver, machine: Machine) -> None:
    metrics = {"matmul_1024_flop_per_s": 1.5e12, "flop_per_s": 2.5e12}
    run_id = store_steps(driver, machine, "matmul", metrics)
    view = view_of(driver)
    assert (view.headline.value.text(), view.headline.unit.text()) == ("2.50", "TFLOP/s")
    charts = view.charts
    assert not charts.epochs.isVisible()
    assert not charts.loss.isVisible()
    assert charts.figures.isVisible()
    model = charts.figures.model()
    cells = [[model.index(row, column).data() for column in (0, 1)] for row in range(model.rowCount())]
    assert cells == [["Fastest product", "2.500 TFLOP/s"], ["Product of 1,024 × 1,024", "1.500 TFLOP/s"]]
    assert said("chart.nothing_published").is_all_of(charts.bars_card.heading.text())
    with Database(driver.services.paths.database) as database:
        run = load_run(database, run_id)
    assert cell_text(run.summary, "epochs_done") == "–"
    assert "epoch" not in share_card(run).badge[0]
    assert "batch" not in share_card(run).title


def test_charts_come_back_after_a_run_without_them(driver: Driver, machine: Machine) -> None:
    store_steps(driver, machine, "matmul", {"flop_per_s": 2.5e12})
    store_steps(driver, machine, "fcn_s", {})
    charts = view_of(driver).charts
    assert charts.epochs.isVisible()
    assert charts.loss.isVisible()
    assert not charts.figures.isVisible()


@pytest.mark.parametrize(
    ("workload", "value"),
    [("fcn_s", 0.5), ("vgg16", 64.0), ("ptb_lstm_mxnet", 32 * 22 / 0.5), ("matmul", 3e12)],
)
def test_the_headline_so_far_is_that_of_the_workload(
    driver: Driver, machine: Machine, workload: str, value: float
) -> None:
    with Database(driver.services.paths.database) as database:
        run_id = begin(database, machine, workload=workload)
        summary = next(list_runs(database, ids=[run_id]))
    series = RunSeries(100)
    assert live_summary(summary, series).value is None
    steps = Timed()
    for number in range(3):
        durations_s = (2.0 if number == 0 else 0.5,) * 4
        steps.add(events.Steps(phase="measure", epoch=number, first_index=0, durations_s=durations_s))
    if (estimate := estimate_so_far(summary, steps)) is not None:
        series.follow(estimate)
    if workload == "matmul":
        assert live_summary(summary, series).value is None
        series.follow(events.Metric(key="flop_per_s", value=3e12))
    assert live_summary(summary, series).value == pytest.approx(value)
