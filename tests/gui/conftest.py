"""What tests of the window share: the theme of the one application, and services with folders of their own."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.core.paths import Paths
from app.gui.services.bundle import Services
from app.gui.services.downloads import Downloads
from app.gui.services.engine_finder import EngineFinder
from app.gui.services.garbage import GarbageCollector
from app.gui.services.machine_finder import MachineFinder
from app.gui.services.preferences import Preferences
from app.gui.services.run_bridge import RunBridge
from app.gui.services.tasks import Tasks
from app.gui.shell.application import open_window
from app.gui.style.theme import Theme
from app.gui.widgets.basics import Tone
from tests.gui.driving import PATIENCE_MS, SHORT, Driver


@dataclass
class Told:
    messages: list[tuple[str, Tone]] = field(default_factory=list)

    def notify(self, text: str, tone: Tone, action: str, do: Callable[[], None] | None) -> None:
        self.messages.append((text, tone))


@pytest.fixture(scope="package", autouse=True)
def garbage(qapp: QApplication) -> Iterator[GarbageCollector]:
    """Collect garbage as the application does: windows of earlier tests must not be deleted by a thread."""
    collector = GarbageCollector(qapp)
    yield collector
    collector.close()


@pytest.fixture(scope="session")
def session_theme(qapp: QApplication) -> Theme:
    return Theme(qapp, "light")


@pytest.fixture
def application_theme(session_theme: Theme) -> Theme:
    session_theme.choose("light")
    return session_theme


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def services(paths: Paths, application_theme: Theme, told: Told) -> Iterator[Services]:
    tasks = Tasks()
    bridge = RunBridge(lambda: made.paths, tasks)
    made = Services(
        paths=paths,
        theme=application_theme,
        tasks=tasks,
        preferences=Preferences(paths.settings),
        finder=MachineFinder(tasks, lambda: paths.datasets),
        engines=EngineFinder(lambda: made.paths, tasks),
        bridge=bridge,
        downloads=Downloads(tasks, told.notify, tasks),
        notify=told.notify,
    )
    yield made
    assert bridge.finish(10)
    tasks.close()


@pytest.fixture
def driver(
    request: pytest.FixtureRequest, qtbot: QtBot, paths: Paths, application_theme: Theme
) -> Iterator[Driver]:
    """The real window, shown, with the machine found."""
    limits = None if request.node.get_closest_marker("engine") else SHORT
    # Making charts takes more than a third of the time of opening, and most tests show none.
    window, services = open_window(application_theme, paths, limits, prepares_charts=False)
    window.resize(1024, 776)  # no narrow window, though the screen without a display is one
    driver = Driver(qtbot, window, services)
    qtbot.waitUntil(lambda: services.finder.machine is not None, timeout=PATIENCE_MS)
    yield driver
    services.bridge.finish(10)
    window.close()
    services.tasks.close()
    window.deleteLater()
