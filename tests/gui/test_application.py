"""The application around the window: faults, themes, what a start loads, and what it says where it cannot."""

import base64
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication

from app.core.paths import Paths
from app.core.session import Limits
from app.core.settings import load_settings
from app.gui.application import FaultCatcher, open_window
from app.gui.display import find_problem, has_display
from app.gui.tasks import Tasks
from app.gui.theme import Theme
from tests.gui.driving import Driver

on_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only there a display may be missing")


@pytest.fixture
def catcher(driver: Driver) -> Iterator[FaultCatcher]:
    catcher = FaultCatcher(driver.window, driver.services.paths)
    catcher.install()
    yield catcher
    catcher.remove()


def fail() -> None:
    raise RuntimeError(f"broken in {Path.home()}/private")


def test_a_fault_is_shown_with_text_to_copy_and_the_window_goes_on(driver: Driver, catcher: FaultCatcher) -> None:
    try:
        fail()
    except RuntimeError:
        sys.excepthook(*sys.exc_info())
    driver.until(lambda: catcher.dialog is not None and catcher.dialog.isVisible())
    assert catcher.dialog is not None
    report = catcher.dialog.report.toPlainText()
    assert "RuntimeError: broken" in report
    assert str(Path.home()) not in report
    driver.press(catcher.dialog.copy_button)
    assert QGuiApplication.clipboard().text() == report
    catcher.dialog.reject()
    assert driver.run_demo().status == "completed"


def test_a_fault_in_a_thread_is_shown_too(driver: Driver, catcher: FaultCatcher) -> None:
    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    driver.until(lambda: catcher.dialog is not None and catcher.dialog.isVisible())
    assert catcher.dialog is not None
    catcher.dialog.reject()


def test_a_fault_of_a_task_is_raised_in_the_windows_thread(driver: Driver, catcher: FaultCatcher) -> None:
    with driver.qtbot.capture_exceptions() as caught:
        driver.services.tasks.start(fail, lambda _: None, lambda _: None)
        driver.until(lambda: bool(caught) or (catcher.dialog is not None and catcher.dialog.isVisible()))
    if catcher.dialog is not None:
        catcher.dialog.reject()


def test_results_of_tasks_are_dropped_after_closing(driver: Driver) -> None:
    tasks = Tasks()
    go_on = threading.Event()
    done: list[bool] = []
    tasks.start(lambda: go_on.wait(10), done.append, lambda _: None)
    tasks.close(patience_s=0.1)
    go_on.set()
    driver.qtbot.wait(100)
    assert done == []


def test_the_theme_is_kept_and_the_window_opens_where_it_was(
    driver: Driver, paths: Paths, application_theme: Theme
) -> None:
    driver.services.preferences.change(theme="dark")
    driver.window.resize(1024, 733)  # the screen without a display has 800 lines
    driver.window.close()
    stored = load_settings(paths.settings)
    assert stored.theme == "dark"
    assert base64.b64decode(stored.geometry or "", validate=True)
    window, services = open_window(application_theme, paths, Limits())
    assert (window.width(), window.height()) == (1024, 733)
    assert application_theme.tokens.dark
    window.close()
    services.tasks.close()


def test_damaged_settings_do_not_keep_the_window_from_opening(
    paths: Paths, application_theme: Theme, driver: Driver
) -> None:
    paths.settings.write_text('{"geometry": "no geometry \\u2603"}', encoding="utf-8")
    window, services = open_window(application_theme, paths, Limits())
    assert window.isVisible()
    assert window.width() >= 1024
    window.close()
    services.tasks.close()


def test_the_window_loads_neither_engine_nor_charts_at_its_start() -> None:
    code = (
        "import sys, app.gui.application, app.gui.main_window; "
        "print([name for name in ('tensorflow', 'keras', 'numpy', 'pyqtgraph') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


@on_linux
def test_a_missing_display_is_noticed() -> None:
    assert not has_display({})
    assert has_display({"DISPLAY": ":0"})
    assert has_display({"WAYLAND_DISPLAY": "wayland-0"})
    assert has_display({"QT_QPA_PLATFORM": "offscreen"})
    assert find_problem({"QT_QPA_PLATFORM": "offscreen"}) is None


@on_linux
def test_a_display_that_does_not_answer_is_told_in_a_sentence() -> None:
    problem = find_problem({"DISPLAY": ":9876"})
    assert problem is not None
    assert "does not answer" in problem or "apt-get install" in problem
