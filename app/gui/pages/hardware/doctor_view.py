"""Shows whether engines can use this computer's devices and how to fix problems. Also explains log files."""

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFont, QGuiApplication, QHideEvent
from PySide6.QtWidgets import QFileDialog, QLabel, QWidget

from app.core.doctor.checks import Check
from app.core.doctor.diagnosis import DeviceDiagnosis, Diagnosis, EngineDiagnosis
from app.core.doctor.examination import examine
from app.core.doctor.facts import gather_facts
from app.core.doctor.report import report_text
from app.core.errors import AppError
from app.core.known_lines.logs import LogDiagnosis, LogFinding, diagnose_log, read_log
from app.core.messages import Message, message, sentence, text
from app.core.messages.started_as import as_started
from app.gui.run.verdict_dialog import verdict_look
from app.gui.services.bundle import Services
from app.gui.style.icons import pixmap
from app.gui.style.theme import Theme
from app.gui.style.tokens import GAP_PX, TITLE_PX
from app.gui.widgets.basics import Button, Card, ElidedLabel, Fold, Tone, column, label, panel, row, set_tip

_LINE_CHARS = 240
_CHECK_TONES: dict[str, Tone] = {"ok": "valid", "fault": "invalid", "skipped": ""}
_FINDING_TONES: dict[str, Tone] = {"fault": "invalid", "caution": "caution", "harmless": ""}


@dataclass(frozen=True)
class _Found:
    """Findings under a heading. `system` is the operating system for which to give advice; None to give none."""

    heading: str
    findings: Sequence[LogFinding]
    harmless: Sequence[LogFinding]
    system: str | None
    has_line_numbers: bool = False


