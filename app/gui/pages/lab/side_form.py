"""The editors for one side. Those of engine, device and compilation depend on each other."""

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QComboBox, QLineEdit, QSpinBox, QWidget

from app.core.engines.choices import Installed, device_choices
from app.core.messages import sentence, text
from app.core.runs.plan_session import LABEL_LIMIT
from app.gui.widgets.basics import give_way, guard_wheel
from app.gui.widgets.device_list import DeviceList, EngineList
from app.gui.widgets.editors import INT_LIMIT, Editor, Switch, edited_value, make_editor, set_edited
from workloads import CATALOGUE, STANDARD
from workloads.engines.registry import ENGINES, compiles_always, engine_title
from workloads.protocol.machine import Machine
from workloads.protocol.parameters import Whole
from workloads.protocol.spec import ParameterValue, RunSpec
from workloads.settings import Setting, all_settings
from workloads.workload import Workload

EDITOR_PX = 96
_ONLY_HERE = ("engine", "device", "power_limit_w")  # settings that the run form omits or selects in another way


class SideForm(QObject):
    """The editors for one side.

    Attributes:
        engine, device, compiled: Three of the editors, which depend on each other.
    """

    changed = Signal()

    def __init__(self, side: str) -> None:
        super().__init__()
        self.side = side
        self.name = QLineEdit(maxLength=LABEL_LIMIT, placeholderText=side)
        self._dress(self.name, sentence("heading.name"))
        self.name.textChanged.connect(self.changed)
        usual = CATALOGUE[STANDARD]
        self.engine, self.device = EngineList(), DeviceList(brief=True)
        self.editors = {setting.name: self._editor(setting, usual) for setting in side_settings()}
        compiled = self.editors["jit"]
        assert isinstance(compiled, Switch)
        self.compiled = compiled

    @property
    def widgets(self) -> tuple[QWidget, ...]:
        return (self.name, *self.editors.values())

    def values(self) -> dict[str, ParameterValue | None]:
        return {setting.name: self._value(setting) for setting in side_settings()}

    def take_workload(self, workload: Workload) -> None:
        for parameter in workload.setting_parameters():
            editor = self.editors.get(parameter.name)
            if isinstance(editor, QSpinBox) and isinstance(parameter.kind, Whole):
                editor.setRange(int(parameter.kind.minimum or 0), int(parameter.kind.maximum or INT_LIMIT))
                editor.setValue(int(parameter.default))
            elif editor is not None and parameter.name == "precision":
                set_edited(editor, parameter.default)

    def refill(self, spec: RunSpec) -> None:
        """Fill the editors with a side's spec. The name is kept."""
        self.engine.select(spec.engine)
        self.device.select(spec.engine, spec.device)
        if spec.device == "auto":
            self.device.setCurrentIndex(0)
        for setting in side_settings():
            editor = self.editors[setting.name]
            if setting.name not in ("engine", "device") and editor.isEnabled():  # some allow one value only
                set_edited(editor, setting.in_editor(setting.of(spec)))

    def copy(self, other: "SideForm") -> None:
        self.engine.select(other.engine.engine)
        if other.device.currentIndex():
            self.device.select(self.engine.engine, other.device.device or "")
        else:
            self.device.setCurrentIndex(0)
        for name, editor in self.editors.items():
            if editor not in (self.engine, self.device) and editor.isEnabled():  # some allow one value only
                set_edited(editor, edited_value(other.editors[name]))

    def differ(self, name: str, other: "SideForm") -> None:
        """For a setting, choose a value that differs from the other side's value, if there is one."""
        editor, counterpart = self.editors[name], other.editors[name]
        if editor is self.engine:
            self.engine.select_other(other.engine.engine)
        elif isinstance(editor, Switch) and isinstance(counterpart, Switch) and editor.isEnabled():
            editor.setChecked(not counterpart.isChecked())
        elif isinstance(editor, QComboBox) and isinstance(counterpart, QComboBox):
            editor.setCurrentIndex((counterpart.currentIndex() + 1) % editor.count())
        elif isinstance(editor, QSpinBox) and isinstance(counterpart, QSpinBox):
            value = counterpart.value()
            editor.setValue(2 * value or 1)
            if editor.value() == value:  # the maximum
                editor.setValue(value // 2)

    def offer(self, workload: Workload, installed: Installed, machine: Machine | None) -> None:
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
            editor = make_editor(setting.parameter(workload.setting_default(setting)), self.changed)
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
    shown = (setting for setting in all_settings() if setting.in_ab and setting.is_choice)
    return [setting for setting in shown if setting.in_form or setting.name in _ONLY_HERE]
