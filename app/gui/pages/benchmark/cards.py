"""The cards of the first screen, one of which is chosen."""

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QSizePolicy

from app.core.messages import sentence
from app.gui.style.theme import Theme, font
from app.gui.style.tokens import LABEL_PX, TEXT_PX
from app.gui.widgets.basics import Button, ClampedLabel, column, label, row

TITLE_LINES, TEXT_LINES, MARGIN_PX, LEAST_PX = 2, 3, 12, 160


class ChoiceCard(Button):
    """A card with a title, a time and a text. All of it is one radio button."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "", kind="segment")
        self.title = ClampedLabel(TITLE_LINES, TEXT_PX + 2, muted=False)
        self.title.setFont(font(TEXT_PX + 2, QFont.Weight.DemiBold))
        self.time = label("", LABEL_PX, muted=True)
        self.text_below = ClampedLabel(TEXT_LINES, LABEL_PX + 1, kept=TEXT_LINES)
        head = row(self.title, self.time, stretch=0)
        head.setAlignment(self.time, Qt.AlignmentFlag.AlignTop)
        content = column(head, self.text_below, None, spacing_px=4)
        content.setContentsMargins(MARGIN_PX, MARGIN_PX - 2, MARGIN_PX, MARGIN_PX - 2)
        self.setLayout(content)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        for part in (self.title, self.time, self.text_below):
            part.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)

    def show_choice(self, title: str, time: str, text: str) -> None:
        self.title.show_text(title)
        self.time.setText(time)
        self.text_below.show_text(text)
        self.setAccessibleName(sentence("setup.card_name", title=title, time=time, text=text))

    def sizeHint(self) -> QSize:
        return self.minimumSizeHint()

    def minimumSizeHint(self) -> QSize:
        layout = self.layout()
        return QSize(LEAST_PX, 0 if layout is None else layout.minimumSize().height())
