"""The progress of an operation that can be cancelled: a line of text, a bar and a button."""

from PySide6.QtWidgets import QProgressBar, QWidget

from app.core.messages import sentence
from app.gui.style.theme import Theme
from app.gui.widgets.basics import Button, ElidedLabel, column, row

PERMILLE = 1_000


class ProgressRow(QWidget):
    """Displays the progress of an operation. The owner connects the button."""

    def __init__(self, theme: Theme, name: str, cancel: str) -> None:
        super().__init__()
        self.text = ElidedLabel(muted=True)
        self.bar = QProgressBar(maximum=PERMILLE, textVisible=False)
        self.bar.setAccessibleName(name)
        self.cancel_button = Button(theme, sentence("button.cancel"), "x")
        self.cancel_button.setAccessibleName(cancel)
        both = row(column(None, self.text, self.bar, None, spacing_px=4), self.cancel_button)
        both.setStretch(0, 1)
        self.setLayout(both)

    def show_progress(self, text: str, share: float, *, may_cancel: bool) -> None:
        self.text.show_text(text)
        self.bar.setValue(round(PERMILLE * share))
        self.cancel_button.setEnabled(may_cancel)
