"""A form generated from parameter declarations, with a row for each."""

from collections.abc import Container, Mapping, Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from app.core.messages import message
from app.core.messages import text as text_of
from app.core.runs.plan_session import REPEATS_LIMIT
from app.gui.style.tokens import GAP_PX
from app.gui.widgets.basics import guard_wheel, label, set_tip
from app.gui.widgets.editors import Editor, Switch, edited_value, make_editor, set_edited
from workloads.protocol.parameters import OnOff, Parameter, Whole
from workloads.protocol.spec import ParameterValue
from workloads.settings import all_settings
from workloads.workload import Workload


class ParameterForm(QWidget):
    """Edits values within their declared limits."""

    changed = Signal()

    def __init__(
        self,
        parameters: Sequence[Parameter],
        names: Mapping[str, str] | None = None,
        *,
        folded: Container[str] = (),
    ) -> None:
        super().__init__()
        self.rest = QWidget()  # another widget, with the rows of the `folded` parameters
        self._editors: dict[str, Editor] = {}
        for widget in (self, self.rest):
            grid = QGridLayout(widget)  # a grid centres labels vertically
            grid.setContentsMargins(0, 0, 0, 0)
            grid.setSpacing(GAP_PX)
            grid.setColumnStretch(1, 1)
        for place, parameter in enumerate(parameters):
            form = (self.rest if parameter.name in folded else self).layout()
            assert isinstance(form, QGridLayout)
            name = (names or {}).get(parameter.name) or text_of(parameter.label)
            tip = text_of(parameter.description)
            editor = make_editor(parameter, self.changed)
            guard_wheel(editor)
            editor.setAccessibleName(name)
            set_tip(editor, tip)
            text: QLabel = label(name, muted=True)
            set_tip(text, tip)
            text.setBuddy(editor)
            form.addWidget(text, place, 0)
            form.addWidget(editor, place, 1)
            self._editors[parameter.name] = editor

    def values(self) -> dict[str, ParameterValue]:
        return {name: edited_value(editor) for name, editor in self._editors.items()}

    def set_value(self, name: str, value: ParameterValue) -> None:
        set_edited(self._editors[name], value)

    def enable(self, names: Sequence[str], *, is_enabled: bool) -> None:
        """Enable or disable the editors of parameters. Names without an editor are ignored."""
        for name in names:
            if name in self._editors:
                self._editors[name].setEnabled(is_enabled)

    def keep_on(self, name: str, reason: str) -> None:
        """Lock a switch in the on position for the given reason; "" unlocks it."""
        editor = self._editors[name]
        assert isinstance(editor, Switch)
        editor.keep_on(reason)


def run_form(workload: Workload, *, several_engines: bool) -> ParameterForm:
    """Return the form for a run: the workload's parameters, run settings, repetitions and engines."""
    rows = [
        *workload.parameters,
        *workload.setting_parameters(),
        Parameter("repeat", Whole(1, REPEATS_LIMIT), 1, message("setup.repeat")),
    ]
    if several_engines:
        rows.append(Parameter("all_engines", OnOff(), False, message("setup.all_engines")))
    usual = {"epochs", "repeat", *(parameter.name for parameter in workload.parameters if parameter.required)}
    folded = {row.name for row in rows} - usual
    return ParameterForm(rows, {setting.name: text_of(setting.label) for setting in all_settings()}, folded=folded)
