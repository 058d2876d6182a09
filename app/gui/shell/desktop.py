"""Desktop integration for runs: progress in the taskbar, and notifications."""

import contextlib
import ctypes
import shutil
import subprocess
import sys
import uuid
from typing import Any, Protocol

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QSystemTrayIcon, QWidget

NOTICE_MS = 10_000
PROGRAM_ID = "Epochmark.Epochmark"
# Interface IDs of Windows' ITaskbarList3, and the indices of its functions, from shobjidl_core.h.
_TASKBAR_LIST, _TASKBAR_LIST_3 = "56fdf344-fd6d-11d0-958a-006097c9a090", "ea1afb91-9e28-4b86-90e9-9e9f8a5eefaf"
_INITIALISE, _SET_VALUE, _SET_STATE = 3, 9, 10
_NO_PROGRESS, _NORMAL, _PARTS = 0, 2, 1_000


def name_program(system: str = sys.platform) -> None:
    """Register an application ID with Windows. Without an ID, the taskbar groups the window with Python's."""
    if system == "win32":
        shell: Any = ctypes.windll.shell32  # type: ignore[attr-defined,unused-ignore]
        shell.SetCurrentProcessExplicitAppUserModelID(PROGRAM_ID)


class TaskBar(Protocol):
    """The app's entry in the taskbar."""

    def show(self, fraction: float | None) -> None:
        """Show progress, 0 to 1; None hides it."""


def task_bar(window: QWidget, system: str = sys.platform) -> TaskBar | None:
    """Return the taskbar entry of a window; None if the system can't show progress in it."""
    try:
        if system == "win32":
            return WindowsTaskBar(int(window.winId()))
        return LauncherEntry() if system.startswith("linux") else None
    except (OSError, ImportError):  # for example, Windows without a desktop
        return None


def notify(window: QWidget, title: str, text: str, system: str = sys.platform) -> None:
    """Show a notification, and highlight the app in the taskbar until it is focused.

    On Linux, notify-send is used, which all major desktops include. If it is missing, and on other systems, the
    system tray is used.
    """
    QApplication.alert(window)
    if system.startswith("linux") and (program := shutil.which("notify-send")) is not None:
        command = [program, "--app-name=Epochmark", "--icon=epochmark", "--", title, text]
        with contextlib.suppress(OSError):
            subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            return
    if QSystemTrayIcon.isSystemTrayAvailable() and QSystemTrayIcon.supportsMessages():
        tray = QSystemTrayIcon(window.windowIcon(), window)
        tray.show()
        tray.showMessage(title, text, window.windowIcon(), NOTICE_MS)
        tray.messageClicked.connect(window.activateWindow)
        QTimer.singleShot(2 * NOTICE_MS, tray, tray.deleteLater)


class LauncherEntry:
    """The launcher entry on Linux. Uses Unity's signal, which KDE's, Ubuntu's and other docks support."""

    def __init__(self) -> None:
        from PySide6.QtDBus import QDBusConnection, QDBusMessage

        self._bus, self._message = QDBusConnection.sessionBus(), QDBusMessage

    def show(self, fraction: float | None) -> None:
        if not self._bus.isConnected():
            return
        signal = self._message.createSignal("/io/epochmark", "com.canonical.Unity.LauncherEntry", "Update")
        state = {"progress": float(fraction or 0.0), "progress-visible": fraction is not None}
        signal.setArguments(["application://epochmark.desktop", state])
        self._bus.send(signal)


class WindowsTaskBar:
    """The taskbar button on Windows. Calls COM methods through the interface's vtable."""

    def __init__(self, window_id: int) -> None:
        self._window_id = window_id
        ole: Any = ctypes.windll.ole32  # type: ignore[attr-defined,unused-ignore]
        ole.CoInitialize(None)
        self._list = ctypes.c_void_p()
        names = [uuid.UUID(name).bytes_le for name in (_TASKBAR_LIST, _TASKBAR_LIST_3)]
        in_process = 1
        if ole.CoCreateInstance(names[0], None, in_process, names[1], ctypes.byref(self._list)):
            raise OSError("ITaskbarList3")
        self._call(_INITIALISE)

    def show(self, fraction: float | None) -> None:
        window = ctypes.c_void_p(self._window_id)
        self._call(_SET_STATE, window, ctypes.c_int(_NO_PROGRESS if fraction is None else _NORMAL))
        if fraction is not None:
            done, whole = ctypes.c_ulonglong(round(_PARTS * fraction)), ctypes.c_ulonglong(_PARTS)
            self._call(_SET_VALUE, window, done, whole)

    def _call(self, place: int, *arguments: Any) -> None:
        table = ctypes.cast(self._list, ctypes.POINTER(ctypes.POINTER(ctypes.c_void_p))).contents
        kinds: list[Any] = [ctypes.c_void_p, *(type(argument) for argument in arguments)]
        ctypes.CFUNCTYPE(ctypes.c_long, *kinds)(table[place] or 0)(self._list, *arguments)
