"""What this computer is, and what it is doing right now."""

from collections import deque
from dataclasses import asdict

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QFont, QGuiApplication, QHideEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QScrollArea, QVBoxLayout, QWidget

from app.core.judging.series import RunSeries
from app.core.judging.wording import machine_parts
from app.core.machine.monitor import Monitor
from app.core.metrics import format_bytes
from app.core.model import GpuReading, Machine, Telemetry
from app.gui.charts import Legend
from app.gui.services import Services
from app.gui.telemetry_chart import TelemetryChart
from app.gui.tokens import GAP_PX
from app.gui.widgets import Button, Card, ElidedLabel, column, label, row, title
from workloads.events import Sample

INTERVAL_S = 1.0
SPAN_S = 120.0
FIGURES_IN_A_ROW, FIGURE_PX = 4, 24


class HardwarePage(QWidget):
    """Shows the machine's parts and, while it is looked at, its load, clocks, temperatures and memory."""

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services
        self._monitor: Monitor | None = None
        self._arrived: deque[tuple[float, Telemetry]] = deque()
        self._samples: deque[Sample] = deque(maxlen=round(SPAN_S / INTERVAL_S) + 1)
        self._begun_s: float | None = None
        self._timer = QTimer(self, interval=round(1000 * INTERVAL_S))
        self._timer.timeout.connect(self._on_tick)
        self.parts = QGridLayout()
        self.figures = Figures()
        self.chart = TelemetryChart(services.theme)
        self.legend = Legend(services.theme)
        self.copy_button = Button(services.theme, "Copy", "copy")
        self.copy_button.setAccessibleName("Copy the parts")
        self.copy_button.clicked.connect(self._on_copy)
        self.look_button = Button(services.theme, "Look again", "rotate-ccw")
        self.look_button.clicked.connect(self._on_look)
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
            self._monitor = Monitor(lambda at_s, telemetry: arrived.append((at_s, telemetry)), INTERVAL_S)
            self._monitor.start()
            self._timer.start()

    def hideEvent(self, event: QHideEvent) -> None:
        """Stop looking; a driver that hangs holds up a thread in the background, not the window."""
        super().hideEvent(event)
        self._timer.stop()
        monitor, self._monitor = self._monitor, None
        if monitor is not None:
            self._services.tasks.start(monitor.stop, lambda _: None, self._services.complain)

    def text(self) -> str:
        """Return the parts as lines of text; "" before they are known."""
        machine = self._services.finder.machine
        return "".join(f"{name}: {value}\n" for name, value in _parts(machine)) if machine else ""

    def _lay_out(self) -> None:
        self.parts.setHorizontalSpacing(3 * GAP_PX)
        self.parts.setVerticalSpacing(GAP_PX)
        self.parts.setColumnStretch(1, 1)
        about = Card("This computer")
        about.body.addLayout(self.parts)
        now = Card("Right now")
        now.note.hide()
        now.corner.addWidget(self.legend)
        self.chart.setMinimumHeight(160)
        now.body.addWidget(self.figures)
        now.body.addWidget(self.chart, stretch=1)
        content = QWidget()
        content.setObjectName("scrolled")
        whole = column(about, now, spacing_px=2 * GAP_PX)
        whole.setStretch(1, 1)
        content.setLayout(whole)
        scroll = QScrollArea(widgetResizable=True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        scroll.setWidget(content)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(3 * GAP_PX, 2 * GAP_PX, 3 * GAP_PX, 2 * GAP_PX)
        layout.setSpacing(GAP_PX + 4)
        layout.addLayout(row(title("Hardware"), None, self.copy_button, self.look_button))
        layout.addWidget(scroll, stretch=1)

    def _on_look(self) -> None:
        self.look_button.setEnabled(False)
        self._services.finder.look()

    def _on_found(self) -> None:
        machine = self._services.finder.machine
        self.look_button.setEnabled(machine is not None)
        self.copy_button.setEnabled(machine is not None)
        while (item := self.parts.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.deleteLater()
        found = _parts(machine) if machine else [("Looking …", "")]
        for number, (name, value) in enumerate(found):
            self.parts.addWidget(label(name, muted=True), number, 0, Qt.AlignmentFlag.AlignTop)
            text = label(value, wrap=True)
            text.setAccessibleName(f"{name}: {value}")
            text.setTextInteractionFlags(
                Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
            )
            self.parts.addWidget(text, number, 1)
        self.figures.show_sample(None, machine)

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
        self.figures.show_sample(telemetry, machine)

    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self.text())
        self._services.tell("The machine's parts are on the clipboard.", "", "", None)


class Figures(QWidget):
    """The latest readings in large type; "n/a" for what this machine does not tell."""

    def __init__(self) -> None:
        super().__init__()
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, GAP_PX)
        self._grid.setHorizontalSpacing(2 * GAP_PX)
        self._grid.setVerticalSpacing(GAP_PX)
        self._labels: list[tuple[ElidedLabel, ElidedLabel]] = []
        self.texts: list[tuple[str, str]] = []
        for number in range(FIGURES_IN_A_ROW):
            self._grid.setColumnStretch(number, 1)

    def show_sample(self, telemetry: Telemetry | None, machine: Machine | None) -> None:
        """Show one look at the machine; None before the first."""
        self.texts = figure_texts(telemetry or Telemetry(), machine)
        while len(self._labels) < len(self.texts):
            self._add()
        for (name, value), (name_text, value_text) in zip(self._labels, self.texts, strict=False):
            name.show_text(name_text)
            value.show_text(value_text)
            value.setAccessibleName(f"{name_text}: {value_text}")

    def _add(self) -> None:
        name, value = ElidedLabel(muted=True), ElidedLabel("", FIGURE_PX, QFont.Weight.DemiBold)
        place = divmod(len(self._labels), FIGURES_IN_A_ROW)
        self._grid.addLayout(column(name, value, spacing_px=0), *place)
        self._labels.append((name, value))


