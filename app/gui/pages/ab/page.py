"""The A/B page: run a workload in two ways, in turn, and see which is faster."""

import time
from collections.abc import Callable

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFont, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QWidget,
)

from app.core.analysis.ab import judge_pairs
from app.core.errors import AppError
from app.core.messages import sentence
from app.core.metrics import headline_kind
from app.core.plans.ab import AbTest
from app.core.records import Group, Plan
from app.core.storage.database import Database
from app.core.storage.groups import list_groups
from app.core.storage.runs import load_run
from app.core.verdict.judged_run import JudgedRun
from app.gui.charts.pair_plot import PairPlot
from app.gui.pages.ab.foot import Foot
from app.gui.pages.ab.refill import refill
from app.gui.pages.ab.setup import AbSetup
from app.gui.run.actions import ResultActions
from app.gui.run.plan_layout import ResultCard, lay_out_halves, name_box
from app.gui.services.bundle import Services
from app.gui.services.run_bridge import BusyError
from app.gui.style.theme import figures
from app.gui.style.tokens import HEADLINE_PX, TITLE_PX
from app.gui.widgets.basics import (
    ClampedLabel,
    ElidedLabel,
    Tone,
    column,
    is_narrow,
    label,
    row,
    scrolled,
    set_tone,
)
from app.gui.widgets.choice_box import ChoiceBox
from app.gui.widgets.dialogs import ask_to_run_beside
from workloads import CATALOGUE
from workloads.protocol import events
from workloads.protocol.machine import Machine

KIND = AbTest()
HISTORY_LIMIT = 50
TEXT_INTERVAL_S = 0.2  # every tick of the bridge
# Sign, and message code of the instruction.
NOTHING = (
    ("1", "ab_page.step_1"),
    ("2", "ab_page.step_2"),
    ("3", "ab_page.step_3"),
    ("?", "ab_page.by_hand_note"),
)


