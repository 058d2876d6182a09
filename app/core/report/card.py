"""The contents of a picture to share: its texts, and a chart with bars, two sides, or configurations."""

from dataclasses import dataclass
from typing import Literal

from app.core.analysis.bars import Bar
from app.core.messages import sentence


@dataclass(frozen=True, slots=True)
class Bars:
    """This computer's result among other results.

    Attributes:
        bars: Bars, best first.
        baseline: Bar that the place refers to; None if there is none.
    """

    bars: tuple[Bar, ...]
    baseline: Bar | None


@dataclass(frozen=True, slots=True)
class Side:
    """One side of an A/B test.

    Attributes:
        name: "A" or "B", followed by the label if there is one.
        settings: Settings that differ from the other side's, unless the name contains them; "" if there are none.
        speed: Speed at the median of the runs, in a unit common to both sides.
        low, high: Confidence interval of the speed; None with a single run.
        text: Value, interval and confidence level as text, in the displayed unit.
    """

    name: str
    settings: str
    speed: float
    low: float | None
    high: float | None
    text: str
    is_faster: bool


@dataclass(frozen=True, slots=True)
class Sides:
    """Both sides of an A/B test, on a common axis that starts at 0.

    Attributes:
        sides: A and B.
        axis: Title of the axis.
    """

    sides: tuple[Side, Side]
    axis: str


@dataclass(frozen=True, slots=True)
class Spot:
    """A measured value in a chart.

    Attributes:
        x: Position on the numeric axis of a line chart; 0 in rows.
        value: Position on the value axis, in its unit.
        low, high: Confidence interval; None if unknown.
        text: Value with its unit, as text.
        is_marked: Whether the value is highlighted as the answer.
    """

    x: float
    value: float
    low: float | None = None
    high: float | None = None
    text: str = ""
    is_marked: bool = False


@dataclass(frozen=True, slots=True)
class Series:
    """Values with a common name in the legend.

    Attributes:
        name: Name in the legend; "" for no entry.
        spots: Values in the order of the axis; in rows, one per row, None where there is no value.
        is_own: Whether the values were measured on this computer.
        is_dashed: Whether the values are ideal rather than measured.
    """

    name: str
    spots: tuple[Spot | None, ...]
    is_own: bool = True
    is_dashed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A chart: lines over a numeric axis, or rows of bars and dots.

    Attributes:
        name: Name that distinguishes the chart from the plan's other charts, such as "Speed".
        kind: "lines" or "rows".
        value_title, x_title: Titles of the axes, with units.
        rows: Names of the rows.
        ticks: Positions on the numeric axis with their labels.
        is_log_value, is_log_x: Whether an axis is logarithmic.
        begins_at_zero: Whether the value axis starts at zero, so that lengths are proportional to values.
        baseline: Value and name of a dashed line; None for no line.
        marks: Positions on the numeric axis and names of dashed lines.
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
    """The contents of a picture to share, ready for drawing.

    Attributes:
        title: Title that states what was run.
        headline: Result as a value or a sentence.
        unit: Unit of the value; "" if the headline is a sentence.
        place: Place of this computer among the results in the chart, as a sentence; "" without one.
        notes: Certainty of the result, then remarks, most important first.
        chart: The chart of the picture.
        machine: Full name of the device used.
        details: Lines about the computer, engine and measurement.
        badge: Verdict with its cause, followed by shorter versions.
        level: Worst verdict of the usable runs.
        short_form: Text for the QR code: the short form of the typical run or runs; "" for no QR code.
    """

    title: str
    headline: str
    unit: str = ""
    place: str = ""
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
