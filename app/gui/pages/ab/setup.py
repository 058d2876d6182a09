"""The setup of an A/B test: workload, and settings of each side."""

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QGridLayout,
    QLineEdit,
    QSpinBox,
    QWidget,
)

from app.core.engines.choices import Installed, device_choices, offered_workloads
from app.core.errors import UsageError
from app.core.messages import sentence, text
from app.core.plans.ab import ab_plan
from app.core.records import Plan
from app.core.runs.plan_session import LABEL_LIMIT, PAIRS_LIMIT
from app.core.runs.runner import device_problem, exact_spec
from app.core.storage.database import Database
from app.core.storage.queries import expected_duration_s
from app.core.titles import differing, workload_title
from app.gui.run.plan_page import PlanSetup
from app.gui.run.preflight import PreflightLine
from app.gui.services.bundle import Services
from app.gui.style.tokens import GAP_PX
from app.gui.widgets.basics import (
    Button,
    column,
    give_way,
    guard_wheel,
    label,
    row,
    set_tip,
    set_tone,
)
from app.gui.widgets.choice_box import ChoiceBox
from app.gui.widgets.device_list import DeviceList, EngineList
from app.gui.widgets.editors import (
    INT_LIMIT,
    Editor,
    Switch,
    edited_value,
    in_editor,
    indented,
    make_editor,
    set_edited,
)
from app.gui.widgets.form_scroll import FormScroll
from app.gui.widgets.segments import Segments
from app.gui.widgets.tab_order import bring_into_view
from app.gui.widgets.timers import timer
from workloads import CATALOGUE, STANDARD
from workloads.engines.registry import ENGINES, compiles_always, engine_title
from workloads.protocol.machine import Machine
from workloads.protocol.spec import ParameterValue, RunSpec
from workloads.settings import Setting, all_settings
from workloads.workload import Workload

ESTIMATE_MS = 150
PAIRS = 6
EDITOR_PX, FORM_MAX_PX = 96, 720
_ONLY_HERE = ("engine", "device", "power_limit_w")  # settings that the run form omits or selects in another way