class AbPage(QWidget):
    """Sets up, runs and shows an A/B, and shows earlier ones.

    Signals:
        state_changed: What can be done now is something else: copy, save.
    """

    state_changed = Signal()

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
        self.sentence = ClampedLabel(lines=3, size_px=TITLE_PX - 2, muted=False, kept=2)
        self.remarks = ClampedLabel(lines=2, kept=2)
        self.legend = ElidedLabel("", muted=True)
        self.plot = PairPlot(services.theme)
        self.foot = Foot(services.theme)
        self._actions = ResultActions(services, self)
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
                return number, choose, list_groups(database, KIND.key, HISTORY_LIMIT)

        self._services.tasks.start(look, self._on_found, self._services.complain)

    def run_again(self, plan: Plan, machine: Machine) -> None:
        """Fill the setup with what a stored A/B was asked for, and start it."""
        refill(self.setup, plan)
        self._begin(plan, machine)

    def cancel(self) -> None:
        """Cancel the current run and those that would follow it."""
        if self._is_live:
            self._services.bridge.cancel()
            self.foot.going.cancel_button.setEnabled(False)
            self._show_progress()

    @property
    def can_copy(self) -> bool:
        """Whether an A/B with a result is shown."""
        return self.group is not None and KIND.example(self.group) is not None

    can_share = can_copy

    def save_picture(self) -> None:
        """Save the share picture of the A/B shown."""
        self._with_run(self._actions.save_picture)

    def share(self) -> None:
        """Show what leaves before the A/B shown is shared."""
        self._with_run(self._actions.share)

    def copy_picture(self) -> None:
        """Copy the share picture of the A/B shown."""
        self._with_run(self._actions.copy_picture)

    def copy_text(self) -> None:
        """Copy the result of the A/B shown as text."""
        self._with_run(self._actions.copy_text)

    def _with_run(self, do: Callable[[JudgedRun, Group], None]) -> None:
        """Load the run whose details are shown with the result."""
        group, path = self.group, self._services.paths.database
        example = KIND.example(group) if group is not None else None
        if group is None or example is None:
            return
        run_id, shown = example.id, group

        def load() -> JudgedRun:
            with Database(path) as database:
                return JudgedRun(load_run(database, run_id)).prepared()

        self._services.tasks.start(load, lambda run: do(run, shown), self._services.complain)

    @property
    def _is_live(self) -> bool:
        bridge = self._services.bridge
        return bridge.is_running and bridge.page == KIND.page

    def _connect(self) -> None:
        bridge, foot = self._services.bridge, self.foot
        foot.going.cancel_button.clicked.connect(self.cancel)
        foot.go_button.clicked.connect(lambda: bridge.answer(True))
        foot.stop_button.clicked.connect(lambda: bridge.answer(False))
        foot.save_button.clicked.connect(self.save_picture)
        foot.picture_button.clicked.connect(self.copy_picture)
        foot.copy_button.clicked.connect(self.copy_text)
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
        self.foot.going.cancel_button.setFocus()

    def _on_started(self) -> None:
        self.foot.going.cancel_button.setEnabled(True)
        self._show_state()

    def _on_moved_on(self) -> None:
        bridge = self._services.bridge
        if bridge.page != KIND.page:
            return
        now_s = time.monotonic()
        if len(bridge.done) > len(self._runs_s):
            self._runs_s.append(now_s - self._run_began_s)
        self._run_began_s = now_s
        self._show_live()
        if bridge.asks is not None and self.isVisible():
            self.foot.go_button.setFocus()

    def _on_advanced(self, _: set[type[events.Event]]) -> None:
        """Update texts at most four times a second: more would slow down the measurement."""
        now_s = time.monotonic()
        if self._is_live and self.isVisible() and now_s - self._texts_s >= TEXT_INTERVAL_S:
            self._texts_s = now_s
            self._show_progress()

    def _on_ended(self, _: int) -> None:
        bridge = self._services.bridge
        self._show_state()
        if bridge.page == KIND.page:
            self.setup.run_button.setFocus()
            if bridge.trouble is not None:
                self._services.complain(bridge.trouble)
            self.refresh(choose=bridge.group_id)

    def _on_refused(self, error: AppError) -> None:
        bridge = self._services.bridge
        self._show_state()
        if bridge.page != KIND.page or bridge.is_cancelled:
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
        group = self.group
        self.foot.setVisible(live or group is not None)
        self._card.show_result(is_there=live or group is not None)
        if live:
            self._show_progress()
            self._show_live()
        elif group is not None:
            self._show_group(group)
            remarks = [*KIND.remarks(group), *(run.error_message for run in group.runs if run.error_message)]
            self._show_remarks(" ".join(remarks), _tone(group))
            self.foot.show_done(can_share=self.can_share)
        self.state_changed.emit()

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
        self.sentence.show_text(KIND.sentence(group))
        unit = headline_kind(group.runs[0].metric).unit if group.runs else ""
        a, b = group.labels
        names = [f"{side}: {name}" for side, name in (("A", a), ("B", b)) if side != name]
        self.legend.show_text(" · ".join([*names, unit] if unit else names))
        self.plot.show_group(group, self._services.bridge.planned if self._is_live else None)

    def _show_remarks(self, text: str, tone: Tone) -> None:
        self.remarks.show_text(text)
        set_tone(self.remarks, tone)

    def _show_progress(self) -> None:
        bridge = self._services.bridge
        count = bridge.planned.count if bridge.planned else bridge.plan.count if bridge.plan else 0
        self.foot.show_live(bridge, self._left_s(count - len(bridge.done)))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Give the factor the size that a narrow window has room for."""
        super().resizeEvent(event)
        size_px = HEADLINE_PX * 2 // 3 if is_narrow(self) else HEADLINE_PX
        self.value.setFont(figures(size_px, QFont.Weight.Bold))

    def _left_s(self, runs: int) -> float | None:
        """Return how long the remaining runs take, judging by the finished ones; None before the first."""
        if not self._runs_s:
            return None
        mean_s = sum(self._runs_s) / len(self._runs_s)
        return max(1.0, runs * mean_s - (time.monotonic() - self._run_began_s))

    def _lay_out(self) -> None:
        name_box(self.history, "ab_page.earlier")
        self.value.setFont(figures(HEADLINE_PX, QFont.Weight.Bold))
        self._card = ResultCard("ab_page.nothing", NOTHING, self.history, self._shown(), self.foot)
        lay_out_halves(self, ("page.ab", "ab_page.question"), self.setup, self._card, (5, 6))

    def _shown(self) -> QWidget:
        number = row(self.value, self.who, None)
        number.setAlignment(self.who, Qt.AlignmentFlag.AlignBottom)
        self.who.setContentsMargins(0, 0, 0, 8)
        page = QWidget()
        whole = column(number, self.sentence, self.remarks, self.legend, scrolled(self.plot))
        whole.setStretch(4, 1)
        page.setLayout(whole)
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
