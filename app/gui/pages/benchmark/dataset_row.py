"""The data of a run: choosing between synthetic and real data, and downloading real data."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QStackedWidget, QWidget

from app.core.datasets.install import InstalledDataset, list_datasets
from app.core.messages import sentence
from app.gui.services.bundle import Services
from app.gui.services.tasks import Latest
from app.gui.widgets.basics import HEAD_PX, Button, column, give_way, guard_wheel, label, panel, row
from app.gui.widgets.choice_box import ChoiceBox
from app.gui.widgets.progress_row import ProgressRow
from workloads.protocol.spec import DataChoice


class DatasetRow(QWidget):
    """Lets the user choose between synthetic and real data, and download real data."""

    changed = Signal()  # the choice or the available data sets have changed
    import_wanted = Signal()  # the user wants to import a data set that can't be downloaded

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services
        self._latest = Latest()
        self._shown: str | None = None
        # Results of the latest check.
        self._known: dict[str, InstalledDataset] = {}
        self._wanted = services.preferences.settings.data
        self.choice = ChoiceBox(sentence("setting.data"))
        give_way(self.choice)
        guard_wheel(self.choice)
        self.choice.currentIndexChanged.connect(self._on_choice)
        self.get_button = Button(services.theme, sentence("button.download"), "download", do=self._on_get)
        self.progress = ProgressRow(
            services.theme, sentence("button.download"), sentence("data_row.cancel_download")
        )
        self.progress.cancel_button.clicked.connect(services.downloads.cancel)
        services.downloads.moved.connect(self._on_moved)
        services.downloads.ended.connect(self._on_ended)
        self._below = QStackedWidget()
        self.state = label(muted=True)
        self.state.setAlignment(Qt.AlignmentFlag.AlignVCenter)
        offer = panel(row(self.get_button, None))
        for page in (self.state, offer, self.progress):
            self._below.addWidget(page)
        self._below.setFixedHeight(HEAD_PX + 2)
        self.setLayout(column(self.choice, self._below, spacing_px=4))

    def show_dataset(self, dataset_id: str | None) -> None:
        """Show a workload's data set (None if it needs none): first the cached state, then the checked one."""
        self._shown = dataset_id
        self._show()
        self._latest.drop()
        if dataset_id is not None:
            look, done = partial(list_datasets, self._services.paths), self._latest.only(self._on_looked)
            self._services.tasks.start(look, done, self._services.complain)

    @property
    def data(self) -> DataChoice:
        value: DataChoice = self.choice.currentData() or "auto"
        return value

    @property
    def source(self) -> DataChoice | None:
        """The data that a run would use, "real" or "synthetic"; None if the workload generates its own."""
        if self._shown is None:
            return None
        dataset = self._known.get(self._shown)
        is_real = self.data == "real" or (self.data == "auto" and dataset is not None and dataset.installed)
        return "real" if is_real else "synthetic"

    def choose(self, data: DataChoice) -> None:
        self._wanted = data
        number = self.choice.findData(data)
        if number >= 0:
            self.choice.setCurrentIndex(number)

    def _on_looked(self, datasets: list[InstalledDataset]) -> None:
        before = self._known
        self._known = {dataset.id: dataset for dataset in datasets}
        self._show()
        if self._known != before:
            self.changed.emit()

    def _show(self) -> None:
        self.choice.setEnabled(self._shown is not None)
        if self._shown is None:
            self._offer([(sentence("data_row.none_needed"), "auto")])
            self.state.setText("")
            self._below.setCurrentIndex(0)
            return
        dataset = self._known.get(self._shown or "")
        choices: list[tuple[str, DataChoice]] = [(sentence("data_row.synthetic"), "synthetic")]
        if dataset is None:
            self._offer([(sentence("settings.data_auto"), "auto"), *choices])
            self.state.setText(sentence("label.checking"))
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
        self.state.setText(sentence("data_row.installed"))
        get = sentence("data_row.get_sized", title=dataset.title, size_bytes=dataset.size_bytes or 0)
        self.get_button.setText(get if dataset.fetchable else sentence("data_row.import_own"))
        downloads = self._services.downloads
        self.get_button.setEnabled(downloads.current is None or not dataset.fetchable)
        is_loading = downloads.of(dataset.id) is not None
        self._below.setCurrentIndex(2 if is_loading else 0 if dataset.installed else 1)
        self._show_progress()

    def _offer(self, choices: Sequence[tuple[str, DataChoice]]) -> None:
        """Offer choices and select the wanted one, or the first one if it isn't available."""
        box = self.choice
        if [(box.itemText(number), box.itemData(number)) for number in range(box.count())] == list(choices):
            return  # leave the box unchanged, because its list may be open
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
        dataset = self._known[self._shown or ""]
        if dataset.fetchable:
            self._services.downloads.start(self._services.paths, dataset)
        else:
            self.import_wanted.emit()

    def _on_moved(self) -> None:
        if self._below.currentIndex() != 2 or self._services.downloads.of(self._shown or "") is None:
            self._show()
        self._show_progress()

    def _show_progress(self) -> None:
        download = self._services.downloads.of(self._shown or "")
        if download is not None:
            self.progress.show_progress(download.sentence(), download.share, may_cancel=not download.cancelled)

    def _on_ended(self, dataset_id: str, installed: bool) -> None:
        if dataset_id in self._known:
            self._known = {**self._known, dataset_id: replace(self._known[dataset_id], installed=installed)}
        self.show_dataset(self._shown)  # the workload or folder may have changed
        self.changed.emit()
