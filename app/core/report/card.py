"""What is shown of a result: tables, charts with bars, two sides, or configurations, and the texts of pictures."""

from dataclasses import dataclass
from typing import Literal

from app.core.analysis.bars import Bar
from app.core.messages import sentence


@dataclass(frozen=True, slots=True)
class Bars:
    """This computer's result among other results."""

    bars: tuple[Bar, ...]  # bars, best first
    baseline: Bar | None  # bar that the place refers to; None if there is none


@dataclass(frozen=True, slots=True)
class Side:
    """One side of an A/B test."""

    name: str  # "A" or "B", followed by the label if there is one
    # Settings that differ from the other side's, unless the name contains them; "" if there are none.
    settings: str
    speed: float  # speed at the median of the runs, in a unit common to both sides
    # Confidence interval of the speed; None with a single run.
    low: float | None
    high: float | None
    text: str  # value, interval and confidence level as text, in the displayed unit
    is_faster: bool


@dataclass(frozen=True, slots=True)
class Sides:
    """Both sides of an A/B test, on a common axis that starts at 0."""

    sides: tuple[Side, Side]  # a and B
    axis: str  # title of the axis


@dataclass(frozen=True, slots=True)
class Spot:
    """A measured value in a chart."""

    x: float  # position on the numeric axis of a line chart; 0 in rows
    value: float  # position on the value axis, in its unit
    # Confidence interval; None if unknown.
    low: float | None = None
    high: float | None = None
    text: str = ""  # value with its unit, as text
    is_marked: bool = False  # whether the value is highlighted as the answer


@dataclass(frozen=True, slots=True)
class Series:
    """Values with a common name in the legend."""

    name: str  # name in the legend; "" for no entry
    # Values in the order of the axis; in rows, one per row, None where there is no value.
    spots: tuple[Spot | None, ...]
    is_own: bool = True  # whether the values were measured on this computer
    is_dashed: bool = False  # whether the values are ideal rather than measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A chart: lines over a numeric axis, or rows of bars and dots.

    Attributes:
        value_title, x_title: Titles of the axes, with units.
    """

    name: str  # name that distinguishes the chart from the plan's other charts, such as "Speed"
    kind: str  # "lines" or "rows"
    value_title: str
    series: tuple[Series, ...]
    x_title: str = ""
    rows: tuple[str, ...] = ()  # names of the rows
    ticks: tuple[tuple[float, str], ...] = ()  # positions on the numeric axis with their labels
    # Whether an axis is logarithmic.
    is_log_value: bool = False
    is_log_x: bool = False
    # Whether the value axis starts at zero, so that lengths are proportional to values.
    begins_at_zero: bool = True
    baseline: tuple[float, str] | None = None  # value and name of a dashed line; None for no line
    marks: tuple[tuple[float, str], ...] = ()  # positions on the numeric axis and names of dashed lines

    @property
    def description(self) -> str:
        parts = []
        for series in self.series:
            if series.is_own and not series.is_dashed:
                places = self.rows or tuple(_x_text(self, spot) for spot in series.spots)
                parts += [
                    f"{place}: {spot.text}" for place, spot in zip(places, series.spots, strict=True) if spot
                ]
        return sentence("studies.chart_description", title=self.value_title, parts="; ".join(parts) or "–")


@dataclass(frozen=True, slots=True)
class Table:
    """Cell texts by row and column. All columns but the first `left` and the last contain numbers."""

    headings: tuple[str, ...]  # heading of each column
    rows: tuple[tuple[str, ...], ...]  # rows with one cell for each heading
    left: int = 1  # number of text columns on the left
    is_best: tuple[bool, ...] = ()  # whether to highlight each row; () for no rows
    reasons: tuple[str, ...] = ()  # reason why each row has no valid result; "" if there is none

    def lines(self) -> list[str]:
        """Return the table as lines of aligned text, without its empty columns."""
        widths = [max(map(len, column)) for column in zip(self.headings, *self.rows, strict=True)]
        kept = [number for number in range(len(widths)) if any(row[number] for row in self.rows)]
        last = len(widths) - 1
        return [
            "  ".join(
                row[number].rjust(widths[number])
                if self.left <= number < last
                else row[number].ljust(widths[number])
                for number in kept
            )
            for row in (self.headings, *self.rows)
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareCard:
    """The contents of a picture to share, ready for drawing."""

    title: str  # title that states what was run
    headline: str  # result as a value or a sentence
    unit: str = ""  # unit of the value; "" if the headline is a sentence
    place: str = ""  # place of this computer among the results in the chart, as a sentence; "" without one
    notes: tuple[str, ...] = ()  # certainty of the result, then remarks, most important first
    chart: Bars | Sides | Figure  # the chart of the picture
    machine: str  # full name of the device used
    details: tuple[str, ...]  # lines about the computer, engine and measurement
    badge: tuple[str, ...]  # verdict with its cause, followed by shorter versions
    level: Literal["valid", "caution", "invalid"]  # worst verdict of the usable runs
    footer: str
    short_form: str = ""  # text for the QR code: the short form of the typical run or runs; "" for no QR code


def _x_text(figure: Figure, spot: Spot | None) -> str:
    return dict(figure.ticks).get(spot.x, f"{spot.x:g}") if spot is not None else ""
