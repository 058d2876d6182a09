"""The application around the window: faults, themes, what a start loads, and its messages if it can't."""

import base64
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from app.core.paths import Paths
from app.core.runs.liveness import RunLimits
from app.core.runs.session import Session
from app.core.settings import load_settings
from app.core.storage.database import Database
from app.gui.services.tasks import Tasks
from app.gui.shell.application import FaultCatcher, open_window
from app.gui.shell.display import find_problem, has_display
from app.gui.style.theme import Theme
from tests.gui.driving import PATIENCE_MS, SHORT, Driver
from tests.saying import said
from tests.sure import sure

on_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only there a display may be missing")


@pytest.fixture
def catcher(driver: Driver) -> Iterator[FaultCatcher]:
    catcher = FaultCatcher(driver.window, driver.services.paths)
    catcher.install()
    yield catcher
    catcher.remove()


def fail() -> None:
    raise RuntimeError(f"broken in {Path.home()}/private")


def raise_it() -> None:
    try:
        fail()
    except RuntimeError:
        sys.excepthook(*sys.exc_info())


def test_a_fault_is_shown_with_text_to_copy(driver: Driver, catcher: FaultCatcher) -> None:
    thread = threading.Thread(target=fail)
    for report_fault in (raise_it, thread.start):
        report_fault()
        driver.until(lambda: catcher.dialog is not None and catcher.dialog.isVisible())
        dialog = sure(catcher.dialog)
        report = dialog.report.toPlainText()
        assert "RuntimeError: broken" in report
        assert str(Path.home()) not in report
        driver.press(dialog.copy_button)
        assert QGuiApplication.clipboard().text() == report
        dialog.reject()
        catcher.dialog = None
    thread.join()


def test_a_fault_of_a_task_is_raised_in_the_windows_thread(driver: Driver, catcher: FaultCatcher) -> None:
    with driver.qtbot.capture_exceptions() as caught:
        driver.services.tasks.start(fail, lambda _: None, lambda _: None)
        driver.until(lambda: bool(caught) or (catcher.dialog is not None and catcher.dialog.isVisible()))
    if catcher.dialog is not None:
        catcher.dialog.reject()


def test_results_of_tasks_are_dropped_after_closing(driver: Driver) -> None:
    tasks = Tasks()
    begun, go_on = threading.Event(), threading.Event()
    threads: list[threading.Thread] = []
    done: list[bool] = []

    def work() -> bool:
        threads.append(threading.current_thread())
        begun.set()
        return go_on.wait(10)

    tasks.start(work, done.append, lambda _: None)
    assert begun.wait(10)
    tasks.close(patience_s=0.1)
    go_on.set()
    threads[0].join(20)
    QCoreApplication.processEvents()
    assert done == []


@pytest.mark.slow
def test_theme_and_place_of_the_window_are_kept(driver: Driver, paths: Paths, application_theme: Theme) -> None:
    driver.services.preferences.change(theme="dark")
    driver.window.resize(800, 733)  # the screen without a display has 800 lines
    driver.window.close()
    stored = load_settings(paths.settings)
    assert stored.theme == "dark"
    assert base64.b64decode(stored.geometry or "", validate=True)
    window, services = open_window(application_theme, paths, RunLimits())
    assert (window.width(), window.height()) == (800, 733)
    assert application_theme.tokens.dark
    window.close()
    services.tasks.close()


@pytest.mark.slow
def test_damaged_settings_are_reported(paths: Paths, application_theme: Theme, driver: Driver) -> None:
    for content in ('{"geometry": "no geometry \\u2603"}', "{"):
        paths.settings.write_text(content, encoding="utf-8")
        window, services = open_window(application_theme, paths, RunLimits())
        assert window.isVisible()
        assert window.width() >= 800
        assert ("settings" in window.banner.text.text()) == (content == "{")
        window.close()
        services.tasks.close()


def test_charts_are_made_while_the_window_is_idle(qtbot: QtBot, paths: Paths, application_theme: Theme) -> None:
    window, services = open_window(application_theme, paths, RunLimits())
    qtbot.waitUntil(lambda: window.benchmark.view is not None, timeout=PATIENCE_MS)
    window.close()
    services.tasks.close()


@on_linux
def test_a_missing_display_is_noticed() -> None:
    assert not has_display({})
    assert has_display({"DISPLAY": ":0"})
    assert has_display({"WAYLAND_DISPLAY": "wayland-0"})
    assert has_display({"QT_QPA_PLATFORM": "offscreen"})
    assert find_problem({"QT_QPA_PLATFORM": "offscreen"}) == []


