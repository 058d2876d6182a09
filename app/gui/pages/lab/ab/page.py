"""The A/B page: runs a workload in two configurations alternately and shows which one is faster."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from PySide6.QtGui import QFont, QResizeEvent
from PySide6.QtWidgets import QStackedWidget, QWidget

from app.core.analysis.ab import judge_pairs
from app.core.messages import sentence
from app.core.metrics import headline_kind
from app.core.plain_text import joined
from app.core.plans.ab import AbTest
from app.core.plans.kind import workloads_title
from app.core.records import Group, Plan, PlannedRun
from app.core.storage.database import Database
from app.core.storage.groups import list_groups, load_group
from app.core.storage.runs import load_run
from app.core.verdict.judged_run import JudgedRun
from app.gui.charts.pair_plot import PairPlot
from app.gui.pages.lab.ab.setup import AbSetup
from app.gui.run.plan_layout import SetupOrResult, name_box
from app.gui.run.plan_page import HISTORY_LIMIT, PlanPage
from app.gui.run.plan_progress import HEIGHT_PX, PlanProgress
from app.gui.services.bundle import Services
from app.gui.services.run_bridge import Resumed, RunBridge
from app.gui.style.theme import Theme, tabular_font
from app.gui.style.tokens import HEADLINE_PX, TITLE_PX
from app.gui.widgets.basics import (
    Button,
    ClampedLabel,
    ElidedLabel,
    Tone,
    column,
    is_narrow,
    label,
    panel,
    row,
    scrolled,
    set_tone,
)
from workloads.protocol.machine import Machine
from workloads.protocol.spec import RunSpec

KIND = AbTest()
_FOOT_PX = 84  # height with the question
_GOING, _ASKING, _DONE = range(3)


@dataclass(frozen=True, slots=True)
class AbResult:
    """A stored A/B test, which can't be resumed."""

    group: Group
    left: tuple[PlannedRun, ...] = ()
    is_finished: bool = True