class DoctorView(QWidget):
    """Examines the computer on request. `buttons` is a row of buttons."""

    _stepped = Signal(object)
    _checked = Signal(object)

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services
        self._cancel: threading.Event | None = None
        self._diagnosis: Diagnosis | None = None
        theme = services.theme
        self.examine_button = Button(theme, sentence("doctor.run_check"), "search", kind="primary")
        self.examine_button.clicked.connect(self.examine)
        self.cancel_button = Button(theme, sentence("button.cancel"), "circle-stop", do=self.cancel)
        self.log_button = Button(theme, sentence("doctor.explain_log"), "file-text", do=self._on_log)
        self.report_button = Button(theme, sentence("doctor.copy_report"), "copy")
        set_tip(self.report_button, sentence("doctor.copy_report_tip"))
        self.report_button.clicked.connect(self._on_report)
        self.buttons = QWidget()  # has a parent, because otherwise it would briefly become a window
        self.buttons.setLayout(row(self.examine_button, self.cancel_button, self.log_button, self.report_button))
        self.head = label("", TITLE_PX, QFont.Weight.DemiBold, wrap=True)
        self.step = ElidedLabel("", muted=True)
        self.busy = label(sentence("doctor.wait_for_run"), wrap=True)
        self.introduction = _selectable(sentence("doctor.introduction"), muted=True)
        self._answer = Card()
        self._answer.body.addWidget(self.head)
        self._answer.body.addWidget(self.introduction)
        self._answer.body.addWidget(self.step)
        self._answer.body.addWidget(self.busy)
        self._checks = column(spacing_px=GAP_PX)
        self.checks = Fold(theme, sentence("doctor.report_checks"), self._checks)
        # Fixes come before findings.
        self._devices, self._printed = column(spacing_px=2 * GAP_PX), column(spacing_px=2 * GAP_PX)
        whole = column(self._answer, self._devices, self._printed, self.checks, None, spacing_px=2 * GAP_PX)
        self.setLayout(whole)
        self._stepped.connect(self._on_step)
        self._checked.connect(self._on_checked)
        services.bridge.started.connect(self._show_state)
        services.bridge.ended.connect(self._show_state)
        self._clear()
        self._show_state()

    @property
    def is_examining(self) -> bool:
        return self._cancel is not None

    @property
    def diagnosis(self) -> Diagnosis | None:
        """The result of the latest examination; None if there is none yet or one is in progress."""
        return self._diagnosis

    def examine(self) -> None:
        """Start an examination, unless one is in progress or a run would be disturbed."""
        if self.is_examining or self._services.bridge.is_running:
            return
        self._clear()
        cancel = self._cancel = threading.Event()
        self.introduction.hide()
        self.head.setText(sentence("label.checking"))
        paths = self._services.paths
        work = partial(examine, paths, self._stepped.emit, cancel, self._checked.emit)
        self._services.tasks.start(work, self._on_examined, self._on_failed)
        self._show_state()

    def cancel(self) -> None:
        if self._cancel is not None:
            self._cancel.set()
            self._show_step(sentence("run.cancelling"))

    def explain_log(self, path: Path) -> None:
        self._services.tasks.start(
            lambda: (diagnose_log(read_log(path)), gather_facts().system),
            lambda answer: self._show_log(path.name, *answer),
            self._services.complain,
        )

    def hideEvent(self, event: QHideEvent) -> None:
        """Cancel when the window is closed, but not when another page is shown."""
        super().hideEvent(event)
        if not self.window().isVisible():
            self.cancel()

    def _show_state(self) -> None:
        running = self._services.bridge.is_running
        self.examine_button.setVisible(not self.is_examining)
        self.cancel_button.setVisible(self.is_examining)
        self.examine_button.setEnabled(not running)
        self.busy.setVisible(running)
        self.log_button.setEnabled(not self.is_examining)
        self.report_button.setEnabled(self._diagnosis is not None)

    def _on_step(self, step: Message) -> None:  # no lambda, because that would run in the thread that emits
        self._show_step(text(step))

    def _show_step(self, shown: str) -> None:
        self.step.show_text(shown)
        self.step.setVisible(bool(shown))

    def _clear(self) -> None:
        self._diagnosis = None
        self.head.setText(sentence("menu.doctor"))
        self.introduction.setText(sentence("doctor.introduction"))
        self.introduction.show()
        self._show_step("")
        self.checks.hide()
        for layout in (self._checks, self._devices, self._printed):
            while (item := layout.takeAt(0)) is not None:
                if (widget := item.widget()) is not None:
                    widget.setParent(None)
                    widget.deleteLater()

    def _on_checked(self, check: Check) -> None:
        self.checks.show()
        tone = _CHECK_TONES[check.state]
        self._checks.addWidget(_entry(self._services.theme, tone, check.title, check.text))

    def _on_examined(self, diagnosis: Diagnosis) -> None:
        self._cancel = None
        self._diagnosis = diagnosis
        self._show_step("")
        self._show_answer(diagnosis.conclusion)
        theme = self._services.theme
        for device in sorted(_unusable(diagnosis.devices), key=lambda device: not device.is_fault):
            card = Card()
            card.setAccessibleName(_add_device(theme, card, device))
            self._devices.addWidget(card)
        for engine in diagnosis.engines:
            if engine.problem is not None or _unusable(engine.devices):
                self._devices.addWidget(_engine_card(theme, engine))
        explained = {device.signal_id for device in diagnosis.devices}
        others = [finding for finding in diagnosis.findings if finding.signal.id not in explained]
        # If devices have problems, most other findings are consequences, and advice on them would distract.
        system = None if any(device.is_fault for device in diagnosis.devices) else diagnosis.facts.system
        self._add_findings(_Found(sentence("doctor.report_in_output"), others, diagnosis.harmless, system))
        self._show_state()

    def _show_answer(self, conclusion: Sequence[Message]) -> None:
        head, *rest = conclusion
        self.head.setText(text(head))
        self.introduction.setText(" ".join(map(text, rest)))
        self.introduction.setVisible(bool(rest))

    def _add_findings(self, printed: _Found) -> None:
        """Show the findings, or list them among the checks if all of them are harmless."""
        if printed.findings or printed.harmless:
            shown = self._printed if printed.findings or self.checks.isHidden() else self._checks
            shown.addWidget(_findings_card(self._services.theme, printed))

    def _on_failed(self, error: AppError) -> None:
        self._cancel = None
        self._clear()
        self._services.complain(error)
        self._show_state()

    def _show_log(self, name: str, log: LogDiagnosis, system: str) -> None:
        self._clear()
        self._show_answer(log.conclusion)
        code = "doctor.log_read_in_part" if log.cut else "doctor.log_read"
        self._show_step(sentence(code, name=name, count=log.lines))
        if log.unknown_lines:
            card = Card(sentence("doctor.unknown_lines"))
            card.note.hide()
            for number, line in log.unknown_lines:
                shown = sentence("doctor.numbered_line", number=number, line=_shortened(line))
                card.body.addWidget(_selectable(shown))
            self._printed.addWidget(card)
        heading = sentence("doctor.report_in_log")
        self._add_findings(_Found(heading, log.findings, log.harmless, system, has_line_numbers=True))
        self._show_state()

    def _on_log(self) -> None:
        dialog = QFileDialog(self, sentence("doctor.choose_log"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.fileSelected.connect(lambda name: self.explain_log(Path(name)))
        dialog.open()

    def _on_report(self) -> None:
        if self._diagnosis is not None:
            QGuiApplication.clipboard().setText(report_text(self._diagnosis))
            self._services.notify(sentence("doctor.report_copied"), "", "", None)


def _unusable(devices: Iterable[DeviceDiagnosis]) -> list[DeviceDiagnosis]:
    """Return the devices that need an explanation. The checks list all devices."""
    return [device for device in devices if device.state != "usable"]


def _add_device(theme: Theme, card: Card, device: DeviceDiagnosis) -> str:
    tone: Tone = "invalid" if device.is_fault else "caution"
    is_named = not device.id or device.name == device.id.upper()
    name = device.name if is_named else f"{device.name} ({device.id})"
    title = f"{name}: {device.state_text}"
    card.body.addWidget(_entry(theme, tone, title, device.why))
    _add_advice(theme, card, device.fix, device.commands, device.link)
    return title


def _engine_card(theme: Theme, engine: EngineDiagnosis) -> Card:
    card = Card(engine.name)
    card.note.hide()
    if engine.problem is not None:
        card.body.addWidget(_entry(theme, "invalid", sentence("doctor.not_ready"), text(engine.problem)))
    for device in _unusable(engine.devices):
        _add_device(theme, card, device)
    return card


def _findings_card(theme: Theme, printed: _Found) -> Card:
    card = Card(printed.heading)
    card.note.hide()
    for index, finding in enumerate(printed.findings):
        signal = finding.signal
        if index:
            card.body.addSpacing(GAP_PX)
        line = _shortened(finding.line)
        if printed.has_line_numbers:
            line = sentence("doctor.numbered_line", number=finding.line_number, line=line)
        meaning = f"{sentence('doctor.may_follow') if finding.may_follow else signal.meaning}\n{line}"
        card.body.addWidget(_entry(theme, _FINDING_TONES[signal.severity], signal.title, meaning))
        if printed.system is not None and not finding.may_follow:
            _add_advice(theme, card, signal.fix, signal.commands.on(printed.system), signal.link)
    rows = [
        message("doctor.harmless_count", title=finding.signal.title, number=finding.count)
        for finding in printed.harmless
    ]
    if rows:
        shown = sentence("doctor.harmless_listed", rows=rows)
        card.body.addWidget(_entry(theme, "valid", sentence("doctor.harmless"), shown))
    return card


def _shortened(line: str) -> str:
    return line if len(line) <= _LINE_CHARS else f"{line[: _LINE_CHARS - 2].rstrip()} …"


def _add_advice(theme: Theme, card: Card, fix: str, commands: Iterable[str], link: str | None) -> None:
    inset = 16 + GAP_PX
    lines: list[QWidget] = [_selectable(fix)] if fix else []
    for command in map(as_started, commands):
        copy = Button(theme, sentence("button.copy"), "copy", kind="flat")
        copy.setAccessibleName(sentence("doctor.copy_command", command=command))
        copy.clicked.connect(lambda _=False, copied=command: QGuiApplication.clipboard().setText(copied))
        shown = _selectable(command)
        shown.setObjectName("command")
        lines.append(panel(row(shown, copy, stretch=0)))
    if link:
        lines.append(_selectable(sentence("doctor.more", link=link), muted=True))
    for each in lines:
        each.setContentsMargins(inset, 0, 0, 0)
        card.body.addWidget(each)


class Sign(QLabel):
    """A small icon in the theme's colours that shows severity."""

    def __init__(self, theme: Theme, tone: Tone) -> None:
        super().__init__()
        self._theme, self._tone = theme, tone
        self.setFixedSize(16, 16)
        theme.changed.connect(self._colour)
        self._colour()

    def _colour(self) -> None:
        plain = ("minus", self._theme.tokens.muted)
        self.setPixmap(pixmap(*(verdict_look(self._theme, self._tone) if self._tone else plain), 16))


def _entry(theme: Theme, tone: Tone, title: str, body: str) -> QWidget:
    words = column(label(title, weight=QFont.Weight.DemiBold, wrap=True), _selectable(body), spacing_px=2)
    entry = panel(row(column(Sign(theme, tone), None), words, stretch=1))
    entry.setAccessibleName(f"{title}. {body}")
    return entry


def _selectable(content: str, *, muted: bool = False) -> QLabel:
    shown = label(content, wrap=True, muted=muted)
    shown.setTextInteractionFlags(
        Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
    )
    return shown
