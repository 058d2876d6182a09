"""The A/B page: run a workload in two ways, in turn, and see which is faster."""

import time

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QShowEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QProgressBar,
    QSizePolicy,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.core.analysis.ab import judge_pairs
from app.core.analysis.groups import group_remarks, group_sentence
from app.core.errors import AppError
from app.core.messages import sentence
from app.core.metrics import format_time_left, headline_kind
from app.core.records import Group, Plan
from app.core.storage.database import Database
from app.core.storage.groups import list_groups
from app.gui.charts.pair_plot import PairPlot
from app.gui.pages.ab.setup import AbSetup
from app.gui.services.bundle import Services
from app.gui.services.run_bridge import BusyError
from app.gui.style.theme import figures
from app.gui.style.tokens import GAP_PX, HEADLINE_PX, TEXT_PX, TITLE_PX
from app.gui.widgets.basics import (
    Button,
    Card,
    ClampedLabel,
    ElidedLabel,
    Tone,
    column,
    give_way,
    label,
    row,
    scrolled,
    set_tip,
    set_tone,
    title,
)
from app.gui.widgets.choice_box import ChoiceBox
from app.gui.widgets.dialogs import ask_to_run_beside
from workloads import CATALOGUE
from workloads.protocol import events
from workloads.protocol.machine import Machine

HISTORY_LIMIT = 50
TEXT_INTERVAL_S = 0.2  # every tick of the bridge
PROGRESS_STEPS = 1_000
# Sign, and message code of the instruction.
NOTHING = (
    ("1", "ab_page.step_1"),
    ("2", "ab_page.step_2"),
    ("3", "ab_page.step_3"),
    ("?", "ab_page.by_hand_note"),
)


