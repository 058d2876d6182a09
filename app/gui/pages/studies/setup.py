"""The setup of a study: the question, the workload, and the resulting configurations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QRect, QSize, Qt, Signal
from PySide6.QtGui import QFont, QResizeEvent
from PySide6.QtWidgets import QDoubleSpinBox, QLineEdit, QListWidget, QListWidgetItem, QSpinBox, QWidget

from app.core.engines.choices import most_gpus
from app.core.errors import AppError, UsageError
from app.core.messages import message, sentence
from app.core.plans.study.axes import axis_title, read_axis
from app.core.plans.study.kind import runs_text
from app.core.plans.study.planning import READING_ROUNDS, ROUNDS_LIMIT, idle_presets, plan_axes, plan_preset
from app.core.plans.study.points import point_name
from app.core.plans.study.presets import PRESETS
from app.core.records import Plan, Study
from app.core.runs.runner import Runner, known_workload
from app.gui.run.plan_page import PlanSetup
from app.gui.run.preflight import PreflightLine
from app.gui.run.workload_box import WorkloadBox, of_plans
from app.gui.services.bundle import Services
from app.gui.services.tasks import Latest
from app.gui.style.tokens import GAP_PX
from app.gui.widgets.basics import (
    Button,
    ClampedLabel,
    column,
    give_way,
    guard_wheel,
    label,
    plain_tip,
    row,
    set_tip,
    set_tone,
)
from app.gui.widgets.editors import FolderEdit, indented
from app.gui.widgets.segments import Segments
from app.gui.widgets.timers import timer
from workloads.protocol.parameters import folders_of
from workloads.protocol.spec import Preset, RunSpec

PLAN_MS = 200
OWN = ""  # key of a study with custom axes
ROW_PX, ITEM_PX = 28, 12  # height of a row with one line, and padding of rows in the style sheet
POINTS_NAMED = 12
_AXIS = "batch=16,32,64,128"


class StudyList(QListWidget):
    """A list of studies that wraps texts, and keeps the selected study visible even if the list is short."""

    def __init__(self) -> None:
        super().__init__()
        self.setWordWrap(True)
        self.setTextElideMode(Qt.TextElideMode.ElideNone)

    def fit(self) -> None:
        room = QRect(0, 0, max(1, self.viewport().width() - 2 * ITEM_PX), 10_000)
        height_px = 0
        for item in filter(lambda item: not item.isHidden(), map(self.item, range(self.count()))):
            text_px = self.fontMetrics().boundingRect(room, Qt.TextFlag.TextWordWrap, item.text()).height()
            item.setSizeHint(QSize(0, max(ROW_PX, text_px + ITEM_PX)))
            height_px += item.sizeHint().height()
        self.setMaximumHeight(height_px + 4)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit()
        if (item := self.currentItem()) is not None:
            self.scrollToItem(item)


class StudySetup(PlanSetup):
    """The card that sets up a study."""

    price_changed = Signal()

    def __init__(self, services: Services) -> None:
        super().__init__(sentence("studies_page.new"))
        self._services = services
        self._busy, self._asked = "", 0
        self._latest = Latest()
        self._plan: Plan | None = None
        self._soon = timer(self, PLAN_MS, once=True)
        self._soon.timeout.connect(self._make_plan)
        self.studies = StudyList()
        self.workload = WorkloadBox(services, of_plans)
        self.axis, self.second_axis = QLineEdit(_AXIS), QLineEdit()
        self.folders = FolderEdit("")
        presets = tuple((preset, sentence(f"preset.{preset}")) for preset in ("quick", "standard"))
        self.preset = Segments(services.theme, sentence("label.preset"), presets)
        self.rounds = indented(QSpinBox(minimum=1, maximum=ROUNDS_LIMIT))
        self.points = ClampedLabel(lines=3)
        self.problem = label(wrap=True)
        self.preflight = PreflightLine(services)
        self.price = indented(QDoubleSpinBox(maximum=1e6, decimals=3, singleStep=0.01))
        self.run_button = Button(services.theme, sentence("studies_page.run"), "play", kind="primary")
        self._fill()
        self._lay_out()
        self._connect()
        self.studies.setCurrentRow(0)
        self._look_for_idle()

    @property
    def study(self) -> str:
        """The key of the selected study; "" for custom axes."""
        return str(self.studies.item(max(0, self.studies.currentRow())).data(Qt.ItemDataRole.UserRole))

    def set_busy(self, reason: str) -> None:
        """Disable the Run button for a reason given by the main window, or enable it ("")."""
        self._busy = reason
        self._show_problem("")

    def vary(self, key: str, spec: RunSpec | None) -> None:
        self.studies.setCurrentRow(list(PRESETS).index(key))
        if spec is not None and (place := self.workload.findData(spec.workload)) >= 0:
            self.workload.setCurrentIndex(place)
        self.studies.setFocus()

    def run(self) -> None:
        """Request the study if it can be run."""
        machine = self._services.finder.machine
        if machine is not None and self._plan is not None and self.run_button.isEnabled():
            self.run_requested.emit(self._plan, machine)

    def _fill(self) -> None:
        for key, question in (
            *((key, preset.question) for key, preset in PRESETS.items()),
            (OWN, sentence("studies_page.own_question")),
        ):
            item = QListWidgetItem(question)
            item.setData(Qt.ItemDataRole.UserRole, key)
            self.studies.addItem(item)

    def _look_for_idle(self) -> None:
        """Find the studies with nothing to compare on this computer, by planning all studies in the background."""
        machine = self._services.finder.machine
        for number, preset in enumerate(PRESETS.values()):
            hides = preset.on_several and (machine is None or most_gpus(machine) < 2)
            self.studies.item(number).setHidden(hides)
        if machine is not None:
            look = partial(idle_presets, Runner(self._services.paths, machine))
            self._services.tasks.start(look, self._latest.only(self._show_idle), self._services.complain)

    def _show_idle(self, idle: Mapping[str, AppError | None]) -> None:
        for number, (key, preset) in enumerate(PRESETS.items()):
            lines, reason = [preset.question], idle.get(key)
            if key in idle:
                lines.append(sentence("studies_page.cannot_run" if reason else "studies_page.only_one"))
            item = self.studies.item(number)
            item.setText("\n".join(lines))
            item.setToolTip(plain_tip(" ".join([*lines, str(reason)])) if reason else "")
        self.studies.fit()

    def _connect(self) -> None:
        self.studies.currentRowChanged.connect(self._on_study)
        self.workload.currentIndexChanged.connect(self._on_choice)
        for edit in (self.axis, self.second_axis):
            edit.textChanged.connect(self._on_choice)
        self.folders.changed.connect(self._on_folders)
        self.preset.chosen.connect(self._on_choice)
        self.rounds.valueChanged.connect(self._on_choice)
        self.run_button.clicked.connect(self.run)
        self.price.editingFinished.connect(self._on_price)
        for changed in (self._services.finder.found, self._services.engines.changed):
            changed.connect(self._on_choice)
            changed.connect(self._look_for_idle)
        self._services.preferences.changed.connect(self._on_choice)
        self._services.preferences.changed.connect(self._show_price)

    def _on_study(self) -> None:
        preset = PRESETS.get(self.study)
        several = preset is not None and len(preset.workloads) > 1
        text = sentence("studies_page.own_workloads", count=len(preset.workloads)) if preset and several else ""
        first = self.workload.itemData(0)
        if first == "":
            self.workload.removeItem(0)
        if several:
            self.workload.insertItem(0, text, "")
        usual = "" if several else preset.workloads[0] if preset else self.workload.currentData()
        self.workload.setCurrentIndex(max(0, self.workload.findData(usual)))
        self.rounds.setValue(preset.rounds if preset else 1)
        self.preset.select("standard" if self.study == "convergence" else "quick")
        self._own.setVisible(preset is None)
        self._reading.setVisible(preset is not None and bool(preset.reading))
        self._on_folders()
        self._price.setVisible(self.study == "cost")

    def _show_price(self) -> None:
        self.price.setValue(self._services.preferences.settings.usd_per_hour or 0.0)

    def _on_price(self) -> None:
        stored = self._services.preferences.settings.usd_per_hour or 0.0
        if self.price.value() == round(stored, self.price.decimals()):  # unchanged, so it isn't rounded
            return
        try:
            self._services.preferences.change(usd_per_hour=self.price.value() or None)
        except AppError as error:
            self._services.complain(error)
        self.price_changed.emit()

    def _on_folders(self) -> None:
        """Select the workload that reads from folders if any are given."""
        folders = self._folders()
        self.workload.setEnabled(not folders)
        if folders:
            self.rounds.setValue(max(READING_ROUNDS, self.rounds.value()))
        self._on_choice()

    def _folders(self) -> tuple[str, ...]:
        preset = PRESETS.get(self.study)
        if preset is None or not preset.reading:
            return ()
        return tuple(map(str, folders_of(self.folders.line.text())))

    def _on_choice(self) -> None:
        self._asked += 1
        self._plan = None
        self.run_button.setEnabled(False)
        self._soon.start()

    def _make_plan(self) -> None:
        """Create the plan in the background, because this checks engines and devices."""
        machine, number = self._services.finder.machine, self._asked
        if machine is None:
            return
        asked = _Asked(
            key=self.study,
            workload="" if self._folders() else self.workload.currentData(),
            axes=(self.axis.text(), self.second_axis.text()),
            preset="standard" if self.preset.value == "standard" else "quick",
            rounds=self.rounds.value(),
            folders=self._folders(),
            data=self._services.preferences.settings.data,
        )
        runner = Runner(self._services.paths, machine)

        def failed(error: AppError) -> None:
            if number == self._asked:
                self.points.show_text("")
                self._show_problem(str(error))

        def done(plan: Plan) -> None:
            if number == self._asked:
                self._plan = plan
                self.preflight.show_choice(plan.specs[0], machine)
                self._show_plan(plan)

        self._services.tasks.start(partial(asked.plan, runner), done, failed)

    def _show_plan(self, plan: Plan) -> None:
        names = [point_name(plan, spec) for spec in plan.specs]
        more = len(names) - POINTS_NAMED
        shown = names[:POINTS_NAMED] + ([sentence("studies_page.more_points", count=more)] if more > 0 else [])
        study = plan.study or Study()
        refused = len(study.refused)
        axes = " · ".join(axis_title(name, study) for name in study.axes)
        text = sentence("studies_page.points", count=len(names), axes=axes, points=shown, runs=runs_text(plan))
        if refused:
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
        self.studies.setAccessibleName(sentence("group.kind_study"))
        self.studies.setFrameShape(QListWidget.Shape.NoFrame)
        give_way(self.workload)
        for editor in (self.workload, self.rounds, self.price):
            guard_wheel(editor)
        self.rounds.setAccessibleName(sentence("studies_page.rounds"))
        set_tip(self.rounds, sentence("studies_page.rounds_tip"))
        self.price.setSpecialValueText(sentence("studies_page.unknown"))
        self.price.setAccessibleName(sentence("studies_page.price"))
        self._price = QWidget()
        self._price.setLayout(column(label(sentence("studies_page.price"), muted=True), self.price))
        self._show_price()
        self.axis.setAccessibleName(sentence("studies_page.axis"))
        self.second_axis.setAccessibleName(sentence("studies_page.second_axis"))
        self.second_axis.setPlaceholderText(sentence("studies_page.axis_example"))
        self.run_button.setMinimumHeight(40)
        self._own = QWidget()
        self._own.setLayout(
            column(
                label(sentence("studies_page.axis"), muted=True),
                self.axis,
                label(sentence("studies_page.second_axis"), muted=True),
                self.second_axis,
            )
        )
        self.folders.setAccessibleName(sentence("studies_page.folders"))
        self._reading = QWidget()
        self._reading.setLayout(column(label(sentence("studies_page.folders"), muted=True), self.folders))
        rounds = row(self.preset, label(sentence("studies_page.rounds"), muted=True), self.rounds, None)
        self.studies.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self.body.addWidget(self.studies, stretch=1)
        self.body.addLayout(
            column(
                label(sentence("label.workload"), muted=True, weight=QFont.Weight.Normal),
                self.workload,
                self._own,
                self._reading,
                rounds,
                self.points,
                self.problem,
                self.preflight,
                self._price,
                spacing_px=GAP_PX,
            )
        )
        self.body.addStretch(0)
        self.body.addWidget(self.run_button)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """The values entered by the user."""

    key: str
    workload: str
    axes: Sequence[str]
    preset: Preset
    rounds: int
    folders: Sequence[str]
    data: str

    def plan(self, runner: Runner) -> Plan:
        """Return the plan. Raises UsageError with a message for the user if it can't be run."""
        choice = {"data": self.data}
        if self.key != OWN:
            return plan_preset(
                self.key,
                runner,
                workloads=(self.workload,) if self.workload else (),
                preset=None if self.key == "convergence" else self.preset,
                rounds=self.rounds,
                choice=choice,
                folders=self.folders,
            )
        workload = known_workload(self.workload)
        values = {}
        for typed in filter(str.strip, self.axes):
            name, of_axis, _ = read_axis(typed, workload)
            if name in values:
                raise UsageError(message("studies.axis_twice", axis=name))
            values[name] = of_axis
        if not values:
            raise UsageError(message("studies.no_axis"))
        return plan_axes(workload.default_spec(self.preset, **choice), values, runner, self.rounds)
