"""The sidebar with the list of pages."""

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QFrame, QVBoxLayout

from app.core.messages import sentence
from app.gui.shell.pages import PageEntry
from app.gui.style.icons import application_icon
from app.gui.style.theme import Theme
from app.gui.style.tokens import GAP_PX, LABEL_PX, WIDE_WINDOW_PX
from app.gui.widgets.basics import Button, label, line, row, set_tip

WIDTH_PX, NARROW_PX = 176, 64
MARGIN_PX, NARROW_MARGIN_PX = 5, 12


class SideBar(QFrame):
    """Lists the pages as buttons.

    Signals:
        change_wanted: The user wants to compare something, without choosing a page.
    """

    chosen = Signal(str)
    change_wanted = Signal()

    def __init__(self, theme: Theme, pages: Sequence[PageEntry]) -> None:
        super().__init__()
        self.setObjectName("sideBar")
        self.setFixedWidth(WIDTH_PX)
        self._is_narrow = False
        self.setAccessibleName(sentence("window.pages"))
        picture = label()
        picture.setPixmap(application_icon().pixmap(QSize(24, 24)))
        layout = QVBoxLayout(self)
        self._layout = layout
        self._name = label("Epochmark", 16, QFont.Weight.Bold)
        head = row(picture, self._name, None, spacing_px=10)
        self._head = head
        layout.addLayout(head)
        self.places: dict[str, Button] = {}
        self._titles = {page.code: sentence(page.title) for page in pages}
        self._lab = label(sentence("window.lab"), LABEL_PX, muted=True)
        self._lab.setContentsMargins(10, 0, 0, 0)
        self.change_button = Button(theme, "", "sliders-horizontal", kind="place")
        self.change_button.setAutoExclusive(False)  # it opens a dialog
        self.change_button.setCheckable(False)
        self.change_button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.change_button.clicked.connect(lambda _=False: self.change_wanted.emit())
        section = ""
        for page in pages:
            if page.section != section:
                section = page.section
                if section == "lab":
                    layout.addSpacing(GAP_PX)
                    layout.addWidget(line())
                    layout.addWidget(self._lab)
                    layout.addWidget(self.change_button)
                else:
                    layout.addStretch(1)
            place = Button(theme, self._titles[page.code], page.icon, kind="place")
            place.clicked.connect(lambda _=False, code=page.code: self.chosen.emit(code))
            layout.addWidget(place)
            self.places[page.code] = place
        self._show_titles()

    def fit(self, window_px: int) -> bool:
        """Show titles in a wide window, icons with tooltips in a narrow one. Return whether the mode changed."""
        is_narrow = window_px < WIDE_WINDOW_PX
        if is_narrow == self._is_narrow:
            return False
        self._is_narrow = is_narrow
        self._show_titles()
        return True

    def _show_titles(self) -> None:
        is_narrow = self._is_narrow
        for part in (self._name, self._lab):
            part.setVisible(not is_narrow)
        self.setFixedWidth(NARROW_PX if is_narrow else WIDTH_PX)
        margin = NARROW_MARGIN_PX if is_narrow else MARGIN_PX
        self._layout.setContentsMargins(margin, 2 * GAP_PX, margin, 2 * GAP_PX)
        self._head.setContentsMargins(8 if is_narrow else 11, 0, 0, 2 * GAP_PX)  # in line with the icons below
        self._layout.setSpacing(0 if is_narrow else 4)  # narrow windows may be low as well
        entries = [(place, self._titles[code], "") for code, place in self.places.items()]
        entries.append((self.change_button, sentence("change_dialog.open"), sentence("change_dialog.open_tip")))
        for place, title, tip in entries:
            place.setText("" if is_narrow else title)
            place.setAccessibleName(title)
            set_tip(place, title if is_narrow else tip)

    def mark(self, code: str) -> None:
        self.places[code].setChecked(True)