NOT_LOADED = ["start.qt_not_loaded", "start.install_packages"]
NOT_ANSWERING = ["start.display_not_answering", "start.check_display"]


@on_linux
@pytest.mark.parametrize(
    ("missing", "has_error", "expected"),
    [("libqxcb.so", 0, NOT_LOADED), ("none", 1, NOT_ANSWERING), ("none", 0, [])],
)
def test_what_keeps_a_window_from_opening_is_reported(
    missing: str, has_error: int, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without Qt's libraries, with a display that doesn't answer, and with one that does; whatever is here."""

    class Library:
        def __init__(self, name: str) -> None:
            if Path(name).name == missing:
                raise OSError(f"{name}: cannot open shared object file")
            self.xcb_connect = lambda display, screen: 1
            self.xcb_connection_has_error = lambda connection: has_error
            self.xcb_disconnect = lambda connection: None

    monkeypatch.setattr("app.gui.shell.display.ctypes.CDLL", Library)
    assert [each.code for each in find_problem({"DISPLAY": ":0"})] == expected


@pytest.mark.parametrize(
    ("fault", "is_ours"), [("dictionary changed size during iteration", True), ("can't start new thread", False)]
)
def test_a_fault_at_the_start_of_a_run_leaves_the_window_usable(
    driver: Driver, monkeypatch: pytest.MonkeyPatch, fault: str, *, is_ours: bool
) -> None:
    def fail_to_start(*_: object) -> None:
        raise RuntimeError(fault)

    driver.choose_demo()
    caught: list[threading.ExceptHookArgs] = []
    with monkeypatch.context() as patched:
        patched.setattr(Session, "start", fail_to_start)
        patched.setattr(threading, "excepthook", caught.append)  # where the program reports faults of threads
        driver.press(driver.page.setup.run_button)
        driver.until(lambda: not driver.services.bridge.is_running)
    assert [str(args.exc_value) for args in caught] == [fault] * is_ours
    code, arguments = ("fault.task_stopped", {"reason": fault}) if is_ours else ("worker.threads_refused", {})
    assert said(code, **arguments).is_in(driver.message)
    assert driver.page.setup.isVisible()


@pytest.mark.long
def test_a_run_that_cannot_be_stored_is_still_shown(driver: Driver) -> None:
    driver.services.bridge.limits = replace(SHORT, store_s=1.0)
    driver.begin_demo(epochs=3, step_s=0.04, until_epochs=1)
    with Database(driver.services.paths.database) as database:
        database.connection.execute("BEGIN EXCLUSIVE")
        driver.until(lambda: driver.services.bridge.trouble is not None)
        driver.until(lambda: said("run.not_stored").is_in(driver.view.headline.pill.whole_text))
    view = driver.view
    assert view.isVisible()
    assert said("runs.rescued").is_in(view.headline.message.whole_text)
    assert "locked" in driver.message
    assert view.charts.epochs.accessibleDescription().startswith("3 of 3")
    assert driver.page.again_button.isVisible()


def test_damaged_results_are_reported(driver: Driver, paths: Paths) -> None:
    page = driver.open_results()
    # While a connection is open, SQLite restores the file from its log.
    driver.until(lambda: not any(thread.name == "task" for thread in threading.enumerate()))
    page.model.close()
    assert not paths.database.with_name(paths.database.name + "-wal").exists()
    paths.database.write_bytes(b"no database " * 1_000)
    page.refresh()
    driver.until(lambda: said("database.begun_anew").is_in(driver.message))


def test_errors_stay_until_they_are_closed_and_news_go_by_themselves(driver: Driver) -> None:
    banner = driver.window.banner
    banner.notify("news")
    assert banner.goes_by_itself
    banner.notify("trouble", "invalid")
    assert not banner.goes_by_itself
    driver.press(banner.close_button)
    assert not banner.isVisible()


def test_the_theme_follows_the_system_until_one_is_chosen(application_theme: Theme) -> None:
    hints = QGuiApplication.styleHints()
    application_theme.choose("system")
    hints.colorSchemeChanged.emit(Qt.ColorScheme.Dark)
    assert application_theme.tokens.dark
    hints.colorSchemeChanged.emit(Qt.ColorScheme.Light)
    assert not application_theme.tokens.dark
    application_theme.choose("dark")
    hints.colorSchemeChanged.emit(Qt.ColorScheme.Light)
    assert application_theme.tokens.dark
