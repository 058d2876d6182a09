"""Capabilities of output streams: line width, colours and characters."""

import os
import sys
from enum import Enum
from typing import TextIO

from app.core.titles import level_title

USUAL_COLUMNS, LEAST_COLUMNS = 80, 20
COLOR_CHOICES = ("auto", "always", "never")
_COLUMNS_DIGITS = 5


class Ink(Enum):
    """The meaning of a piece of output. The value is its colour's ANSI code."""

    GOOD = "32"  # green
    CAUTION = "33"  # yellow
    BAD = "31"  # red
    MUTED = "2"  # dim
    OWN = "1"  # bold


VERDICT_INKS = {"valid": Ink.GOOD, "caution": Ink.CAUTION, "invalid": Ink.BAD}


def verdict_ink(title: str) -> Ink | None:
    """Return the ink of a verdict in a table, given the verdict's title."""
    return {level_title(level): ink for level, ink in VERDICT_INKS.items()}.get(title)


def columns(stream: TextIO) -> int | None:
    """Return the width that lines must fit into: COLUMNS or the terminal's width; None if there is neither."""
    asked = os.environ.get("COLUMNS", "")
    if asked.isascii() and asked.isdecimal() and len(asked) <= _COLUMNS_DIGITS and int(asked) > 0:
        return max(LEAST_COLUMNS, int(asked))
    if not is_terminal(stream):
        return None
    try:
        wide = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        wide = 0
    return max(LEAST_COLUMNS, wide or USUAL_COLUMNS)  # some terminals report a width of 0


def is_terminal(stream: TextIO) -> bool:
    """Return whether a stream is a terminal."""
    try:
        return stream.isatty()
    except ValueError:  # the stream is closed
        return False


def can_print(text: str) -> bool:
    """Return whether standard output can encode these characters."""
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


class Colors:
    """Whether to colour standard output. Call `choose` first."""

    def __init__(self) -> None:
        self._are_on = False

    def choose(self, choice: str) -> None:
        """Turn colours on or off. "auto" turns them on for terminals that support them, unless NO_COLOR is set."""
        if choice == "auto":
            is_wanted = is_terminal(sys.stdout) and not os.environ.get("NO_COLOR") and _has_colors(sys.stdout)
        else:
            is_wanted = choice == "always" and (not is_terminal(sys.stdout) or _has_colors(sys.stdout))
        self._are_on = is_wanted

    def paint(self, safe: str, ink: Ink | None) -> str:
        """Return text in the colour of its ink if colours are on. The text must already be safe for terminals."""
        return f"\x1b[{ink.value}m{safe}\x1b[0m" if self._are_on and ink is not None and safe else safe


COLORS = Colors()


def _has_colors(stream: TextIO) -> bool:
    """Return whether a terminal supports colours. Windows consoles need to enable them first."""
    if sys.platform != "win32":
        return os.environ.get("TERM") != "dumb"
    import ctypes
    import msvcrt

    processes_sequences = 0x0004  # ENABLE_VIRTUAL_TERMINAL_PROCESSING
    console = ctypes.c_void_p(msvcrt.get_osfhandle(stream.fileno()))
    mode = ctypes.c_uint32()
    kernel = ctypes.windll.kernel32
    if not kernel.GetConsoleMode(console, ctypes.byref(mode)):
        return False
    return bool(kernel.SetConsoleMode(console, mode.value | processes_sequences))
