"""What all tests share: folders of their own, a machine that is always the same, and the command line."""

import gc
import os
import re
import shlex
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import workloads.engines
from app.core.engines.stamp import FORMAT, Package, Stamp, this_python, write_stamp
from app.core.paths import Paths, default_paths
from app.core.runs.worker_command import packages_of
from app.core.storage.database import Database
from tests import real_engines
from tests.forks import Forks
from tests.systems import WITHOUT_WINDOW
from workloads.engines.registry import DEFAULT_ENGINE, ENGINES
from workloads.protocol.machine import Machine

# Examples may take long on a machine that freezes for seconds; that says nothing about them.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")
# Before Qt starts; a developer who wants to look sets another platform.
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
# What a developer's terminal says of itself would change what commands print.
for _name in ("COLUMNS", "NO_COLOR", "EPOCHMARK_STARTED_AS"):
    os.environ.pop(_name, None)
# A shell that started the tests in the background has Ctrl+C ignored, which all processes here would inherit.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# In a container, a user may have neither a name nor a home.
if os.path.expanduser("~") == "~":  # noqa: PTH111 - Path's raises an error
    os.environ["HOME"] = tempfile.gettempdir()
# With it, each of the many processes would compile the app again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

ROOT = Path(__file__).resolve().parents[1]
# Before any test changes them.
ENVIRONMENT, FOLDER = dict(os.environ), Path.cwd()
MACHINE = Machine(
    cpu_name="Test CPU",
    physical_cores=4,
    logical_cores=8,
    memory_bytes=16_000_000_000,
    os_name="Test OS 1",
    architecture="x86_64",
    python_version="3.11.7",
    virtual_machine=False,
)
NEEDS_QT = re.compile(
    r"\b(?:PySide6|qtbot|qapp|app\.gui|pyqtgraph|tests\.(?:gui|tools\.(?:camera|screenshots|study_images|golden_pictures)))\b"
)
CommandLine = Callable[..., "subprocess.CompletedProcess[str]"]
# What gives a test a real command line or a real start, which take a second each.
SLOW_FIXTURES = {"epochmark", "first_start"}
_LONGEST = ("engines", "engine", "long", "slow", "packaging")
PATIENCE_S = 200  # with a command
PYTHON = sys.executable  # some tests give it another name
pythons_started: list[str] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the settings of pytest-qt where Qt's libraries are missing, and with them the plugin."""
    for name in ("qt_api", "qt_log_level_fail", "qt_log_ignore") if WITHOUT_WINDOW else ():
        parser.addini(name, "pytest-qt's")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out what needs Qt where its libraries are missing."""
    if not WITHOUT_WINDOW:
        return None
    is_test = collection_path.suffix == ".py"
    needs_qt = is_test and NEEDS_QT.search(collection_path.read_text(encoding="utf-8"))
    return True if needs_qt or collection_path == ROOT / "tests" / "gui" else None


def pytest_configure(config: pytest.Config) -> None:
    """Note each Python process that is started: nothing else costs as much, and so often."""

    def note(event: str, details: tuple[Any, ...]) -> None:
        if event == "subprocess.Popen":
            command = details[1] if isinstance(details[1], list | tuple) else [details[1]]
            if PYTHON in map(str, command):
                pythons_started.append(" ".join(map(str, command)))

    sys.addaudithook(note)


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow by what it asks for."""
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if SLOW_FIXTURES.intersection(fixtures):
            item.add_marker("slow")
        if "installed_engines" in fixtures:
            item.add_marker("engines")
            item.add_marker(pytest.mark.timeout(real_engines.PATIENCE_S))  # the first one may have to install them
    # The longest files first, or one process would still be busy with them when the other has nothing left.
    ranks: dict[Path, int] = {}
    for item in items:
        rank = next((at for at, name in enumerate(_LONGEST) if item.get_closest_marker(name)), len(_LONGEST))
        ranks[item.path] = min(rank, ranks.get(item.path, rank))
    items.sort(key=lambda item: ranks[item.path])


def pytest_collection_finish() -> None:
    """Leave the thousands of tests out of every search for garbage."""
    gc.freeze()


