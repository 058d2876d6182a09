"""The lower edge of an A/B's result: its progress, the question to set up a side, or what can be done with it."""

from PySide6.QtGui import QFont
from PySide6.QtWidgets import QProgressBar, QStackedWidget, QWidget

from app.core.messages import sentence
from app.core.metrics import format_time_left
from app.gui.services.run_bridge import RunBridge
from app.gui.style.theme import Theme, figures
from app.gui.style.tokens import GAP_PX, TEXT_PX
from app.gui.widgets.basics import Button, ClampedLabel, ElidedLabel, column, label, row

PROGRESS_STEPS = 1_000
_LOW_PX, _HIGH_PX = 48, 84
_GOING, _ASKING, _DONE = range(3)


class Foot(QStackedWidget):
    """Shows one of the three; its buttons are connected by the page."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.progress_text = ElidedLabel("", weight=QFont.Weight.DemiBold)
        self.remaining = label(muted=True)
        self.progress_bar = QProgressBar(maximum=PROGRESS_STEPS, textVisible=False)
        self.progress_bar.setAccessibleName(sentence("run.progress"))
        self.progress_text.setFont(figures(TEXT_PX, QFont.Weight.DemiBold))
        self.remaining.setFont(figures(TEXT_PX))
        self.question = ClampedLabel(lines=2, muted=False)
        self.cancel_button = Button(theme, sentence("button.cancel"), "circle-stop")
        self.go_button = Button(theme, sentence("ab_page.continue"), "play", kind="primary")
        self.stop_button = Button(theme, sentence("ab_page.stop"), "circle-stop")
        self.save_button = Button(theme, sentence("button.save_picture"), "image", kind="primary")
        self.picture_button = Button(theme, sentence("menu.copy_picture"), "image")
        self.copy_button = Button(theme, sentence("button.copy_result"), "copy")
        texts = row(self.progress_text, self.remaining)
        texts.setStretch(0, 1)
        going = row(column(None, texts, self.progress_bar, None), self.cancel_button, spacing_px=2 * GAP_PX)
        going.setStretch(0, 1)
        asking = column(self.question, row(None, self.stop_button, self.go_button))
        done = row(None, self.copy_button, self.picture_button, self.save_button)
        for layout in (going, asking, done):
            page = QWidget()
            page.setLayout(layout)
            self.addWidget(page)

    def show_done(self, *, can_share: bool) -> None:
        """Show what can be done with a finished A/B."""
        self.setFixedHeight(_LOW_PX)
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
        self.setFixedHeight(_HIGH_PX if plan and plan.by_hand else _LOW_PX)
        self.setCurrentIndex(_ASKING if asks is not None else _GOING)
        if asks is not None:
            side = {"side": asks.side, "label": asks.label}
            self.question.show_text(
                sentence("ab_page.set_up_side", number=asks.number, planned=asks.count, **side)
            )
            return
        count = planned.count if planned else plan.count if plan else 0
        progress = sentence("ab_page.first_run", planned=count)
        if bridge.is_cancelled:
            progress = sentence("run.cancelling")
        elif planned:
            progress = sentence("ab_page.run_of", number=planned.number, planned=count, label=planned.label)
        self.progress_text.show_text(progress)
        within = (bridge.state.progress.fraction if bridge.state else None) or 0.0
        self.progress_bar.setValue(round(PROGRESS_STEPS * min(1.0, (len(bridge.done) + within) / max(1, count))))
        left = "" if left_s is None or bridge.is_cancelled else format_time_left(left_s)
        self.remaining.setText(sentence("run.time_left", time_left=left) if left else "")
