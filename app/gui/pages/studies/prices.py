"""What the user's computer costs, and where prices of rented devices can be edited."""

from PySide6.QtWidgets import QDialog, QDialogButtonBox, QDoubleSpinBox, QFormLayout, QWidget

from app.core.errors import AppError
from app.core.messages import sentence
from app.core.settings import OwnComputer
from app.gui.services.bundle import Services
from app.gui.widgets.basics import column, guard_wheel, label
from app.gui.widgets.editors import indented

# Field, most, decimals, step; 0 means not told for those that may be unknown.
_FIELDS = (
    ("power_w", 5_000.0, 0, 10.0),
    ("electricity_usd_per_kwh", 10.0, 3, 0.01),
    ("purchase_usd", 1_000_000.0, 0, 50.0),
    ("lifetime_years", 30.0, 1, 0.5),
    ("hours_per_month", 744.0, 0, 5.0),
)
_ALWAYS_KNOWN = ("lifetime_years", "hours_per_month")


class PricesDialog(QDialog):
    """Asks for the costs of this computer."""

    def __init__(self, services: Services, parent: QWidget) -> None:
        super().__init__(parent)
        self._services = services
        self.setWindowTitle(sentence("studies_page.prices_title"))
        own = services.preferences.settings.own_computer
        form = QFormLayout()
        self.editors: dict[str, QDoubleSpinBox] = {}
        for name, most, decimals, step in _FIELDS:
            editor = indented(QDoubleSpinBox(maximum=most, decimals=decimals, singleStep=step))
            if name in _ALWAYS_KNOWN:
                editor.setMinimum(step)
            else:
                editor.setSpecialValueText(sentence("studies_page.unknown"))
            editor.setValue(getattr(own, name) or 0.0)
            text = sentence(f"studies_page.{name}")
            editor.setAccessibleName(text)
            guard_wheel(editor)
            form.addRow(text, editor)
            self.editors[name] = editor
        buttons = QDialogButtonBox.StandardButton
        self.buttons = QDialogButtonBox(buttons.Save | buttons.Cancel)
        self.buttons.accepted.connect(self._save)
        self.buttons.rejected.connect(self.reject)
        path = str(services.paths.prices)
        note = label(sentence("studies_page.prices_note", path=path), muted=True, wrap=True)
        self.setLayout(column(form, note, self.buttons))

    def values(self) -> OwnComputer:
        """Return what was entered."""
        typed = {name: editor.value() for name, editor in self.editors.items()}
        entered = {name: value for name, value in typed.items() if value or name in _ALWAYS_KNOWN}
        return OwnComputer(**entered)

    def _save(self) -> None:
        try:
            self._services.preferences.change(own_computer=self.values())
        except AppError as error:
            self._services.complain(error)
        self.accept()