class AbPage(QWidget):
    """Sets up, runs and shows an A/B, and shows earlier ones."""

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services
        self._asked: tuple[Plan, Machine] | None = None
        self._number = 0
        self._groups: dict[int, Group] = {}
        self._texts_s = self._run_began_s = 0.0
        self._runs_s: list[float] = []
        self.setup = AbSetup(services)
        self.history = ChoiceBox()
        self.value, self.who = label("–"), label("", TITLE_PX, muted=True)
        self.sentence = ClampedLabel(lines=3, size_px=TITLE_PX - 2, muted=False)
        self.remarks = ClampedLabel(lines=2)
        self.legend = ElidedLabel("", muted=True)
        self.plot = PairPlot(services.theme)
        self.progress_text = ElidedLabel("", weight=QFont.Weight.DemiBold)
        self.remaining = label(muted=True)
        self.progress_bar = QProgressBar(maximum=PROGRESS_STEPS, textVisible=False)
        self.question = ClampedLabel(lines=2, muted=False)
        self._make_buttons()
        self._lay_out()
        self._connect()
        self._show_state()

    @property
    def group(self) -> Group | None:
        """The stored A/B being shown."""
        return self._groups.get(self.history.currentData() or 0) if not self._is_live else None

    def showEvent(self, event: QShowEvent) -> None:
        """Refresh the history, and catch up on a test that ran while the page was hidden."""
        super().showEvent(event)
        if self._is_live:
            self._show_live()
        else:
            self.refresh()

    def refresh(self, choose: int | None = None) -> None:
        """Reload the A/Bs, and show the one with this number, or the newest."""
        self._number += 1
        number, path = self._number, self._services.paths.database

        def look() -> tuple[int, int | None, list[Group]]:
            with Database(path) as database:
                return number, choose, list_groups(database, "ab", HISTORY_LIMIT)

        self._services.tasks.start(look, self._on_found, self._services.complain)

    def run_again(self, plan: Plan, machine: Machine) -> None:
        """Start a stored A/B once more; it's shown while it runs, and the setup stays as it is."""
        self._begin(plan, machine)

    def cancel(self) -> None:
        """Cancel the current run and those that would follow it."""
        if self._is_live:
            self._services.bridge.cancel()
            self.cancel_button.setEnabled(False)
            self._show_progress()

    @property
    def _is_live(self) -> bool:
        bridge = self._services.bridge
        return bridge.is_running and bridge.is_ab

    def _make_buttons(self) -> None:
        theme = self._services.theme
        self.cancel_button = Button(theme, sentence("button.cancel"), "circle-stop")
        self.cancel_button.clicked.connect(self.cancel)
        self.go_button = Button(theme, sentence("ab_page.continue"), "play", kind="primary")
        self.go_button.clicked.connect(lambda: self._services.bridge.answer(True))
        self.stop_button = Button(theme, sentence("ab_page.stop"), "circle-stop")
        self.stop_button.clicked.connect(lambda: self._services.bridge.answer(False))

    def _connect(self) -> None:
        bridge = self._services.bridge
        self.setup.run_requested.connect(self._begin)
        self.history.activated.connect(self._show_state)
        bridge.started.connect(self._on_started)
        bridge.moved_on.connect(self._on_moved_on)
        bridge.advanced.connect(self._on_advanced)
        bridge.ended.connect(self._on_ended)
        bridge.refused.connect(self._on_refused)

    def _begin(self, plan: Plan, machine: Machine, *, beside: bool = False) -> None:
        self._asked = (plan, machine)
        self._runs_s, self._run_began_s = [], time.monotonic()
        self._services.bridge.start_plan(plan, machine, beside=beside)
        self.cancel_button.setFocus()

    def _on_started(self) -> None:
        self.cancel_button.setEnabled(True)
        self._show_state()

    def _on_moved_on(self) -> None:
        bridge = self._services.bridge
        if not bridge.is_ab:
            return
        now_s = time.monotonic()
        if len(bridge.done) > len(self._runs_s):
            self._runs_s.append(now_s - self._run_began_s)
        self._run_began_s = now_s
        self._show_live()
        if bridge.asks is not None and self.isVisible():
            self.go_button.setFocus()

    def _on_advanced(self, _: set[type[events.Event]]) -> None:
        """Update texts at most four times a second: more would slow down the measurement."""
        now_s = time.monotonic()
        if self._is_live and self.isVisible() and now_s - self._texts_s >= TEXT_INTERVAL_S:
            self._texts_s = now_s
            self._show_progress()

    def _on_ended(self, _: int) -> None:
        bridge = self._services.bridge
        self._show_state()
        if bridge.is_ab:
            self.setup.run_button.setFocus()
            if bridge.trouble is not None:
                self._services.complain(bridge.trouble)
            self.refresh(choose=bridge.group_id)

    def _on_refused(self, error: AppError) -> None:
        bridge = self._services.bridge
        self._show_state()
        if not bridge.is_ab or bridge.is_cancelled:
            return
        if not isinstance(error, BusyError):
            self._services.complain(error)
        elif self._asked is not None and ask_to_run_beside(self, error):
            self._begin(*self._asked, beside=True)

    def _on_found(self, answer: tuple[int, int | None, list[Group]]) -> None:
        number, choose, groups = answer
        if number != self._number:
            return  # a later request is on its way
        chosen = choose or self.history.currentData()
        self._groups = {group.id: group for group in groups}
        self.history.clear()
        for group in groups:
            self.history.addItem(_name(group), group.id)
        self.history.setCurrentIndex(max(0, self.history.findData(chosen)) if groups else -1)
        self._show_state()

    def _show_state(self) -> None:
        """Show the running test, the chosen one, or the instructions."""
        bridge = self._services.bridge
        live, running = self._is_live, bridge.is_running
        self.setup.set_busy(sentence("ab_page.running") if live else sentence("ab_page.busy") if running else "")
        self.history.setVisible(bool(self._groups))
        self.history.setEnabled(not live)
        self._foot.setVisible(live)
        # The same height throughout an A/B, so that nothing jumps when it asks.
        self._foot.setFixedHeight(84 if live and bridge.plan and bridge.plan.by_hand else 48)
        group = self.group
        self._stack.setCurrentIndex(1 if live or group is not None else 0)
        if live:
            self._show_live()
        elif group is not None:
            self._show_group(group)
            remarks = [*group_remarks(group), *(run.error_message for run in group.runs if run.error_message)]
            self._show_remarks(" ".join(remarks), _tone(group))

    def _show_live(self) -> None:
        bridge = self._services.bridge
        group = bridge.group()
        if group is not None and self._is_live and self.isVisible():
            self._show_group(group)
            if not judge_pairs(group).pairs:
                self.sentence.show_text(sentence("ab_page.first_pair"))
            self._show_remarks(sentence("ab_page.so_far"), "")
            self._show_progress()

    def _show_group(self, group: Group) -> None:
        result = judge_pairs(group)
        ratio = result.ratio
        self.value.setText("–" if ratio is None else f"{max(ratio, 1 / ratio):.2f}×")
        who = group.labels[1 if ratio is not None and ratio >= 1 else 0]
        who_text = sentence("ab_page.faster", label=who) if result.is_shown else ""
        if not result.is_shown and result.low is not None:
            who_text = sentence("ab_page.no_difference")
        self.who.setText(who_text)
        self.value.setAccessibleName(f"{self.value.text()} {who_text}")
        self.sentence.show_text(group_sentence(group))
        unit = headline_kind(group.runs[0].metric).unit if group.runs else ""
        a, b = group.labels
        names = [f"{side}: {name}" for side, name in (("A", a), ("B", b)) if side != name]
        self.legend.show_text(" · ".join([*names, unit] if unit else names))
        self.plot.show_group(group, self._services.bridge.planned if self._is_live else None)

    def _show_remarks(self, text: str, tone: Tone) -> None:
        self.remarks.show_text(text)
        self.remarks.setVisible(bool(text))
        set_tone(self.remarks, tone)

    def _show_progress(self) -> None:
        """Show the running run and the time left, or ask the user to set up the next side."""
        bridge = self._services.bridge
        planned, asks, plan = bridge.planned, bridge.asks, bridge.plan
        self._foot.setCurrentIndex(1 if asks is not None else 0)
        if asks is not None:
            self.question.show_text(
                sentence(
                    "ab_page.set_up_side",
                    number=asks.number,
                    planned=asks.count,
                    side=asks.side,
                    label=asks.label,
                )
            )
            return
        count = planned.count if planned else 2 * plan.times if plan else 0
        progress = sentence("ab_page.first_run", planned=count)
        if bridge.is_cancelled:
            progress = sentence("run.cancelling")
        elif planned:
            progress = sentence("ab_page.run_of", number=planned.number, planned=count, label=planned.label)
        self.progress_text.show_text(progress)
        within = (bridge.state.progress.fraction if bridge.state else None) or 0.0
        done = len(bridge.done)
        self.progress_bar.setValue(round(PROGRESS_STEPS * min(1.0, (done + within) / max(1, count))))
        left_s = self._left_s(count - done)
        self.remaining.setText(
            sentence("run.time_left", time_left=format_time_left(left_s))
            if left_s and not bridge.is_cancelled
            else ""
        )

    def _left_s(self, runs: int) -> float | None:
        """Return how long the remaining runs take, judging by the finished ones; None before the first."""
        if not self._runs_s:
            return None
        mean_s = sum(self._runs_s) / len(self._runs_s)
        return max(1.0, runs * mean_s - (time.monotonic() - self._run_began_s))

    def _lay_out(self) -> None:
        self.history.setAccessibleName(sentence("ab_page.earlier"))
        set_tip(self.history, sentence("ab_page.earlier"))
        give_way(self.history)
        self.history.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.progress_bar.setAccessibleName(sentence("run.progress"))
        self.value.setFont(figures(HEADLINE_PX, QFont.Weight.Bold))
        self.progress_text.setFont(figures(TEXT_PX, QFont.Weight.DemiBold))
        self.remaining.setFont(figures(TEXT_PX))
        self._stack = QStackedWidget()
        self._stack.addWidget(_empty())
        self._stack.addWidget(self._shown())
        result = Card(sentence("heading.result"))
        result.note.hide()
        result.corner.addWidget(self.history, stretch=1)
        result.body.addWidget(self._stack, stretch=1)
        self._foot = self._make_foot()
        result.body.addWidget(self._foot)
        halves = QHBoxLayout()
        halves.setSpacing(2 * GAP_PX)
        halves.addWidget(self.setup, stretch=5)
        halves.addWidget(result, stretch=6)
        head = row(title(sentence("page.ab")), label(sentence("ab_page.question"), muted=True), None)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(3 * GAP_PX, 2 * GAP_PX, 3 * GAP_PX, 2 * GAP_PX)
        layout.setSpacing(GAP_PX + 4)
        layout.addLayout(head)
        layout.addLayout(halves, stretch=1)

    def _shown(self) -> QWidget:
        number = row(self.value, self.who, None)
        number.setAlignment(self.who, Qt.AlignmentFlag.AlignBottom)
        self.who.setContentsMargins(0, 0, 0, 8)
        page = QWidget()
        whole = column(number, self.sentence, self.remarks, self.legend, scrolled(self.plot))
        whole.setStretch(4, 1)
        page.setLayout(whole)
        return page

    def _make_foot(self) -> QStackedWidget:
        texts = row(self.progress_text, self.remaining)
        texts.setStretch(0, 1)
        going = QWidget()
        both = row(column(None, texts, self.progress_bar, None), self.cancel_button, spacing_px=2 * GAP_PX)
        both.setStretch(0, 1)
        going.setLayout(both)
        asking = QWidget()
        asking.setLayout(column(self.question, row(None, self.stop_button, self.go_button)))
        foot = QStackedWidget()
        foot.addWidget(going)
        foot.addWidget(asking)
        return foot


def _empty() -> QWidget:
    steps = []
    for number, code in NOTHING:
        sign = label(number, TITLE_PX, QFont.Weight.DemiBold)
        sign.setFixedWidth(16)
        step = row(sign, label(sentence(code), muted=True, wrap=True), spacing_px=2 * GAP_PX)
        step.setStretch(1, 1)
        steps.append(step)
    head = label(sentence("ab_page.nothing"), TITLE_PX, QFont.Weight.DemiBold)
    page = QWidget()
    page.setLayout(column(None, head, *steps, None, None, spacing_px=2 * GAP_PX))
    return page


def _name(group: Group) -> str:
    workload = CATALOGUE.get(group.workload)
    what = workload.title if workload else group.workload
    a, b = group.labels
    return sentence(
        "ab_page.history_entry", group_id=group.id, a=a, b=b, workload=what, date=group.created_at[:10]
    )


def _tone(group: Group) -> Tone:
    return "invalid" if any(run.status == "failed" for run in group.runs) else ""