class SideForm(QObject):
    """The editors for one side.

    Attributes:
        name: Name of the side.
        editors: Editors of the run settings, by name.
        engine, device, compiled: Three of the editors. These editors depend on each other.

    Signals:
        changed: A value has changed.
    """

    changed = Signal()

    def __init__(self, side: str) -> None:
        super().__init__()
        self.side = side
        self.name = QLineEdit(maxLength=LABEL_LIMIT, placeholderText=side)
        self._dress(self.name, sentence("heading.name"))
        usual = CATALOGUE[STANDARD]
        self.engine, self.device = EngineList(), DeviceList(brief=True)
        self.editors = {setting.name: self._editor(setting, usual) for setting in side_settings()}
        compiled = self.editors["jit"]
        assert isinstance(compiled, Switch)
        self.compiled = compiled

    @property
    def widgets(self) -> tuple[QWidget, ...]:
        """All editors from top to bottom."""
        return (self.name, *self.editors.values())

    def values(self) -> dict[str, ParameterValue | None]:
        """Return the values by setting name."""
        return {setting.name: self._value(setting) for setting in side_settings()}

    def take_workload(self, workload: Workload) -> None:
        """Reset the editors to the workload's defaults."""
        for parameter in workload.setting_parameters():
            editor = self.editors.get(parameter.name)
            if isinstance(editor, QSpinBox):
                editor.setRange(int(parameter.minimum or 0), int(parameter.maximum or INT_LIMIT))
                editor.setValue(int(parameter.default))

    def refill(self, spec: RunSpec) -> None:
        """Fill the editors with a side's spec. The name is kept."""
        self.engine.select(spec.engine)
        self.device.select(spec.engine, spec.device)
        if spec.device == "auto":
            self.device.setCurrentIndex(0)
        for setting in side_settings():
            editor = self.editors[setting.name]
            if setting.name not in ("engine", "device") and editor.isEnabled():  # some allow one value only
                set_edited(editor, in_editor(setting.of(spec), setting.parameter()))

    def differ(self, name: str, other: "SideForm") -> QWidget:
        """Choose a different engine from the other side's, or the opposite of its switch. Return the editor."""
        editor = self.editors.get(name, self.name)
        if editor is self.engine:
            self.engine.select_other(other.engine.engine)
        elif isinstance(editor, Switch) and editor.isEnabled():
            counterpart = other.editors[name]
            editor.setChecked(isinstance(counterpart, Switch) and not counterpart.isChecked())
        return editor

    def offer(self, workload: Workload, installed: Installed, machine: Machine | None) -> None:
        """Offer the engines that can run a workload, and the devices and options of the selected engine."""
        self.engine.offer(tuple(installed), workload.engines or tuple(ENGINES))
        chosen = self.engine.engine
        if machine is not None:
            self.device.offer(device_choices(installed, machine, (chosen,)))
        reason = sentence("setup.always_compiled", engine=engine_title(chosen)) if compiles_always(chosen) else ""
        self.compiled.keep_on(reason)

    def _editor(self, setting: Setting, workload: Workload) -> Editor:
        editor: Editor
        if setting.name in ("engine", "device"):
            editor = self.engine if setting.name == "engine" else self.device
            editor.currentIndexChanged.connect(self.changed)
        else:
            editor = make_editor(setting.parameter(getattr(workload, setting.name, None)), self.changed)
        self._dress(editor, text(setting.label))
        return editor

    def _dress(self, editor: QWidget, label_text: str) -> None:
        editor.setAccessibleName(sentence("ab_setup.of_side", label=label_text, side=self.side))
        editor.setMinimumWidth(EDITOR_PX)
        guard_wheel(editor)
        if isinstance(editor, QComboBox):
            give_way(editor)
            editor.setMinimumContentsLength(5)

    def _value(self, setting: Setting) -> ParameterValue | None:
        editor = self.editors[setting.name]
        if editor is self.engine:
            return self.engine.engine
        if editor is self.device:
            return self.device.device
        return setting.from_editor(edited_value(editor))


def side_settings() -> list[Setting]:
    """Return the run settings that the A/B page can vary."""
    shown = (setting for setting in all_settings() if setting.in_ab and setting.is_choice)
    return [setting for setting in shown if setting.in_form or setting.name in _ONLY_HERE]


