"""The content of a picture to share: its text, and a chart of bars, two sides, or configurations."""

from dataclasses import dataclass
from typing import Literal

from app.core.analysis.compare import Bar
from app.core.messages import sentence


@dataclass(frozen=True, slots=True)
class Bars:
    """This computer's result among other results.

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
        name: "A", followed by its name if it has one.
        settings: Differences from the other side, unless they are in the name; "" for none.
        value: Median of its runs, in the displayed unit.
        low, high: Interval in the displayed unit; None with a single run.
        text: Value and interval as text, with the confidence level.
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
    """One measured value on a chart.

    Attributes:
        x: Position on the numeric axis of lines; 0 in rows.
        value: Position on the value axis.
        low, high: Its interval; None if unknown.
        text: The value with its unit.
        is_marked: Whether it is highlighted as the answer of the study.
    """

    x: float
    value: float
    low: float | None = None
    high: float | None = None
    text: str = ""
    is_marked: bool = False


@dataclass(frozen=True, slots=True)
class Series:
    """Values with a common name.

    Attributes:
        name: Name in the legend; "" without an entry.
        spots: Values in axis order; in rows, one per row, with None where there is no value.
        is_own: Whether it was measured on this computer.
        is_dashed: Whether it is an ideal and not measured.
    """

    name: str
    spots: tuple[Spot | None, ...]
    is_own: bool = True
    is_dashed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A chart of values: lines over a numeric axis, or rows of bars and dots.

    Attributes:
        name: Name that distinguishes it from the plan's other charts: "Speed".
        kind: "lines", or "rows" with names.
        value_title, x_title: Titles of the axes, with units.
        rows: Names of the rows.
        ticks: Values of the numeric axis to label, with their labels.
        is_log_value, is_log_x: Whether an axis is logarithmic.
        begins_at_zero: Whether the value axis begins at zero, so that lengths and heights are proportional.
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
    """The content of a picture to share, ready to draw.

    Attributes:
        title: What was run.
        headline: The result as a value or a sentence.
        unit: Unit of the value; "" for a sentence.
        notes: Its certainty, then other remarks, most important first.
        chart: The only chart.
        machine: Full name of the device used.
        details: Lines about the computer, the engine, and the measurement.
        badge: The verdict with its cause, followed by ever shorter versions.
        level: The worst verdict of the usable runs.
        short_form: Short form for the picture's QR code, with the typical runs if there are several; "" for none.
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
