"""Live telemetry: current values, and curves for the last two minutes."""

from collections import deque
from dataclasses import dataclass

from PySide6.QtGui import QFont, QHideEvent, QShowEvent
from PySide6.QtWidgets import QGridLayout, QWidget

from app.core.analysis.series import RunSeries
from app.core.formats import format_gpu_memory, format_installed_memory, format_memory
from app.core.hardware.gpu.gpus import GpuReader
from app.core.hardware.telemetry.monitor import Monitor, TelemetryReader
from app.core.hardware.unknown import reason
from app.core.messages import sentence, text
from app.gui.charts.telemetry_chart import TelemetryChart
from app.gui.charts.training_charts import Legend
from app.gui.services.bundle import Services
from app.gui.style.tokens import GAP_PX
from app.gui.widgets.basics import Card, ElidedLabel, column, panel, set_tip
from app.gui.widgets.timers import timer
from workloads.protocol.events import TelemetryEvent
from workloads.protocol.machine import Machine
from workloads.protocol.telemetry import GpuTelemetry, Telemetry

INTERVAL_S = 1.0
SPAN_S = 120.0
FIGURES_IN_A_ROW, FIGURE_PX = 4, 20


class LiveView(QWidget):
    """Displays telemetry, which is read only while the view is visible, so that idle GPUs can sleep."""

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services
        self._monitor: Monitor | None = None
        self.arrived: deque[tuple[float, Telemetry]] = deque()
        self.telemetry: deque[TelemetryEvent] = deque(maxlen=round(SPAN_S / INTERVAL_S) + 1)
        self._begun_s: float | None = None
        self._timer = timer(self, round(1000 * INTERVAL_S))
        self._timer.timeout.connect(self.show_arrived)
        self.figures = Figures()
        self.chart = TelemetryChart(services.theme)
        self.legend = Legend(services.theme)
        self._lay_out()
        services.finder.found.connect(self._on_found)
        self._on_found()

    @property
    def is_sampling(self) -> bool:
        return self._monitor is not None

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._monitor is None:
            self.telemetry.clear()
            self.arrived = arrived = deque[tuple[float, Telemetry]]()
            self._begun_s = None
            self._monitor = Monitor(
                lambda at_s, telemetry: arrived.append((at_s, telemetry)),
                INTERVAL_S,
                lambda: TelemetryReader(GpuReader()),
            )
            self._monitor.start()
            self._timer.start()

    def hideEvent(self, event: QHideEvent) -> None:
        """Stop reading telemetry. Do so in the background, because a driver may hang."""
        super().hideEvent(event)
        self._timer.stop()
        monitor, self._monitor = self._monitor, None
        if monitor is not None:
            self._services.tasks.start(monitor.stop, lambda _: None, self._services.complain)

    def _lay_out(self) -> None:
        figures = Card(sentence("heading.telemetry"), sentence("live.each_second"))
        figures.body.addWidget(self.figures)
        curves = Card(sentence("live.curves"))
        curves.note.hide()
        curves.corner.addWidget(self.legend)
        self.chart.setMinimumHeight(160)
        curves.body.addWidget(self.chart, stretch=1)
        self.setLayout(column(figures, curves, spacing_px=2 * GAP_PX, stretch=1))

    def _on_found(self) -> None:
        self._show_figures(None)

    def _show_figures(self, telemetry: Telemetry | None) -> None:
        finder = self._services.finder
        forbidden = finder.power.sensors.power_forbidden
        self.figures.show_telemetry(telemetry, finder.machine, power_forbidden=forbidden)

    def show_arrived(self) -> None:
        telemetry = None
        while self.arrived:
            at_s, telemetry = self.arrived.popleft()
            self._begun_s = at_s if self._begun_s is None else self._begun_s
            self.telemetry.append(TelemetryEvent(seq=0, t_s=at_s - self._begun_s, telemetry=telemetry))
        if telemetry is not None:
            self._draw(telemetry)

    def _draw(self, telemetry: Telemetry) -> None:
        machine = self._services.finder.machine
        series = RunSeries(1)
        for event in self.telemetry:
            series.follow(event)
        begin_s = max(0.0, self.telemetry[-1].t_s - SPAN_S)
        memory_bytes = machine.memory_bytes if machine else None
        self.chart.show_curves(
            series.telemetry, begin_s=begin_s, end_s=begin_s + SPAN_S, memory_bytes=memory_bytes
        )
        self.legend.show_entries(self.chart.entries)
        self._show_figures(telemetry)


