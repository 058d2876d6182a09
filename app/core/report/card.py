"""A picture to share as data: its texts, and one chart of bars, of two sides, or of points."""

from dataclasses import dataclass
from typing import Literal

from app.core.analysis.compare import Bar
from app.core.messages import sentence


@dataclass(frozen=True, slots=True)
class Bars:
    """This computer's result among others'.

    Attributes:
        bars: Best first.
        axis: Title of the scale.
    """

    bars: tuple[Bar, ...]
    axis: str


@dataclass(frozen=True, slots=True)
class Side:
    """One side of an A/B.

    Attributes:
        name: "A", and its name if it says more.
        settings: What differs from the other side, unless the name says so; "" for nothing.
        value: Median of its runs, in the unit it is shown in; so are the ends of its interval.
        low, high: None with a single run.
        text: All three, with the interval's confidence.
    """

    name: str
    settings: str
    value: float
    low: float | None
    high: float | None
    text: str
    is_faster: bool


@dataclass(frozen=True, slots=True)
class Sides:
    """Both sides of an A/B, on one scale from 0.

    Attributes:
        sides: A and B.
        axis: Title of the scale.
    """

    sides: tuple[Side, Side]
    axis: str


@dataclass(frozen=True, slots=True)
class Spot:
    """One measured place on a chart.

    Attributes:
        x: On the numeric axis of lines; 0 in rows.
        value: On the axis of values.
        low, high: Its interval; None if unknown.
        text: The value with its unit.
        is_marked: Whether it is the one that the study is after.
    """

    x: float
    value: float
    low: float | None = None
    high: float | None = None
    text: str = ""
    is_marked: bool = False


@dataclass(frozen=True, slots=True)
class Series:
    """Spots of one name.

    Attributes:
        name: In the legend; "" without an entry.
        spots: In the order of the axis; in rows, one for each row, None for a row without.
        is_own: Whether this computer measured it.
        is_dashed: Whether it is an ideal, not measured.
    """

    name: str
    spots: tuple[Spot | None, ...]
    is_own: bool = True
    is_dashed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A chart of points: lines over a numeric axis, or rows of bars and dots.

    Attributes:
        name: What tells it from the plan's other charts: "Speed".
        kind: "lines", or "rows" with a name each.
        value_title, x_title: Titles of the axes, with units.
        rows: Names of the rows.
        ticks: Values of the numeric axis to label, with their texts.
        is_log_value, is_log_x: Whether an axis is logarithmic.
        begins_at_zero: Whether the axis of values does, so that lengths and heights can be compared.
        baseline: A dashed line at this value, with its name.
        marks: Dashed lines across the numeric axis, with their names.
    """

    name: str
    kind: str
    value_title: str
    series: tuple[Series, ...]
    x_title: str = ""
    rows: tuple[str, ...] = ()
    ticks: tuple[tuple[float, str], ...] = ()
    is_log_value: bool = False
    is_log_x: bool = False
    begins_at_zero: bool = True
    baseline: tuple[float, str] | None = None
    marks: tuple[tuple[float, str], ...] = ()

    @property
    def description(self) -> str:
        """The content in a sentence, for screen readers."""
        parts = []
        for series in self.series:
            if series.is_own and not series.is_dashed:
                places = self.rows or tuple(_x_text(self, spot) for spot in series.spots)
                parts += [
                    f"{place}: {spot.text}" for place, spot in zip(places, series.spots, strict=True) if spot
                ]
        return sentence("studies.chart_description", title=self.value_title, parts="; ".join(parts) or "–")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareCard:
    """A picture to share, ready to draw.

    Attributes:
        title: What was run.
        headline: The result: a value, or a sentence.
        unit: Of the value; "" for a sentence.
        notes: How certain it is, then what else there is to say, the most important first.
        chart: Its only one.
        machine: Full name of the device that computed.
        details: Lines about the computer, the engine, and how it was measured.
        badge: The verdict with its cause, and the same in ever fewer words.
        level: The worst verdict of the runs that count.
        short_form: The results for the picture's code, of several runs those of typical ones; "" for none.
    """

    title: str
    headline: str
    unit: str = ""
    notes: tuple[str, ...] = ()
    chart: Bars | Sides | Figure
    machine: str
    details: tuple[str, ...]
    badge: tuple[str, ...]
    level: Literal["valid", "caution", "invalid"]
    footer: str
    short_form: str = ""


def _x_text(figure: Figure, spot: Spot | None) -> str:
    return dict(figure.ticks).get(spot.x, f"{spot.x:g}") if spot is not None else ""
