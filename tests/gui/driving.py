"""Uses the real window as a user would: chooses, presses, waits until something shows."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import msgspec
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QPushButton, QWidget
from pytestqt.qtbot import QtBot

from app.core.analysis.headline import estimate_so_far
from app.core.analysis.timed_steps import StepTimes
from app.core.records import RunSummary
from app.core.runs.liveness import RunLimits
from app.core.runs.state import RunState
from app.core.storage.database import Database
from app.core.storage.runs import list_runs, load_run
from app.gui.charts.bar_list import AXIS_PX, BarList
from app.gui.pages.benchmark.page import BenchmarkPage
from app.gui.pages.compare.page import ROW_PX
from app.gui.pages.results.page import ResultsPage
from app.gui.pages.results.run_detail import RunDetail
from app.gui.run.view import RunView
from app.gui.services.bundle import Services
from app.gui.shell.main_window import MainWindow
from tests.recording import asked, store_recording
from tests.sure import sure
from workloads.protocol import events
from workloads.protocol.machine import Machine
from workloads.protocol.spec import ParameterValue

PATIENCE_MS = 90_000
Added = TypeVar("Added", bound=QWidget)
# Short, because a deaf worker is waited for; otherwise like the application's.
SHORT = RunLimits(cancel_s=1.0, terminate_s=1.0, exit_s=1.0, start_s=30.0, hung_s=3.0, hung_steps=1.0)


class Driver:
    """The window, and hands."""

    def __init__(self, qtbot: QtBot, window: MainWindow, services: Services) -> None:
        self.qtbot = qtbot
        self.window = window
        self.services = services

    @property
    def page(self) -> BenchmarkPage:
        return self.window.benchmark

    @property
    def view(self) -> RunView:
        return sure(self.page.view)

    @property
    def machine(self) -> Machine:
        return sure(self.services.finder.machine)

    def become(self, **changes: Any) -> None:
        self.services.finder.machine = replace(self.machine, **changes)
        self.services.finder.found.emit()

    @property
    def message(self) -> str:
        return self.window.banner.text.text() if self.window.banner.isVisible() else ""

    def press(self, button: QPushButton) -> None:
        assert button.isVisible(), button.accessibleName()
        assert button.isEnabled(), button.accessibleName()
        self.qtbot.mouseClick(button, Qt.MouseButton.LeftButton)  # type: ignore[no-untyped-call]

    def until(self, condition: Callable[[], bool]) -> None:
        self.qtbot.waitUntil(condition, timeout=PATIENCE_MS)

    def open_settings(self) -> None:
        """Open More settings, and what is folded there."""
        setup = self.page.setup
        for button in (setup.advanced_button, setup.experiments_button):
            button.setChecked(True)

    def length_text(self, preset: str = "standard") -> str:
        length = self.page.setup.length
        return length.itemText(length.findData(preset))

    def choose_demo(self, outcome: str = "ok", **values: ParameterValue) -> None:
        setup = self.page.setup
        setup.choose("demo")
        setup.choose_length("standard")
        form = setup.form
        chosen: dict[str, ParameterValue] = {"outcome": outcome, "step_s": 0.005, "epochs": 3}
        for name, value in (chosen | values).items():
            form.set_value(name, value)

    def begin_demo(self, outcome: str = "ok", until_epochs: int = 0, **values: ParameterValue) -> None:
        self.choose_demo(outcome, **values)
        self.press(self.page.setup.run_button)
        self.until(lambda: self.epochs_done() >= until_epochs)

    def run_demo(self, outcome: str = "ok", **values: ParameterValue) -> RunSummary:
        """Run the demo from the form to its end; returns what is stored of it."""
        self.choose_demo(outcome, **values)
        self.press(self.page.setup.run_button)
        return self.wait_for_result()

    def wait_for_result(self) -> RunSummary:
        self.until(lambda: self.page.run is not None)
        return sure(self.page.run).summary

    def stored(self) -> list[RunSummary]:
        with Database(self.services.paths.database) as database:
            return list(list_runs(database))

    def epochs_done(self) -> int:
        state = self.services.bridge.state
        return len(state.series.epochs) if state is not None else 0

    def open_results(self) -> ResultsPage:
        with self.qtbot.waitSignal(self.window.results.model.found, timeout=PATIENCE_MS):
            self.window.show_page("results")
        return self.window.results

    def open_run(self, run_id: int) -> RunDetail:
        results = self.window.results
        self.window.show_page("results")
        results.open_run(run_id)
        self.until(lambda: results.run is not None and results.run.summary.id == run_id)
        return sure(results.detail)


def added(qtbot: QtBot, widget: Added) -> Added:
    qtbot.addWidget(widget)
    return widget


def replay(window: MainWindow, services: Services, recorded: Sequence[events.AnyEvent]) -> None:
    """Show a recorded run in the window as it was after its last event, as if it went on."""
    page, bridge = window.benchmark, services.bridge
    spec, _ = asked(recorded)
    with Database(services.paths.database) as database:
        summary = load_run(database, store_recording(database, recorded[:1], status="running")).summary
    summary = replace(summary, verdict=None, reasons=None)  # which there is at the end only
    page.show_run_view()
    bridge.state = RunState(spec, summary)
    for event in with_estimates(summary, recorded):
        bridge.apply(event)
    sure(page.view).refresh()


def with_estimates(
    summary: RunSummary, recorded: Sequence[events.AnyEvent], every_s: float = 1.0
) -> Iterator[events.AnyEvent]:
    """Yield the recorded events, and the estimates that a session adds until an epoch is over."""
    steps, epochs, told_s = StepTimes(), 0, 0.0
    for event in recorded:
        yield event
        epochs += isinstance(event, events.Epoch)
        if not isinstance(event, events.Steps):
            continue
        steps.add(event)
        if epochs or event.t_s - told_s < every_s:
            continue
        if (estimate := estimate_so_far(summary, steps)) is not None:
            told_s = event.t_s
            yield msgspec.structs.replace(estimate, t_s=event.t_s)


def slot_place(bar_list: BarList) -> QPoint:
    """Return the middle of the empty place in the Compare page's list."""
    count = len(bar_list.bars)
    row_px = min(ROW_PX, (bar_list.height() - AXIS_PX) / (count + 1))
    return QPoint(300, round((count + 0.5) * row_px))
