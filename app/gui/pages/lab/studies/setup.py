"""The setup of a study: the workload, and the resulting configurations."""

from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QDoubleSpinBox, QSpinBox, QWidget

from app.core.errors import AppError
from app.core.messages import sentence
from app.core.plans.study.axes import axis_title
from app.core.plans.study.kind import runs_text
from app.core.plans.study.planning import READING_ROUNDS, ROUNDS_LIMIT, plan_preset
from app.core.plans.study.points import point_name
from app.core.plans.study.presets import PRESETS
from app.core.records import Plan, Study
from app.core.runs.runner import Runner
from app.gui.run.plan_page import PlanSetup
from app.gui.run.preflight import PreflightLine
from app.gui.run.workload_box import WorkloadBox, of_plans
from app.gui.services.bundle import Services
from app.gui.services.tasks import Latest
from app.gui.style.tokens import GAP_PX
from app.gui.widgets.basics import Button, ClampedLabel, Fold, column, guard_wheel, label, row, set_tip, set_tone
from app.gui.widgets.editors import FolderEdit, indented
from app.gui.widgets.segments import Segments
from app.gui.widgets.timers import timer
from workloads.protocol.machine import Machine
from workloads.protocol.parameters import folders_of
from workloads.protocol.spec import Preset

PLAN_MS = 200
POINTS_NAMED = 12


