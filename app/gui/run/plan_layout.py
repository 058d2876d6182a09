"""The layout of pages for plans: the setup next to a card that shows the result."""

from collections.abc import Sequence

from PySide6.QtWidgets import QComboBox, QHBoxLayout, QSizePolicy, QStackedWidget, QVBoxLayout, QWidget

from app.core.messages import sentence
from app.gui.style.tokens import GAP_PX
from app.gui.widgets.basics import Card, give_way, instructions, label, row, set_tip, title


class ResultCard(Card):
    """Displays a result, or instructions while there is none. Stored results can be selected above the result.

    A step of the instructions is an icon and a message code. `foot` displays the progress.
    """

    def __init__(
        self,
        heading: str,
        steps: Sequence[tuple[str, str]],
        history: QComboBox,
        *,
        shown: QWidget,
        foot: QWidget,
        below: QWidget | None = None,
    ) -> None:
        super().__init__(sentence("heading.result"))
        texts = [(sign, sentence(step)) for sign, step in steps]
        self.stack = QStackedWidget()
        self.stack.addWidget(instructions(sentence(heading), texts, below))
        self.stack.addWidget(shown)
        history.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.note.hide()
        self.corner.addWidget(history, stretch=1)
        self.body.addWidget(self.stack, stretch=1)
        self.body.addWidget(foot)

    def show_result(self, *, is_there: bool) -> None:
        self.stack.setCurrentIndex(1 if is_there else 0)


class SetupOrResult(QStackedWidget):
    """Displays the setup of a plan, or instead of it a result and, below it, the progress."""

    def __init__(self, setup: QWidget, shown: QWidget, foot: QWidget) -> None:
        super().__init__()
        card = Card()
        card.body.addWidget(shown, stretch=1)
        card.body.addWidget(foot)
        self.addWidget(setup)
        self.addWidget(card)

    def show_result(self, *, is_there: bool) -> None:
        self.setCurrentIndex(1 if is_there else 0)


def name_box(box: QComboBox, code: str) -> None:
    """Set a box's tooltip and its name for screen readers, and allow the box to be narrow."""
    box.setAccessibleName(sentence(code))
    set_tip(box, sentence(code))
    give_way(box)


def lay_out_halves(page: QWidget, head: tuple[str, str], setup: QWidget | None, result: QWidget) -> None:
    """Lay out a page with a head (codes of title and purpose), and the setup, if any, left of the result."""
    halves = QHBoxLayout()
    halves.setSpacing(2 * GAP_PX)
    if setup is not None:
        halves.addWidget(setup, stretch=3)
    halves.addWidget(result, stretch=7)
    layout = QVBoxLayout(page)
    layout.setContentsMargins(3 * GAP_PX, 2 * GAP_PX, 3 * GAP_PX, 2 * GAP_PX)
    layout.setSpacing(GAP_PX + 4)
    layout.addLayout(row(title(sentence(head[0])), label(sentence(head[1]), muted=True), None))
    layout.addLayout(halves, stretch=1)
