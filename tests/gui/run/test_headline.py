"""The headline: what it says of each ending and kind of run, in which tone, and that nothing of it is cut."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from PySide6.QtGui import QFontMetricsF
from pytestqt.qtbot import QtBot

from app.core.analysis.headline import estimate_so_far
from app.core.analysis.series import RunSeries, live_summary
from app.core.analysis.timed_steps import StepTimes
from app.core.messages import message, sentence
from app.core.metrics import HEADLINES, format_value
from app.core.paths import Paths
from app.core.records import PeakShare, Run
from app.core.report.run_texts import error_advice
from app.core.report.share import share_card
from app.core.runs.progress import Progress
from app.core.storage.database import Database
from app.core.storage.recording import RunWriter
from app.core.storage.runs import list_runs, load_run
from app.core.verdict.judged_run import JudgedRun
from app.gui.pages.results.cells import cell_text
from app.gui.run.headline import HeadlineCard
from app.gui.run.headline_row import HeadlineRow
from app.gui.style.theme import Theme
from app.gui.widgets.basics import Button
from tests.build import begin, in_database, quiet_run
from tests.gui.driving import Driver, added
from tests.recording import recorded_run
from tests.saying import said
from workloads.protocol import events
from workloads.protocol.machine import Machine
from workloads.protocol.messages import Message


@pytest.fixture
def run() -> Run:
    stored = recorded_run()
    return quiet_run(replace(stored, warnings=()), 1, spread_pct=0.7)


@pytest.fixture
def card(application_theme: Theme, qtbot: QtBot) -> HeadlineCard:
    return added(qtbot, HeadlineCard(application_theme))


def test_no_number_yet_does_not_count(card: HeadlineCard, run: Run) -> None:
    without = replace(run.summary, value=None, steps=None)
    card.show_live(without, Progress(run.spec), cancelled=False)
    assert card.value.text() == ""
    assert said("phase.import").is_all_of(card.unit.text()), "what it does, until there is a number"
    card.show_live(run.summary, Progress(run.spec), cancelled=False)
    assert card.value.text()
    assert not card.value.property("muted")


def ended(code: str, epochs_done: int) -> str:
    return sentence("run.outcome_of_epochs", outcome=message(code), done=epochs_done, planned=3)


@pytest.mark.parametrize(
    ("changes", "outcome", "tone", "is_muted"),
    [
        ({}, "Valid", "valid", False),
        ({"status": "cancelled", "epochs_done": 2}, ended("status.cancelled", 2), "caution", False),
        ({"status": "interrupted", "epochs_done": 2}, ended("status.interrupted", 2), "caution", True),
        ({"status": "failed", "error_code": "internal"}, ended("status.failed", 3), "invalid", True),
        ({"status": "failed", "error_code": "out_of_memory"}, ended("failure.out_of_memory", 3), "invalid", True),
        ({"status": "failed", "error_code": "hung", "preset": "quick"}, sentence("failure.hung"), "invalid", True),
        ({"status": "damaged"}, ended("ending.damaged", 3), "invalid", True),
        (
            {"status": "of another version"},
            sentence("run.outcome_of_epochs", outcome="of another version", done=3, planned=3),
            "",
            True,
        ),
    ],
)
def test_each_ending_has_its_words_and_its_tone(
    card: HeadlineCard, run: Run, changes: dict[str, Any], outcome: str, tone: str, is_muted: bool
) -> None:
    damage = ("the engine",) if changes.get("status") == "damaged" else ()
    card.show_stored(JudgedRun(replace(run, summary=replace(run.summary, **changes), damage=damage)))
    assert (card.pill.whole_text, card.pill.tone) == (outcome, tone)
    assert bool(card.value.property("muted")) == is_muted


def test_a_failure_says_what_to_do_first(card: HeadlineCard, run: Run, second_engine: str) -> None:
    why = Message("verdict.as_stored", {"text": "It was too much."})
    failed = replace(run.summary, status="failed", error_code="out_of_memory", error_said=why)
    card.show_stored(JudgedRun(replace(run, summary=failed)))
    assert card.message.whole_text == f"It was too much. {error_advice('out_of_memory', 'tensorflow')}"
    for engine, title in (("tensorflow", "TensorFlow"), ("plain_numpy", "Plain NumPy"), ("removed", "removed")):
        missing = replace(run.summary, status="failed", error_code="engine_missing", preset="quick", engine=engine)
        card.show_stored(JudgedRun(replace(run, summary=missing)))
        assert card.pill.whole_text == sentence("failure.engine_missing", engine=title)
        assert card.message.whole_text == error_advice("engine_missing", engine)


@pytest.mark.parametrize(("peak_flop_per_s", "is_said"), [(4e12, True), (None, False), (5e11, False)])
def test_the_share_of_the_peak(card: HeadlineCard, run: Run, peak_flop_per_s: float | None, is_said: bool) -> None:
    card.show_stored(JudgedRun(replace(run, peak=PeakShare(1e12, peak_flop_per_s))))
    share = said("note.share_of_peak", share_pct="25", device="CPU")
    assert share.begins(card.facts.whole_text) == is_said
    assert share.is_in(card.facts.whole_text) == is_said


def test_a_short_run_shows_its_step_in_milliseconds(card: HeadlineCard, run: Run) -> None:
    short = replace(run.summary, value=None, seconds_per_epoch_s=None, basis=None, steps=40, step_median_s=0.0417)
    card.show_stored(JudgedRun(replace(run, summary=short)))
    assert (card.value.text(), card.unit.text()) == ("41.7", sentence("run.ms_per_step"))
    slow = replace(short, step_median_s=67.85)
    card.show_stored(JudgedRun(replace(run, summary=slow)))
    assert (card.value.text(), card.unit.text()) == ("67.8", sentence("run.s_per_step"))


@pytest.mark.parametrize("level", ["caution", "invalid"])
def test_a_verdict_on_the_way_has_its_tone(card: HeadlineCard, run: Run, level: Any) -> None:
    reason = events.Reason(code="suspended", level=level, text="It slept.", advice="Keep it awake.")
    verdict = events.Judged(level=level, reasons=(reason,))
    card.show_live(run.summary, Progress(run.spec), cancelled=False, verdict=verdict)
    assert (card.message.whole_text, card.pill.tone) == ("Keep it awake.", level)


TEXTS = (
    ("Caution: on battery; other programs used 58 % of the CPU", "Caution: on battery + 1 more", "Caution"),
    ("Invalid",),
    (),
)
# As wide as the card leaves it in a window of 1024 pixels, down to one of 800, and up to the largest screens.
WIDTHS_PX = st.integers(390, 3_600)


@pytest.fixture
def line(application_theme: Theme, qtbot: QtBot) -> HeadlineRow:
    line = added(qtbot, HeadlineRow(application_theme, Button(application_theme, "Why?", kind="flat")))
    application_theme.dress(line)
    line.show()
    return line


def assert_all_is_read(line: HeadlineRow) -> None:
    metrics = QFontMetricsF(line.value.font())
    assert line.value.width() >= metrics.horizontalAdvance(line.value.text())
    assert line.value.height() >= metrics.capHeight()
    assert line.unit.width() >= QFontMetricsF(line.unit.font()).horizontalAdvance(line.unit.text())
    right = 0
    for part in (line.value, line.unit, line.pill, line.button):
        if part.isHidden():
            continue
        assert part.x() >= right
        right = part.x() + part.width()
    assert right <= line.width()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(
    metric=st.sampled_from(sorted(HEADLINES)),
    shown=st.floats(1e-4, 1e7),
    about=st.sampled_from(["", "≈ "]),
    width_px=WIDTHS_PX,
    texts=st.sampled_from(TEXTS),
    has_button=st.booleans(),
)
@example("examples_per_j", 1e7, "≈ ", 390, TEXTS[0], True)
def test_nothing_is_cut_whatever_is_measured(
    line: HeadlineRow,
    metric: str,
    shown: float,
    about: str,
    width_px: int,
    texts: tuple[str, ...],
    has_button: bool,
) -> None:
    line.button.setVisible(has_button)
    line.pill.show_verdict(texts, "caution")
    value = shown / HEADLINES[metric].scale
    line.show_number(about + format_value(metric, value), HEADLINES[metric].short_unit, muted=False)
    line.resize(width_px, line.height())
    assert_all_is_read(line)


def store_steps(driver: Driver, machine: Machine, workload: str, metrics: dict[str, float]) -> int:
    """Store a run of half-second steps, after a slow first round, and show it as after its end."""
    with Database(driver.services.paths.database) as database:
        run_id = begin(database, machine, workload=workload)
        writer = RunWriter(database, run_id)
        for number in range(3):
            durations_s = (2.0 if number == 0 else 0.5,) * 4
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


def test_images_per_second_are_the_headline_and_rounds_are_called_so(driver: Driver, machine: Machine) -> None:
    run_id = store_steps(driver, machine, "vgg16", {})
    view = driver.view
    assert (view.headline.value.text(), view.headline.unit.text()) == ("64.0", "images / s")
    assert said("chart.speed_by_round", steps="100").is_all_of(view.charts.epochs_card.heading.text())
    assert said("note.epoch_takes_long", samples="1,281,167").is_in(view.headline.message.whole_text)
    assert said("chart.against_known").is_all_of(view.charts.bars_card.heading.text())
    run = in_database(driver.services.paths.database, load_run, run_id)
    card = share_card(JudgedRun(run))
    assert (card.headline, card.unit) == ("64.0", "images per second")
    assert said("short.steps_missing").is_in(card.badge[0])
    assert cell_text(run.summary, "value") == "64.0 images/s"
    assert not said("headline.seconds_per_epoch_s").is_in(view.charts.bars.accessibleName())


def test_limits_show_their_figures_and_no_empty_charts(driver: Driver, machine: Machine) -> None:
    metrics = {"matmul_1024_flop_per_s": 1.5e12, "flop_per_s": 2.5e12}
    run_id = store_steps(driver, machine, "matmul", metrics)
    view = driver.view
    assert (view.headline.value.text(), view.headline.unit.text()) == ("2.50", "TFLOP/s")
    charts = view.charts
    assert not charts.epochs.isVisible()
    assert not charts.loss.isVisible()
    assert charts.figures.isVisible()
    model = charts.figures.model()
    cells = [[model.index(row, column).data() for column in (0, 1)] for row in range(model.rowCount())]
    assert cells == [["Fastest case", "2.500 TFLOP/s"], ["1,024 × 1,024 product", "1.500 TFLOP/s"]]
    assert not said("chart.nothing_published").is_all_of(charts.bars_card.heading.text())
    run = in_database(driver.services.paths.database, load_run, run_id)
    assert "epoch" not in share_card(JudgedRun(run)).badge[0]
    assert "batch" not in share_card(JudgedRun(run)).title
    store_steps(driver, machine, "fcn_s", {})
    for part, is_visible in ((charts.epochs, True), (charts.loss, True), (charts.figures, False)):
        assert part.isVisible() == is_visible


@pytest.mark.parametrize(
    ("workload", "value"), [("fcn_s", 0.5), ("vgg16", 64.0), ("ptb_lstm_mxnet", 32 * 22 / 0.5), ("matmul", 3e12)]
)
def test_the_headline_so_far(paths: Paths, machine: Machine, workload: str, value: float) -> None:
    with Database(paths.database) as database:
        run_id = begin(database, machine, workload=workload)
        summary = next(list_runs(database, ids=[run_id]))
    series = RunSeries(100)
    assert live_summary(summary, series).value is None
    steps = StepTimes()
    for number in range(3):
        durations_s = (2.0 if number == 0 else 0.5,) * 4
        steps.add(events.Steps(phase="measure", epoch=number, first_index=0, durations_s=durations_s))
    if (estimate := estimate_so_far(summary, steps)) is not None:
        series.follow(estimate)
    if workload == "matmul":
        assert live_summary(summary, series).value is None
        series.follow(events.Metric(key="flop_per_s", value=3e12))
    assert live_summary(summary, series).value == pytest.approx(value)
