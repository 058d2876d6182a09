"""The window as a program: started, asked to end, twice at once, and where it cannot open."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from PySide6.QtWidgets import QApplication, QLabel

import app.gui.pages
from app.core.paths import default_paths
from app.core.storage.database import Database
from app.core.storage.imported_results import list_results
from app.gui.shell import main_window
from app.gui.shell.main_window import MENUS
from app.gui.shell.pages import PAGES, PageEntry
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


def command_of(process: psutil.Process) -> list[str]:
    """Return a process' command; [] for one that ends just now, such as a helper that looked for a GPU."""
    try:
        return list(process.cmdline())
    except psutil.NoSuchProcess:
        return []


def catches_sigterm(pid: int) -> bool:
    """Say whether a process would hear a request to end, which would end it at once before."""
    mask = next(line.split()[1] for line in read_status(pid) if line.startswith("SigCgt"))
    return bool(int(mask, 16) & 1 << (signal.SIGTERM - 1))


def read_status(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()


@pytest.mark.slow
@on_linux
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_window_ends_when_asked_to(environment: dict[str, str], number: signal.Signals) -> None:
    process = open_window(environment)
    process.send_signal(number)
    output, errors = process.communicate(timeout=30)
    assert (process.returncode, output, errors) == (0, "", "")


@pytest.mark.slow
@on_linux
def test_a_result_file_that_the_desktop_opens_is_imported(environment: dict[str, str]) -> None:
    process = open_window(environment, str(ROOT / "tests" / "data" / "results" / "format_2.epochmark.json"))
    with Database(default_paths(environment).database) as database:
        wait_until(lambda: list_results(database))
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=30) == ("", "")


@on_linux
def test_two_windows_use_one_database(environment: dict[str, str], epochmark: CommandLine) -> None:
    first, second = open_window(environment), open_window(environment)
    assert epochmark("run", "demo", "--steps", "2").returncode == 0
    for process in (first, second):
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=30) == ("", "")
        assert process.returncode == 0
    with Database(default_paths(environment).database) as database:
        assert [row[0] for row in database.connection.execute("SELECT status FROM runs")] == ["completed"]


@pytest.mark.slow
@on_linux
def test_a_window_that_is_killed_leaves_no_worker(environment: dict[str, str], tmp_path: Path) -> None:
    script = tmp_path / "run_in_window.py"
    script.write_text(
        "import sys\n"
        "from PySide6.QtCore import QTimer\n"
        "from PySide6.QtWidgets import QApplication\n"
        "from app.core.paths import default_paths\n"
        "from app.core.plans.repeat import repeat_plan\n"
        "from app.gui.shell.application import open_window\n"
        "from app.gui.style.theme import Theme\n"
        "from workloads import CATALOGUE\n"
        "application = QApplication(sys.argv)\n"
        "paths = default_paths()\n"
        "paths.create()\n"
        "window, services = open_window(Theme(application), paths)\n"
        "spec = CATALOGUE['demo'].default_spec(epochs=1000)\n"
        "plan = repeat_plan(spec)\n"
        "services.finder.found.connect(lambda: services.bridge.start(plan, services.finder.machine))\n"
        "application.exec()\n",
        encoding="utf-8",
    )
    process = subprocess.Popen(
        [sys.executable, str(script)], env=environment | {"QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": str(ROOT)}
    )
    window = psutil.Process(process.pid)

    def workers() -> list[psutil.Process]:
        return [child for child in window.children() if "workloads" in command_of(child)]

    wait_until(workers)
    found = workers()
    process.kill()
    process.wait(10)
    assert psutil.wait_procs(found, timeout=15)[1] == []


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only there a display may be missing")
def test_a_display_that_does_not_answer_is_reported_without_a_crash(environment: dict[str, str]) -> None:
    surroundings = {name: value for name, value in environment.items() if name != "QT_QPA_PLATFORM"}
    done = python("-m", "app", env=surroundings | {"DISPLAY": ":9876", "WAYLAND_DISPLAY": ""})
    assert done.returncode == 2
    assert done.stderr.startswith("epochmark: ")
    assert f"`{HINT} run`" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_importing_the_window_and_its_charts_keeps_no_sources(environment: dict[str, str]) -> None:
    script = (
        "import app.gui.shell.application, app.gui.run.view, linecache\n"
        "print(*(name for name in linecache.cache if 'pyqtgraph' in name or 'workloads' in name), end='')\n"
    )
    done = python("-c", script, env=environment)
    assert (done.returncode, done.stdout) == (0, "")


SCORES = """
from PySide6.QtWidgets import QApplication, QLabel


class ScoresPage(QLabel):
    def __init__(self, services):
        super().__init__("Scores")
"""


@pytest.fixture
def scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "scores").mkdir()
    (tmp_path / "scores" / "page.py").write_text(SCORES)
    monkeypatch.setattr(app.gui.pages, "__path__", [*app.gui.pages.__path__, str(tmp_path)])
    entry = PageEntry("scores", "label.workload", "list", "ScoresPage")
    monkeypatch.setattr(main_window, "PAGES", (*PAGES[:-1], entry, PAGES[-1]))
    yield
    sys.modules.pop("app.gui.pages.scores.page", None)


def test_a_page_is_a_folder_and_a_row(scores: None, driver: Driver) -> None:
    window = driver.window
    driver.press(window.side_bar.places["scores"])
    assert isinstance(window.page, QLabel)
    assert window.page.text() == "Scores"
    assert window.side_bar.places["scores"].isChecked()
    shortcuts = {code: window.action(code).shortcut().toString() for code in ("label.workload", "page.hardware")}
    assert shortcuts == {"label.workload": "Ctrl+7", "page.hardware": "Ctrl+8"}


@pytest.mark.parametrize("number", range(1, 1 + len(PAGES)))
def test_every_page_has_keys_and_marks_its_entry(driver: Driver, number: int) -> None:
    entry, window = PAGES[number - 1], driver.window
    action = window.action(entry.title)
    assert action.shortcut().toString() == f"Ctrl+{number}"
    action.trigger()
    assert type(window.stack.currentWidget()).__name__ == entry.widget
    assert [code for code, place in window.side_bar.places.items() if place.isChecked()] == [
        entry.under or entry.code
    ]


@pytest.mark.parametrize("code", [code for codes in MENUS.values() for code in codes if code != "menu.updates"])
def test_the_menu_has_all_that_has_no_button(driver: Driver, code: str) -> None:
    assert driver.window.action(code) in driver.window.side_bar.menu.actions()


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


@pytest.mark.slow
def test_pages_are_imported_when_they_are_opened() -> None:
    code = (
        "import sys, app.gui.shell.application, app.gui.shell.main_window; "
        "print(sorted(name.split('.')[3] for name in sys.modules if name.startswith('app.gui.pages.') "
        "and name.endswith('.page')))"
    )
    assert python("-c", code).stdout.strip() == "['benchmark']"


@pytest.mark.slow
def test_pages_open_without_what_others_exports_pictures_and_the_doctor_need() -> None:
    code = (
        "import sys, app.gui.pages.results.page, app.gui.pages.hardware.page; "
        "later = 'app.core.doctor. app.core.report.export app.gui.run.share_picture'; "
        "print(sorted(name for name in sys.modules if name.startswith(tuple(later.split()))))"
    )
    assert python("-c", code).stdout.strip() == "[]"
