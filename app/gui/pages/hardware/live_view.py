"""What the machine is doing right now: readings, a bar for each processor, and the last two minutes as curves."""

from collections import deque
from dataclasses import asdict, dataclass

from PySide6.QtCore import QRectF, QTimer
from PySide6.QtGui import QColor, QFont, QHideEvent, QPainter, QPaintEvent, QShowEvent
from PySide6.QtWidgets import QGridLayout, QWidget

from app.core.analysis.series import RunSeries
from app.core.hardware.gpu.gpus import GpuReader
from app.core.hardware.telemetry.monitor import Monitor, Sampler
from app.core.hardware.unknown import reason
from app.core.messages import text
from app.core.metrics import format_bytes
from app.core.records import GpuReading, Machine, Telemetry
from app.gui.charts.telemetry_chart import TelemetryChart
from app.gui.charts.training_charts import Legend
from app.gui.services.bundle import Services
from app.gui.style.theme import Theme
from app.gui.style.tokens import GAP_PX
from app.gui.widgets.basics import Card, ElidedLabel, column, label, plain_tip
from workloads.protocol.events import Sample

INTERVAL_S = 1.0
SPAN_S = 120.0
FIGURES_IN_A_ROW, FIGURE_PX = 5, 20
BAR_GAP_PX, BARS_PX, BAR_MOST_PX = 2, 36, 48


class LiveView(QWidget):
    """Looks at the machine while it is looked at itself; GPUs sleep on as soon as it is hidden."""

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services
        self._monitor: Monitor | None = None
        self._arrived: deque[tuple[float, Telemetry]] = deque()
        self._samples: deque[Sample] = deque(maxlen=round(SPAN_S / INTERVAL_S) + 1)
        self._begun_s: float | None = None
        self._timer = QTimer(self, interval=round(1000 * INTERVAL_S))
        self._timer.timeout.connect(self._on_tick)
        self.figures = Figures()
        self.cores = CoreBars(services.theme)
        self.chart = TelemetryChart(services.theme)
        self.legend = Legend(services.theme)
        self._lay_out()
        services.finder.found.connect(self._on_found)
        self._on_found()

    @property
    def is_sampling(self) -> bool:
        """Whether the machine is looked at each second."""
        return self._monitor is not None

    def showEvent(self, event: QShowEvent) -> None:
        """Begin to look at the machine."""
        super().showEvent(event)
        if self._monitor is None:
            self._samples.clear()
            self._arrived = arrived = deque[tuple[float, Telemetry]]()
            self._begun_s = None
            self._monitor = Monitor(
                lambda at_s, telemetry: arrived.append((at_s, telemetry)), INTERVAL_S, lambda: Sampler(GpuReader())
            )
            self._monitor.start()
            self._timer.start()

    def hideEvent(self, event: QHideEvent) -> None:
        """Stop looking; a driver that hangs holds up a thread in the background, not the window."""
        super().hideEvent(event)
        self._timer.stop()
        monitor, self._monitor = self._monitor, None
        if monitor is not None:
            self._services.tasks.start(monitor.stop, lambda _: None, self._services.complain)

    def _lay_out(self) -> None:
        readings = Card("Readings", "each second")
        readings.body.addWidget(self.figures)
        readings.body.addWidget(label("Each logical processor", muted=True))
        readings.body.addWidget(self.cores)
        curves = Card("The last two minutes")
        curves.note.hide()
        curves.corner.addWidget(self.legend)
        self.chart.setMinimumHeight(160)
        curves.body.addWidget(self.chart, stretch=1)
        whole = column(readings, curves, spacing_px=2 * GAP_PX)
        whole.setStretch(1, 1)
        self.setLayout(whole)

    def _on_found(self) -> None:
        self._show_figures(None)

    def _show_figures(self, telemetry: Telemetry | None) -> None:
        finder = self._services.finder
        forbidden = finder.power.sensors.power_forbidden
        self.figures.show_sample(telemetry, finder.machine, power_forbidden=forbidden)

    def _on_tick(self) -> None:
        telemetry = None
        while self._arrived:
            at_s, telemetry = self._arrived.popleft()
            self._begun_s = at_s if self._begun_s is None else self._begun_s
            self._samples.append(Sample(seq=0, t_s=at_s - self._begun_s, telemetry=asdict(telemetry)))
        if telemetry is not None:
            self._draw(telemetry)

    def _draw(self, telemetry: Telemetry) -> None:
        machine = self._services.finder.machine
        series = RunSeries(1)
        for sample in self._samples:
            series.follow(sample)
        begin_s = max(0.0, self._samples[-1].t_s - SPAN_S)
        memory_bytes = machine.memory_bytes if machine else None
        self.chart.show_curves(
            series.telemetry, begin_s=begin_s, end_s=begin_s + SPAN_S, memory_bytes=memory_bytes
        )
        self.legend.show_entries(self.chart.entries)
        self._show_figures(telemetry)
        self.cores.show_shares(telemetry.core_pct or ())


