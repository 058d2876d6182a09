"""The setup of an A/B test: workload, and settings of each side."""

import contextlib

from PySide6.QtCore import QSignalBlocker
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QCheckBox, QGridLayout, QSpinBox, QWidget

from app.core.errors import UsageError
from app.core.messages import sentence, text
from app.core.plans.ab import ab_plan
from app.core.records import Plan
from app.core.runs.plan_session import LABEL_LIMIT, PAIRS_LIMIT
from app.core.runs.runner import device_problem, exact_spec
from app.core.storage.database import Database
from app.core.storage.queries import expected_duration_s
from app.core.titles import differing
from app.gui.pages.lab.ab.side_form import SideForm, side_settings
from app.gui.run.plan_page import PlanSetup
from app.gui.run.preflight import PreflightLine
from app.gui.run.workload_box import WorkloadBox, of_plans
from app.gui.services.bundle import Services
from app.gui.services.tasks import Latest
from app.gui.style.tokens import GAP_PX
from app.gui.widgets.basics import Button, Fold, column, give_way, guard_wheel, label, row, set_tip, set_tone
from app.gui.widgets.choice_box import ChoiceBox
from app.gui.widgets.editors import indented
from app.gui.widgets.segments import Segments
from app.gui.widgets.timers import timer
from workloads import CATALOGUE
from workloads.engines.registry import compiles_always
from workloads.protocol.spec import RunSpec
from workloads.settings import Setting

ESTIMATE_MS = 150
PAIRS = 6
# What differs, other than a single setting.
SEVERAL, BY_HAND, NOTHING = "several", "by_hand", "nothing"
_USUAL = "jit"
RARELY_ALONE = ("seed", "onednn")  # settings that can only be among several ones