class AbActions(QStackedWidget):
    """Shows the progress, a request to set up a side, or the actions for a finished test, which the page adds."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.going = PlanProgress(theme)
        self.question = ClampedLabel(lines=2, muted=False)
        self.go_button = Button(theme, sentence("ab_page.continue"), "play", kind="primary", gives_way=True)
        self.stop_button = Button(theme, sentence("ab_page.stop"), "circle-stop", gives_way=True)
        asking = column(self.question, row(None, self.stop_button, self.go_button))
        self.done = row(None)
        self.addWidget(self.going)
        for layout in (asking, self.done):
            self.addWidget(panel(layout))

    @property
    def cancel_button(self) -> Button:
        return self.going.cancel_button

    def show_done(self) -> None:
        self.setFixedHeight(HEIGHT_PX)
        self.setCurrentIndex(_DONE)

    def show_live(self, bridge: RunBridge, left_s: float | None) -> None:
        """Show the current run and the remaining time, if it is known, or ask the user to set up the next side."""
        planned, asks, plan = bridge.planned, bridge.asks, bridge.plan
        # Keep the height during an A/B test, so that the layout doesn't jump when the question appears.
        self.setFixedHeight(_FOOT_PX if plan and plan.by_hand else HEIGHT_PX)
        self.setCurrentIndex(_ASKING if asks is not None else _GOING)
        if asks is not None:
            side = {"side": asks.side, "label": asks.label}
            self.question.show_text(
                sentence("ab_page.set_up_side", number=asks.number, planned=asks.count, **side)
            )
            return
        current = ""
        if planned is not None:
            where = {"number": planned.number, "planned": planned.count}
            current = sentence("ab_page.run_of", **where, label=planned.label)
        self.going.show_plan(bridge, current, left_s)


class AbPage(PlanPage[AbResult]):
    """Sets up, runs and displays A/B tests, including stored ones."""

    code, running = KIND.page, "ab_page.running"
    starts_with_newest = False
    foot: AbActions

    def __init__(self, services: Services) -> None:
        self.setup = AbSetup(services)
        super().__init__(services, self.setup, AbActions(services.theme))
        self._run_began_s = 0.0
        self._runs_s: list[float] = []
        self.value, self.who = label("–"), ElidedLabel("", TITLE_PX, muted=True)
        self.sentence = ClampedLabel(lines=3, size_px=TITLE_PX - 2, muted=False, kept=2)
        self.remarks = ClampedLabel(lines=2, kept=2)
        self.legend = ElidedLabel("", muted=True)
        self.plot = PairPlot(services.theme)
        foot, bridge = self.foot, services.bridge
        foot.go_button.clicked.connect(lambda: bridge.answer(True))
        foot.stop_button.clicked.connect(lambda: bridge.answer(False))
        foot.done.addWidget(self.share_button)
        name_box(self.history, "ab_page.earlier")
        self.value.setFont(tabular_font(HEADLINE_PX, QFont.Weight.Bold))
        self._card = SetupOrResult(self.setup, self._shown(), self.foot)
        self.setLayout(column(self._card))
        self._show_state()

    @property
    def group(self) -> Group | None:
        """The stored A/B test that is displayed; None while one is running."""
        return self.result.group if self.result is not None and not self.is_live else None

    def run_again(self, plan: Plan, machine: Machine) -> None:
        """Fill the setup with the specs of a stored A/B test, and start it."""
        self.setup.refill(plan)
        self.begin(plan, machine)

    def begin(
        self, plan: Plan, machine: Machine, resumed: Resumed | None = None, *, allow_concurrent: bool = False
    ) -> None:
        """Start an A/B test. For the arguments, see `RunBridge.start`."""
        self._runs_s, self._run_began_s = [], time.monotonic()
        super().begin(plan, machine, resumed, allow_concurrent=allow_concurrent)

    @property
    def can_share(self) -> bool:
        return self.group is not None and KIND.example(self.group) is not None

    def save_picture(self) -> None:
        self._with_run(self.actions_on_result.save_picture)

    def share(self) -> None:
        self._with_run(self.actions_on_result.share)

    def copy_picture(self) -> None:
        self._with_run(self.actions_on_result.copy_picture)

    def copy_text(self) -> None:
        self._with_run(self.actions_on_result.copy_text)

    def _with_run(self, do: Callable[[JudgedRun, Group], None]) -> None:
        """Load the run that represents the displayed A/B test, and pass it to `do`."""
        group = self.group
        example = KIND.example(group) if group is not None else None
        if group is None or example is None:
            return
        self._services.query(
            lambda database: JudgedRun(load_run(database, example.id)).prepared(), lambda run: do(run, group)
        )

    def _list(self, database: Database) -> list[AbResult]:
        return list(map(AbResult, list_groups(database, KIND.key, HISTORY_LIMIT)))

    def _load(self, database: Database, group_id: int) -> AbResult:
        return AbResult(load_group(database, group_id))

    def _of_running(self, group: Group, asked: Mapping[int, RunSpec]) -> AbResult:
        del asked
        return AbResult(group)

    def _entry(self, result: AbResult) -> str:
        group = result.group
        a, b = group.labels
        what, date = workloads_title(group), group.created_at[:10]
        return sentence("ab_page.history_entry", group_id=group.id, a=a, b=b, workload=what, date=date)

    def _on_chosen(self, _: int) -> None:
        self._show_state()

    def _on_moved_on(self) -> None:
        bridge = self._services.bridge
        if bridge.page != self.code:
            return
        now_s = time.monotonic()
        if len(bridge.done) > len(self._runs_s):
            self._runs_s.append(now_s - self._run_began_s)
        self._run_began_s = now_s
        self._show_live()
        if bridge.asks is not None and self.isVisible():
            self.foot.go_button.setFocus()

    def _show_state(self) -> None:
        bridge, live = self._services.bridge, self.is_live
        self.setup.set_busy(sentence(self.running) if live else bridge.busy_text)
        self.history.setVisible(self.history.count() > 0)
        self.history.setEnabled(not live)
        group = self.group
        self.foot.setVisible(live or group is not None)
        self._card.show_result(is_there=self.shows_answer)
        if live:
            self._show_progress()
            self._show_live()
        elif group is not None:
            self._show_group(group)
            remarks = [*KIND.remarks(group), *(run.error_message for run in group.runs if run.error_message)]
            has_failed = any(run.status == "failed" for run in group.runs)
            self._show_remarks(" ".join(remarks), "invalid" if has_failed else "")
            self.foot.show_done()
            self.share_button.setEnabled(self.can_share)
        self.state_changed.emit()

    def _show_live(self) -> None:
        bridge = self._services.bridge
        group = bridge.group()
        if group is not None and self.is_live and self.isVisible():
            self._show_group(group)
            if not judge_pairs(group).pairs:
                self.sentence.show_text(sentence("ab_page.first_pair"))
            self._show_remarks(sentence("ab_page.so_far"), "")
            self._show_progress()

    def _show_group(self, group: Group) -> None:
        result = judge_pairs(group)
        ratio = result.ratio
        self.value.setText("–" if ratio is None else KIND.headline(group))
        who_text = ""
        if result.is_shown:
            who_text = sentence("ab_page.faster", label=group.labels[int(ratio is not None and ratio >= 1)])
        elif result.low is not None:
            who_text = sentence("ab_page.smallest" if group.plan.has_equal_sides else "ab_page.no_difference")
        self.who.show_text(who_text)
        self.value.setAccessibleName(f"{self.value.text()} {who_text}")
        self.sentence.show_text(KIND.sentence(group))
        unit = headline_kind(group.runs[0].metric).unit if group.runs else ""
        a, b = group.labels
        names = [f"{side}: {name}" for side, name in (("A", a), ("B", b)) if side != name]
        self.legend.show_text(joined([*names, unit] if unit else names))
        self.plot.show_group(group, self._services.bridge.planned if self.is_live else None)

    def _show_remarks(self, text: str, tone: Tone) -> None:
        self.remarks.show_text(text)
        set_tone(self.remarks, tone)

    def _show_progress(self) -> None:
        bridge = self._services.bridge
        count = bridge.planned.count if bridge.planned else bridge.plan.count if bridge.plan else 0
        self.foot.show_live(bridge, self._left_s(count - len(bridge.done)))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        size_px = HEADLINE_PX * 2 // 3 if is_narrow(self) else HEADLINE_PX
        self.value.setFont(tabular_font(size_px, QFont.Weight.Bold))

    def _left_s(self, runs: int) -> float | None:
        """Estimate the remaining runs' time in seconds from the finished runs; None if no run has finished."""
        if not self._runs_s:
            return None
        mean_s = sum(self._runs_s) / len(self._runs_s)
        return max(1.0, runs * mean_s - (time.monotonic() - self._run_began_s))

    def _shown(self) -> QWidget:
        beside = column(None, self.who)
        beside.setContentsMargins(0, 0, 0, 8)
        number = row(self.value, beside, stretch=1)
        return panel(column(number, self.sentence, self.remarks, self.legend, scrolled(self.plot), stretch=4))
