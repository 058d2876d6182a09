"""Draws the charts of a report as SVG. Colours are defined in the page's style, so that they follow its theme."""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from app.core.report.html.elements import element

WIDTH, HEIGHT = 720, 220
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 12, 36
POINTS_LIMIT = 400
ROW, BAR, NAME = 30, 18, 210
TICKS = 4


@dataclass(frozen=True, slots=True)
class Line:
    """A line with its name and points in order. A y of None is a gap."""

    name: str
    points: Sequence[tuple[float, float | None]]


@dataclass(frozen=True, slots=True)
class Row:
    """A horizontal bar."""

    name: str
    value: float
    text: str
    is_own: bool = False


def line_chart(title: str, lines: Sequence[Line], x_title: str, *, from_zero: bool = False) -> Element | None:
    """Return a chart of lines on common axes, with a legend; None if no line has two points.

    Args:
        title: Title, including the unit.
        lines: Lines; at most four can be distinguished by colour and dashes.
        x_title: Title of the horizontal axis.
        from_zero: Whether the vertical axis starts at zero.
    """
    there = [each for each in lines if sum(y is not None for _, y in each.points) > 1]
    values = [y for each in there for _, y in each.points if y is not None]
    if not values:
        return None
    xs = [x for each in there for x, _ in each.points]
    low, high = (min(0.0, *values) if from_zero else min(values)), max(values)
    x_scale, y_scale = _Scale(min(xs), max(xs), LEFT, WIDTH - RIGHT), _Scale(low, high, HEIGHT - BOTTOM, TOP)
    drawn = [
        element("path", d=_path(_thinned(each.points), x_scale, y_scale), class_=f"line s{number % 4}")
        for number, each in enumerate(there)
    ]
    picture = _svg(title, HEIGHT, *_axes(x_scale, y_scale, x_title), *drawn, described=_described(there))
    legend = [element("li", each.name, class_=f"s{number % 4}") for number, each in enumerate(there)]
    return _figure(title, picture, element("ul", *legend, class_="legend") if len(there) > 1 else None)


def column_chart(title: str, values: Sequence[float], x_title: str, median: float | None = None) -> Element | None:
    """Return a chart with a column for each value, and a line at the median; None with fewer than two values."""
    if len(values) < 2:
        return None
    shown = values if len(values) <= POINTS_LIMIT else values[:: math.ceil(len(values) / POINTS_LIMIT)]
    y_scale = _Scale(0.0, max(values), HEIGHT - BOTTOM, TOP)
    x_scale = _Scale(1, len(values), LEFT, WIDTH - RIGHT)
    slot = (WIDTH - RIGHT - LEFT) / len(shown)
    columns = [
        element(
            "rect",
            x=round(LEFT + number * slot + 0.1 * slot, 2),
            y=round(y_scale.at(value), 2),
            width=round(0.8 * slot, 2),
            height=round(HEIGHT - BOTTOM - y_scale.at(value), 2),
            class_="bar own",
        )
        for number, value in enumerate(shown)
    ]
    mark = None
    if median is not None:
        y = round(y_scale.at(median), 2)
        mark = element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_="median")
    described = f"{len(values)}: {min(values):.4g}–{max(values):.4g}"
    axes = _axes(x_scale, y_scale, x_title, x_ticks=False)
    return _figure(title, _svg(title, HEIGHT, *axes, *columns, mark, described=described))


def bar_chart(title: str, rows: Sequence[Row]) -> Element | None:
    """Return a chart with a horizontal bar for each row; None without rows."""
    if not rows:
        return None
    most = max(row.value for row in rows)
    room, parts = WIDTH - NAME - 90, []
    for number, row in enumerate(rows):
        y = number * ROW + (ROW - BAR) / 2
        length = max(2.0, room * row.value / most)
        kind = "bar own" if row.is_own else "bar"
        parts += [
            element("text", row.name[:34], x=NAME - 8, y=y + BAR - 4, class_="name"),
            element("rect", x=NAME, y=y, width=round(length, 2), height=BAR, rx=3, class_=kind),
            element("text", row.text, x=round(NAME + length + 8, 2), y=y + BAR - 4, class_="value"),
        ]
    described = "; ".join(f"{row.name}: {row.text}" for row in rows)
    return _figure(title, _svg(title, len(rows) * ROW, *parts, described=described))


class _Scale:
    """Maps values to positions. If all values are equal, they are placed in the middle."""

    def __init__(self, low: float, high: float, begin: float, end: float) -> None:
        self.low, self.high, self._begin, self._end = low, high, begin, end

    def at(self, value: float) -> float:
        share = 0.5 if self.high <= self.low else (value - self.low) / (self.high - self.low)
        return self._begin + share * (self._end - self._begin)

    def ticks(self) -> list[float]:
        """Return round values within the range of the scale."""
        span = self.high - self.low
        if span < TICKS * sys.float_info.min:  # the step would be 0
            return [self.low]
        step = 10 ** math.floor(math.log10(span / TICKS))
        step *= next(factor for factor in (1, 2, 5, 10) if span / (step * factor) <= TICKS + 1)
        first = math.ceil(self.low / step - 1e-9)
        return [number * step for number in range(first, math.floor(self.high / step + 1e-9) + 1)]


def _axes(x_scale: _Scale, y_scale: _Scale, x_title: str, *, x_ticks: bool = True) -> list[Element]:
    parts = []
    for value in y_scale.ticks():
        y = round(y_scale.at(value), 2)
        parts.append(element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_="grid"))
        parts.append(element("text", f"{value:,.10g}", x=LEFT - 8, y=y + 4, class_="tick y"))
    for value in x_scale.ticks() if x_ticks else ():
        x = round(x_scale.at(value), 2)
        parts.append(element("text", f"{value:,.10g}", x=x, y=HEIGHT - BOTTOM + 16, class_="tick x"))
    parts.append(element("text", x_title, x=(LEFT + WIDTH - RIGHT) / 2, y=HEIGHT - 4, class_="tick x"))
    return parts


def _path(points: Sequence[tuple[float, float | None]], x_scale: _Scale, y_scale: _Scale) -> str:
    parts, is_open = [], False
    for x, y in points:
        if y is not None:
            parts.append(f"{'L' if is_open else 'M'}{x_scale.at(x):.1f} {y_scale.at(y):.1f}")
        is_open = y is not None
    return "".join(parts)


def _thinned(points: Sequence[tuple[float, float | None]]) -> Sequence[tuple[float, float | None]]:
    return points if len(points) <= POINTS_LIMIT else points[:: math.ceil(len(points) / POINTS_LIMIT)]


def _described(lines: Sequence[Line]) -> str:
    parts = []
    for line in lines:
        values = [y for _, y in line.points if y is not None]
        parts.append(f"{line.name}: {values[0]:.4g} → {values[-1]:.4g}, {min(values):.4g}–{max(values):.4g}")
    return "; ".join(parts)


def _svg(title: str, height: float, *parts: Element | None, described: str) -> Element:
    label = f"{title}. {described}"
    return element("svg", *parts, viewBox=f"0 0 {WIDTH} {height:g}", role="img", aria_label=label)


def _figure(title: str, picture: Element, legend: Element | None = None) -> Element:
    return element("figure", element("figcaption", title), picture, legend)