class CoreBars(QWidget):
    """A bar for each logical processor, as high as it is busy."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._shares_pct: tuple[float, ...] = ()
        self.setFixedHeight(BARS_PX)
        theme.changed.connect(self.update)

    def show_shares(self, shares_pct: tuple[float, ...]) -> None:
        """Show how busy each is, 0 to 100; none where the system does not tell."""
        self._shares_pct = shares_pct
        told = ", ".join(f"{number}: {share:.0f} %" for number, share in enumerate(shares_pct))
        self.setAccessibleName(f"Each logical processor, {told or 'n/a'}")
        self.setToolTip(plain_tip(told or "n/a"))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the bars on their tracks."""
        count = len(self._shares_pct)
        if not count:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        step_px = min(BAR_MOST_PX, self.width() / count)
        bar_px = max(1.0, step_px - BAR_GAP_PX)
        tokens = self._theme.tokens
        for number, share_pct in enumerate(self._shares_pct):
            x_px, height_px = number * step_px, self.height() * min(100.0, max(0.0, share_pct)) / 100
            painter.fillRect(QRectF(x_px, 0, bar_px, self.height()), QColor(tokens.grid))
            painter.fillRect(QRectF(x_px, self.height() - height_px, bar_px, height_px), QColor(tokens.accent))
        painter.end()


