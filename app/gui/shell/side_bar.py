"""The sidebar with the list of pages, and the button of the menu."""

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QSize, Qt, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QFrame, QMenu, QVBoxLayout

from app.core.messages import sentence
from app.gui.shell.pages import PageEntry
from app.gui.style.icons import application_icon
from app.gui.style.theme import Theme
from app.gui.style.tokens import GAP_PX, WIDE_WINDOW_PX
from app.gui.widgets.basics import Button, label, row, set_tip

WIDTH_PX, NARROW_PX = 176, 64
MARGIN_PX, NARROW_MARGIN_PX = 5, 12


class SideBar(QFrame):
    """Lists the pages as buttons, above the button of a menu, which is hidden where the system has a menu bar."""

    chosen = Signal(str)

    def __init__(self, theme: Theme, pages: Sequence[PageEntry]) -> None:
        super().__init__()
        self.setObjectName("sideBar")
        self.setFixedWidth(WIDTH_PX)
        self._is_narrow = False
        self.setAccessibleName(sentence("window.pages"))
        picture = label()
        picture.setPixmap(application_icon().pixmap(QSize(24, 24)))
        layout = self._layout = QVBoxLayout(self)
        self._name = label("Epochmark", 16, QFont.Weight.Bold)
        self._head = row(picture, self._name, None, spacing_px=10)
        layout.addLayout(self._head)
        self.places: dict[str, Button] = {}
        self._buttons: dict[Button, str] = {}  # with their titles
        for page in pages:
            place = Button(theme, "", page.icon, kind="place")
            place.clicked.connect(lambda _=False, code=page.code: self.chosen.emit(code))
            layout.addWidget(place)
            self.places[page.code] = place
            self._buttons[place] = sentence(page.title)
        self.menu = QMenu(self)
        self.menu_button = Button(theme, "", "menu", kind="place")
        self.menu_button.setAutoExclusive(False)  # it isn't a page
        self.menu_button.setCheckable(False)
        self.menu_button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.menu_button.clicked.connect(self._open_menu)
        self._buttons[self.menu_button] = sentence("menu.title")
        layout.addStretch(1)
        layout.addWidget(self.menu_button)
        self._show_titles()

    def fit(self, window_px: int) -> bool:
        """Show titles in a wide window, icons with tooltips in a narrow one. Return whether the mode changed."""
        is_narrow = window_px < WIDE_WINDOW_PX
        if is_narrow == self._is_narrow:
            return False
        self._is_narrow = is_narrow
        self._show_titles()
        return True

    def mark(self, code: str) -> None:
        self.places[code].setChecked(True)

    def _open_menu(self) -> None:
        height_px = self.menu.sizeHint().height()
        self.menu.popup(self.menu_button.mapToGlobal(QPoint(0, -height_px)))

    def _show_titles(self) -> None:
        is_narrow = self._is_narrow
        self._name.setVisible(not is_narrow)
        self.setFixedWidth(NARROW_PX if is_narrow else WIDTH_PX)
        margin = NARROW_MARGIN_PX if is_narrow else MARGIN_PX
        self._layout.setContentsMargins(margin, 2 * GAP_PX, margin, 2 * GAP_PX)
        self._head.setContentsMargins(8 if is_narrow else 11, 0, 0, 2 * GAP_PX)  # in line with the icons below
        self._layout.setSpacing(0 if is_narrow else 4)  # narrow windows may be low as well
        for button, title in self._buttons.items():
            button.setText("" if is_narrow else title)
            button.setAccessibleName(title)
            set_tip(button, title if is_narrow else "")