class Figures(QWidget):
    """Shows the latest telemetry in large type, and explains each "n/a"."""

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

    def show_telemetry(
        self, telemetry: Telemetry | None, machine: Machine | None, *, power_forbidden: bool = False
    ) -> None:
        """Show telemetry. `power_forbidden` tells whether only administrators may read the CPU's power."""
        self.sections = figure_sections(telemetry or Telemetry(), machine)
        names = tuple((section.name, len(section.figures)) for section in self.sections)
        if names != self._names:
            self._names = names
            self._make()
        figures = [(section, *figure) for section in self.sections for figure in section.figures]
        for (name, value), (section, code, value_text) in zip(self._cells, figures, strict=True):
            name_text = _label(code, section.memory)
            name.show_text(name_text)
            shown = value_text if telemetry is not None else "…"
            value.show_text(shown)
            why = _why(code, machine, power_forbidden=power_forbidden) if shown == "n/a" else ""
            value.setAccessibleName(f"{name_text}: {shown}" + (f" ({why})" if why else ""))
            set_tip(value, why)

    def _make(self) -> None:
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
                cell = panel(column(name, value, spacing_px=0))
                self._grid.addWidget(cell, at + number // FIGURES_IN_A_ROW, number % FIGURES_IN_A_ROW)
                self._cells.append((name, value))
            at += -(-count // FIGURES_IN_A_ROW)


@dataclass(frozen=True, slots=True)
class Section:
    """Telemetry of the computer or of a GPU."""

    name: str
    memory: str  # size of the memory as text; "" if unknown
    figures: tuple[tuple[str, str], ...]  # message code of the label, and the value as text, for each quantity


def figure_sections(telemetry: Telemetry, machine: Machine | None) -> list[Section]:
    computer = (
        ("part.cpu", _number(telemetry.cpu_pct, "%")),
        ("live.temperature", _number(telemetry.cpu_temperature_c, "°C")),
        ("part.power", _number(telemetry.cpu_power_w, "W")),
        ("part.memory", format_memory(telemetry.memory_used_bytes)),
    )
    gpus = machine.gpus if machine else ()
    by_index = {gpu.index: gpu for gpu in telemetry.gpus}
    count = max(len(gpus), max(by_index, default=-1) + 1)
    installed = format_installed_memory(machine.memory_bytes) if machine and machine.memory_bytes else ""
    sections = [Section("", installed, computer)]
    for number in range(count):
        gpu = gpus[number] if number < len(gpus) else None
        name = sentence("part.gpu") if count == 1 else sentence("setting_value.device_gpu", number=number)
        if gpu:
            name = sentence("live.gpu_named", gpu=name, name=gpu.name)
        figures = _gpu_figures(by_index.get(number) or GpuTelemetry(number))
        memory = format_gpu_memory(gpu.memory_bytes) if gpu and gpu.memory_bytes else ""
        sections.append(Section(name, memory, figures))
    return sections


def _gpu_figures(gpu: GpuTelemetry) -> tuple[tuple[str, str], ...]:
    return (
        ("live.gpu_use", _number(gpu.utilization_pct, "%")),
        ("part.memory", format_memory(gpu.memory_used_bytes)),
        ("live.gpu_temperature", _number(gpu.temperature_c, "°C")),
        ("live.gpu_power", _number(gpu.power_w, "W")),
    )


def _why(name: str, machine: Machine | None, *, power_forbidden: bool) -> str:
    part = {"live.temperature": "cpu_temperature", "part.power": "cpu_power"}.get(name)
    if part is None or machine is None:
        return sentence("live.not_reported")
    return text(reason(part, machine, is_forbidden=power_forbidden))


def _number(value: float | None, unit: str) -> str:
    return "n/a" if value is None else f"{value:.0f} {unit}"


def _label(code: str, memory: str) -> str:
    if code == "part.memory" and memory:
        return sentence("live.memory_of", memory=memory)
    return sentence(code)