class AbSetup(PlanSetup):
    """The card that sets up an A/B test."""

    def __init__(self, services: Services) -> None:
        super().__init__(sentence("ab_setup.title"))
        self._services = services
        self._busy = ""
        self._is_check = False  # whether both sides are equal
        self._asked = 0
        self._soon = timer(self, ESTIMATE_MS, once=True)
        self._soon.timeout.connect(self._estimate)
        self.workload = ChoiceBox(sentence("label.workload"))
        give_way(self.workload)
        guard_wheel(self.workload)
        for workload in offered_workloads(None):
            # Workloads that measure folders are available only in the CLI's `ab`.
            if not any(parameter.required for parameter in workload.parameters):
                self.workload.addItem(workload_title(workload.id), workload.id)
        self.workload.setCurrentIndex(self.workload.findData(STANDARD))
        presets = tuple((preset, sentence(f"preset.{preset}")) for preset in ("quick", "standard"))
        self.preset = Segments(services.theme, sentence("label.preset"), presets)
        self.preset.select("standard" if services.preferences.settings.preset == "standard" else "quick")
        self.pairs = indented(QSpinBox(minimum=1, maximum=PAIRS_LIMIT, value=PAIRS))
        self.pairs.setAccessibleName(sentence("ab_setup.pairs"))
        guard_wheel(self.pairs)
        self.by_hand = QCheckBox(sentence("ab_setup.by_hand"))
        set_tip(self.by_hand, sentence("ab_setup.by_hand_tip"))
        self.sides = (SideForm("A"), SideForm("B"))
        self.length = label(muted=True, wrap=True)
        self.problem = label(wrap=True)
        self.preflight = PreflightLine(services)
        self.run_button = Button(services.theme, sentence("ab_setup.run"), "play", kind="primary")
        self.run_button.setMinimumHeight(40)
        self._lay_out()
        self._connect()
        self._on_workload()

    def set_busy(self, reason: str) -> None:
        """Disable the Run button for a reason given by the main window, or enable it ("")."""
        self._busy = reason
        self._check()

    def plan(self) -> Plan:
        """Return the plan. Raises UsageError with a message for the user if it can't be run."""
        a, b = (self._spec(side) for side in self.sides)
        labels = [
            " ".join(side.name.text().split()) or differs_in
            for side, differs_in in zip(self.sides, differing(a, b), strict=True)
        ]
        label_a, label_b = labels if labels[0] != labels[1] else ("A", "B")
        names = label_a[:LABEL_LIMIT], label_b[:LABEL_LIMIT]
        return ab_plan((a, b), self.pairs.value(), names, by_hand=self.by_hand.isChecked())

    def refill(self, plan: Plan) -> None:
        """Fill the form with a plan. Values without an editor, such as folders, are ignored."""
        place = self.workload.findData(plan.specs[0].workload)
        if place < 0:
            return
        self.workload.setCurrentIndex(place)
        if plan.specs[0].preset in self.preset.buttons:
            self.preset.select(plan.specs[0].preset)
            self.preset.chosen.emit(plan.specs[0].preset)
        self.pairs.setValue(plan.rounds)
        self.by_hand.setChecked(plan.by_hand)
        names = (plan.label_a, plan.label_b)
        of_settings = differing(*plan.specs[:2])
        for side, spec, name, own in zip(self.sides, plan.specs, names, of_settings, strict=False):
            side.refill(spec)
            # Leave the field empty if the name equals the default, so that it changes with the settings.
            side.name.setText("" if name in (side.side, own[:LABEL_LIMIT]) else name)

    def vary(self, setting: str, spec: RunSpec | None) -> None:
        """Focus a setting, and give side B another engine or switch state. "by_hand" pauses before each side.

        Args:
            setting: Name of the setting; "" for none.
            spec: Spec to fill both sides with; None to keep them.
        """
        if spec is not None:
            self.refill(ab_plan((spec, spec), self.pairs.value(), ("A", "B")))
        self.by_hand.setChecked(setting == "by_hand")
        editor = self.by_hand if setting == "by_hand" else self.sides[1].differ(setting, self.sides[0])
        editor.setFocus()
        bring_into_view(editor)

    def run(self) -> None:
        """Request the A/B test if it can be run."""
        machine = self._services.finder.machine
        if machine is not None and self.run_button.isEnabled():
            self.run_requested.emit(self.plan(), machine)

    def _spec(self, side: SideForm) -> RunSpec:
        spec = CATALOGUE[self.workload.currentData()].default_spec(
            "quick" if self.preset.value == "quick" else "standard",
            **({"data": self._services.preferences.settings.data} | side.values()),
        )
        return exact_spec(spec)

    def _connect(self) -> None:
        self.workload.currentIndexChanged.connect(self._on_workload)
        self.preset.chosen.connect(self._on_choice)
        self.pairs.valueChanged.connect(self._on_choice)
        self.by_hand.toggled.connect(self._on_choice)
        self.run_button.clicked.connect(self.run)
        self.preflight.changed.connect(self._show_button)
        for side in self.sides:
            side.changed.connect(self._on_choice)
        self._services.finder.found.connect(self._on_choice)
        self._services.engines.changed.connect(self._on_choice)
        self._services.preferences.changed.connect(self._on_choice)

    def _on_workload(self) -> None:
        for side in self.sides:
            side.take_workload(CATALOGUE[self.workload.currentData()])
        self._on_choice()

    def _on_choice(self) -> None:
        for side in self.sides:
            workload = CATALOGUE[self.workload.currentData()]
            side.offer(workload, self._services.engines.installed, self._services.finder.machine)
        self._check()
        self._asked += 1
        self._soon.start()
        self._show_length(None)

    def _check(self) -> None:
        """Show problems with the setup immediately instead of after clicking Run."""
        machine = self._services.finder.machine
        if machine is None:
            self.run_button.setEnabled(False)
            return
        a, b, note = "A", "B", ""
        self._is_check = False
        try:
            self.preflight.show_choice(self._spec(self.sides[0]), machine)
            plan = self.plan()
            a, b = differing(*plan.specs)
            self._is_check = plan.has_equal_sides
            note = sentence("ab_setup.equal") if self._is_check else ""
            variant = self._services.engines.variant
            problems = (device_problem(spec, machine, variant(spec.engine)) for spec in plan.specs)
            unfit = next(filter(None, problems), None)
            problem = self._busy or (text(unfit) if unfit is not None else "")
        except UsageError as error:
            problem = self._busy or str(error)
        for side, differs_in in zip(self.sides, (a, b), strict=True):
            side.name.setPlaceholderText(differs_in)
        self.problem.setText(problem or note)
        self.problem.setVisible(bool(problem or note))
        set_tone(self.problem, "invalid" if problem and not self._busy else "")
        self.run_button.setEnabled(not problem)
        self._show_button()

    def _show_button(self) -> None:
        if self._is_check:
            code = "ab_setup.check_anyway" if self.preflight.cautions else "ab_setup.check"
        else:
            code = "ab_setup.run_anyway" if self.preflight.cautions else "ab_setup.run"
        self.run_button.setText(sentence(code))

    def _estimate(self) -> None:
        """Estimate the duration of the runs, based on earlier runs."""
        machine, number = self._services.finder.machine, self._asked
        try:
            specs = self.plan().specs
        except UsageError:
            return
        if machine is None or specs[0].preset == "quick":
            return

        def look(database: Database) -> tuple[int, list[float | None]]:
            return number, [expected_duration_s(database, spec, machine) for spec in specs]

        self._services.query(look, self._on_expected)

    def _on_expected(self, answer: tuple[int, list[float | None]]) -> None:
        number, durations_s = answer
        if number == self._asked:  # otherwise the choice has changed
            expected_s = [duration_s for duration_s in durations_s if duration_s is not None]
            self._show_length(
                self.pairs.value() * sum(expected_s) if len(expected_s) == len(durations_s) else None
            )

    def _show_length(self, duration_s: float | None) -> None:
        runs = 2 * self.pairs.value()
        if duration_s is not None:
            length = sentence("ab_setup.runs_with_time", runs=runs, duration_s=duration_s)
        else:
            length = sentence(
                "ab_setup.quick_runs" if self.preset.value == "quick" else "ab_setup.runs", runs=runs
            )
        self.length.setText(length)

    def _lay_out(self) -> None:
        grid = QGridLayout()
        grid.setHorizontalSpacing(GAP_PX)
        grid.setVerticalSpacing(GAP_PX - 2)
        for place, side in enumerate(self.sides, 1):
            grid.addWidget(
                label(sentence("ab_setup.side", side=side.side), weight=QFont.Weight.DemiBold), 0, place
            )
            grid.setColumnStretch(place, 1)
            for number, editor in enumerate(side.widgets, 1):
                grid.addWidget(editor, number, place)
        for number, name in enumerate(
            (sentence("heading.name"), *(text(setting.label) for setting in side_settings())), 1
        ):
            grid.addWidget(label(name, muted=True), number, 0)
        choosing = row(self.preset, label(sentence("ab_setup.pairs"), muted=True), self.pairs, None)
        content = QWidget()
        content.setLayout(
            column(self.workload, choosing, grid, self.by_hand, self.length, None, spacing_px=GAP_PX + 2)
        )
        self.setMaximumWidth(FORM_MAX_PX)
        self.body.addWidget(FormScroll(content))
        self.body.addWidget(self.problem)
        self.body.addWidget(self.preflight)
        self.body.addWidget(self.run_button)
        self.body.addStretch(1)
