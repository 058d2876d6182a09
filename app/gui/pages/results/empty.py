"""What stands in the place of the table while no run fits."""

from PySide6.QtCore import Qt

from app.core.messages import sentence
from app.gui.style.tokens import GAP_PX
from app.gui.widgets.basics import Button, Card, column, label, row, title


class EmptyCard(Card):
    """Says why there are no rows, and offers to run something if there are no runs at all."""

    def __init__(self, first_button: Button) -> None:
        super().__init__()
        self._first_button = first_button
        self._text = label("", muted=True, wrap=True)
        self._title = title("")
        for each in (self._text, self._title):
            each.setAlignment(Qt.AlignmentFlag.AlignCenter)
        middle = row(None, first_button, None)
        self.body.addLayout(column(None, self._title, self._text, middle, None, spacing_px=2 * GAP_PX))

    def show_reason(self, *, is_filtered: bool) -> None:
        """Say that nothing matches, or that there is nothing."""
        self._title.setText(sentence("results_page.no_match" if is_filtered else "results_page.no_results"))
        note = "results_page.no_match_note" if is_filtered else "results_page.no_results_note"
        self._text.setText(sentence(note))
        self._first_button.setVisible(not is_filtered)
