"""The foot of a plan's page: the current run with the remaining time, or a request to change something by hand."""

from PySide6.QtGui import QFont, QGuiApplication
from PySide6.QtWidgets import QProgressBar, QStackedWidget

from app.core.messages import format_time_left, sentence
from app.gui.services.run_bridge import RunBridge
from app.gui.style.theme import Theme, tabular_font
from app.gui.style.tokens import GAP_PX, TEXT_PX
from app.gui.widgets.basics import Button, ClampedLabel, ElidedLabel, column, label, panel, row

PROGRESS_STEPS, HEIGHT_PX = 1_000, 48
BY_HAND_HEIGHT_PX = 84  # with the question


class PlanProgress(QStackedWidget):
    """Displays the progress of a plan. The page connects its buttons."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.progress_text = ElidedLabel("", weight=QFont.Weight.DemiBold)
        self.remaining = label(muted=True)
        self.progress_bar = QProgressBar(maximum=PROGRESS_STEPS, textVisible=False)
        self.progress_bar.setAccessibleName(sentence("run.progress"))
        self.progress_text.setFont(tabular_font(TEXT_PX, QFont.Weight.DemiBold))
        self.remaining.setFont(tabular_font(TEXT_PX))
        self.cancel_button = Button(theme, sentence("button.cancel"), "circle-stop")
        self.copy_button = Button(theme, sentence("button.copy_command"), "copy")
        self.copy_button.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.copy_button.toolTip()))
        self.copy_button.hide()
        texts = row(self.progress_text, self.remaining, stretch=0)
        progress = column(None, texts, self.progress_bar, None)
        self.question = ClampedLabel(lines=2, muted=False)
        self.go_button = Button(theme, sentence("ab_page.continue"), "play", kind="primary", gives_way=True)
        self.stop_button = Button(theme, sentence("ab_page.stop"), "circle-stop", gives_way=True)
        self.addWidget(
            panel(row(progress, self.copy_button, self.cancel_button, spacing_px=2 * GAP_PX, stretch=0))
        )
        self.addWidget(panel(column(self.question, row(None, self.stop_button, self.go_button))))
        self.setFixedHeight(HEIGHT_PX)

    def show_plan(self, bridge: RunBridge, current: str, left_s: float | None) -> None:
        """Show the progress of a plan, with the remaining time if it is known.

        `current` describes the current run or, if the user must set up something by hand, what.
        """
        # Keep the height during a plan, so that the layout doesn't jump when the question appears.
        is_by_hand = bridge.plan is not None and bridge.plan.by_hand
        self.setFixedHeight(BY_HAND_HEIGHT_PX if is_by_hand else HEIGHT_PX)
        self.setCurrentIndex(0 if bridge.asks is None else 1)
        if (planned := bridge.asks) is not None:
            place = {"number": planned.number, "planned": planned.count}
            self.question.show_text(sentence("plan_page.set_up", what=current, **place))
            return
        text = sentence("ab_page.first_run", planned=bridge.planned_runs)
        if bridge.is_cancelled:
            text = sentence("run.cancelling")
        elif bridge.waiting is not None:
            text = bridge.waiting.text
        elif bridge.planned is not None:
            text = current
        self.progress_text.show_text(text)
        command = bridge.waiting.command if bridge.waiting is not None and not bridge.is_cancelled else None
        self.copy_button.setVisible(command is not None)
        self.copy_button.setToolTip(command or "")
        self.progress_bar.setValue(round(PROGRESS_STEPS * (bridge.fraction or 0.0)))
        left = "" if left_s is None or bridge.is_cancelled else format_time_left(left_s)
        self.remaining.setText(sentence("run.time_left", time_left=left) if left else "")
