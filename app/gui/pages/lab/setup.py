"""The form of the selected question: what differs, the workload, and more."""

from dataclasses import replace
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtGui import QFont, QShowEvent
from PySide6.QtWidgets import QDoubleSpinBox, QSpinBox, QWidget

from app.core.errors import AppError, UsageError
from app.core.messages import sentence, text
from app.core.plans.ab import ab_plan
from app.core.plans.experiments import EXPERIMENTS, report_of_plan
from app.core.plans.report import Experiment, PlanOptions, plan_minutes, runs_text
from app.core.plans.study.planning import READING_ROUNDS, ROUNDS_LIMIT
from app.core.plans.study.points import StudyExperiment
from app.core.records import Plan
from app.core.runs.runner import Runner, device_problem
from app.core.storage.database import Database
from app.core.storage.queries import expected_duration_s
from app.gui.pages.lab.sides import SidesForm
from app.gui.run.preflight import PreflightLine
from app.gui.run.workload_box import WorkloadBox, of_plans
from app.gui.services.bundle import Services
from app.gui.services.tasks import Latest
from app.gui.style.tokens import GAP_PX, TITLE_PX
from app.gui.widgets.basics import (
    Button,
    ClampedLabel,
    Fold,
    column,
    guard_wheel,
    label,
    panel,
    row,
    set_tip,
    set_tone,
)
from app.gui.widgets.editors import FolderEdit, indented
from app.gui.widgets.form_scroll import FormScroll
from app.gui.widgets.segments import Segments
from app.gui.widgets.timers import timer
from workloads import CATALOGUE
from workloads.protocol.machine import Machine
from workloads.protocol.parameters import folders_of
from workloads.protocol.spec import Preset, RunSpec

PLAN_MS = 200
FORM_MAX_PX = 720
AB = EXPERIMENTS["ab"]


