"""The lower edge of an A/B's result: its progress, the question to set up a side, or what can be done with it."""

from PySide6.QtWidgets import QStackedWidget, QWidget

from app.core.messages import sentence
from app.gui.run.plan_progress import HEIGHT_PX, PlanProgress
from app.gui.services.run_bridge import RunBridge
from app.gui.style.theme import Theme
from app.gui.widgets.basics import Button, ClampedLabel, column, row

_HIGH_PX = 84
_GOING, _ASKING, _DONE = range(3)


class AbActions(QStackedWidget):
    """Shows one of the three; its buttons are connected by the page."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.going = PlanProgress(theme)
        self.question = ClampedLabel(lines=2, muted=False)
        self.go_button = Button(theme, sentence("ab_page.continue"), "play", kind="primary")
        self.stop_button = Button(theme, sentence("ab_page.stop"), "circle-stop")
        self.save_button = Button(theme, sentence("button.save_picture"), "image", kind="primary")
        self.picture_button = Button(theme, sentence("menu.copy_picture"), "image")
        self.copy_button = Button(theme, sentence("button.copy"), "copy")  # the setup beside needs the room
        self.copy_button.setAccessibleName(sentence("button.copy_result"))
        asking = column(self.question, row(None, self.stop_button, self.go_button))
        done = row(None, self.copy_button, self.picture_button, self.save_button)
        self.addWidget(self.going)
        for layout in (asking, done):
            page = QWidget()
            page.setLayout(layout)
            self.addWidget(page)

    @property
    def cancel_button(self) -> Button:
        """Cancels the current run."""
        return self.going.cancel_button

    def show_done(self, *, can_share: bool) -> None:
        """Show what can be done with a finished A/B."""
        self.setFixedHeight(HEIGHT_PX)
        self.setCurrentIndex(_DONE)
        for button in (self.copy_button, self.picture_button, self.save_button):
            button.setEnabled(can_share)

    def show_live(self, bridge: RunBridge, left_s: float | None) -> None:
        """Show the running run and the time left, or ask the user to set up the next side.

        Args:
            bridge: It runs an A/B.
            left_s: Seconds that the remaining runs take; None if that isn't known yet.
        """
        planned, asks, plan = bridge.planned, bridge.asks, bridge.plan
        # The same height throughout an A/B, so that nothing jumps when it asks.
        self.setFixedHeight(_HIGH_PX if plan and plan.by_hand else HEIGHT_PX)
        self.setCurrentIndex(_ASKING if asks is not None else _GOING)
        if asks is not None:
            side = {"side": asks.side, "label": asks.label}
            self.question.show_text(
                sentence("ab_page.set_up_side", number=asks.number, planned=asks.count, **side)
            )
            return
        current = ""
        if planned is not None:
            which = {"number": planned.number, "planned": planned.count, "label": planned.label}
            current = sentence("ab_page.run_of", **which)
        self.going.show_plan(bridge, current, left_s)
