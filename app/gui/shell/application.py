"""Starts the GUI: theme, services, deferred work, and handlers for bugs and signals."""

import app.gui.shell.lean_imports  # before everything that is imported with Qt

# isort: split
import contextlib
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any

from PySide6 import QtCore, QtGui, QtWidgets
from PySide6.QtCore import QObject, QSocketNotifier, QTimer, Signal
from PySide6.QtWidgets import QApplication, QMessageBox

import app
from app.core.errors import AppError
from app.core.logs import set_up_logging
from app.core.messages import sentence
from app.core.paths import Paths, default_paths
from app.core.runs.liveness import RunLimits
from app.core.storage.database import Database
from app.core.storage.outcomes import recover_runs
from app.core.storage.queries import purge_trash
from app.gui.services.bundle import Services
from app.gui.services.downloads import Downloads
from app.gui.services.engine_finder import EngineFinder
from app.gui.services.garbage import GarbageCollector
from app.gui.services.machine_finder import MachineFinder
from app.gui.services.preferences import Preferences
from app.gui.services.run_bridge import RunBridge
from app.gui.services.tasks import Tasks
from app.gui.shell.desktop import name_program
from app.gui.shell.main_window import MainWindow
from app.gui.shell.pages import PAGES
from app.gui.shell.zoom import zoomed
from app.gui.style.icons import application_icon
from app.gui.style.theme import Theme
from app.gui.widgets.basics import plain_tip
from app.gui.widgets.dialogs import FaultDialog, fault_report
from app.gui.widgets.timers import in_turns

TRASH_KEPT_S = 24 * 3600.0
END_PATIENCE_S = 9.0
ARGUMENTS = ["epochmark"]  # Qt's; X11 names the window's program after the first one, which would be __main__.py
_log = logging.getLogger(__name__)


class _Banner(QObject):
    message = Signal(str, str, str, object)


