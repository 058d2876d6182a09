"""Checks an installation: imports every module, trains in real workers, and opens every page and chart offscreen.

Packages leave out parts of Qt and Python, so a packaged program that starts may still fail on certain pages.
"""

import os
import pkgutil
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from PySide6.QtWidgets import QApplication, QWidget

import app
import workloads
from app.core.engines.choices import automatic_choice, device_choices, installed_engines
from app.core.hardware.machine import detect_machine
from app.core.messages import sentence
from app.core.paths import Paths, default_paths
from app.core.runs.runner import Runner
from app.core.storage.database import Database
from app.core.storage.runs import list_runs
from app.gui.charts.bar_list import BarList
from app.gui.charts.figure import FigureView
from app.gui.charts.pair_plot import PairPlot
from app.gui.charts.plots import DoublePlot, Plot
from app.gui.shell.application import open_window
from app.gui.shell.pages import PAGES
from app.gui.style.theme import Theme
from workloads import CATALOGUE, STANDARD
from workloads.engines.cpp_runtime import find_cpp_runtime
from workloads.engines.registry import ENGINES
from workloads.protocol.folders import temporary_folder
from workloads.protocol.spec import RunSpec

_RUN_LIMIT_S, _OPEN_LIMIT_S, _PAGE_S = 600.0, 60.0, 0.2
_STEPS = 3


class _BrokenError(Exception):
    """Part of the installation is broken."""


def run_self_test(say: Callable[[str], None]) -> int:
    """Run all checks, report each one, and return 0 if all of them passed, otherwise 1. The runs aren't kept."""
    os.environ |= {"QT_QPA_PLATFORM": "offscreen", "TF_CPP_MIN_LOG_LEVEL": "3"}  # importing TensorFlow logs a lot
    codes = []
    with temporary_folder() as folder:
        paths = _paths(folder)
        for code, check in (
            ("self_test.modules", _import_everything),
            ("self_test.demo", partial(_train, paths, CATALOGUE["demo"].default_spec())),
            ("self_test.network", partial(_train_network, paths)),
            ("self_test.window", partial(_open_everything, paths)),
        ):
            try:
                check()
            except Exception:  # noqa: BLE001 - missing parts may raise any exception
                codes.append("self_test.failed")
                say(traceback.format_exc())
            else:
                codes.append("self_test.passed")
            say(sentence(codes[-1], check=sentence(code)))
    return int("self_test.failed" in codes)


def _paths(folder: Path) -> Paths:
    engines = default_paths().engines
    parts = {name: folder / name for name in ("data", "config", "cache")}
    paths = Paths(**parts, engines_folder=engines if engines.is_dir() else None)
    paths.create()
    return paths


def _import_everything() -> None:
    """Import every module of the app and of the workloads.

    Modules that import an engine may fail if it isn't installed.
    """
    find_cpp_runtime()
    for package in (app, workloads):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if module.name.endswith("__main__"):
                continue
            try:
                import_module(module.name)
            except ModuleNotFoundError as error:
                if error.name not in {*ENGINES, "keras"}:
                    raise


def _train(paths: Paths, spec: RunSpec) -> None:
    runner = Runner(paths, detect_machine(data_folder=paths.datasets))
    session = runner.start(runner.check(spec))
    if not session.wait(_RUN_LIMIT_S):
        session.kill()
        raise _BrokenError(spec.workload)
    with Database(paths.database) as database:
        run = next(list_runs(database, ids=[session.run_id]))
    if run.status != "completed":
        raise _BrokenError(run.error_message or run.status)


def _train_network(paths: Paths) -> None:
    """Train the standard network for a few steps; without an engine, there is nothing to check."""
    installed = installed_engines(paths)
    choice = automatic_choice(device_choices(installed, detect_machine(data_folder=paths.datasets)))
    if choice is not None:
        standard = CATALOGUE[STANDARD]
        _train(paths, standard.default_spec(engine=choice.engine, device=choice.device, epochs=1, steps=_STEPS))


def _open_everything(paths: Paths) -> None:
    application = QApplication.instance() or QApplication(["epochmark"])
    assert isinstance(application, QApplication)
    theme = Theme(application)
    window, services = open_window(theme, paths)
    with _raised_in_slots() as raised:
        for page in PAGES:
            window.show_page(page.code)
            _wait(lambda: bool(raised), _PAGE_S)
            _draw(window)
        with Database(paths.database) as database:
            run = next(list_runs(database))
        window.show_page("results")
        window.results.open_run(run.id)
        _wait(lambda: window.results.run is not None or bool(raised), _OPEN_LIMIT_S)
        _draw(window)
        for make in _charts():
            _draw(make(theme))
        window.close()
        services.tasks.close()
    if raised:
        raise raised[0]
    if window.results.run is None:
        raise _BrokenError(sentence("page.results"))


def _charts() -> tuple[Callable[[Theme], QWidget], ...]:
    plots: list[Any] = [*Plot.__subclasses__(), *DoublePlot.__subclasses__()]
    return (BarList, FigureView, PairPlot, *(plot for plot in plots if plot is not DoublePlot))


def _draw(widget: QWidget) -> None:
    if widget.grab().isNull():
        raise _BrokenError(type(widget).__name__)


def _wait(is_over: Callable[[], bool], limit_s: float) -> None:
    end_s = time.monotonic() + limit_s
    while not is_over() and time.monotonic() < end_s:
        QApplication.processEvents()
        time.sleep(0.01)


@contextmanager
def _raised_in_slots() -> Iterator[list[BaseException]]:
    """Collect exceptions raised in slots, which PySide passes to the hook instead of to the caller."""
    raised: list[BaseException] = []
    before, sys.excepthook = sys.excepthook, lambda _kind, error, _trace: raised.append(error)
    try:
        yield raised
    finally:
        sys.excepthook = before
