"""Uses the real window as a user would: chooses, presses, waits until something shows."""

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from app.core.database import Database
from app.core.model import RunSummary
from app.core.runs import list_runs
from app.gui.benchmark_page import BenchmarkPage
from app.gui.main_window import RESULTS, MainWindow
from app.gui.results_page import ResultsPage
from app.gui.services import Services
from workloads.spec import ParameterValue

PATIENCE_MS = 30_000


class Driver:
    """The window, and hands."""

    def __init__(self, qtbot: QtBot, window: MainWindow, services: Services) -> None:
        self.qtbot = qtbot
        self.window = window
        self.services = services
        self.told: list[str] = []

    @property
    def page(self) -> BenchmarkPage:
        return self.window.benchmark

    @property
    def message(self) -> str:
        return self.window.banner.text.text() if self.window.banner.isVisible() else ""

    def press(self, button: QPushButton) -> None:
        assert button.isVisible(), button.accessibleName()
        assert button.isEnabled(), button.accessibleName()
        self.qtbot.mouseClick(button, Qt.MouseButton.LeftButton)  # type: ignore[no-untyped-call]

    def until(self, condition: Callable[[], bool]) -> None:
        self.qtbot.waitUntil(condition, timeout=PATIENCE_MS)

    def choose_demo(self, outcome: str = "ok", **values: ParameterValue) -> None:
        """Choose the demo in the form, with the standard preset."""
        setup = self.page.setup
        setup.workload.setCurrentIndex(setup.workload.findData("demo"))
        self.press(setup.presets["standard"])
        form = setup.form
        chosen: dict[str, ParameterValue] = {"outcome": outcome, "step_s": 0.005, "epochs": 3}
        for name, value in (chosen | values).items():
            form.set_value(name, value)

    def run_demo(self, outcome: str = "ok", **values: ParameterValue) -> RunSummary:
        """Run the demo from the form to its end; returns what is stored of it."""
        self.choose_demo(outcome, **values)
        self.press(self.page.setup.run_button)
        return self.wait_for_result()

    def wait_for_result(self) -> RunSummary:
        self.until(lambda: self.page.run is not None)
        assert self.page.run is not None
        return self.page.run.summary

    def wait_for_epochs(self, count: int) -> None:
        self.until(lambda: len(self.services.bridge.series.epochs) >= count)

    def stored(self) -> list[RunSummary]:
        with Database(self.services.paths.database) as database:
            return list(list_runs(database))

    def open_results(self) -> ResultsPage:
        """Open the history and wait until it shows what is stored."""
        with self.qtbot.waitSignal(self.window.results.model.found, timeout=PATIENCE_MS):
            self.window.show_page(RESULTS)
        return self.window.results
