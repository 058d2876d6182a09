"""Desktop integration: notifications, and the name of the program."""

import contextlib
import ctypes
import shutil
import subprocess
import sys
from typing import Any

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QSystemTrayIcon, QWidget

NOTICE_MS = 10_000
PROGRAM_ID = "Epochmark.Epochmark"


def name_program(system: str = sys.platform) -> None:
    """Register an application ID with Windows. Without an ID, the taskbar groups the window with Python's."""
    if system == "win32":
        shell: Any = ctypes.windll.shell32  # type: ignore[attr-defined,unused-ignore]
        shell.SetCurrentProcessExplicitAppUserModelID(PROGRAM_ID)


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
