"""Prints plain text to the terminal. All output of the CLI passes through this module, which makes it safe."""

import contextlib
import errno
import json
import os
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import TextIO

from rich.cells import cell_len

from app.cli.layout import Column, bar_chart, elided, table, wrapped
from app.cli.terminal import USUAL_COLUMNS, Ink, Line, columns, is_terminal, print_line
from app.core.analysis.bars import Bar, several_count
from app.core.messages import sentence
from app.core.plain_text import one_line, safe_json, safe_text
from app.core.records import RunSummary

WINDOWS = os.name == "nt"
MESSAGE_LIMIT = 2_000
# Line continuation in a shell command.
_GOES_ON = " \\\n"


def say(text: str = "", *, lead: Ink | None = None, ink: Ink | None = None, flush: bool = False) -> None:
    """Print text to standard output, made safe and wrapped between words. Raises OSError if it can't be written.

    `lead` is the ink of the first word, `ink` that of the rest. With `flush`, the text is visible immediately.
    """
    from rich.text import Text  # imported late, because help doesn't need it

    lines = [Text(line, ink.value if ink else "") for line in _fitted(sys.stdout, text)]
    if lead is not None:
        lines[0].stylize(lead.value, 0, len(lines[0].plain.partition(" ")[0]))
    say_lines(lines)
    if flush:
        sys.stdout.flush()


def say_raw(text: str, *, flush: bool = False) -> None:
    """Print unwrapped but safe text, such as file contents. Raises OSError if it can't be written."""
    _write(sys.stdout, safe_text(text), flush=flush)


def say_command(command: str) -> None:
    """Print an indented command to copy, split into lines only where the shell joins them again."""
    indent, width = " " * 8, room()
    lines = [command]
    if width is not None and not WINDOWS and not {"'", '"'} & set(command):
        lines = wrapped(command, width - len(indent) - len(_GOES_ON))
    say_raw("\n".join(indent + line for line in _GOES_ON.join(lines).split("\n")) + "\n")


def say_table(heads: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
    say_lines(table(heads, rows, room()))


def say_bars(bars: Sequence[Bar], baseline: Bar | None) -> None:
    say_lines(bar_chart(bars, baseline, room()))


def room() -> int | None:
    """Return the width of standard output; None if it is unlimited."""
    return columns(sys.stdout)


def say_lines(lines: Iterable[Line]) -> None:
    for line in lines:
        print_line(line)


def say_json(document: str, *, end: str = "\n", flush: bool = False) -> None:
    """Print a JSON document, escaped to be safe for terminals. Raises OSError if it can't be written."""
    _write(sys.stdout, safe_json(document) + end, flush=flush)


def say_json_list(entries: Iterable[object]) -> None:
    """Print a JSON list one entry at a time, because it may be very long. Otherwise like `say_json`."""
    lead = "[\n"
    for entry in entries:
        _write(sys.stdout, lead + textwrap.indent(safe_json(json.dumps(entry, indent=2)), "  "))
        lead = ",\n"
    _write(sys.stdout, "[]\n" if lead == "[\n" else "\n]\n")


def in_line(text: str) -> str:
    return one_line(text, MESSAGE_LIMIT)


def complain(text: str) -> None:
    """Print text to standard error, wrapped at word boundaries on a terminal. Errors are ignored."""
    try:
        _write(sys.stderr, "\n".join(_fitted(sys.stderr, text)) + "\n", flush=True)
    except (OSError, ValueError):
        forget(sys.stderr)


def forget(stream: TextIO) -> None:
    """Discard a stream's buffer, so that exiting neither blocks nor fails."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def is_broken_pipe(error: OSError) -> bool:
    return isinstance(error, BrokenPipeError) or (WINDOWS and error.errno == errno.EINVAL)


class LiveLine:
    """A line that is redrawn in place on a terminal."""

    def __init__(self, stream: TextIO, *, wanted: bool = True) -> None:
        self._stream = stream
        self.is_live = wanted and is_terminal(stream)
        self._drawn = 0

    @property
    def room(self) -> int:
        """The maximum length of the line in cells. A line that wraps couldn't be redrawn."""
        return (columns(self._stream) or USUAL_COLUMNS) - 1

    def draw(self, text: str) -> None:
        line = elided(one_line(text, MESSAGE_LIMIT), self.room)
        width = cell_len(line)
        # The terminal may have become narrower.
        _write(self._stream, "\r" + line + " " * (min(self._drawn, self.room) - width), flush=True)
        self._drawn = width

    def erase(self) -> None:
        if self._drawn:
            _write(self._stream, "\r" + " " * min(self._drawn, self.room) + "\r")
            self._drawn = 0


def _fitted(stream: TextIO, text: str) -> list[str]:
    """Return the lines of a text, safe for terminals and wrapped to the stream's width."""
    width = columns(stream)
    lines = safe_text(text).split("\n")
    return lines if width is None else [part for line in lines for part in wrapped(line, width)]


def _write(stream: TextIO, safe: str, *, flush: bool = False) -> None:
    stream.write(safe)
    if flush:
        stream.flush()


def several_line(workload: str, run: RunSummary | None) -> str:
    """Describe how many published multi-GPU results are hidden and how to show them; "" if there are none."""
    count = several_count(workload, run)
    return "  " + sentence("cli.several_not_drawn", count=count, workload=workload) if count else ""
