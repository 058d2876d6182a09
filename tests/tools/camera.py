"""Takes pictures of a page in both themes and three sizes."""

import sys
import time
from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QApplication, QWidget

from app.gui.services.bundle import Services
from app.gui.shell.main_window import MainWindow
from app.gui.style.theme import Choice
from tests.recording import recorded_events
from workloads.protocol.telemetry import Telemetry

THEMES: tuple[Choice, ...] = ("dark", "light")
SIZES = ((1024, 700), (1440, 900), (1920, 1080))


class Photographer:
    """Shows one state after the other in the real window, and keeps pictures of it."""

    def __init__(self, folder: Path, window: MainWindow, services: Services, application: QApplication) -> None:
        self.folder = folder
        self.window = window
        self.services = services
        self.application = application
        self.recorded = recorded_events()

    def wait(self, condition: Callable[[], object] = lambda: False, patience_s: float = 20.0) -> None:
        end_s = time.monotonic() + patience_s
        while not condition() and time.monotonic() < end_s:
            self.application.processEvents()
            time.sleep(0.005)

    def calm(self) -> None:
        """Show what is seen before a run while nothing else runs."""
        self.window.benchmark.setup.preflight.show_telemetry((Telemetry(other_cpu_pct=1.0),) * 2)

    def disturb(self) -> None:
        """Show what a busy laptop's user sees before a run."""
        self.window.benchmark.setup.preflight.show_telemetry((Telemetry(on_battery=True, other_cpu_pct=34.0),) * 2)

    def take(self, name: str, code: str, before: Callable[[], None] = lambda: None) -> None:
        """Keep pictures of a page in all themes and sizes; `before` is done before each."""
        self.window.show_page(code)
        self.window.banner.hide()
        for theme in THEMES:
            self.services.theme.choose(theme)
            for width, height in SIZES:
                self.window.resize(width, height)
                self.wait(patience_s=1.2 if code == "hardware" else 0.5)
                before()
                self.wait(patience_s=0.05)
                self.save(self.window, f"{name}-{theme}-{width}")

    def save(self, widget: QWidget, name: str) -> None:
        widget.grab().save(str(self.folder / f"{name}.png"))
        sys.stdout.write(f"{name}.png\n")

    def show_stored(self, run_id: int) -> None:
        self.window.benchmark.show_result(run_id)
        self.wait(lambda: self.window.benchmark.run is not None)
