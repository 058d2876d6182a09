"""A run's data: synthetic or real, and downloading the real data."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QProgressBar, QStackedWidget, QWidget

from app.core.datasets.install import InstalledDataset, fetch_dataset, list_datasets
from app.core.errors import AppError
from app.core.messages import sentence
from app.core.paths import Paths
from app.gui.services.bundle import Services
from app.gui.widgets.basics import Button, column, give_way, guard_wheel, label, row
from app.gui.widgets.choice_box import ChoiceBox
from workloads.protocol.spec import DataChoice

PERMILLE = 1_000
TICK_MS = 200


class DownloadCancelledError(Exception):
    """The user stopped a download; what has arrived is kept."""


class DatasetRow(QWidget):
    """Chooses between synthetic and real data, and downloads real data.

    Signals:
        changed: Another choice was made, or other data sets are there now.
    """

    changed = Signal()

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services
        self._asked = 0
        self._shown: str | None = None
        # As of the latest check.
        self._known: dict[str, InstalledDataset] = {}
        self._wanted = services.preferences.settings.data
        self._download: Download | None = None
        self.choice = ChoiceBox(sentence("label.data"))
        give_way(self.choice)
        guard_wheel(self.choice)
        self.choice.currentIndexChanged.connect(self._on_choice)
        self.get_button = Button(services.theme, sentence("data_row.get"), "download")
        self.get_button.clicked.connect(self._on_get)
        self.progress = QProgressBar(maximum=PERMILLE, textVisible=False)
        self.progress.setAccessibleName(sentence("data_row.download"))
        self.progress_text = label(muted=True)
        self.cancel_button = Button(services.theme, sentence("button.cancel"), "x")
        self.cancel_button.setAccessibleName(sentence("data_row.cancel_download"))
        self.cancel_button.clicked.connect(self._on_cancel)
        self._timer = QTimer(self, interval=TICK_MS)
        self._timer.timeout.connect(self._on_tick)
        self._below = QStackedWidget()
        self.state = label(muted=True)
        self.state.setAlignment(Qt.AlignmentFlag.AlignVCenter)
        loading = QWidget()
        loading.setLayout(row(column(self.progress_text, self.progress), self.cancel_button))
        offer = QWidget()
        offer.setLayout(row(self.get_button, None))
        for page in (self.state, offer, loading):
            self._below.addWidget(page)
        self._below.setFixedHeight(44)
        self.setLayout(column(self.choice, self._below))

    def show_dataset(self, dataset_id: str | None) -> None:
        """Show the data of a workload, None if it needs none: first from memory, then checked again."""
        self._shown = dataset_id
        self._show()
        self._asked += 1
        if dataset_id is None:
            return
        number, paths = self._asked, self._services.paths

        def look() -> tuple[int, list[InstalledDataset]]:
            return number, list_datasets(paths)

        self._services.tasks.start(look, self._on_looked, self._services.complain)

    @property
    def data(self) -> DataChoice:
        """The choice."""
        value: DataChoice = self.choice.currentData() or "auto"
        return value

    def choose(self, data: DataChoice) -> None:
        """Choose now, or as soon as it is available."""
        self._wanted = data
        number = self.choice.findData(data)
        if number >= 0:
            self.choice.setCurrentIndex(number)

    def cancel(self) -> None:
        """Stop the current download."""
        if self._download is not None:
            self._download.cancelled = True

    def _on_looked(self, answer: tuple[int, list[InstalledDataset]]) -> None:
        number, datasets = answer
        if number != self._asked:
            return  # a later check is on its way
        before = self._known
        self._known = {dataset.id: dataset for dataset in datasets}
        self._show()
        if self._known != before:
            self.changed.emit()

    def _show(self) -> None:
        """Show the data set's state."""
        self.choice.setEnabled(self._shown is not None)
        if self._shown is None:
            self._offer([(sentence("data_row.none_needed"), "auto")])
            self.state.setText("")
            self._below.setCurrentIndex(0)
            return
        dataset = self._known.get(self._shown or "")
        choices: list[tuple[str, DataChoice]] = [(sentence("data_row.synthetic"), "synthetic")]
        if dataset is None:
            self._offer([(sentence("label.automatic"), "auto"), *choices])
            self.state.setText(sentence("data_row.looking"))
            self._below.setCurrentIndex(0)
            return
        if dataset.installed:
            choices.append((sentence("data_row.real", title=dataset.title), "real"))
        self._offer(
            [
                (sentence("data_row.auto_real" if dataset.installed else "data_row.auto_synthetic"), "auto"),
                *choices,
            ]
        )
        self.state.setText(sentence("data_row.installed" if dataset.installed else "data_row.import_own"))
        self.get_button.setText(
            sentence("data_row.get_sized", title=dataset.title, size_bytes=dataset.size_bytes or 0)
        )
        self.get_button.setEnabled(self._download is None)
        is_loading = self._download is not None and self._download.dataset.id == dataset.id
        is_offered = dataset.fetchable and not dataset.installed
        self._below.setCurrentIndex(2 if is_loading else 1 if is_offered else 0)

    def _offer(self, choices: Sequence[tuple[str, DataChoice]]) -> None:
        """Offer choices, and select the wanted one, or the first if it is missing."""
        box = self.choice
        if [(box.itemText(number), box.itemData(number)) for number in range(box.count())] == list(choices):
            return  # the list may be open
        box.blockSignals(True)
        box.clear()
        for text, data in choices:
            box.addItem(text, data)
        box.setCurrentIndex(max(0, box.findData(self._wanted)))
        box.blockSignals(False)

    def _on_choice(self) -> None:
        self._wanted = self.data
        self.changed.emit()

    def _on_get(self) -> None:
        self._download = Download(self._services.paths, self._known[self._shown or ""])
        self.cancel_button.setEnabled(True)
        self._show()
        self._on_tick()
        self._timer.start()
        self._services.tasks.start(self._download.run, self._on_got, self._on_failed)

    def _on_cancel(self) -> None:
        self.cancel()
        self.cancel_button.setEnabled(False)
        self.progress_text.setText(sentence("run.cancelling"))

    def _on_tick(self) -> None:
        download = self._download
        if download is not None and not download.cancelled:
            total = download.dataset.size_bytes or 1  # known for all downloadable files
            self.progress.setValue(PERMILLE * download.done_bytes // total)
            code = "data_row.unpacking" if download.done_bytes >= total else "data_row.downloaded"
            if download.waiting:
                code = "data_row.waiting"
            self.progress_text.setText(sentence(code, done_bytes=download.done_bytes, total_bytes=total))

    def _on_got(self, installed: bool) -> None:
        self._end(installed=installed)
        if installed:
            self._services.tell(sentence("data_row.now_installed"), "", "", None)
        else:
            self._services.tell(sentence("data_row.download_cancelled"), "", "", None)

    def _on_failed(self, error: AppError) -> None:
        self._end(installed=False)
        self._services.tell(str(error), "invalid", "", None)

    def _end(self, *, installed: bool) -> None:
        self._timer.stop()
        assert self._download is not None
        dataset = self._download.dataset
        self._download = None
        self._known = {**self._known, dataset.id: replace(dataset, installed=installed)}
        self.show_dataset(self._shown)  # by now, another workload or folder may be chosen
        self.changed.emit()


class Download:
    """One download in a thread; the window reads its progress."""

    def __init__(self, paths: Paths, dataset: InstalledDataset, url: str | None = None) -> None:
        self.dataset = dataset
        self.done_bytes = 0
        self.waiting = False
        self.cancelled = False
        self._fetch = partial(fetch_dataset, paths, dataset.id, url, self._on_progress, self._on_waiting)

    def run(self) -> bool:
        """Download and install; return False if cancelled."""
        try:
            self._fetch()
        except DownloadCancelledError:
            return False
        return True

    def _on_progress(self, done_bytes: int, total_bytes: int) -> None:
        self.done_bytes = done_bytes
        self.waiting = False
        if self.cancelled:
            raise DownloadCancelledError

    def _on_waiting(self) -> None:
        self.waiting = True
        if self.cancelled:
            raise DownloadCancelledError
