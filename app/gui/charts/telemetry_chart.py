"""A chart of telemetry over time, with percent on the left axis, and degrees and watts on the right."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from app.core.analysis.series import Curve
from app.core.formats import format_memory
from app.core.messages import sentence
from app.gui.charts.plots import DoublePlot, Line, TimeAxis, has_values, round_up
from app.gui.style.theme import Theme
from app.gui.style.tokens import SERIES
from app.gui.widgets.basics import plain_tip

# The least CPU steal, and the least change of the CPU clock as a share of it, that are drawn.
STEAL_PCT, CLOCK_SHARE = 1.0, 0.01
BLUE, ORANGE, GREEN, PINK, DEEP_BLUE, RED = SERIES


@dataclass(frozen=True, slots=True)
class Quantity:
    """The quantity shown by a telemetry curve, and the style of the curve."""

    label: str  # name in the legend, followed by the value
    # "percent", "memory" (percent of the total) and "clock" (percent of its highest value so far) use the left
    # axis; "degrees" and "watts" use the right axis and dashed lines.
    kind: Literal["percent", "memory", "clock", "degrees", "watts"]
    colour: str

    @property
    def is_right(self) -> bool:
        return self.kind in ("degrees", "watts")


# By curve name without "gpu0_" etc. Other telemetry is stored but not drawn.
QUANTITIES = {
    "cpu_pct": Quantity("part.cpu", "percent", GREEN),
    "utilization_pct": Quantity("part.gpu", "percent", BLUE),
    "cpu_temperature_c": Quantity("part.cpu", "degrees", GREEN),
    "temperature_c": Quantity("part.gpu", "degrees", BLUE),
    "power_w": Quantity("part.gpu", "watts", PINK),
    "cpu_power_w": Quantity("part.cpu", "watts", ORANGE),
    "cpu_clock_mhz": Quantity("chart.clock", "clock", RED),
    "clock_mhz": Quantity("chart.gpu_clock", "clock", DEEP_BLUE),
    "memory_used_bytes": Quantity("chart.memory", "memory", ORANGE),
    "steal_pct": Quantity("telemetry.steal_pct", "percent", PINK),
}


class TelemetryChart(DoublePlot):
    """Draws this computer's telemetry, with percentages on the left axis, and degrees and watts on the right."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, TimeAxis(), unit="%")
        self.lines: dict[str, Line] = {}
        # Of the legend: colour, name with the value (for a finished run, the median), and whether it is dashed.
        self.entries: list[tuple[str, str, bool]] = []
        self.has_right = False
        self.set_range("y", 0.0, 100.0)
        self.set_range("right", 0.0, 100.0, self.right)
        self.setAccessibleName(sentence("chart.hardware_over_time"))
        self.setToolTip(plain_tip(sentence("chart.axes")))

    def show_curves(
        self,
        curves: Mapping[str, Curve],
        *,
        begin_s: float = 0.0,
        end_s: float | None = None,
        memory_bytes: int | None = None,
        live: bool = True,
    ) -> None:
        """Show the curves of a RunSeries over time, by default until the latest telemetry.

        The memory curve needs the computer's memory. While live, drawing is cheap.
        """
        latest_s = max((curve.x[-1] for curve in curves.values() if curve.x), default=0.0)
        self.set_range("x", begin_s, max(end_s if end_s is not None else latest_s, begin_s + 1.0))
        if self.is_shown(curves, sum(len(curve.x) for curve in curves.values()), latest_s, live):
            return
        drawn = {name: (quantity, curve) for name, curve in curves.items() if (quantity := _quantity(name, curve))}
        for name in self.lines.keys() - drawn.keys():
            self.lines[name].show(Curve())
        for name, (quantity, curve) in drawn.items():
            if name not in self.lines:
                box = self.right if quantity.is_right else None
                self.lines[name] = self.add_line(quantity.colour, dashed=quantity.is_right, box=box)
            self.lines[name].show(Curve(curve.x, _scaled(quantity, curve, memory_bytes)), smooth=not live)
        self._fit_right(drawn.values())
        self.show_emptiness(not any(has_values(curve) for _, curve in drawn.values()), live=live)
        self.entries = [
            (quantity.colour, _number(name, drawn) + _entry(quantity, value), quantity.is_right)
            for name, (quantity, curve) in drawn.items()
            for value in [curve.last if live else curve.median]
        ]
        self.setAccessibleDescription(
            ", ".join(text for _, text, _ in self.entries) or sentence("chart.nothing_yet")
        )

    def _fit_right(self, drawn: Iterable[tuple[Quantity, Curve]]) -> None:
        values = [
            value for quantity, curve in drawn if quantity.is_right for value in curve.y if value is not None
        ]
        self.getAxis("right").setStyle(showValues=bool(values))
        self.has_right = bool(values)
        self.show_right(self.has_right)
        self.set_range("right", 0.0, max(100.0, round_up(max(values, default=0.0))), self.right)


def _quantity(name: str, curve: Curve) -> Quantity | None:
    gpu = name.startswith("gpu")
    key = name.partition("_")[2] if gpu else name
    if gpu and key == "memory_used_bytes":
        return None  # runs don't include the GPU's total memory
    values = [value for value in curve.y if value is not None]
    if key == "steal_pct" and max(values, default=0.0) < STEAL_PCT:
        return None
    if key == "cpu_clock_mhz" and values and max(values) - min(values) < CLOCK_SHARE * max(values):
        return None
    return QUANTITIES.get(key)


def _scaled(quantity: Quantity, curve: Curve, memory_bytes: int | None) -> list[float | None]:
    if quantity.kind not in ("memory", "clock"):
        return curve.y
    highest = max((value for value in curve.y if value is not None), default=0.0)
    whole = memory_bytes if quantity.kind == "memory" else highest
    return [100 * value / whole if value is not None and whole else None for value in curve.y]


def _number(name: str, drawn: Iterable[str]) -> str:
    """Return a prefix such as "1: " for curves of a GPU if there are several GPUs; otherwise ""."""
    several = len({other[:4] for other in drawn if other.startswith("gpu")}) > 1
    return f"{name[3 : name.index('_')]}: " if several and name.startswith("gpu") else ""


def _entry(quantity: Quantity, value: float | None) -> str:
    if value is None:
        return f"{sentence(quantity.label)} n/a"
    text = {
        "percent": f"{value:.0f} %",
        "memory": format_memory(value),
        "clock": f"{value / 1000:.1f} GHz",
        "degrees": f"{value:.0f} °C",
        "watts": f"{value:.0f} W",
    }[quantity.kind]
    return f"{sentence(quantity.label)} {text}"