class Figures(QWidget):
    """The latest readings in large type; "n/a" for what this machine does not tell, and why."""

    def __init__(self) -> None:
        super().__init__()
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, GAP_PX)
        self._grid.setHorizontalSpacing(2 * GAP_PX)
        self._grid.setVerticalSpacing(GAP_PX)
        self._names: tuple[tuple[str, int], ...] = ()
        self._cells: list[tuple[ElidedLabel, ElidedLabel]] = []
        self.sections: list[Section] = []
        for number in range(FIGURES_IN_A_ROW):
            self._grid.setColumnStretch(number, 1)

    def show_sample(
        self, telemetry: Telemetry | None, machine: Machine | None, *, power_forbidden: bool = False
    ) -> None:
        """Show one look at the machine.

        Args:
            telemetry: The look; None before the first.
            machine: What is known of it.
            power_forbidden: Whether only the administrator may read the processor's power.
        """
        self.sections = figure_sections(telemetry or Telemetry(), machine)
        names = tuple((section.name, len(section.figures)) for section in self.sections)
        if names != self._names:
            self._names = names
            self._make()
        figures = [figure for section in self.sections for figure in section.figures]
        for (name, value), (name_text, value_text) in zip(self._cells, figures, strict=True):
            name.show_text(name_text)
            value.show_text(value_text)
            why = (
                _why(name_text, machine, power_forbidden=power_forbidden)
                if value_text == "n/a" and telemetry
                else ""
            )
            value.setAccessibleName(f"{name_text}: {value_text}" + (f" ({why})" if why else ""))
            value.setToolTip(plain_tip(why))

    def _make(self) -> None:
        """Make the cells anew: another number of graphics cards is shown than before."""
        while (item := self._grid.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.setParent(None)
                widget.deleteLater()
        self._cells, at = [], 0
        for section, count in self._names:
            if section:
                heading = ElidedLabel(section, weight=QFont.Weight.DemiBold)
                self._grid.addWidget(heading, at, 0, 1, FIGURES_IN_A_ROW)
                at += 1
            for number in range(count):
                name, value = ElidedLabel(muted=True), ElidedLabel("", FIGURE_PX, QFont.Weight.DemiBold)
                cell = QWidget()
                cell.setLayout(column(name, value, spacing_px=0))
                self._grid.addWidget(cell, at + number // FIGURES_IN_A_ROW, number % FIGURES_IN_A_ROW)
                self._cells.append((name, value))
            at += -(-count // FIGURES_IN_A_ROW)


@dataclass(frozen=True, slots=True)
class Section:
    """Readings of one part of the machine.

    Attributes:
        name: Of the graphics card; "" for the computer itself.
        figures: Each reading's name and its value with a unit.
    """

    name: str
    figures: tuple[tuple[str, str], ...]


def figure_sections(telemetry: Telemetry, machine: Machine | None) -> list[Section]:
    """Return the readings of the computer and of each of its graphics cards."""
    computer = (
        ("Processor", _number(telemetry.cpu_pct, "%")),
        ("Clock", _clock(telemetry.cpu_clock_mhz)),
        ("Temperature", _number(telemetry.cpu_temperature_c, "°C")),
        ("Power", _number(telemetry.cpu_power_w, "W")),
        ("Taken by host", _number(telemetry.steal_pct, "%")),
        (_of("Memory", machine.memory_bytes if machine else None), format_bytes(telemetry.memory_used_bytes)),
        ("Swap used", format_bytes(telemetry.swap_used_bytes)),
        ("Swapping", _rate(telemetry.swap_bytes_per_s)),
        ("Disk reads", _rate(telemetry.disk_read_bytes_per_s)),
        ("Disk writes", _rate(telemetry.disk_write_bytes_per_s)),
    )
    gpus = machine.gpus if machine else ()
    readings = {reading.index: reading for reading in telemetry.gpus}
    count = max(len(gpus), max(readings, default=-1) + 1)
    sections = [Section("", computer)]
    for number in range(count):
        gpu = gpus[number] if number < len(gpus) else None
        name = "GPU" if count == 1 else f"GPU {number}"
        memory_bytes = gpu.memory_bytes if gpu else None
        figures = _gpu_figures(readings.get(number) or GpuReading(number), memory_bytes)
        sections.append(Section(f"{name}: {gpu.name}" if gpu else name, figures))
    return sections


def _gpu_figures(reading: GpuReading, memory_bytes: int | None) -> tuple[tuple[str, str], ...]:
    held = None if reading.throttle_reasons is None else ", ".join(reading.throttle_reasons) or "nothing"
    return (
        ("Busy", _number(reading.utilization_pct, "%")),
        (_of("Memory", memory_bytes), format_bytes(reading.memory_used_bytes)),
        ("GPU temperature", _number(reading.temperature_c, "°C")),
        ("GPU power", _number(reading.power_w, "W")),
        ("GPU clock", _clock(reading.clock_mhz)),
        ("Memory busy", _number(reading.memory_utilization_pct, "%")),
        ("Memory clock", _clock(reading.memory_clock_mhz)),
        ("Fan", _number(reading.fan_pct, "%")),
        ("Held down by", held or "n/a"),
        ("Energy so far", "n/a" if reading.energy_j is None else f"{reading.energy_j / 3600:.2f} Wh"),
    )


def _why(name: str, machine: Machine | None, *, power_forbidden: bool) -> str:
    part = {"Temperature": "cpu_temperature", "Power": "cpu_power"}.get(name)
    if part is None or machine is None:
        return "The system or the driver does not tell."
    return text(reason(part, machine, is_forbidden=power_forbidden))


def _number(value: float | None, unit: str) -> str:
    return "n/a" if value is None else f"{value:.0f} {unit}"


def _clock(value_mhz: float | None) -> str:
    return "n/a" if value_mhz is None else f"{value_mhz / 1000:.1f} GHz"


def _rate(value_bytes_per_s: float | None) -> str:
    return "n/a" if value_bytes_per_s is None else f"{value_bytes_per_s / 1e6:.1f} MB/s"


def _of(name: str, size_bytes: int | None) -> str:
    return name if size_bytes is None else f"{name}, of {format_bytes(size_bytes)}"
