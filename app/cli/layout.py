"""Layout of terminal output: wraps lines between words, and fits tables and bars to the terminal's width."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len

from app.cli.terminal import Ink, Line, can_print
from app.core.analysis.bars import Bar, ranked_count
from app.core.analysis.speed_scale import speed_scale
from app.core.formats import format_ratio
from app.core.messages import sentence
from app.core.plain_text import joined, one_line

if TYPE_CHECKING:
    from rich.segment import Segment

BAR_WIDTH, LEAST_BAR = 36, 10
NAME_WIDTH = 44
CELL_WIDTH = 200
GAP = "  "
UNLIMITED = 100_000
# Text that must not be split: a word, with a sign before it and a unit or dot after it.
_WORD = re.compile(r" *(?:± )?\S+(?: (?:%|·|ms|s|kB|MB|GB|TB)[,.;:)]*(?!\S))*")
# Text after a label ("Machine  …") or an indent continues at the same column when wrapped.
_INDENT = re.compile(r" *(?:\S{1,12} {2,}(?=\S))?")


def wrapped(line: str, room: int) -> list[str]:
    """Wrap a line between words so that it fits into `room` cells. Longer words aren't broken."""
    if cell_len(line) <= room:
        return [line]
    matched = _INDENT.match(line)
    indent = matched.group() if matched is not None else ""
    hanging = " " * (len(indent) if len(indent) <= room // 2 else 0)
    lines, current = [], indent
    for word in _WORD.findall(line[len(indent) :]):
        if current.strip() and cell_len(current) + cell_len(word) > room:
            lines.append(current)
            current = hanging + word.lstrip()
        else:
            current += word
    return [*lines, current]


def elided(text: str, room: int) -> str:
    """Truncate text to `room` cells, after a whole word if possible."""
    if cell_len(text) <= room:
        return text
    kept = text
    while cell_len(kept) > room - 1:
        kept = kept[:-1]
    words = kept if text[len(kept)] == " " else kept.rpartition(" ")[0]
    return (words or kept).rstrip(" ,·(") + "…"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table, and how it shrinks if the table doesn't fit."""

    code: str  # message code of the heading
    title: str = ""  # heading, if it is a name instead of a message
    is_right: bool = False
    least: int | None = None  # width in cells to which text may be wrapped; None if it isn't
    order: int | None = None  # order in which columns are dropped, lowest first; None if it is never dropped
    ink: Callable[[str], Ink | None] = lambda _: None  # returns the ink of a cell

    @property
    def heading(self) -> str:
        """The title, or the message in lower case unless it begins with an abbreviation such as "CPU"."""
        text = self.title or sentence(self.code)
        return text if self.title or text[1:2].isupper() else text[:1].lower() + text[1:]


def table(columns: Sequence[Column], rows: Sequence[Sequence[str]], room: int | None = None) -> list[Line]:
    """Return the lines of a table, headings first. If `room` is None, columns have their natural width."""
    from rich.console import Console  # imported late, because help doesn't need it
    from rich.table import Table
    from rich.text import Text

    safe = [[one_line(cell, CELL_WIDTH) for cell in row] for row in rows]
    shown = _fitting(columns, safe, room)
    made = Table(box=None, padding=(0, len(GAP), 0, 0), pad_edge=False, header_style=Ink.MUTED.value)
    for column in (columns[number] for number in shown):
        justify: Literal["left", "right"] = "right" if column.is_right else "left"
        made.add_column(Text(column.heading), justify=justify, no_wrap=column.least is None, overflow="fold")
    for row in safe:
        cells = ((row[number], columns[number].ink(row[number])) for number in shown)
        made.add_row(*(Text(text, ink.value if ink else "") for text, ink in cells))
    console = Console(width=room or UNLIMITED, height=25, color_system=None)
    return [_line(segments) for segments in console.render_lines(made, pad=False)]


def _fitting(columns: Sequence[Column], rows: Sequence[Sequence[str]], room: int | None) -> list[int]:
    texts = ([column.heading, *(row[number] for row in rows)] for number, column in enumerate(columns))
    natural = [max(map(cell_len, column)) for column in texts]
    needed = [
        width if column.least is None else min(width, column.least)
        for width, column in zip(natural, columns, strict=True)
    ]
    leaving = sorted((each.order, number) for number, each in enumerate(columns) if each.order is not None)
    shown = list(range(len(columns)))
    for _, number in leaving:
        if room is None or sum(needed[each] + len(GAP) for each in shown) - len(GAP) <= room:
            break
        shown.remove(number)
    return shown


def _line(segments: "Iterable[Segment]") -> Line:
    from rich.text import Text

    line = Text()
    for segment in segments:
        line.append(segment.text, segment.style)
    line.rstrip()
    return line


def bar_chart(bars: Sequence[Bar], baseline: Bar | None, room: int | None = None) -> list[Line]:
    """Return bars of speed with their values, fastest first. The user's own bars are highlighted."""
    from rich.text import Text

    if not bars:
        return []
    scale, ranked = speed_scale([bar.speed for bar in bars]), ranked_count(bars)
    values = [bar.text for bar in bars]
    remarks = [_remarks(bar, baseline) for bar in bars]
    value_width = max(map(len, values))
    bar_width, name_width = BAR_WIDTH, NAME_WIDTH
    if room is not None:
        first = max((cell_len(each[0]) for each in remarks if each), default=0)
        # Shorten bars to make room for remarks that distinguish bars of the same name.
        apart = max(map(cell_len, map(_apart, bars, remarks)), default=0)
        name_cells = max(cell_len(one_line(bar.name, CELL_WIDTH)) for bar in bars)
        left = room - min(NAME_WIDTH, name_cells) - value_width - apart - 4 * len(GAP)
        bar_width = max(LEAST_BAR, min(BAR_WIDTH, room // 4, left))
        name_width = min(NAME_WIDTH, room - bar_width - value_width - first - 4 * len(GAP))
    names = [elided(one_line(bar.name, CELL_WIDTH), max(1, name_width)) for bar in bars]
    widest = max(map(cell_len, names))
    full, own = ("▒", "█") if can_print("▒█") else ("-", "#")
    lines: list[Line] = []
    for number, (bar, name, value, each) in enumerate(zip(bars, names, values, remarks, strict=True)):
        if number == ranked:
            parts = wrapped(sentence("cli.unlike_below"), (room or 120) - len(GAP))
            lines += [Text(GAP + part, Ink.MUTED.value) for part in parts]
        drawn = (own if bar.kind == "you" else full) * max(1, round(scale.share(bar.speed) * bar_width))
        padding = " " * (widest - cell_len(name))
        line = f"{GAP}{name}{padding}{GAP}{drawn:<{bar_width}}{GAP}{value:>{value_width}}{GAP}"
        said = _as_many(each, None if room is None else room - cell_len(line))
        ink = Ink.OWN.value if bar.kind == "you" else ""
        lines.append(Text((line + said).rstrip(), ink))
        if not said.startswith(must := _apart(bar, each)) and room is not None:
            rest = must.removeprefix(said).removeprefix(" · ")
            lines += [Text(GAP * 2 + part, ink) for part in wrapped(rest, room - 2 * len(GAP))]
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
    return joined(remarks[: len(remarks) - len(bar.remarks) + bar.apart]) if bar.apart else ""


def _as_many(remarks: Sequence[str], room: int | None) -> str:
    line = ""
    for remark in remarks:
        longer = f"{line} · {remark}" if line else remark
        if room is not None and cell_len(longer) > room:
            break
        line = longer
    return line
