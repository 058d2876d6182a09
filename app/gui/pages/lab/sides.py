"""The form for the sides of an A/B test: what differs, and the values of both sides."""

import contextlib
from collections.abc import Sequence

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QCheckBox, QGridLayout, QWidget

from app.core.errors import UsageError
from app.core.messages import sentence, text
from app.core.records import Plan
from app.core.runs.plan_session import LABEL_LIMIT
from app.core.runs.runner import exact_spec
from app.core.titles import differing
from app.gui.pages.lab.side_form import SideForm, side_settings
from app.gui.services.bundle import Services
from app.gui.style.tokens import GAP_PX
from app.gui.widgets.basics import column, give_way, guard_wheel, label, set_tip
from app.gui.widgets.choice_box import ChoiceBox
from workloads import CATALOGUE, STANDARD
from workloads.engines.registry import compiles_always
from workloads.protocol.spec import Preset, RunSpec
from workloads.settings import Setting
from workloads.workload import Workload

# What differs, other than a single setting.
SEVERAL, BY_HAND, NOTHING = "several", "by_hand", "nothing"
_USUAL = "jit"
RARELY_ALONE = ("seed", "onednn")  # settings that can only be among several ones


class SidesForm(QWidget):
    """The editors of both sides. Only the settings that differ are shown.

    `what` differs is the name of a setting, `SEVERAL` settings, something changed `BY_HAND`, or `NOTHING`.
    """

    changed = Signal()

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services
        self._workload: Workload = CATALOGUE[STANDARD]
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
        self._lay_out()
        self.what.currentIndexChanged.connect(self._on_what)
        self.by_hand.toggled.connect(self.changed)
        for side in self.sides:
            side.changed.connect(self.changed)
        self.take_workload(self._workload)
        self._on_what()

    def specs(self, preset: Preset) -> tuple[RunSpec, RunSpec]:
        """Return the specs of both sides. Raises UsageError with a message for the user if one isn't possible."""
        a, b = (self._spec(side, preset) for side in self.sides)
        return a, b

    def labels(self, specs: Sequence[RunSpec]) -> tuple[str, str]:
        """Return the names of the sides: those typed in or, by default, what differs."""
        a, b = (
            " ".join(side.name.text().split()) or differs_in
            for side, differs_in in zip(self.sides, differing(*specs), strict=True)
        )
        return (a[:LABEL_LIMIT], b[:LABEL_LIMIT]) if a != b else ("A", "B")

    def show_defaults(self, names: Sequence[str]) -> None:
        """Show the default names of the sides."""
        for side, name in zip(self.sides, names, strict=True):
            side.name.setPlaceholderText(name)

    def refill(self, plan: Plan) -> None:
        """Fill in the form from a plan. Values without an editor, such as folders, are ignored."""
        self.by_hand.setChecked(plan.by_hand)
        names = (plan.label_a, plan.label_b)
        of_settings = differing(*plan.specs[:2])
        for side, spec, name, own in zip(self.sides, plan.specs, names, of_settings, strict=False):
            side.refill(spec)
            # Leave the field empty if the name equals the default, so that it changes with the settings.
            side.name.setText("" if name in (side.side, own[:LABEL_LIMIT]) else name)
        self._choose(self._differing(plan))

    def vary(self, plan: Plan) -> None:
        """Fill both sides from a plan with equal sides, except for what differs."""
        what = self.what.currentIndex()
        self.refill(plan)
        self.what.setCurrentIndex(what)
        self._on_what()
        self.what.setFocus()

    def take_workload(self, workload: Workload) -> None:
        self._workload = workload
        for side in self.sides:
            side.take_workload(workload)
        if self.what.currentData() == "batch_size":
            self.sides[1].differ("batch_size", self.sides[0])
        self.offer()

    def offer(self) -> None:
        """Offer the engines and devices that are there, and say which settings both sides share."""
        for side in self.sides:
            side.offer(self._workload, self._services.engines.installed, self._services.finder.machine)
        self._show_held()

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
            usual = self._workload.default_spec("quick")
            with contextlib.suppress(UsageError):  # shown as the problem
                spec = self._spec(self.sides[0], "quick")
                hidden = (setting for setting in side_settings() if setting.name != what)
                settings = [setting for setting in hidden if not _is_usual(setting, spec, usual)]
                words = [text(setting.phrase(setting.of(spec))) for setting in settings]
                self.held.setText(sentence("ab_setup.held", settings=words))
        self.held.setVisible(bool(settings))

    def _spec(self, side: SideForm, preset: Preset) -> RunSpec:
        data = {"data": self._services.preferences.settings.data}
        return exact_spec(self._workload.default_spec(preset, **(data | side.values())))

    def _lay_out(self) -> None:
        grid = QGridLayout()
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(2 * GAP_PX)
        grid.setVerticalSpacing(GAP_PX)
        grid.addWidget(label(self.what.accessibleName(), muted=True), 0, 0)
        grid.addWidget(self.what, 0, 1, 1, 2)
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
        self.setLayout(column(grid, self.by_hand, self.held, spacing_px=GAP_PX + 2))


def _is_usual(setting: Setting, spec: RunSpec, usual: RunSpec) -> bool:
    return (
        spec.jit == compiles_always(spec.engine)
        if setting.name == "jit"
        else setting.of(spec) == setting.of(usual)
    )
