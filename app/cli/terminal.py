"""Capabilities of output streams: line width, colours and characters."""

import errno
import os
import sys
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Literal, TextIO, TypeAlias

from app.core.titles import level_title

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

Line: TypeAlias = "Text"

USUAL_COLUMNS, LEAST_COLUMNS = 80, 20
_COLUMNS_DIGITS = 5


class Ink(Enum):
    """The meaning of a piece of output. The value is its style."""

    GOOD = "green"
    CAUTION = "yellow"
    BAD = "red"
    MUTED = "dim"
    OWN = "bold"


VERDICT_INKS = {"valid": Ink.GOOD, "caution": Ink.CAUTION, "invalid": Ink.BAD}


def verdict_ink(title: str) -> Ink | None:
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
    try:
        return stream.isatty()
    except ValueError:  # the stream is closed
        return False


def can_print(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def print_line(line: "Line") -> None:
    """Print a line, whose text must already be safe for terminals. Raises OSError if it can't be written.

    Colours are on for terminals that support them. A non-empty NO_COLOR turns them off; FORCE_COLOR, on.
    """
    _console(os.environ.get("NO_COLOR", ""), os.environ.get("FORCE_COLOR", "")).print(line, soft_wrap=True)


@cache
def _console(no_color: str, force_color: str) -> "Console":
    from rich.console import Console  # imported late, because help doesn't need it

    class Output(Console):
        def on_broken_pipe(self) -> None:  # by itself, rich would exit
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    system: Literal["auto", "standard"] | None = None if no_color else "standard" if force_color else "auto"
    # Lines fit already, and rich fails if COLUMNS is "²".
    return Output(
        width=100, height=25, color_system=system, no_color=False, highlight=False, markup=False, emoji=False
    )