class AbSetup(PlanSetup):
    """The card that sets up an A/B test. Only the settings that differ are shown.

    `what` differs is the name of a setting, `SEVERAL` settings, something changed `BY_HAND`, or `NOTHING`.
    """

    def __init__(self, services: Services) -> None:
        super().__init__(sentence("lab.question_ab"))
        self._services = services
        self._busy = ""
        self._latest = Latest()
        self._soon = timer(self, ESTIMATE_MS, once=True)
        self._soon.timeout.connect(self._estimate)
        self.workload = WorkloadBox(services, of_plans)
        presets = tuple((preset, sentence(f"preset.{preset}")) for preset in ("quick", "standard"))
        self.preset = Segments(services.theme, sentence("label.preset"), presets)
        self.preset.select("standard" if services.preferences.settings.preset == "standard" else "quick")
        self.pairs = indented(QSpinBox(minimum=1, maximum=PAIRS_LIMIT, value=PAIRS))
        self.pairs.setAccessibleName(sentence("ab_setup.pairs"))
        guard_wheel(self.pairs)
        self.by_hand = QCheckBox(sentence("ab_setup.by_hand"))
        set_tip(self.by_hand, sentence("ab_setup.by_hand_tip"))
        self.sides = (SideForm("A"), SideForm("B"))
        self.what = ChoiceBox(sentence("ab_setup.what"))
        give_way(self.what)
        guard_wheel(self.what)
        for setting in side_settings():
            if setting.name not in RARELY_ALONE:
                self.what.addItem(text(setting.label), setting.name)
        self.what.addItem(sentence("ab_setup.several"), SEVERAL)
        self.what.addItem(sentence("ab_setup.by_hand_change"), BY_HAND)
        self.what.addItem(sentence("ab_setup.nothing"), NOTHING)
        self.what.setCurrentIndex(self.what.findData(_USUAL))
        self._rows: dict[str, list[QWidget]] = {}  # label and editors by setting; "" for the sides' names
        self._heads: list[QWidget] = []
        self.held = label(muted=True, wrap=True)
        self.length = label(muted=True, wrap=True)
        self.problem = label(wrap=True)
        self.preflight = PreflightLine(services)
        self.run_button = Button(services.theme, sentence("ab_setup.run"), "play", kind="primary")
        self.run_button.setMinimumHeight(40)
        self._lay_out()
        self._connect()
        self._on_workload()
        self._on_what()

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
        """Fill in the form from a plan. Values without an editor, such as folders, are ignored."""
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
        self._choose(self._differing(plan))

    def vary(self, spec: RunSpec) -> None:
        """Fill both sides with a run's spec, except for what differs."""
        what = self.what.currentIndex()
        self.refill(ab_plan((spec, spec), self.pairs.value(), ("A", "B")))
        self.what.setCurrentIndex(what)
        self._on_what()
        self.what.setFocus()

    def run(self) -> None:
        machine = self._services.finder.machine
        if machine is not None and self.run_button.isEnabled():
            self.run_requested.emit(self.plan(), machine)

    def _differing(self, plan: Plan) -> str:
        """Return the value of `what` that describes how the sides of a plan differ."""
        a, b = plan.specs[:2]
        apart = [setting.name for setting in side_settings() if setting.of(a) != setting.of(b)]
        if apart == ["engine", "jit"] and all(spec.jit == compiles_always(spec.engine) for spec in (a, b)):
            apart = ["engine"]
        if len(apart) > 1 or (apart and plan.by_hand):
            return SEVERAL
        if plan.by_hand:
            return BY_HAND
        is_named = any(side.name.text() for side in self.sides)
        return SEVERAL if is_named or apart[:1] in [[name] for name in RARELY_ALONE] else (*apart, NOTHING)[0]

    def _choose(self, what: str) -> None:
        """Show the editors for what differs, without changing any value."""
        with QSignalBlocker(self.what):
            self.what.setCurrentIndex(self.what.findData(what))
        for name, widgets in self._rows.items():
            is_shown = what in (SEVERAL, name) or (what == BY_HAND and not name)
            for widget in widgets:
                widget.setVisible(is_shown)
        for head in self._heads:
            head.setVisible(what != NOTHING)
        self.by_hand.setVisible(what == SEVERAL)
        self._show_held()

    def _on_what(self) -> None:
        """Give both sides the same values, except where they should differ."""
        a, b = self.sides
        what = self.what.currentData()
        self._choose(what)
        self.by_hand.setChecked(what == BY_HAND)
        if what == SEVERAL:
            return
        b.copy(a)
        if what in b.editors:
            b.differ(what, a)
        if what != BY_HAND:
            for side in self.sides:
                side.name.clear()

    def _show_held(self) -> None:
        what, settings = self.what.currentData(), []
        if what != SEVERAL:
            usual = CATALOGUE[self.workload.currentData()].default_spec("quick")
            with contextlib.suppress(UsageError):  # shown as the problem
                spec = self._spec(self.sides[0])
                hidden = (setting for setting in side_settings() if setting.name != what)
                settings = [setting for setting in hidden if not _is_usual(setting, spec, usual)]
                words = [text(setting.phrase(setting.of(spec))) for setting in settings]
                self.held.setText(sentence("ab_setup.held", settings=words))
        self.held.setVisible(bool(settings))

    def _spec(self, side: SideForm) -> RunSpec:
        spec = CATALOGUE[self.workload.currentData()].default_spec(
            "quick" if self.preset.value == "quick" else "standard",
            **({"data": self._services.preferences.settings.data} | side.values()),
        )
        return exact_spec(spec)

    def _connect(self) -> None:
        self.workload.currentIndexChanged.connect(self._on_workload)
        self.what.currentIndexChanged.connect(self._on_what)
        self.preset.chosen.connect(self._on_choice)
        self.pairs.valueChanged.connect(self._on_choice)
        self.by_hand.toggled.connect(self._on_choice)
        self.run_button.clicked.connect(self.run)
        for side in self.sides:
            side.changed.connect(self._on_choice)
        self._services.finder.found.connect(self._on_choice)
        self._services.engines.changed.connect(self._on_choice)
        self._services.preferences.changed.connect(self._on_choice)

    def _on_workload(self) -> None:
        for side in self.sides:
            side.take_workload(CATALOGUE[self.workload.currentData()])
        if self.what.currentData() == "batch_size":
            self.sides[1].differ("batch_size", self.sides[0])
        self._on_choice()

    def _on_choice(self) -> None:
        for side in self.sides:
            workload = CATALOGUE[self.workload.currentData()]
            side.offer(workload, self._services.engines.installed, self._services.finder.machine)
        self._check()
        self._show_held()
        self._latest.drop()
        self._soon.start()
        self._show_length(None)

    def _check(self) -> None:
        """Show problems with the setup immediately instead of after clicking Run."""
        machine = self._services.finder.machine
        if machine is None:
            self.run_button.setEnabled(False)
            return
        a, b, note = "A", "B", ""
        is_check = False  # whether both sides are equal
        try:
            self.preflight.show_choice(self._spec(self.sides[0]), machine)
            plan = self.plan()
            a, b = differing(*plan.specs)
            is_check = plan.has_equal_sides
            note = sentence("ab_setup.equal") if is_check else ""
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
        self.run_button.setText(sentence("group.kind_ab_check" if is_check else "ab_setup.run"))

    def _estimate(self) -> None:
        machine = self._services.finder.machine
        try:
            specs = self.plan().specs
        except UsageError:
            return
        if machine is None or specs[0].preset == "quick":
            return

        def look(database: Database) -> list[float | None]:
            return [expected_duration_s(database, spec, machine) for spec in specs]

        self._services.query(look, self._latest.only(self._on_expected))

    def _on_expected(self, durations_s: list[float | None]) -> None:
        expected_s = [duration_s for duration_s in durations_s if duration_s is not None]
        self._show_length(self.pairs.value() * sum(expected_s) if len(expected_s) == len(durations_s) else None)

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
        grid.setHorizontalSpacing(2 * GAP_PX)
        grid.setVerticalSpacing(GAP_PX)
        _add_box(grid, 0, self.what)
        for place, side in enumerate(self.sides, 1):
            head = label(sentence("ab_setup.side", side=side.side), weight=QFont.Weight.DemiBold)
            self._heads.append(head)
            grid.addWidget(head, 1, place)
            grid.setColumnStretch(place, 1)
        names = ("", *(setting.name for setting in side_settings()))
        titles = (sentence("heading.name"), *(text(setting.label) for setting in side_settings()))
        editors = zip(*(side.widgets for side in self.sides), strict=True)
        for number, (name, shown, pair) in enumerate(zip(names, titles, editors, strict=True), 2):
            self._rows[name] = [label(shown, muted=True), *pair]
            for place, widget in enumerate(self._rows[name]):
                grid.addWidget(widget, number, place)
        _add_box(grid, grid.rowCount(), self.workload)
        more = row(self.preset, label(sentence("ab_setup.pairs"), muted=True), self.pairs, None)
        self.more = Fold(self._services.theme, sentence("lab.more"), more)
        content = column(grid, self.by_hand, self.held, self.more, self.length, None, spacing_px=GAP_PX + 2)
        self.add_form(content, self.problem, self.preflight, self.run_button)


def _add_box(grid: QGridLayout, number: int, box: ChoiceBox) -> None:
    grid.addWidget(label(box.accessibleName(), muted=True), number, 0)
    grid.addWidget(box, number, 1, 1, 2)


def _is_usual(setting: Setting, spec: RunSpec, usual: RunSpec) -> bool:
    return (
        spec.jit == compiles_always(spec.engine)
        if setting.name == "jit"
        else setting.of(spec) == setting.of(usual)
    )