class StudySetup(PlanSetup):
    """The card that sets up a study."""

    price_changed = Signal()

    def __init__(self, services: Services) -> None:
        super().__init__(next(iter(PRESETS.values())).question)
        self._services = services
        self._busy, self._latest = "", Latest()
        self._plan: Plan | None = None
        self._soon = timer(self, PLAN_MS, once=True)
        self._soon.timeout.connect(self._make_plan)
        self.study = ""  # key of the study
        self.workload = WorkloadBox(services, of_plans)
        self.folders = FolderEdit("")
        presets = tuple((preset, sentence(f"preset.{preset}")) for preset in ("quick", "standard"))
        self.preset = Segments(services.theme, sentence("label.preset"), presets)
        self.rounds = indented(QSpinBox(minimum=1, maximum=ROUNDS_LIMIT))
        self.points = ClampedLabel(lines=3)
        self.problem = label(wrap=True)
        self.preflight = PreflightLine(services)
        self.price = indented(QDoubleSpinBox(maximum=1e6, decimals=3, singleStep=0.01))
        self.run_button = Button(services.theme, sentence("studies_page.run"), "play", kind="primary")
        self._lay_out()
        self._connect()
        self.choose(next(iter(PRESETS)))

    def set_busy(self, reason: str) -> None:
        """Disable the Run button for a reason given by the main window, or enable it ("")."""
        self._busy = reason
        self._show_problem("")

    def choose(self, key: str) -> None:
        """Choose a study, with its default values."""
        if key == self.study:
            return
        self.study, preset = key, PRESETS[key]
        several = len(preset.workloads) > 1
        if self.workload.itemData(0) == "":
            self.workload.removeItem(0)
        if several:
            count = len(preset.workloads)
            self.workload.insertItem(0, sentence("studies_page.own_workloads", count=count), "")
        self.workload.setCurrentIndex(self.workload.findData("" if several else preset.workloads[0]))
        self.heading.setText(preset.question)
        self.setAccessibleName(preset.question)
        self.rounds.setValue(preset.rounds)
        self.preset.select("standard" if key == "convergence" else "quick")
        self._reading.setVisible(bool(preset.reading))
        self._on_folders()
        self._price.setVisible(key == "cost")

    def run(self) -> None:
        """Request the study if it can be run."""
        machine = self._services.finder.machine
        if machine is not None and self._plan is not None and self.run_button.isEnabled():
            self.run_requested.emit(self._plan, machine)

    def _connect(self) -> None:
        self.workload.currentIndexChanged.connect(self._on_choice)
        self.folders.changed.connect(self._on_folders)
        self.preset.chosen.connect(self._on_choice)
        self.rounds.valueChanged.connect(self._on_choice)
        self.run_button.clicked.connect(self.run)
        self.price.editingFinished.connect(self._on_price)
        for changed in (self._services.finder.found, self._services.engines.changed):
            changed.connect(self._on_choice)
        self._services.preferences.changed.connect(self._on_choice)
        self._services.preferences.changed.connect(self._show_price)

    def _show_price(self) -> None:
        self.price.setValue(self._services.preferences.settings.usd_per_hour or 0.0)

    def _on_price(self) -> None:
        stored = self._services.preferences.settings.usd_per_hour or 0.0
        if self.price.value() == round(stored, self.price.decimals()):  # unchanged, so it isn't rounded
            return
        self._services.change(usd_per_hour=self.price.value() or None)
        self.price_changed.emit()

    def _on_folders(self) -> None:
        """Select the workload that reads from folders if any are given."""
        folders = self._folders()
        self.workload.setEnabled(not folders)
        if folders:
            self.rounds.setValue(max(READING_ROUNDS, self.rounds.value()))
        self._on_choice()

    def _folders(self) -> tuple[str, ...]:
        if not PRESETS[self.study].reading:
            return ()
        return tuple(map(str, folders_of(self.folders.line.text())))

    def _on_choice(self) -> None:
        self._latest.drop()
        self._plan = None
        self.run_button.setEnabled(False)
        self._soon.start()

    def _make_plan(self) -> None:
        """Create the plan in the background, because this checks engines and devices."""
        machine = self._services.finder.machine
        if machine is None:
            return
        workload = "" if self._folders() else self.workload.currentData()
        preset: Preset = "standard" if self.preset.value == "standard" else "quick"
        plan = partial(
            plan_preset,
            self.study,
            Runner(self._services.paths, machine),
            workloads=(workload,) if workload else (),
            preset=None if self.study == "convergence" else preset,
            rounds=self.rounds.value(),
            choice={"data": self._services.preferences.settings.data},
            folders=self._folders(),
        )

        show = self._latest.only(partial(self._show_plan, machine))
        self._services.tasks.start(plan, show, show)

    def _show_plan(self, machine: Machine, plan: Plan | AppError) -> None:
        """Show a plan, or why there is none."""
        if isinstance(plan, AppError):
            self.points.show_text("")
            self._show_problem(str(plan))
            return
        self._plan = plan
        self.preflight.show_choice(plan.specs[0], machine)
        study = plan.study or Study()
        names = [point_name(plan, spec) for spec in plan.specs]
        if len(study.axes) == 1 and all(name.replace(",", "").isdecimal() for name in names):
            axis = axis_title(study.axes[0], study)
            numbers = [int(name.replace(",", "")) for name in names]
            points = sentence("studies_page.range", axis=axis, first=numbers[0], last=numbers[-1])
        else:
            more, shown = len(names) - POINTS_NAMED, names[:POINTS_NAMED]
            code = "studies_page.points_and_more" if more > 0 else "studies_page.points"
            points = sentence(code, points=shown, more=more)
        text = f"{points} {runs_text(plan)}."
        if refused := len(study.refused):
            text += " " + sentence("studies_page.not_run", count=refused)
        self.points.show_text(text)
        self._show_problem("")

    def _show_problem(self, problem: str) -> None:
        problem = self._busy or problem
        self.problem.setText(problem)
        self.problem.setVisible(bool(problem))
        set_tone(self.problem, "" if self._busy else "invalid")
        self.run_button.setEnabled(not problem and self._plan is not None)

    def _lay_out(self) -> None:
        for editor in (self.rounds, self.price):
            guard_wheel(editor)
        self.rounds.setAccessibleName(sentence("studies_page.rounds"))
        set_tip(self.rounds, sentence("studies_page.rounds_tip"))
        self.price.setSpecialValueText(sentence("studies_page.unknown"))
        self.price.setAccessibleName(sentence("studies_page.price"))
        self._price = QWidget()
        self._price.setLayout(column(label(sentence("studies_page.price"), muted=True), self.price))
        self._show_price()
        self.run_button.setMinimumHeight(40)
        self.folders.setAccessibleName(sentence("studies_page.folders"))
        self._reading = QWidget()
        self._reading.setLayout(column(label(sentence("studies_page.folders"), muted=True), self.folders))
        more = row(self.preset, label(sentence("studies_page.rounds"), muted=True), self.rounds, None)
        self.more = Fold(self._services.theme, sentence("lab.more"), more)
        workload = row(label(sentence("label.workload"), muted=True), self.workload, spacing_px=2 * GAP_PX)
        workload.setStretch(1, 1)
        content = column(workload, self._reading, self._price, self.more, self.points, None)
        self.add_form(content, self.problem, self.preflight, self.run_button)
