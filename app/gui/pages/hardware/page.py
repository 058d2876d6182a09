"""The Hardware page: components, live telemetry and the doctor."""

from typing import TYPE_CHECKING

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLayout, QSizePolicy, QStackedWidget, QVBoxLayout, QWidget

from app.core.messages import sentence
from app.gui.pages.hardware.live_view import LiveView
from app.gui.services.bundle import Services
from app.gui.style.tokens import GAP_PX
from app.gui.widgets.basics import Button, panel, row, scrolled, title
from app.gui.widgets.segments import Segments

if TYPE_CHECKING:
    from app.gui.pages.hardware.doctor_view import DoctorView
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QLabel

from app.core.hardware.part_texts import NOT_KNOWN, MachinePart, machine_parts
from app.core.plain_text import safe_text
from app.gui.widgets.basics import Card, column, label, set_tip

ACTIONS_PX = 36  # reserved for the doctor's larger buttons, which are created later
VIEWS = ("parts", "live", "doctor")
NAME_PX, WORD_PX = 132, 420


class PartsView(QWidget):
    """Displays the computer's components."""

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services
        self._parts: tuple[MachinePart, ...] = ()
        self._table = QWidget()
        self.card = Card(sentence("compare.you"))
        self.card.note.hide()
        self.card.body.addWidget(self._table)
        self.setLayout(column(self.card, None))
        services.finder.found.connect(self.show_machine)
        self.show_machine()

    def show_machine(self) -> None:
        finder = self._services.finder
        parts = machine_parts(finder.machine, finder.power) if finder.machine else ()
        self._parts = tuple(part for part in parts if part.value != NOT_KNOWN)
        table = _table(self._parts)
        self.card.body.replaceWidget(self._table, table)
        self._table.setParent(None)
        self._table.deleteLater()
        self._table = table

    def text(self) -> str:
        return "".join(f"{part.name}: {part.value}\n" for part in self._parts)


def _table(parts: tuple[MachinePart, ...]) -> QWidget:
    grid = QGridLayout()
    grid.setContentsMargins(0, 0, 0, 0)
    grid.setHorizontalSpacing(2 * GAP_PX)
    grid.setVerticalSpacing(GAP_PX)
    grid.setColumnMinimumWidth(0, NAME_PX)
    grid.setColumnStretch(1, 1)
    if not parts:
        grid.addWidget(label(sentence("label.checking"), muted=True), 0, 0)
    for number, part in enumerate(parts):
        value = label(wrap=True)
        value.setText(_narrower(value, safe_text(part.value)))
        value.setAccessibleName(f"{part.name}: {part.value}" + (f" ({part.reason})" if part.reason else ""))
        value.setObjectName("value")
        value.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        set_tip(value, part.reason or (part.value if value.text() != safe_text(part.value) else ""))
        grid.addWidget(label(part.name, muted=True, wrap=True), number, 0, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(value, number, 1)
    return panel(grid)


def _narrower(shown: QLabel, text: str) -> str:
    """Elide long words, because Qt breaks lines only between words."""
    metrics = shown.fontMetrics()
    words = (metrics.elidedText(word, Qt.TextElideMode.ElideMiddle, WORD_PX) for word in text.split(" "))
    return " ".join(words)


class HardwarePage(QWidget):
    """Displays one view at a time. Hidden views use no resources."""

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services
        self._doctor: DoctorView | None = None
        self.parts, self.live = PartsView(services), LiveView(services)
        self.views = Segments(
            services.theme,
            sentence("hardware_page.view"),
            tuple((name, sentence(f"hardware_page.{name}")) for name in VIEWS),
        )
        self.pages = QStackedWidget()
        for view in (self.parts, self.live):
            self.pages.addWidget(scrolled(view))
        self.views.chosen.connect(self._on_view)
        self.copy_button = Button(services.theme, sentence("button.copy"), "copy", do=self._on_copy)
        self.copy_button.setAccessibleName(sentence("hardware_page.copy_parts"))
        self.look_button = Button(services.theme, sentence("hardware_page.refresh"), "rotate-ccw")
        self.look_button.clicked.connect(self._on_look)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(3 * GAP_PX, 2 * GAP_PX, 3 * GAP_PX, 2 * GAP_PX)
        layout.setSpacing(GAP_PX + 4)
        self._actions = QStackedWidget()
        for actions in (row(None, self.copy_button, self.look_button), row(None)):
            self._add_actions(actions)
        self._actions.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._actions.setFixedHeight(ACTIONS_PX)
        layout.addLayout(row(title(sentence("page.hardware")), self.views, self._actions, spacing_px=2 * GAP_PX))
        layout.addWidget(self.pages, stretch=1)
        services.finder.found.connect(self._on_found)
        self._on_found()
        self.show_view("parts")

    @property
    def doctor(self) -> "DoctorView":
        """The doctor view, created on first use, because this takes as long as creating the rest of the page."""
        return self._doctor or self._make_doctor()

    def cancel(self) -> None:
        if self._doctor is not None:
            self._doctor.cancel()

    def show_view(self, name: str) -> None:
        self.views.select(name)
        self._on_view(name)

    def _on_view(self, name: str) -> None:
        number = VIEWS.index(name)
        if name == "doctor" and self._doctor is None:
            self._make_doctor()
        self.pages.setCurrentIndex(number)
        self._actions.setCurrentIndex(number)

    def _make_doctor(self) -> "DoctorView":
        from app.gui.pages.hardware.doctor_view import DoctorView

        self._doctor = DoctorView(self._services)
        self.pages.addWidget(scrolled(self._doctor))
        self._add_actions(row(None, self._doctor.buttons))
        return self._doctor

    def _add_actions(self, actions: QLayout) -> None:
        self._actions.addWidget(panel(actions))

    def _on_look(self) -> None:
        self.look_button.setEnabled(False)
        self._services.finder.look()

    def _on_found(self) -> None:
        is_found = self._services.finder.machine is not None
        self.look_button.setEnabled(is_found)
        self.copy_button.setEnabled(is_found)

    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self.parts.text())
        self._services.notify(sentence("hardware_page.parts_copied"), "", "", None)