class LabSetup(QWidget):
    """The form of an experiment. It shows only the rows that the experiment needs."""

    run_requested = Signal(object, object)  # the user wants to run a Plan on a Machine
    price_changed = Signal()

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services
        self._busy, self._latest = "", Latest()
        self._plan: Plan | None = None
        self._soon = timer(self, PLAN_MS, once=True)
        self._soon.timeout.connect(self._make_plan)
        self.experiment: Experiment = AB
        self.heading = label("", TITLE_PX, QFont.Weight.DemiBold, wrap=True)
        self.sides = SidesForm(services)
        self.workload = WorkloadBox(services, of_plans)
        self.folders = FolderEdit("")
        presets = tuple((preset, sentence(f"preset.{preset}")) for preset in ("quick", "standard"))
        self.preset = Segments(services.theme, sentence("label.preset"), presets)
        self.rounds = indented(QSpinBox(minimum=1, maximum=ROUNDS_LIMIT))
        self.price = indented(QDoubleSpinBox(maximum=1e6, decimals=3, singleStep=0.01))
        self.points = ClampedLabel(lines=3)
        self.problem = label(wrap=True)
        self.preflight = PreflightLine(services)
        self.run_button = Button(services.theme, sentence("lab.run"), "play", kind="primary", do=self.run)
        self._lay_out()
        self._connect()
        self._show_experiment()

    @property
    def plan(self) -> Plan | None:
        """The plan of the choices; None while it is made, or if this computer can't run it."""
        return self._plan

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._plan is None:
            self._soon.start()

    def set_busy(self, reason: str) -> None:
        """Disable the Run button for a reason given by the main window, or enable it ("")."""
        self._busy = reason
        self._show_problem("")

    def choose(self, key: str) -> None:
        """Choose an experiment, with its default values."""
        if key != self.experiment.key:
            self.experiment = EXPERIMENTS[key]
            self._show_experiment()

    def refill(self, plan: Plan) -> None:
        """Fill in the form from a stored A/B test."""
        self.choose(AB.key)
        if (place := self.workload.findData(plan.specs[0].workload)) < 0:
            return
        self.workload.setCurrentIndex(place)
        if plan.specs[0].preset in self.preset.buttons:
            self.preset.select(plan.specs[0].preset)
        self.rounds.setValue(plan.rounds)
        self.sides.refill(plan)

    def vary(self, spec: RunSpec) -> None:
        """Fill both sides of an A/B test with a run's spec, except for what differs."""
        self.refill(ab_plan((spec, spec), self.rounds.value(), ("A", "B")))
        self.sides.vary(ab_plan((spec, spec), self.rounds.value(), ("A", "B")))

    def run(self) -> None:
        """Request the plan if it can be run."""
        machine = self._services.finder.machine
        if machine is not None and self._plan is not None and self.run_button.isEnabled():
            self.run_requested.emit(self._plan, machine)

    def _show_experiment(self) -> None:
        experiment = self.experiment
        self.heading.setText(experiment.question)
        self.setAccessibleName(experiment.question)
        if self.workload.itemData(0) == "":
            self.workload.removeItem(0)
        several = len(experiment.workloads)
        if several > 1:
            self.workload.insertItem(0, sentence("studies_page.own_workloads", count=several), "")
        self.workload.setCurrentIndex(self.workload.findData("" if several > 1 else experiment.workloads[0]))
        self.preset.select(experiment.preset)
        self.preset.setEnabled(experiment.preset == "quick")
        self.rounds.setValue(experiment.rounds)
        self.sides.setVisible(experiment.has_sides)
        self._reading.setVisible(isinstance(experiment, StudyExperiment) and bool(experiment.reading))
        self._price.setVisible(isinstance(experiment, StudyExperiment) and experiment.is_priced)
        self._on_folders()

    def _connect(self) -> None:
        self.workload.currentIndexChanged.connect(self._on_workload)
        self.folders.changed.connect(self._on_folders)
        self.price.editingFinished.connect(self._on_price)
        services = self._services
        for changed in (services.finder.found, services.engines.changed, services.preferences.changed):
            changed.connect(self.sides.offer)
            changed.connect(self._on_choice)
        for changed in (self.sides.changed, self.preset.chosen, self.rounds.valueChanged):
            changed.connect(self._on_choice)
        services.preferences.changed.connect(self._show_price)

    def _show_price(self) -> None:
        self.price.setValue(self._services.preferences.settings.usd_per_hour or 0.0)

    def _on_price(self) -> None:
        stored = self._services.preferences.settings.usd_per_hour or 0.0
        if self.price.value() == round(stored, self.price.decimals()):  # unchanged, so it isn't rounded
            return
        self._services.change(usd_per_hour=self.price.value() or None)
        self.price_changed.emit()

    def _on_workload(self) -> None:
        if self.workload.currentData():
            self.sides.take_workload(CATALOGUE[self.workload.currentData()])
        self._on_choice()

    def _on_folders(self) -> None:
        """Select the workload that reads from folders if any are given."""
        folders = self._folders()
        is_fixed = isinstance(self.experiment, StudyExperiment) and self.experiment.is_own
        self.workload.setEnabled(not folders and not is_fixed)
        if folders:
            self.rounds.setValue(max(READING_ROUNDS, self.rounds.value()))
        self._on_choice()

    def _folders(self) -> tuple[str, ...]:
        return tuple(map(str, folders_of(self.folders.line.text()))) if not self._reading.isHidden() else ()

    def _on_choice(self) -> None:
        self._latest.drop()
        self._plan = None
        self.run_button.setEnabled(False)
        self._soon.start()

    def _options(self) -> PlanOptions:
        """Return the user's choices. Raises UsageError with a message for the user if one isn't possible."""
        workload = "" if self._folders() else self.workload.currentData()
        preset: Preset = "standard" if self.preset.value == "standard" else "quick"
        options = PlanOptions(
            workloads=(workload,) if workload else (),
            preset=preset,
            rounds=self.rounds.value(),
            choice={"data": self._services.preferences.settings.data},
            folders=self._folders(),
        )
        if not self.experiment.has_sides:
            return options
        specs = self.sides.specs(preset)
        labels, by_hand = self.sides.labels(specs), self.sides.by_hand.isChecked()
        return replace(options, specs=specs, labels=labels, by_hand=by_hand)

    def _make_plan(self) -> None:
        """Create the plan in the background, because this checks engines and devices."""
        machine, experiment = self._services.finder.machine, self.experiment
        if machine is None or not self.isVisible():  # it is planned when it is shown
            return
        try:
            options = self._options()
        except UsageError as error:
            self._show_plan(machine, error)
            return

        def plan(database: Database) -> tuple[Plan, float | None]:
            assert experiment.plan is not None, "only experiments of the Lab are chosen here"
            made = experiment.plan(experiment, Runner(self._services.paths, machine), options)
            minutes = plan_minutes(made)
            return made, minutes if minutes is not None else _expected_minutes(database, made, machine)

        show = self._latest.only(partial(self._show_plan, machine))
        self._services.query(plan, show, show)

    def _show_plan(self, machine: Machine, planned: tuple[Plan, float | None] | AppError) -> None:
        """Show a plan and its approximate duration in minutes, or why there is none."""
        if isinstance(planned, AppError):
            self.points.show_text("")
            self._show_problem(str(planned))
            return
        self._plan, minutes = planned
        self.preflight.show_choice(self._plan.specs[0], machine)
        self.points.show_text(f"{report_of_plan(self._plan).configurations} {runs_text(self._plan)}.")
        text_of_button = sentence("lab.run") if minutes is None else sentence("lab.run_minutes", minutes=minutes)
        self.run_button.setText(text_of_button)
        variant = self._services.engines.variant
        problems = (device_problem(spec, machine, variant(spec.engine)) for spec in self._plan.specs)
        unfit = next(filter(None, problems), None)
        self._show_problem("" if unfit is None else text(unfit))

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
        self.folders.setAccessibleName(sentence("studies_page.folders"))
        self._show_price()
        self.run_button.setMinimumHeight(40)
        self._price = panel(column(label(sentence("studies_page.price"), muted=True), self.price))
        self._reading = panel(column(label(sentence("studies_page.folders"), muted=True), self.folders))
        more = row(self.preset, label(sentence("studies_page.rounds"), muted=True), self.rounds, None)
        self.more = Fold(self._services.theme, sentence("lab.more"), more)
        workload = row(
            label(sentence("label.workload"), muted=True), self.workload, spacing_px=2 * GAP_PX, stretch=1
        )
        rows = column(self.sides, workload, self._reading, self._price, self.more, self.points, None)
        form = QWidget()
        form.setMaximumWidth(FORM_MAX_PX)
        button = row(self.run_button, None)
        form.setLayout(column(self.heading, FormScroll(panel(rows)), self.problem, self.preflight, button, None))
        whole = row(form, None, spacing_px=0)
        whole.setStretch(0, 100)  # up to its maximum width
        self.setLayout(whole)


def _expected_minutes(database: Database, plan: Plan, machine: Machine) -> float | None:
    """Return the duration of a plan's runs according to earlier runs; None if a configuration is new."""
    durations_s = [expected_duration_s(database, spec, machine) for spec in plan.specs]
    known_s = [duration_s for duration_s in durations_s if duration_s is not None]
    return plan.rounds * sum(known_s) / 60 if len(known_s) == len(durations_s) else None
