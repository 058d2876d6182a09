"""The lower edge of a running study: its point, the progress and the time left."""

from PySide6.QtGui import QFont
from PySide6.QtWidgets import QProgressBar, QWidget

from app.core.messages import sentence
from app.core.metrics import format_time_left
from app.core.studies.points import point_name
from app.gui.services.run_bridge import RunBridge
from app.gui.style.theme import Theme, figures
from app.gui.style.tokens import GAP_PX, TEXT_PX
from app.gui.widgets.basics import Button, ElidedLabel, column, label, row

PROGRESS_STEPS, HEIGHT_PX = 1_000, 48


class Foot(QWidget):
    """Shows a study's progress; its button is connected by the page."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.progress_text = ElidedLabel("", weight=QFont.Weight.DemiBold)
        self.remaining = label(muted=True)
        self.progress_bar = QProgressBar(maximum=PROGRESS_STEPS, textVisible=False)
        self.progress_bar.setAccessibleName(sentence("run.progress"))
        self.progress_text.setFont(figures(TEXT_PX, QFont.Weight.DemiBold))
        self.remaining.setFont(figures(TEXT_PX))
        self.cancel_button = Button(theme, sentence("button.cancel"), "circle-stop")
        texts = row(self.progress_text, self.remaining)
        texts.setStretch(0, 1)
        going = row(column(None, texts, self.progress_bar, None), self.cancel_button, spacing_px=2 * GAP_PX)
        going.setStretch(0, 1)
        self.setLayout(going)
        self.setFixedHeight(HEIGHT_PX)

    def show_progress(self, bridge: RunBridge) -> None:
        """Show the running point and the time left."""
        planned, plan = bridge.planned, bridge.plan
        if plan is None:
            return
        count = bridge.planned_runs
        text = sentence("ab_page.first_run", planned=count)
        if bridge.is_cancelled:
            text = sentence("run.cancelling")
        elif planned is not None:
            name, number = point_name(plan, planned.spec), min(count, len(bridge.done) + 1)
            text = sentence("studies_page.run_of", number=number, planned=count, point=name)
        self.progress_text.show_text(text)
        self.progress_bar.setValue(round(PROGRESS_STEPS * (bridge.fraction or 0.0)))
        left_s = None if bridge.is_cancelled else bridge.left_s()
        shown = sentence("run.time_left", time_left=format_time_left(left_s)) if left_s else ""
        self.remaining.setText(shown)
