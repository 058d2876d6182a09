"""Plain text for terminals: everything that the command line prints is made safe here."""

import contextlib
import errno
import math
import os
import shutil
import sys
from collections.abc import Sequence
from typing import TextIO

from app.core.analysis.compare import Bar, ratio_text, several_count
from app.core.messages import sentence
from app.core.plain_text import one_line, safe_json, safe_text
from app.core.records import RunSummary

WINDOWS = os.name == "nt"
BAR_WIDTH = 36
NAME_WIDTH = 44
LINE_WIDTH = 118
CELL_WIDTH = 200
MESSAGE_LIMIT = 2_000


def say(text: str = "", *, end: str = "\n", flush: bool = False) -> None:
    """Print to standard output, safe for terminals; raises OSError if the output is lost."""
    _write(sys.stdout, safe_text(text + end), flush=flush)


def say_json(document: str, *, end: str = "\n", flush: bool = False) -> None:
    """Print a JSON document of the same value, safe for terminals; raises OSError if the output is lost."""
    _write(sys.stdout, safe_json(document) + end, flush=flush)


def in_line(text: str) -> str:
    """Return a label, a name or a sentence as one line."""
    return one_line(text, MESSAGE_LIMIT)


def complain(text: str, *, end: str = "\n") -> None:
    """Print to standard error, ignoring failures."""
    try:
        _write(sys.stderr, safe_text(text + end), flush=True)
    except (OSError, ValueError):
        forget(sys.stderr)


def forget(stream: TextIO) -> None:
    """Drop a stream's buffer, so that exiting neither blocks nor fails."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def is_broken_pipe(error: OSError) -> bool:
    """Return whether the reader of the output has gone; Windows has a different error for it."""
    return isinstance(error, BrokenPipeError) or (WINDOWS and error.errno == errno.EINVAL)


class LiveLine:
    """A line that is redrawn in place on a terminal."""

    def __init__(self, stream: TextIO, *, wanted: bool = True) -> None:
        self._stream = stream
        self.is_live = wanted and stream.isatty()
        self._drawn = 0

    def draw(self, text: str) -> None:
        """Replace the line's text."""
        # A line that wraps can't be replaced.
        line = one_line(text, max(1, shutil.get_terminal_size().columns - 1))
        _write(self._stream, "\r" + line.ljust(self._drawn), flush=True)
        self._drawn = len(line)

    def erase(self) -> None:
        """Erase the line."""
        if self._drawn:
            _write(self._stream, "\r" + " " * self._drawn + "\r")
            self._drawn = 0


def _write(stream: TextIO, safe: str, *, flush: bool = False) -> None:
    stream.write(safe)
    if flush:
        stream.flush()


def heads(*columns: str) -> list[str]:
    """Return a table's column headings."""
    return [sentence(f"column.{column}") for column in columns]


def table(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Return a table's lines; the columns in `right` are right-aligned."""
    lines = [head, *([one_line(cell, CELL_WIDTH) for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]

    def aligned(line: Sequence[str]) -> str:
        cells = [
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        return "  ".join(cells).rstrip()

    return "\n".join(map(aligned, lines))


def bar_chart(bars: Sequence[Bar], baseline: Bar | None) -> str:
    """Return the bars with their values, fastest first, on a logarithmic scale."""
    if not bars:
        return ""
    low, high = min(bar.value for bar in bars), max(bar.value for bar in bars)
    names = [one_line(bar.name, NAME_WIDTH) for bar in bars]
    name_width = max(map(len, names))
    values = [bar.text for bar in bars]
    value_width = max(map(len, values))
    full, you = ("▒", "█") if _can_print("▒█") else ("-", "#")
    lines = []
    for bar, name, value in zip(bars, names, values, strict=True):
        share = math.log(bar.value / low) / math.log(high / low) if high > low > 0 else 1.0
        drawn = (you if bar.kind == "you" else full) * round(4 + share * (BAR_WIDTH - 4))
        remarks = list(bar.remarks)
        if baseline is not None and baseline is not bar:
            remarks.insert(0, ratio_text(bar.times_as_fast(baseline)))
        line = f"  {name:<{name_width}}  {drawn:<{BAR_WIDTH}}  {value:>{value_width}}  {' · '.join(remarks)}"
        line = one_line(line, 2 * LINE_WIDTH)
        lines.append(line if len(line) <= LINE_WIDTH else line[: LINE_WIDTH - 3].rstrip() + "...")
    return "\n".join(line.rstrip() for line in lines)


def several_line(workload: str, run: RunSummary | None) -> str:
    """Return how many published results of several GPUs aren't shown, and how to see them; "" if there is none."""
    count = several_count(workload, run)
    return "  " + sentence("cli.several_not_drawn", count=count, workload=workload) if count else ""


def _can_print(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
