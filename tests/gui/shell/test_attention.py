"""What is told of a run where the window isn't looked at: title and notification."""

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QRect
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.core.messages import sentence
from app.core.metrics import format_value
from app.core.titles import workload_title
from app.gui.services.bundle import Services
from app.gui.shell import attention, desktop
from app.gui.shell.attention import Attention
from app.gui.shell.main_window import MainWindow
from tests.gui.driving import Driver, added


@pytest.fixture
def notices(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    notices: list[tuple[str, str]] = []
    monkeypatch.setattr(attention, "notify", lambda _, title, text: notices.append((title, text)))
    return notices


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    def look(is_active: bool) -> None:
        monkeypatch.setattr(QApplication, "activeWindow", lambda: QWidget() if is_active else None)

    return look


@pytest.mark.slow
def test_the_title_shows_the_progress_of_all_repetitions_until_the_end(
    driver: Driver, notices: list[tuple[str, str]], looked_at: Callable[[bool], None]
) -> None:
    Attention(driver.services.bridge, driver.window, every_s=0.0, worth_telling_s=0.0)
    looked_at(False)
    titles: list[str] = []
    driver.window.windowTitleChanged.connect(titles.append)

    def shares_pct() -> list[int]:
        return [int(title.split(" %")[0]) for title in titles if "%" in title]

    driver.begin_demo(epochs=60, repeat=2)
    driver.until(lambda: max(shares_pct(), default=0) > 50)  # of the second one
    driver.press(driver.page.cancel_button)
    driver.wait_for_result()
    assert shares_pct() == sorted(shares_pct())
    assert len(shares_pct()) > 1
    assert all(title.endswith("– Epochmark") for title in titles[:-1])
    assert driver.window.windowTitle() == "Epochmark"
    assert notices == [], "who cancels is told nothing"


@pytest.mark.slow
def test_the_end_is_told(
    driver: Driver, notices: list[tuple[str, str]], looked_at: Callable[[bool], None]
) -> None:
    Attention(driver.services.bridge, driver.window, worth_telling_s=0.0)
    looked_at(False)
    summary = driver.run_demo()
    value = format_value(summary.metric, summary.value)
    what = workload_title("demo")
    assert notices == [(sentence("notice.done", what=what), f"{value} s per epoch")]
    driver.press(driver.page.new_button)
    driver.run_demo("fail")
    assert notices[1] == (sentence("notice.failed", what=what), sentence("notice.look"))
    looked_at(True)
    driver.press(driver.page.new_button)
    driver.run_demo()
    assert len(notices) == 2


def test_notify_send_gets_no_options(driver: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(subprocess, "Popen", lambda command, **_: asked.append(command))
    desktop.notify(driver.window, "--Demo finished", "1.5 s per epoch", "linux")
    assert asked[0][0] == "/usr/bin/notify-send"
    assert asked[0][-3:] == ["--", "--Demo finished", "1.5 s per epoch"]


def test_windows_is_told_that_this_is_a_program_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    shell = type("Shell", (), {"SetCurrentProcessExplicitAppUserModelID": staticmethod(told.append)})
    monkeypatch.setattr(ctypes, "windll", type("Dlls", (), {"shell32": shell}), raising=False)
    desktop.name_program("linux")
    assert told == []
    desktop.name_program("win32")
    assert told == [desktop.PROGRAM_ID]


def test_the_window_fits_a_small_screen(services: Services, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    free = QRect(0, 30, 1366, 738)  # of 768, with a panel above
    screen = type("Screen", (), {"availableGeometry": staticmethod(lambda: free)})
    monkeypatch.setattr(MainWindow, "screen", lambda _: screen)
    window = added(qtbot, MainWindow(services))
    assert (window.x(), window.y()) == (free.x(), free.y())
    assert window.width() == 1200
    assert 600 < window.height() < free.height()
    assert window.minimumHeight() <= 600
