"""Plain text for terminals: tables and bars."""

import math
import sys
from collections.abc import Sequence

from app.core.judging.compare import Bar, ratio_text

BAR_WIDTH = 36
NAME_WIDTH = 44
LINE_WIDTH = 118


def table(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Return rows in columns; `right` are the columns that are set flush right."""
    lines = [head, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]

    def aligned(line: Sequence[str]) -> str:
        cells = [
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        return "  ".join(cells).rstrip()

    return "\n".join(map(aligned, lines))


def bar_chart(bars: Sequence[Bar], baseline: Bar | None) -> str:
    """Return the bars with their values, fastest first, lengths on a logarithmic scale."""
    if not bars:
        return ""
    low, high = min(bar.value for bar in bars), max(bar.value for bar in bars)
    names = [bar.name[:NAME_WIDTH] for bar in bars]
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
        lines.append(line if len(line) <= LINE_WIDTH else line[: LINE_WIDTH - 3].rstrip() + "...")
    return "\n".join(line.rstrip() for line in lines)


def _can_print(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
