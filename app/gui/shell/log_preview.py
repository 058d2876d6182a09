"""A dialog that previews an epoch log before it is imported."""

from PySide6.QtGui import QFont
from PySide6.QtWidgets import QCheckBox, QDialog, QDialogButtonBox, QLayout, QLineEdit, QWidget

from app.core.analysis.epoch_log import epochs_of_totals, is_workload_of_logs
from app.core.analysis.stats import epoch_statistics
from app.core.exchange.epoch_log import LogDetails
from app.core.formats import format_seconds
from app.core.messages import sentence
from app.core.storage.imported_results import LABEL_LIMIT
from app.core.titles import workload_title
from app.gui.style.tokens import GAP_PX
from app.gui.widgets.basics import column, label, set_tone
from app.gui.widgets.choice_box import ChoiceBox
from app.gui.widgets.dialogs import button_box
from workloads import CATALOGUE

NAME_PX = 428


class LogPreview(QDialog):
    """Previews an epoch log, and asks for its workload and the computer's name.

    Args:
        durations_s: Duration of each epoch in the log, in seconds.
        name: Suggested name of the computer.
        workload: ID of the suggested workload. If it doesn't support logs, the first workload that does is
            suggested.
    """

    def __init__(self, parent: QWidget, durations_s: tuple[float, ...], name: str, workload: str) -> None:
        super().__init__(parent)
        self.setWindowTitle(sentence("log_preview.title"))
        self._durations_s = durations_s
        self._of_totals_s = epochs_of_totals(durations_s)
        self.name = QLineEdit(name, maxLength=LABEL_LIMIT)
        self.name.setAccessibleName(sentence("log_preview.ask_machine"))
        self.name.setMinimumWidth(NAME_PX)
        self.workload = ChoiceBox(sentence("label.workload"))
        for each in CATALOGUE.values():
            if is_workload_of_logs(each):
                self.workload.addItem(workload_title(each.id), each.id)
        self.workload.setCurrentIndex(max(self.workload.findData(workload), 0))
        self.facts = label("", weight=QFont.Weight.DemiBold)
        self.first = label(muted=True, wrap=True)
        self.caution = label(sentence("log_preview.totals"), wrap=True)
        set_tone(self.caution, "caution")
        self.differences = QCheckBox(sentence("log_preview.use_differences"))
        self.differences.setChecked(self._of_totals_s is not None)
        self.differences.toggled.connect(self._show_facts)
        buttons = button_box(QDialogButtonBox.StandardButton.Cancel)
        self.import_button = buttons.addButton(
            sentence("log_preview.import"), QDialogButtonBox.ButtonRole.AcceptRole
        )
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        self.name.textChanged.connect(lambda text: self.import_button.setEnabled(bool(text.strip())))
        self.import_button.setEnabled(bool(name.strip()))
        of_what = (label(sentence("log_preview.ask_workload")), self.workload)
        of_whom = (label(sentence("log_preview.ask_machine")), self.name)
        whole = column(*of_what, *of_whom, self.facts, self.first, self.caution, self.differences, buttons)
        whole.setContentsMargins(2 * GAP_PX, 2 * GAP_PX, 2 * GAP_PX, 2 * GAP_PX)
        whole.setSizeConstraint(QLayout.SizeConstraint.SetFixedSize)  # a smaller dialog would truncate its text
        self.setLayout(whole)
        for part in (self.caution, self.differences):  # visible widgets without a parent would become windows
            part.setVisible(self._of_totals_s is not None)
        self._show_facts()

    @property
    def details(self) -> LogDetails:
        """The details entered by the user."""
        return LogDetails(CATALOGUE[self.workload.currentData()], self.name.text(), self._are_totals)

    @property
    def _are_totals(self) -> bool:
        return self._of_totals_s is not None and self.differences.isChecked()

    def _show_facts(self) -> None:
        shown_s = self._of_totals_s if self._are_totals and self._of_totals_s else self._durations_s
        result = epoch_statistics(shown_s)
        if result is not None:
            arguments = {"median": format_seconds(result.median_s), "count": len(shown_s)}
            low, high = format_seconds(result.minimum_s), format_seconds(result.maximum_s)
            self.facts.setText(sentence("log_preview.facts", **arguments, low=low, high=high))
        first = [format_seconds(duration_s) for duration_s in shown_s[:5]]
        self.first.setText(sentence("log_preview.begins", durations=first))
