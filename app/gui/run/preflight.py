"""The line above the Run button: conditions that would disturb a run and, on request, how to fix them."""

import threading
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QHideEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QWidget

from app.core.analysis.shared_host import BETWEEN_RUNS_HALF_PCT
from app.core.hardware.telemetry.monitor import read_telemetry
from app.core.hardware.telemetry.programs import busy_programs
from app.core.messages import sentence
from app.core.verdict.preflight import has_busy_programs, is_load_known, may_vary, preflight
from app.gui.services.bundle import Services
from app.gui.style.icons import pixmap
from app.gui.style.tokens import GAP_PX, Tokens
from app.gui.widgets.basics import Button, ClampedLabel, label, row, set_tone
from app.gui.widgets.timers import timer
from workloads.protocol.events import Reason
from workloads.protocol.machine import Machine
from workloads.protocol.spec import RunSpec
from workloads.protocol.telemetry import Telemetry

INTERVAL_MS = 10_000
TELEMETRY_INTERVAL_S, TELEMETRY_COUNT = 1.0, 2
ICON_PX = 16
LINES = 2


class PreflightLine(QWidget):
    """Checks the computer every ten seconds while the line is visible and no run is in progress.

    GPUs aren't checked, because this would wake them up. Programs are named if they keep the CPU busy in two
    consecutive readings. Room for `kept` lines is reserved, so that a button below doesn't move.
    """

    changed = Signal()

    def __init__(self, services: Services, interval_ms: int = INTERVAL_MS, *, kept: int = LINES) -> None:
        super().__init__()
        self._services = services
        self._telemetry: tuple[Telemetry, ...] = ()
        self._programs: tuple[str, ...] = ()
        self._choice: tuple[RunSpec, Machine] | None = None
        # Set to stop the current check immediately.
        self._stop: threading.Event | None = None
        self.cautions: tuple[Reason, ...] = ()
        self._icon, self.text = label(), ClampedLabel(LINES, kept=kept)
        self._icon.setFixedSize(ICON_PX, ICON_PX)
        self.details_button = Button(services.theme, sentence("preflight.details"), kind="flat")
        self.details_button.clicked.connect(self._on_details)
        self.details_button.hide()
        line = row(self._icon, self.text, self.details_button, stretch=1)
        if kept:
            line.setAlignment(self._icon, Qt.AlignmentFlag.AlignTop)
        self.setLayout(line)
        self._timer = timer(self, interval_ms)
        self._timer.timeout.connect(self._check)
        services.theme.changed.connect(self._show)
        services.bridge.started.connect(self._forget)
        services.bridge.ended.connect(self._on_over)
        services.bridge.refused.connect(self._on_over)
        self._show()

    @property
    def is_checking(self) -> bool:
        return self._stop is not None

    def show_choice(self, spec: RunSpec, machine: Machine) -> None:
        self._choice = (spec, machine)
        self._judge()

    def show_telemetry(self, telemetry: tuple[Telemetry, ...], programs: tuple[str, ...] = ()) -> None:
        """Judge new telemetry. `programs` are the names of busy programs."""
        self._telemetry, self._programs = telemetry, programs
        self._judge()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._offer_details()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._timer.start()
        self._check()

    def hideEvent(self, event: QHideEvent) -> None:
        """Stop checking, and discard the telemetry, because it will be outdated by the time of the next check."""
        super().hideEvent(event)
        self._timer.stop()
        self._forget()

    def _on_over(self, _: object) -> None:
        self._show()
        self._check()

    def _check(self) -> None:
        if self.is_checking or not self.isVisible() or self._services.bridge.is_running:
            return
        stop = self._stop = threading.Event()

        def read() -> tuple[Telemetry, ...]:
            return read_telemetry(TELEMETRY_INTERVAL_S, TELEMETRY_COUNT, with_gpus=False, stop=stop)

        def look() -> tuple[tuple[Telemetry, ...], tuple[str, ...]]:
            telemetry = read()
            if has_busy_programs(telemetry):  # perhaps only for a moment, as when a window opens
                telemetry = read()
            return telemetry, busy_programs(stop=stop) if has_busy_programs(telemetry) else ()

        self._services.tasks.start(
            look,
            partial(self._on_telemetry, stop),
            lambda _: self._on_telemetry(stop, ((), ())),  # no AppError can occur, and bugs are re-raised anyway
        )

    def _on_telemetry(self, stop: threading.Event, seen: tuple[tuple[Telemetry, ...], tuple[str, ...]]) -> None:
        if stop is self._stop:
            self._stop = None
            self.show_telemetry(*seen)

    def _forget(self) -> None:
        if self._stop is not None:
            self._stop.set()
            self._stop = None
        self.show_telemetry(())

    def _judge(self) -> None:
        before = self.cautions
        self.cautions = ()
        if self._choice is not None and self._telemetry:
            spec, machine = self._choice
            variant = self._services.engines.variant(spec.engine)
            self.cautions = preflight(spec, machine, self._telemetry, variant, self._programs)
        self._show()
        if self.cautions != before:
            self.changed.emit()

    def _show(self) -> None:
        text, icon_name, colour = self._line(self._services.theme.tokens)
        if icon_name:
            self._icon.setPixmap(pixmap(icon_name, colour, ICON_PX))
        else:
            self._icon.clear()
        self.text.show_text(text, self._shorter())
        self._offer_details()
        set_tone(self.text, "caution" if self.cautions else "")

    def _shorter(self) -> list[str]:
        """Return versions of the text from longest to shortest: without advice, then with fewer cautions."""
        texts = [reason.text for reason in self.cautions]
        fewer = [
            " ".join([*texts[:count], sentence("preflight.more", count=len(texts) - count)])
            for count in range(len(texts) - 1, 0, -1)
        ]
        return [" ".join(texts), *fewer] if texts else []

    def _offer_details(self) -> None:
        whole_px = self.width() - ICON_PX - GAP_PX
        self.details_button.setVisible(bool(self.cautions) and not self.text.fits(whole_px))

    def _on_details(self) -> None:
        from app.gui.run.verdict_dialog import CautionsDialog  # imported late, because the window opens without it

        CautionsDialog(self._services.theme, self.cautions, self.window()).open()

    def _line(self, tokens: Tokens) -> tuple[str, str, str]:
        if self._services.bridge.is_running:
            return "", "", ""
        if self.cautions:
            texts = [reason.text for reason in self.cautions]
            # Show the problems before the advice, because a narrow window shows only the beginning.
            advice = dict.fromkeys(reason.advice for reason in self.cautions)
            return " ".join([*texts, *advice]), "triangle-alert", tokens.caution
        if self._telemetry and self._choice is not None:
            if not is_load_known(self._telemetry):
                return sentence("preflight.load_unknown"), "info", tokens.muted
            spec, machine = self._choice
            if may_vary(spec, machine, self._services.engines.variant(spec.engine)):
                ready = sentence("preflight.ready_shared", half_pct=BETWEEN_RUNS_HALF_PCT)
            else:
                ready = sentence("preflight.ready")
            return ready, "circle-check", tokens.valid
        return sentence("preflight.looking"), "info", tokens.muted