def figure_texts(telemetry: Telemetry, machine: Machine | None) -> list[tuple[str, str]]:
    """Return each reading's name and its value with a unit."""
    texts = [
        ("Processor", _number(telemetry.cpu_pct, "%")),
        ("Clock", _clock(telemetry.cpu_clock_mhz)),
        ("Temperature", _number(telemetry.cpu_temperature_c, "°C")),
        (_of("Memory", machine.memory_bytes if machine else None), format_bytes(telemetry.memory_used_bytes)),
    ]
    gpus = machine.gpus if machine else ()
    readings = {reading.index: reading for reading in telemetry.gpus}
    for number in range(max(len(gpus), len(readings))):
        reading = readings.get(number) or GpuReading(number)
        name = "GPU" if max(len(gpus), len(readings)) == 1 else f"GPU {number}"
        memory_bytes = gpus[number].memory_bytes if number < len(gpus) else None
        texts += [
            (name, _number(reading.utilization_pct, "%")),
            (f"{name} power", _number(reading.power_w, "W")),
            (f"{name} temperature", _number(reading.temperature_c, "°C")),
            (_of(f"{name} memory", memory_bytes), format_bytes(reading.memory_used_bytes)),
        ]
    return texts


def _parts(machine: Machine) -> list[tuple[str, str]]:
    return [(name[:1].upper() + name[1:], value) for name, value in machine_parts(machine)]


def _number(value: float | None, unit: str) -> str:
    return "n/a" if value is None else f"{value:.0f} {unit}"


def _clock(value_mhz: float | None) -> str:
    return "n/a" if value_mhz is None else f"{value_mhz / 1000:.1f} GHz"


def _of(name: str, size_bytes: int | None) -> str:
    return name if size_bytes is None else f"{name}, of {format_bytes(size_bytes)}"
