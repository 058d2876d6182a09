"""Others' logs on the page that compares: a preview before one is imported, and removing it."""

from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QCheckBox, QDialog, QDialogButtonBox, QFileDialog, QLayout, QLineEdit, QWidget

from app.core.analysis.stats import epoch_statistics
from app.core.exchange.logs import workload_of_log
from app.core.external_results import ImportedLog, ImportedResult
from app.core.messages import sentence
from app.core.metrics import format_seconds
from app.core.storage.database import Database
from app.core.storage.imported_logs import (
    NAME_LIMIT,
    epochs_of_totals,
    import_log,
    is_workload_of_logs,
    read_log,
    remove_log,
)
from app.core.storage.imported_results import remove_result
from app.gui.services.bundle import Services
from app.gui.services.removal import remove_imported
from app.gui.style.tokens import GAP_PX
from app.gui.widgets.basics import column, label, set_tone
from app.gui.widgets.choice_box import ChoiceBox
from workloads import CATALOGUE

NAME_PX = 428


class LogPreview(QDialog):
    """Shows what a log says before it is imported, and asks for the computer's name.

    Args:
        durations_s: The log's seconds, epoch by epoch.
        name: A first idea of the name.
        workload: A first idea of what was trained; the first one that is measured in epochs if this isn't.
    """

    def __init__(self, parent: QWidget, durations_s: tuple[float, ...], name: str, workload: str) -> None:
        super().__init__(parent)
        self.setWindowTitle(sentence("compare_page.import_epoch_log"))
        self._durations_s = durations_s
        self._of_totals_s = epochs_of_totals(durations_s)
        self.name = QLineEdit(name, maxLength=NAME_LIMIT)
        self.name.setAccessibleName(sentence("compare_page.ask_machine"))
        self.name.setMinimumWidth(NAME_PX)
        self.workload = ChoiceBox(sentence("label.workload"))
        for each in CATALOGUE.values():
            if is_workload_of_logs(each):
                self.workload.addItem(each.title, each.id)
        self.workload.setCurrentIndex(max(self.workload.findData(workload), 0))
        self.facts = label("", weight=QFont.Weight.DemiBold)
        self.first = label(muted=True, wrap=True)
        self.caution = label(sentence("compare_page.totals"), wrap=True)
        set_tone(self.caution, "caution")
        self.differences = QCheckBox(sentence("compare_page.use_differences"))
        self.differences.setChecked(self._of_totals_s is not None)
        self.differences.toggled.connect(self._show_facts)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.import_button = buttons.addButton(
            sentence("compare_page.import"), QDialogButtonBox.ButtonRole.AcceptRole
        )
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        self.name.textChanged.connect(lambda text: self.import_button.setEnabled(bool(text.strip())))
        self.import_button.setEnabled(bool(name.strip()))
        of_what = (label(sentence("compare_page.ask_workload")), self.workload)
        of_whom = (label(sentence("compare_page.ask_machine")), self.name)
        whole = column(*of_what, *of_whom, self.facts, self.first, self.caution, self.differences, buttons)
        whole.setContentsMargins(2 * GAP_PX, 2 * GAP_PX, 2 * GAP_PX, 2 * GAP_PX)
        whole.setSizeConstraint(QLayout.SizeConstraint.SetFixedSize)  # smaller, it would cut its words
        self.setLayout(whole)
        for part in (self.caution, self.differences):  # without a parent each would be a window
            part.setVisible(self._of_totals_s is not None)
        self._show_facts()

    @property
    def is_of_totals(self) -> bool:
        """Whether the log's seconds count from the start of training."""
        return self._of_totals_s is not None and self.differences.isChecked()

    def _show_facts(self) -> None:
        shown_s = self._of_totals_s if self.is_of_totals and self._of_totals_s else self._durations_s
        result = epoch_statistics(shown_s)
        if result is not None:
            arguments = {"median": format_seconds(result.median_s), "count": len(shown_s)}
            low, high = format_seconds(result.minimum_s), format_seconds(result.maximum_s)
            self.facts.setText(sentence("compare_page.log_facts", **arguments, low=low, high=high))
        first = [format_seconds(duration_s) for duration_s in shown_s[:5]]
        self.first.setText(sentence("compare_page.log_begins", durations=first))


class LogActions(QObject):
    """Imports and removes logs, and removes imported results.

    Signals:
        changed: There is another log, or one or an imported result less.
        imported: There is another log, of this workload.
    """

    changed = Signal()
    imported = Signal(str)

    def __init__(self, services: Services, page: QWidget) -> None:
        super().__init__(page)
        self._services, self._page = services, page
        self.preview: LogPreview | None = None

    def choose(self, workload_id: str) -> None:
        """Ask for a file, and preview it."""
        title, kinds = sentence("compare_page.import_epoch_log"), sentence("compare_page.log_files")
        file, _ = QFileDialog.getOpenFileName(self._page, title, "", kinds)
        if file:
            self.show_preview(Path(file), workload_id)

    def show_preview(self, file: Path, workload_id: str) -> None:
        """Preview a log; its workload is guessed from the file's name, and nothing is stored yet."""
        named = workload_of_log(file)
        workload_id = workload_id if named is None else named.id

        def show(durations_s: tuple[float, ...]) -> None:
            self.preview = LogPreview(self._page, durations_s, file.stem, workload_id)
            self.preview.accepted.connect(lambda: self._import(file))
            self.preview.open()

        self._services.tasks.start(lambda: read_log(file), show, self._services.complain)

    def remove(self, log: ImportedLog) -> None:
        """Delete an imported log."""
        remove_imported(self._services, log.name, lambda each: remove_log(each, log.id), self.changed.emit)

    def remove_result(self, result: ImportedResult) -> None:
        """Delete an imported result."""
        remove_imported(
            self._services, result.label, lambda each: remove_result(each, result.id), self.changed.emit
        )

    def _import(self, file: Path) -> None:
        preview = self.preview
        assert preview is not None
        name, is_of_totals = preview.name.text(), preview.is_of_totals
        workload = CATALOGUE[preview.workload.currentData()]

        def store(database: Database) -> ImportedLog:
            return import_log(database, file, workload, name, is_of_totals=is_of_totals)

        def done(log: ImportedLog) -> None:
            self._services.tell(sentence("compare_page.imported", name=log.name), "", "", None)
            self.changed.emit()
            self.imported.emit(log.workload)

        self._services.query(store, done)
