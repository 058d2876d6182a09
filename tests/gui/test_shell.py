"""The window as a program: started, asked to end, twice at once, and where it cannot open."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from app.core.paths import default_paths
from app.core.storage.database import Database
from app.core.storage.imported_results import list_results
from app.gui.shell.main_window import MENUS
from app.gui.shell.pages import PAGES
from tests.child import python
from tests.cli.commands import start
from tests.conftest import HINT, ROOT, CommandLine
from tests.gui.driving import Driver
from tests.waiting import wait_until

on_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads Linux's list of signals")


def open_window(environment: dict[str, str], *arguments: str) -> "subprocess.Popen[str]":
    process = start(environment | {"QT_QPA_PLATFORM": "offscreen"}, *arguments)
    database = default_paths(environment).database
    wait_until(lambda: process.poll() is not None or database.exists())
    wait_until(lambda: process.poll() is not None or catches_sigterm(process.pid))
    assert process.poll() is None, process.communicate()
    return process


def catches_sigterm(pid: int) -> bool:
    """Say whether a process would hear a request to end, which would end it at once before."""
    mask = next(line.split()[1] for line in read_status(pid) if line.startswith("SigCgt"))
    return bool(int(mask, 16) & 1 << (signal.SIGTERM - 1))


def read_status(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()


@on_linux
def test_two_windows_share_results_and_end_when_asked_to(
    environment: dict[str, str], epochmark: CommandLine
) -> None:
    file = str(ROOT / "tests" / "data" / "results" / "format_2.epochmark.json")
    windows = open_window(environment, file), open_window(environment)
    assert epochmark("run", "demo", "--steps", "2").returncode == 0
    with Database(default_paths(environment).database) as database:
        wait_until(lambda: list_results(database))
        for process, number in zip(windows, (signal.SIGINT, signal.SIGTERM), strict=True):
            process.send_signal(number)
            assert process.communicate(timeout=30) == ("", "")
            assert process.returncode == 0
        assert [row[0] for row in database.connection.execute("SELECT status FROM runs")] == ["completed"]


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only there a display may be missing")
def test_a_display_that_does_not_answer_is_reported_without_a_crash(environment: dict[str, str]) -> None:
    surroundings = {name: value for name, value in environment.items() if name != "QT_QPA_PLATFORM"}
    done = python("-m", "app", env=surroundings | {"DISPLAY": ":9876", "WAYLAND_DISPLAY": ""})
    assert done.returncode == 2
    assert done.stderr.startswith("epochmark: ")
    assert f"`{HINT} run`" in done.stderr
    assert "Traceback" not in done.stderr


def test_every_page_has_keys_and_marks_its_entry(driver: Driver) -> None:
    window = driver.window
    for number, entry in enumerate(PAGES, 1):
        action = window.action(entry.title)
        assert action.shortcut().toString() == f"Ctrl+{number}"
        action.trigger()
        assert type(window.stack.currentWidget()).__name__ == entry.widget
        checked = [code for code, place in window.side_bar.places.items() if place.isChecked()]
        assert checked == [entry.under or entry.code]
    entries = window.side_bar.menu.actions()
    for code in (code for codes in MENUS.values() for code in codes if code != "menu.updates"):
        assert window.action(code) in entries, code


@pytest.mark.parametrize("size", [(800, 480), (1366, 768)])
def test_a_message_covers_nothing_and_leaves_with_its_page(driver: Driver, size: tuple[int, int]) -> None:
    window, banner = driver.window, driver.window.banner
    window.resize(*size)
    for code in ("lab", "benchmark"):  # one is made, the other was there
        window.show_page(code)
        window.banner.notify("Saved.", "invalid", "", None)
        QApplication.processEvents()
        assert banner.isVisible()
        assert not banner.geometry().intersects(window.stack.geometry())
        assert window.height() == size[1]
    window.show_page("lab")
    assert not banner.isVisible()
    window.banner.notify("The power limit is lower than before.", "caution", "Copy", None)
    window.show_page("benchmark")
    assert banner.isVisible(), "there is something left to do"


IMPORTED = """
import linecache, sys
def loaded(*names):
    return sorted(name for name in sys.modules if name.startswith(names))
import app.gui.shell.application, app.gui.shell.main_window
print([name for name in loaded("app.gui.pages.") if name.endswith(".page")])
print(loaded("tensorflow", "keras", "numpy", "pyqtgraph", "ssl", "urllib.request", "app.gui.shell.help_dialogs",
    "app.gui.run.workload_chooser", "app.core.engines.install", "app.core.engines.pip",
    "app.core.hardware.machine"))
import app.gui.pages.results.page, app.gui.pages.hardware.page
print(loaded("app.core.doctor.", "app.core.report.export", "app.gui.run.share_picture"))
import app.gui.run.view
print([name for name in linecache.cache if "pyqtgraph" in name or "workloads" in name])
"""


@pytest.mark.slow
def test_the_window_and_its_pages_load_only_what_they_need(environment: dict[str, str]) -> None:
    done = python("-c", IMPORTED, env=environment)
    assert done.stdout.splitlines() == ["['app.gui.pages.benchmark.page']", "[]", "[]", "[]"], done.stderr
