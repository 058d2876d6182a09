"""Checks, before Qt starts, whether a window can be opened. If not, Qt would abort the process."""

import contextlib
import ctypes
import importlib.util
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from app.core.messages import Message, message, sentence

DEBIAN_PACKAGES = (
    "libxcb-cursor0 libxcb-icccm4 libxcb-image0 libxcb-keysyms1 libxcb-render-util0 libxcb-shape0 libxcb-xkb1"
    " libxkbcommon-x11-0 libegl1 libgl1 libdbus-1-3 libfontconfig1"
)


def has_display(environment: Mapping[str, str] = os.environ) -> bool:
    if not sys.platform.startswith("linux"):
        return True
    return any(environment.get(name) for name in ("QT_QPA_PLATFORM", "WAYLAND_DISPLAY", "DISPLAY"))


def find_problem(environment: Mapping[str, str] = os.environ) -> list[Message]:
    """Explain why no window can be opened and how to fix this; empty if there is no problem."""
    platform = environment.get("QT_QPA_PLATFORM", "xcb")
    if not sys.platform.startswith("linux") or not platform.startswith(("xcb", "wayland")):
        return []
    try:
        package = importlib.util.find_spec("PySide6")
        if package is None or package.origin is None:
            raise ImportError(sentence("start.no_pyside"))
        folder = Path(package.origin).parent / "Qt" / "plugins" / "platforms"
        if _wayland_socket(environment) is not None:
            # Qt falls back to X11 if libraries for Wayland are missing.
            with contextlib.suppress(OSError):
                ctypes.CDLL(str(folder / "libqwayland.so"))
                return []
        ctypes.CDLL(str(folder / "libqxcb.so"))
    except (ImportError, OSError) as error:
        return [
            message("start.qt_not_loaded", reason=str(error)),
            message("start.install_packages", packages=DEBIAN_PACKAGES),
        ]
    display = environment.get("DISPLAY", "")
    if _answers(display):
        return []
    code = "start.display_not_answering" if display else "start.wayland_not_answering"
    return [message(code, display=display), message("start.check_display")]


def _wayland_socket(environment: Mapping[str, str]) -> Path | None:
    name = environment.get("WAYLAND_DISPLAY")
    path = Path(environment.get("XDG_RUNTIME_DIR", "/run"), name) if name else None
    return path if path is not None and path.exists() else None


def _answers(display: str) -> bool:
    xcb = ctypes.CDLL("libxcb.so.1")
    xcb.xcb_connect.restype = ctypes.c_void_p
    connection = ctypes.c_void_p(xcb.xcb_connect(display.encode() or None, None))
    try:
        return not xcb.xcb_connection_has_error(connection)
    finally:
        xcb.xcb_disconnect(connection)
