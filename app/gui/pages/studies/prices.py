"""A dialog for the costs of the user's computer and its devices."""

from typing import Any

from PySide6.QtWidgets import QDialog, QDialogButtonBox, QDoubleSpinBox, QFormLayout, QGridLayout, QWidget

from app.core.errors import AppError
from app.core.messages import sentence
from app.core.plain_text import one_line
from app.core.plans.study.own_prices import DeviceRow, device_rows, with_device
from app.core.report.share_texts import DEVICE_CHARS
from app.core.settings import OwnComputer, OwnDevice
from app.gui.services.bundle import Services
from app.gui.style.tokens import GAP_PX
from app.gui.widgets.basics import column, guard_wheel, label
from app.gui.widgets.editors import indented

# Field, maximum, decimals and step. For fields that may be unknown, 0 means unknown.
_FIELDS = (
    ("power_w", 1_000_000.0, 0, 10.0),
    ("electricity_usd_per_kwh", 1_000_000.0, 3, 0.01),
    ("purchase_usd", 1_000_000.0, 0, 50.0),
    ("lifetime_years", 100.0, 1, 0.5),
    ("hours_per_month", 744.0, 1, 5.0),
)
_OF_DEVICE = tuple(field for field in _FIELDS if field[0] in OwnDevice.__struct_fields__)
LEAST = 0.1
_ALWAYS_KNOWN = ("lifetime_years", "hours_per_month")
_NAME_PX = 260


class PricesDialog(QDialog):
    """Lets the user enter the costs of this computer, and different values for its devices.

    Attributes:
        editors: Editors for the computer, by field.
        device_editors: Editors for devices, by device name and field.
    """

    def __init__(self, services: Services, parent: QWidget) -> None:
        super().__init__(parent)
        self._services = services
        self.setWindowTitle(sentence("studies_page.prices_title"))
        own = services.preferences.settings.own_computer
        form = QFormLayout()
        self.editors: dict[str, QDoubleSpinBox] = {}
        # The initially displayed value of each editor, and the stored value.
        self._before: dict[QDoubleSpinBox, tuple[float, float | None]] = {}
        for field in _FIELDS:
            text = sentence(f"studies_page.{field[0]}")
            value = getattr(own, field[0])
            self.editors[field[0]] = editor = _editor(field, value, text)
            self._before[editor] = editor.value(), value
            form.addRow(text, editor)
        self.device_editors: dict[str, dict[str, QDoubleSpinBox]] = {}
        devices = self._devices(device_rows(services.finder.machine, own))
        buttons = QDialogButtonBox.StandardButton
        self.buttons = QDialogButtonBox(buttons.Save | buttons.Cancel)
        self.buttons.accepted.connect(self._save)
        self.buttons.rejected.connect(self.reject)
        path = str(services.paths.prices)
        note = label(sentence("studies_page.prices_note", path=path), muted=True, wrap=True)
        about = label(sentence("studies_page.devices_note"), muted=True, wrap=True)
        whole = column(form, about, devices, note, self.buttons)
        whole.setContentsMargins(2 * GAP_PX, 2 * GAP_PX, 2 * GAP_PX, 2 * GAP_PX)
        self.setLayout(whole)

    def values(self) -> OwnComputer:
        typed = {name: self._entered(editor) for name, editor in self.editors.items()}
        amounts: dict[str, Any] = {name: value for name, value in typed.items() if value is not None}
        own = OwnComputer(**amounts)
        for device, editors in self.device_editors.items():
            entered = {name: self._entered(editor) for name, editor in editors.items()}
            own = with_device(own, device, OwnDevice(**entered))
        return own

    def _entered(self, editor: QDoubleSpinBox) -> float | None:
        """Return an editor's value; None for its special text. An unchanged value isn't rounded."""
        shown, stored = self._before[editor]
        if editor.value() == shown:
            return stored
        is_special = bool(editor.specialValueText()) and editor.value() == editor.minimum()
        return None if is_special else editor.value()

    def _devices(self, rows: list[DeviceRow]) -> QGridLayout:
        grid = QGridLayout()
        grid.setColumnStretch(0, 1)
        grid.addWidget(label(sentence("studies_page.device"), muted=True), 0, 0)
        for place, field in enumerate(_OF_DEVICE, 1):
            grid.addWidget(label(sentence(f"studies_page.{field[0]}"), muted=True), 0, place)
        for line, row in enumerate(rows, 1):
            shown = one_line(row.name, DEVICE_CHARS)
            name = label(shown, wrap=True)
            name.setMinimumWidth(_NAME_PX)
            grid.addWidget(name, line, 0)
            self.device_editors[row.name] = {}
            for place, field in enumerate(_OF_DEVICE, 1):
                what = sentence(f"studies_page.{field[0]}")
                text = sentence("studies_page.price_of", device=shown, what=what)
                value = getattr(row.prices, field[0])
                editor = _editor(field, value, text, sentence("studies_page.as_computer"))
                self._before[editor] = editor.value(), value
                self.device_editors[row.name][field[0]] = editor
                grid.addWidget(editor, line, place)
        return grid

    def _save(self) -> None:
        try:
            self._services.preferences.change(own_computer=self.values())
        except AppError as error:
            self._services.complain(error)
        self.accept()


def _editor(
    field: tuple[str, float, int, float], value: float | None, text: str, otherwise: str = ""
) -> QDoubleSpinBox:
    """Return an editor for an amount. Its minimum means "unknown" or, if given, `otherwise`."""
    name, most, decimals, step = field
    editor = indented(QDoubleSpinBox(maximum=most, decimals=decimals, singleStep=step))
    if name in _ALWAYS_KNOWN:
        editor.setMinimum(LEAST)
    else:
        editor.setMinimum(-1.0 if otherwise else 0.0)
        editor.setSpecialValueText(otherwise or sentence("studies_page.unknown"))
    editor.setValue(editor.minimum() if value is None else value)
    editor.setAccessibleName(text)
    guard_wheel(editor)
    return editor
