"""Whether a window can open here, asked before Qt is started: Qt itself ends the program when it cannot."""

import contextlib
import ctypes
import importlib.util
import os
import sys
from collections.abc import Mapping
from pathlib import Path

_DEBIAN = (
    "libxcb-cursor0 libxcb-icccm4 libxcb-image0 libxcb-keysyms1 libxcb-render-util0 libxcb-shape0 libxcb-xkb1"
    " libxkbcommon-x11-0 libegl1 libgl1 libdbus-1-3 libfontconfig1"
)
ADVICE = f"On Debian or Ubuntu: sudo apt-get install {_DEBIAN}."


def has_display(environment: Mapping[str, str] = os.environ) -> bool:
    """Say whether there is a screen to open a window on; a platform that was asked for counts as one."""
    if not sys.platform.startswith("linux"):
        return True
    return any(environment.get(name) for name in ("QT_QPA_PLATFORM", "WAYLAND_DISPLAY", "DISPLAY"))


def find_problem(environment: Mapping[str, str] = os.environ) -> str | None:
    """Say in a sentence or two why no window can open although there is a display; None if it can."""
    platform = environment.get("QT_QPA_PLATFORM", "xcb")
    if not sys.platform.startswith("linux") or not platform.startswith(("xcb", "wayland")):
        return None
    try:
        folder = _plugins()
        if _wayland_socket(environment) is not None:
            # Qt goes on to X11 by itself where Wayland's libraries are missing.
            with contextlib.suppress(OSError):
                ctypes.CDLL(str(folder / "libqwayland.so"))
                return None
        ctypes.CDLL(str(folder / "libqxcb.so"))
    except (ImportError, OSError) as error:
        return f"Qt cannot be loaded ({error}). {ADVICE}"
    display = environment.get("DISPLAY", "")
    if not _answers(display):
        return f"The display {display or 'of WAYLAND_DISPLAY'} does not answer. Check DISPLAY and xauth."
    return None


def _plugins() -> Path:
    found = importlib.util.find_spec("PySide6")
    if found is None or found.origin is None:
        raise ImportError("PySide6 is not installed")
    return Path(found.origin).parent / "Qt" / "plugins" / "platforms"


def _wayland_socket(environment: Mapping[str, str]) -> Path | None:
    name = environment.get("WAYLAND_DISPLAY")
    path = Path(environment.get("XDG_RUNTIME_DIR", "/run"), name) if name else None
    return path if path is not None and path.exists() else None


def _answers(display: str) -> bool:
    """Connect as Qt will, and let go."""
    xcb = ctypes.CDLL("libxcb.so.1")
    xcb.xcb_connect.restype = ctypes.c_void_p
    connection = ctypes.c_void_p(xcb.xcb_connect(display.encode() or None, None))
    try:
        return not xcb.xcb_connection_has_error(connection)
    finally:
        xcb.xcb_disconnect(connection)