class BannerHandler(logging.Handler):
    """Displays the core's warnings in the window, for example about damaged files or hung telemetry."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._waiting: list[str] = []
        self._banner: _Banner | None = None

    def open(self, banner: _Banner) -> None:
        self._banner = banner
        for text in self._waiting:
            banner.message.emit(text, "caution", "", None)
        self._waiting.clear()

    def emit(self, record: logging.LogRecord) -> None:
        """Show a warning from any thread. Bugs have their own dialog."""
        if record.levelno >= logging.ERROR:
            return
        if self._banner is None:
            self._waiting.append(record.getMessage())
        else:
            self._banner.message.emit(record.getMessage(), "caution", "", None)


def run_window(file: Path | None = None) -> int:
    """Run the GUI, import a result file if one is opened, and return the exit code."""
    name_program()
    application = _make_application()
    application.setApplicationName("Epochmark")
    application.setApplicationVersion(app.__version__)
    application.setDesktopFileName("epochmark")
    application.setWindowIcon(application_icon())
    try:
        paths = default_paths()
        paths.create()
    except AppError as error:
        QMessageBox.critical(None, sentence("window.cannot_start"), plain_tip(str(error)))
        return 2
    set_up_logging(paths.logs)
    garbage = GarbageCollector(application)
    window, services = open_window(Theme(application), paths)
    if file is not None:
        window.imports.start([file])
    catcher = FaultCatcher(window, paths)
    catcher.install()
    SignalCatcher(window)
    code = application.exec()
    services.tasks.close()
    services.bridge.finish(END_PATIENCE_S)
    catcher.remove()
    garbage.close()
    return _start_again() if window.wants_restart else code


def _start_again() -> int:
    """Restart the app to apply changes that require it, such as a new zoom level."""
    command = [sys.executable, *sys.orig_argv[1:]]
    if os.name == "posix":
        os.execv(sys.executable, command)  # noqa: S606 - restarts this program
    subprocess.Popen(command)  # on Windows, exec would return control to the terminal
    return 0


def _make_application() -> QApplication:
    try:
        settings = default_paths().settings
    except AppError:  # the error is reported later, with Qt's help
        return QApplication(ARGUMENTS)
    with zoomed(settings):
        return QApplication(ARGUMENTS)


def open_window(
    theme: Theme, paths: Paths, limits: RunLimits | None = None, *, prepares_charts: bool = True
) -> tuple[MainWindow, Services]:
    """Create the services, and show the window. Slower work is deferred until it has been drawn.

    `prepares_charts` creates the charts of a run, and imports the other pages, while idle instead of when needed.
    """
    warnings = BannerHandler()
    logging.getLogger("app").addHandler(warnings)
    preferences = Preferences(paths.settings)
    theme.choose(preferences.settings.theme)
    tasks = Tasks()
    banner = _Banner(tasks)
    services = Services(
        paths=paths,
        theme=theme,
        tasks=tasks,
        preferences=preferences,
        finder=MachineFinder(tasks, lambda: services.paths.datasets, tasks),
        engines=EngineFinder(lambda: services.paths, tasks, tasks),
        bridge=RunBridge(lambda: services.paths, tasks, limits, tasks),
        downloads=Downloads(tasks, banner.message.emit, tasks),
        notify=banner.message.emit,
    )
    window = MainWindow(services)
    banner.message.connect(window.banner.notify)
    window.closed.connect(lambda: logging.getLogger("app").removeHandler(warnings))
    warnings.open(banner)
    window.show()
    QTimer.singleShot(0, lambda: _start_up(window, services, prepares_charts=prepares_charts))
    return window, services


def _start_up(window: MainWindow, services: Services, *, prepares_charts: bool) -> None:
    services.finder.look()
    services.engines.look()
    path = services.paths.database

    def tidy() -> None:
        with Database(path) as database:
            recover_runs(database)
            purge_trash(database, older_than_s=TRASH_KEPT_S)

    services.tasks.start(tidy, lambda _: None, services.complain)
    if not prepares_charts:
        return
    # Import NumPy in a thread while the window is usable, then prepare the rest.
    services.tasks.start(
        partial(import_module, "numpy"), lambda _: in_turns(window, _prepare(window)), services.complain
    )


def _prepare(window: MainWindow) -> Iterator[None]:
    """Import and create the charts, then import the pages, in steps of at most 50 ms.

    Call this in the GUI thread. Qt reads its table of classes without holding the GIL, and the app may crash if
    another thread adds to the table at the same time.
    """
    for module in (QtCore, QtGui, QtWidgets):
        for number, name in enumerate(dir(module)):
            getattr(module, name)  # creates the class, as pyqtgraph does for all of them
            if number % 100 == 0:
                yield
    import app.gui.charts.plots

    yield
    import app.gui.run.view  # noqa: F401

    yield
    window.benchmark.prepare()
    for page in PAGES:
        yield
        page.load()


class FaultCatcher(QObject):
    """Shows uncaught exceptions of all threads. The window remains usable."""

    caught = Signal(str)

    def __init__(self, window: MainWindow, paths: Paths) -> None:
        super().__init__()
        self._window = window
        self._log_file = paths.logs / "epochmark.log"
        self.dialog: FaultDialog | None = None
        self.caught.connect(self.show)
        self._before: tuple[Any, Any] | None = None

    def install(self) -> None:
        self._before = sys.excepthook, threading.excepthook
        sys.excepthook = self._catch
        threading.excepthook = self._catch_in_thread

    def remove(self) -> None:
        if self._before is not None:
            sys.excepthook, threading.excepthook = self._before

    def show(self, report: str) -> None:
        """Show a bug. While its dialog is open, further bugs are only logged."""
        if self.dialog is not None:
            if self.dialog.isVisible():
                return
            self.dialog.deleteLater()
        self.dialog = FaultDialog(self._window, report, sentence("fault.also_in_log", path=str(self._log_file)))
        self.dialog.open()

    def _catch(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            self._window.close_soon()
            return
        _log.error("Something went wrong.", exc_info=(kind, error, trace))
        self.caught.emit(fault_report(kind, error, trace))

    def _catch_in_thread(self, args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None:
            self._catch(args.exc_type, args.exc_value, args.exc_traceback)


class SignalCatcher(QObject):
    """Closes the window on Ctrl-C, Ctrl-Break and SIGTERM.

    Without this class, Python would handle signals only when the next event arrives.
    """

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._reading, self._writing = socket.socketpair()
        for end in (self._reading, self._writing):
            end.setblocking(False)
        self._notifier = QSocketNotifier(self._reading.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._on_signal)
        signal.set_wakeup_fd(self._writing.fileno(), warn_on_full_buffer=False)
        for name in ("SIGINT", "SIGTERM", "SIGBREAK"):  # SIGBREAK is Ctrl-Break on Windows
            number = getattr(signal, name, None)
            # Ignore signals that the parent wants ignored, for example nohup.
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, lambda *_: None)

    def _on_signal(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._reading.recv(64)
        self._window.close_soon()
