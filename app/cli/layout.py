"""Layout of terminal output: wraps lines between words, and fits tables and bars to the terminal's width."""

import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TypeAlias

from app.cli.terminal import Ink, can_print
from app.core.analysis.compare import Bar
from app.core.formats import format_ratio
from app.core.messages import sentence
from app.core.plain_text import one_line

BAR_WIDTH, LEAST_BAR = 36, 10
NAME_WIDTH = 44
CELL_WIDTH = 200
GAP = "  "
# A line consists of parts. Each part has its own ink.
Line: TypeAlias = Sequence[tuple[str, Ink | None]]
# Text that must not be split: a word, with a sign before it and a unit or dot after it.
_WORD = re.compile(r" *(?:± )?\S+(?: (?:%|·|ms|s|kB|MB|GB|TB)[,.;:)]*(?!\S))*")
# Text after a label ("Machine  …") or an indent continues at the same column when wrapped.
_INDENT = re.compile(r" *(?:\S{1,12} {2,}(?=\S))?")


def cells(text: str) -> int:
    """Return the width of text in terminal cells. Some characters occupy two cells and some none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )


def wrapped(line: str, room: int) -> list[str]:
    """Wrap a line between words so that it fits into `room` cells. Longer words aren't broken."""
    if cells(line) <= room:
        return [line]
    matched = _INDENT.match(line)
    indent = matched.group() if matched is not None else ""
    hanging = " " * (len(indent) if len(indent) <= room // 2 else 0)
    lines, current = [], indent
    for word in _WORD.findall(line[len(indent) :]):
        if current.strip() and cells(current) + cells(word) > room:
            lines.append(current)
            current = hanging + word.lstrip()
        else:
            current += word
    return [*lines, current]


def elided(text: str, room: int) -> str:
    """Truncate text to `room` cells, after a whole word if possible."""
    if cells(text) <= room:
        return text
    kept = text
    while cells(kept) > room - 1:
        kept = kept[:-1]
    words = kept if text[len(kept)] == " " else kept.rpartition(" ")[0]
    return (words or kept).rstrip(" ,·(") + "…"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table, and how it shrinks if the table doesn't fit.

    Attributes:
        code: Message code of the heading.
        title: Heading, if it is a name instead of a message.
        least: Minimum width in cells before columns are dropped; None for the width of its text.
        wraps: Whether text is wrapped instead of truncated.
        order: Order in which columns are dropped, lowest first; None if it is never dropped.
        is_late: Whether the column shrinks only when it would otherwise be dropped.
        ink: Returns the ink of a cell.
    """

    code: str
    title: str = ""
    is_right: bool = False
    least: int | None = None
    wraps: bool = False
    order: int | None = None
    is_late: bool = False
    ink: Callable[[str], Ink | None] = lambda _: None

    @property
    def heading(self) -> str:
        """Heading of the column."""
        return self.title or sentence(self.code)

    def fitted(self, text: str, width: int) -> list[str]:
        """Return the lines of a cell."""
        return wrapped(text, width) if self.wraps else [elided(text, width)]


def table(columns: Sequence[Column], rows: Sequence[Sequence[str]], room: int | None = None) -> list[Line]:
    """Return the lines of a table. If `room` is None, columns have their natural width."""
    safe = [[one_line(cell, CELL_WIDTH) for cell in row] for row in rows]
    texts = [[each.heading, *(row[number] for row in safe)] for number, each in enumerate(columns)]
    widths = _widths(columns, [max(map(cells, column)) for column in texts], room)
    heading = _row([each.heading for each in columns], columns, widths, is_heading=True)
    return [*heading, *(line for row in safe for line in _row(row, columns, widths))]


def _widths(columns: Sequence[Column], natural: Sequence[int], room: int | None) -> dict[int, int]:
    """Return the widths of the visible columns by index."""
    widths = dict(enumerate(natural))
    narrow = {number for number, each in enumerate(columns) if each.least is not None and not each.is_late}
    leaving = sorted((each.order, number) for number, each in enumerate(columns) if each.order is not None)
    waiting = [number for _, number in leaving]
    while room is not None:
        widths = {number: natural[number] for number in widths}
        _squeeze(widths, {number: columns[number].least or 0 for number in narrow & widths.keys()}, room)
        if _total(widths) <= room or not waiting:
            break
        number = waiting.pop(0)
        if columns[number].is_late and number not in narrow:
            narrow.add(number)
            waiting.append(number)  # dropped after all others if that isn't enough
        else:
            del widths[number]
    return widths


def _squeeze(widths: dict[int, int], least: dict[int, int], room: int) -> None:
    """Shrink the widest shrinkable columns until all columns fit or none can shrink further."""
    while _total(widths) > room:
        able = [number for number, limit in least.items() if widths[number] > limit]
        if not able:
            return
        widths[max(able, key=lambda number: widths[number])] -= 1


def _total(widths: dict[int, int]) -> int:
    return sum(widths.values()) + len(GAP) * (len(widths) - 1)


def _row(
    row: Sequence[str], columns: Sequence[Column], widths: dict[int, int], *, is_heading: bool = False
) -> Iterator[Line]:
    fitted = [columns[number].fitted(row[number], width) for number, width in widths.items()]
    for texts in zip_longest(*fitted, fillvalue=""):
        last = max((place for place, text in enumerate(texts) if text), default=-1)
        line: list[tuple[str, Ink | None]] = []
        for place, (text, (number, width)) in enumerate(zip(texts, widths.items(), strict=True)):
            if place > last:
                break
            padding = " " * (width - cells(text))
            ink = Ink.MUTED if is_heading else columns[number].ink(row[number])
            before, after = (padding, "") if columns[number].is_right else ("", padding if place < last else "")
            line += [(GAP * (place > 0) + before, None), (text, ink), (after, None)]
        yield line


def bar_chart(bars: Sequence[Bar], baseline: Bar | None, room: int | None = None) -> list[Line]:
    """Return bars on a logarithmic scale with their values, fastest first. The user's own bars are highlighted."""
    if not bars:
        return []
    low, high = min(bar.value for bar in bars), max(bar.value for bar in bars)
    values = [bar.text for bar in bars]
    remarks = [_remarks(bar, baseline) for bar in bars]
    value_width = max(map(len, values))
    bar_width, name_width = BAR_WIDTH, NAME_WIDTH
    if room is not None:
        first = max((cells(each[0]) for each in remarks if each), default=0)
        # Shorten bars to make room for remarks that distinguish bars of the same name.
        apart = max(map(cells, map(_apart, bars, remarks)), default=0)
        name_cells = max(cells(one_line(bar.name, CELL_WIDTH)) for bar in bars)
        left = room - min(NAME_WIDTH, name_cells) - value_width - apart - 4 * len(GAP)
        bar_width = max(LEAST_BAR, min(BAR_WIDTH, room // 4, left))
        name_width = min(NAME_WIDTH, room - bar_width - value_width - first - 4 * len(GAP))
    names = [elided(one_line(bar.name, CELL_WIDTH), max(1, name_width)) for bar in bars]
    widest = max(map(cells, names))
    full, own = ("▒", "█") if can_print("▒█") else ("-", "#")
    lines: list[Line] = []
    below = next((bar for bar in bars if not bar.is_like), None)
    for bar, name, value, each in zip(bars, names, values, remarks, strict=True):
        if bar is below and lines:
            lines += [
                [(GAP + part, Ink.MUTED)]
                for part in wrapped(sentence("cli.unlike_below"), (room or 120) - len(GAP))
            ]
        # Don't use their ratio. It overflows for absurd values in imported files.
        share = (math.log(bar.value) - math.log(low)) / (math.log(high) - math.log(low)) if high > low > 0 else 1.0
        drawn = (own if bar.kind == "you" else full) * round(4 + share * (bar_width - 4))
        padding = " " * (widest - cells(name))
        line = f"{GAP}{name}{padding}{GAP}{drawn:<{bar_width}}{GAP}{value:>{value_width}}{GAP}"
        said = _as_many(each, None if room is None else room - cells(line))
        ink = Ink.OWN if bar.kind == "you" else None
        lines.append([((line + said).rstrip(), ink)])
        if not said.startswith(must := _apart(bar, each)) and room is not None:
            rest = must.removeprefix(said).removeprefix(" · ")
            lines += [[(GAP * 2 + part, ink)] for part in wrapped(rest, room - 2 * len(GAP))]
    return lines


def live_text(share: float | None, parts: Sequence[str], room: int) -> str:
    """Return a progress bar, if the progress is known, followed by as many parts as fit."""
    if share is None:
        return _as_many(parts, room)
    width = min(BAR_WIDTH, max(LEAST_BAR, room // 4))
    full, empty = ("█", "░") if can_print("█░") else ("#", "-")
    done = int(share * width)
    head = f"{full * done}{empty * (width - done)} " + sentence("cli.percent_done", share_pct=int(share * 100))
    return _as_many([head, *parts], room)


def _remarks(bar: Bar, baseline: Bar | None) -> list[str]:
    ratio = bar.times_as_fast(baseline) if baseline is not bar else None
    shown = () if ratio is None else (format_ratio(ratio),)
    return [one_line(remark, CELL_WIDTH) for remark in (*shown, *bar.remarks)]


def _apart(bar: Bar, remarks: Sequence[str]) -> str:
    """Return the first few remarks, as needed to distinguish bars with the same name; "" if none are needed."""
    return " · ".join(remarks[: len(remarks) - len(bar.remarks) + bar.apart]) if bar.apart else ""


def _as_many(remarks: Sequence[str], room: int | None) -> str:
    """Join as many of the first remarks as fit."""
    line = ""
    for remark in remarks:
        longer = f"{line} · {remark}" if line else remark
        if room is not None and cells(longer) > room:
            break
        line = longer
    return line