@pytest.fixture(autouse=True)
def fast_tests_start_no_python(request: pytest.FixtureRequest) -> Iterator[None]:
    """Keep `start.py test --fast` fast: fail where a test without a mark starts a Python process."""
    yield
    started = pythons_started.copy()
    pythons_started.clear()  # at the end, as fixtures of a whole module start theirs before this one
    marked = any(request.node.get_closest_marker(name) for name in _LONGEST)
    assert marked or not started, f"mark this test `slow`: it started {started}"


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    """Epochmark's folders, made below the test's own."""
    found = default_paths({"EPOCHMARK_HOME": str(tmp_path / "home")})
    found.create()
    return found


@pytest.fixture
def database(paths: Paths) -> Iterator[Database]:
    with Database(paths.database) as opened:
        yield opened


@pytest.fixture(scope="session")
def engines_folder() -> Path:
    """The folder with real PyTorch and JAX; leave it as it is."""
    return real_engines.installed()


@pytest.fixture
def installed_engines(paths: Paths, engines_folder: Path) -> Paths:
    """Epochmark's folders, below the test's own, with real PyTorch and JAX, also for the command line."""
    paths.engines.symlink_to(engines_folder, target_is_directory=True)
    return paths


@pytest.fixture
def machine() -> Machine:
    return MACHINE


@pytest.fixture
def second_engine(monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of an engine besides the usual one: plain NumPy, which uses no GPU and isn't installed."""
    folder = ROOT / "tests" / "workloads" / "engines" / "plain_numpy"
    monkeypatch.setattr(workloads.engines, "__path__", [*workloads.engines.__path__, str(folder)])
    monkeypatch.setitem(ENGINES, "plain_numpy", import_module("workloads.engines.plain_numpy").INFO)
    return "plain_numpy"


@pytest.fixture
def no_engine_included(monkeypatch: pytest.MonkeyPatch) -> None:
    """Epochmark as its packages contain it."""
    monkeypatch.setattr(ENGINES[DEFAULT_ENGINE], "included_as", None)


def pretend_installed(engine: str, paths: Paths, variant: str = "cpu") -> Path:
    """Make the folder of an engine's packages, as if it were installed, and return it."""
    folder = packages_of(engine, paths)
    assert folder is not None
    folder.mkdir(parents=True)
    stamp = Stamp(
        format=FORMAT,
        engine=engine,
        variant=variant,
        version="1.0",
        python=this_python(),
        platform=sysconfig.get_platform(),
        packages=(Package("plain", "1.0", "0" * 64, is_locked=False),),
        records_sha256="0" * 64,
        size_bytes=0,
        installed_at="2026-11-22T12:00:00Z",
    )
    write_stamp(folder.parent, stamp)
    return folder


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The surroundings of a command: this process's, with Epochmark's folders below the test's own."""
    return {**os.environ, "EPOCHMARK_HOME": str(tmp_path / "home")}


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks | None]:
    """What runs command lines without starting Python for each; None where the system can't fork."""
    if os.name != "posix":
        yield None
        return
    forks = Forks(ENVIRONMENT, FOLDER)
    yield forks
    forks.close()


@pytest.fixture
def epochmark(environment: dict[str, str], forks: Forks | None) -> CommandLine:
    """Run a real command line to its end: epochmark("results", "list")."""

    def run(*arguments: str, **changes: str) -> "subprocess.CompletedProcess[str]":
        words, variables = command(*arguments), environment | changes
        if forks is not None and forks.fits(variables):
            return subprocess.CompletedProcess(words, *forks.run(words, variables, PATIENCE_S))
        return subprocess.run(
            words, env=variables, capture_output=True, encoding="utf-8", timeout=PATIENCE_S, check=False
        )

    return run


# How hints begin in what `command` starts; a path with a space is in quotes.
PYTHON_AS_TYPED = sys.executable if os.name == "nt" else shlex.quote(sys.executable)
HINT = f"{PYTHON_AS_TYPED} -m app"


def command(*arguments: str) -> list[str]:
    """Return the command that starts Epochmark's command line."""
    return [sys.executable, "-m", "app", *arguments]
