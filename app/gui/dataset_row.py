"""Which data a run trains on: synthetic or real, and getting the real one."""

from functools import partial

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QComboBox, QProgressBar, QStackedWidget, QWidget

from app.core.data import InstalledDataset, fetch_dataset, list_datasets
from app.core.errors import AppError
from app.core.metrics import format_bytes
from app.core.paths import Paths
from app.gui.services import Services
from app.gui.widgets import Button, column, give_way, label, row
from workloads.spec import DataChoice

PERMILLE = 1_000
TICK_MS = 200


class DownloadCancelledError(Exception):
    """The user stopped a download; what came is kept for the next time."""


class DatasetRow(QWidget):
    """Chooses between synthetic and real data, and downloads the real one when its button is pressed.

    Signals:
        changed: Another choice was made, or a data set was installed.
    """

    changed = Signal()

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services
        self._dataset: InstalledDataset | None = None
        self._download: Download | None = None
        self.choice = QComboBox()
        self.choice.setAccessibleName("Data")
        give_way(self.choice)
        self.choice.currentIndexChanged.connect(self.changed)
        self.get_button = Button(services.theme, "Get the data", "download")
        self.get_button.clicked.connect(self._on_get)
        self.progress = QProgressBar(maximum=PERMILLE, textVisible=False)
        self.progress.setAccessibleName("Download")
        self.progress_text = label(muted=True)
        self.cancel_button = Button(services.theme, "Cancel", "x")
        self.cancel_button.setAccessibleName("Cancel the download")
        self.cancel_button.clicked.connect(self._on_cancel)
        self._timer = QTimer(self, interval=TICK_MS)
        self._timer.timeout.connect(self._on_tick)
        self._below = QStackedWidget()
        installed = label("Installed and checked.", muted=True)
        installed.setAlignment(Qt.AlignmentFlag.AlignVCenter)
        loading = QWidget()
        loading.setLayout(row(column(self.progress_text, self.progress), self.cancel_button))
        offer = QWidget()
        offer.setLayout(row(self.get_button, None))
        for page in (installed, offer, loading):
            self._below.addWidget(page)
        self._below.setFixedHeight(44)
        self.setLayout(column(self.choice, self._below))

    def show_dataset(self, dataset_id: str | None) -> None:
        """Show the data of a workload; None for one that needs none."""
        known = {dataset.id: dataset for dataset in list_datasets(self._services.paths)}
        self._dataset = known.get(dataset_id or "")
        self.setVisible(self._dataset is not None)
        if self._dataset is None:
            return
        chosen = self.data if self.choice.count() else self._services.preferences.settings.data
        title = self._dataset.title
        self.choice.blockSignals(True)
        self.choice.clear()
        now = "real" if self._dataset.installed else "synthetic"
        self.choice.addItem(f"Automatic: {now}", "auto")
        self.choice.addItem("Synthetic: same shapes and counts, same speed", "synthetic")
        if self._dataset.installed:
            self.choice.addItem(f"Real: {title}", "real")
        self.choice.setCurrentIndex(max(0, self.choice.findData(chosen)))
        self.choice.blockSignals(False)
        self.get_button.setText(f"Get {title} ({format_bytes(self._dataset.size_bytes)})")
        self.get_button.setAccessibleName(self.get_button.text())
        if self._download is None:
            self._below.setCurrentIndex(0 if self._dataset.installed else 1)

    @property
    def data(self) -> DataChoice:
        """What is chosen."""
        value: DataChoice = self.choice.currentData() or "auto"
        return value

    def choose(self, data: DataChoice) -> None:
        """Choose, if that is there to be chosen."""
        number = self.choice.findData(data)
        if number >= 0:
            self.choice.setCurrentIndex(number)

    def cancel(self) -> None:
        """Stop a download that is going on."""
        if self._download is not None:
            self._download.cancelled = True

    def _on_get(self) -> None:
        assert self._dataset is not None
        self._download = Download(self._services.paths, self._dataset)
        self._below.setCurrentIndex(2)
        self._on_tick()
        self._timer.start()
        self.cancel_button.setEnabled(True)
        self._services.tasks.start(self._download.run, self._on_got, self._on_failed)

    def _on_cancel(self) -> None:
        self.cancel()
        self.cancel_button.setEnabled(False)
        self.progress_text.setText("Cancelling …")

    def _on_tick(self) -> None:
        download = self._download
        if download is not None and not download.cancelled:
            total = download.dataset.size_bytes
            self.progress.setValue(PERMILLE * download.done_bytes // total)
            self.progress_text.setText(
                "Checking and unpacking …"
                if download.done_bytes >= total
                else f"{format_bytes(download.done_bytes)} of {format_bytes(total)}"
            )

    def _on_got(self, installed: bool) -> None:
        self._end()
        if installed:
            self._services.tell("The data is installed; runs use it from now on.", "", "", None)
        else:
            self._services.tell("The download was cancelled; it goes on from there next time.", "", "", None)

    def _on_failed(self, error: AppError) -> None:
        self._end()
        self._services.tell(str(error), "invalid", "", None)

    def _end(self) -> None:
        self._timer.stop()
        assert self._download is not None
        dataset_id = self._download.dataset.id
        self._download = None
        self.show_dataset(dataset_id)
        self.changed.emit()


class Download:
    """One download, in a thread; its numbers are read by the window."""

    def __init__(self, paths: Paths, dataset: InstalledDataset, url: str | None = None) -> None:
        self.dataset = dataset
        self.done_bytes = 0
        self.cancelled = False
        self._fetch = partial(fetch_dataset, paths, dataset.id, url, self._on_progress)

    def run(self) -> bool:
        """Download and install; returns False when it was cancelled."""
        try:
            self._fetch()
        except DownloadCancelledError:
            return False
        return True

    def _on_progress(self, done_bytes: int, total_bytes: int) -> None:
        self.done_bytes = done_bytes
        if self.cancelled:
            raise DownloadCancelledError
