"""The installed data sets, with actions to download, import and remove them."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFileDialog, QVBoxLayout, QWidget

from app.core.datasets.install import InstalledDataset, import_dataset, list_datasets, remove_dataset
from app.core.errors import AppError
from app.core.messages import message, sentence
from app.gui.pages.settings.parts import ask, open_dialog, open_folder, setting
from app.gui.services.bundle import Services
from app.gui.services.downloads import Download
from app.gui.services.tasks import Latest
from app.gui.style.tokens import GAP_PX
from app.gui.widgets.basics import Button, Card, ClampedLabel, ElidedLabel, Fold, column
from app.gui.widgets.progress_row import ProgressRow
from workloads.datasets import DATASETS


class DataCard(Card):
    """Lets the user download, import and remove data sets."""

    changed = Signal()

    def __init__(self, services: Services) -> None:
        super().__init__()
        self._services = services
        self._latest = Latest()
        theme = services.theme
        self.folder = ElidedLabel(muted=True)
        self.open_button = Button(theme, sentence("button.open"), "folder-open")
        self.open_button.setAccessibleName(sentence("settings.open_data_folder"))
        self.open_button.clicked.connect(lambda: open_folder(services, services.paths.datasets))
        self.rows: dict[str, DatasetLine] = {}
        services.downloads.moved.connect(self._show_download)
        services.downloads.ended.connect(self._on_download_ended)
        self._list = QVBoxLayout()
        self._list.setSpacing(GAP_PX)
        folder = setting(sentence("settings.folder"), self.folder, self.open_button)
        self.fold = Fold(theme, sentence("settings.data_sets_optional", count=len(DATASETS)), folder, self._list)
        self.body.addWidget(self.fold)

    def refresh(self) -> None:
        paths = self._services.paths

        def look() -> tuple[dict[str, int] | None, list[InstalledDataset]]:
            datasets = list_datasets(paths)
            installed = [dataset.id for dataset in datasets if dataset.installed]
            return dataset_bytes(paths.datasets, installed), datasets

        self._services.tasks.start(look, self._latest.only(self._on_looked), self._services.complain)

    def _on_looked(self, answer: tuple[dict[str, int] | None, list[InstalledDataset]]) -> None:
        sizes_bytes, datasets = answer
        there = sizes_bytes is not None
        sizes_bytes = sizes_bytes or {}
        self.open_button.setEnabled(there)
        code = "settings.folder_of_size" if there else "settings.folder_missing"
        folder = str(self._services.paths.datasets)
        self.folder.show_text(sentence(code, folder=folder, size_bytes=sum(sizes_bytes.values())))
        for dataset in datasets:
            if dataset.id not in self.rows:
                self.rows[dataset.id] = DatasetLine(self._services, dataset)
                self.rows[dataset.id].remove_button.clicked.connect(partial(self._on_remove, dataset))
                self.rows[dataset.id].get_button.clicked.connect(partial(self._on_get, dataset))
                self._list.addWidget(self.rows[dataset.id])
            self.rows[dataset.id].show_state(dataset, sizes_bytes.get(dataset.id, 0))
        self._show_download()

    def _on_get(self, dataset: InstalledDataset) -> None:
        if dataset.fetchable:
            self._services.downloads.start(self._services.paths, dataset)
        else:
            self._choose_files(dataset)

    def _show_download(self) -> None:
        """Show a download's progress next to its data set, and disable other downloads."""
        for line_ in self.rows.values():
            line_.show_download(self._services.downloads.of(line_.dataset.id))
            line_.allow_download(allowed=self._services.downloads.current is None)

    def _on_download_ended(self, *_: object) -> None:
        self._show_download()
        self.refresh()

    def _choose_files(self, dataset: InstalledDataset) -> None:
        names = [file.name for file in dataset.files]
        dialog = QFileDialog(self, sentence("settings.choose_files", number=len(names), title=dataset.title))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.setNameFilters([f"{dataset.title} ({' '.join(names)})", sentence("file.all")])
        dialog.filesSelected.connect(lambda files: self.import_files(dataset, [Path(path) for path in files]))
        open_dialog(dialog)

    def import_files(self, dataset: InstalledDataset, files: Sequence[Path]) -> None:
        """Install a data set from local files in the background."""
        paths = self._services.paths
        self.rows[dataset.id].show_busy(sentence("data_row.unpacking"))
        self._services.tasks.start(
            lambda: import_dataset(paths, dataset.id, *files, waits=partial(_give_up, dataset)),
            lambda _: self._on_changed(sentence("settings.data_installed", title=dataset.title)),
            self._on_failed,
        )

    def _on_remove(self, dataset: InstalledDataset) -> None:
        text = sentence("settings.ask_to_remove", title=dataset.title)
        ask(self, text, sentence("settings.remove_named", title=dataset.title), lambda: self.remove(dataset))

    def remove(self, dataset: InstalledDataset) -> None:
        paths = self._services.paths
        self.rows[dataset.id].show_busy(sentence("settings.removing"))
        self._services.tasks.start(
            lambda: remove_dataset(paths, dataset.id, partial(_give_up, dataset)),
            lambda _: self._on_changed(sentence("settings.removed", title=dataset.title)),
            self._on_failed,
        )

    def _on_changed(self, text: str) -> None:
        self._services.notify(text, "", "", None)
        self.refresh()
        self.changed.emit()

    def _on_failed(self, error: AppError) -> None:
        self._services.complain(error)
        self.refresh()


class DatasetLine(QWidget):
    """A data set, its state, and a button that downloads or imports it or, once it is installed, removes it."""

    def __init__(self, services: Services, dataset: InstalledDataset) -> None:
        super().__init__()
        self.dataset = dataset
        theme, title = services.theme, dataset.title
        self.state = ClampedLabel(2)
        if dataset.fetchable:
            self.get_button = Button(theme, sentence("button.download"), "download")
            self.get_button.setAccessibleName(sentence("settings.data_get_named", title=title))
        else:
            self.get_button = Button(theme, sentence("button.import"), "file-down")
            self.get_button.setAccessibleName(sentence("settings.import_named", title=title))
        self.remove_button = Button(theme, sentence("button.remove"), "trash-2")
        self.remove_button.setAccessibleName(sentence("settings.remove_named", title=title))
        progress = sentence("settings.data_progress", title=title)
        self.progress = ProgressRow(theme, progress, sentence("settings.data_cancel", title=title))
        self.progress.cancel_button.clicked.connect(services.downloads.cancel)
        self.progress.hide()
        self.setLayout(
            column(setting(title, self.state, self.get_button, self.remove_button), self.progress, spacing_px=4)
        )

    def show_state(self, dataset: InstalledDataset, size_bytes: int) -> None:
        """Show whether the data set is installed."""
        self.dataset = dataset
        if dataset.installed:
            text = sentence("settings.data_there", size_bytes=size_bytes)
        elif not dataset.fetchable:
            files = [file.name for file in dataset.files]
            text = sentence("settings.not_installed_own", files=files)
        else:
            # The size of every downloadable data set is known.
            text = sentence("settings.not_installed", size_bytes=dataset.size_bytes or 0)
        self.state.show_text(text)
        self.get_button.setVisible(not dataset.installed)
        self.remove_button.setVisible(dataset.installed)
        self.remove_button.setEnabled(True)

    def show_download(self, download: Download | None) -> None:
        self.progress.setVisible(download is not None)
        if download is not None:
            self.progress.show_progress(download.sentence(), download.share, may_cancel=not download.cancelled)

    def allow_download(self, *, allowed: bool) -> None:
        self.get_button.setEnabled((allowed or not self.dataset.fetchable) and not self.dataset.installed)

    def show_busy(self, text: str) -> None:
        self.state.show_text(text)
        for button in (self.get_button, self.remove_button):
            button.setEnabled(False)


def _give_up(dataset: InstalledDataset) -> None:
    """Raise AppError instead of waiting for another process, because its download couldn't be cancelled."""
    raise AppError(message("settings.data_in_use", title=dataset.title), message("engines.wait_for_it"))


def dataset_bytes(folder: Path, names: Sequence[str]) -> dict[str, int] | None:
    """Return the size of each stored data set in a folder; None if the folder doesn't exist."""
    if not folder.is_dir():
        return None
    files = {name: DATASETS[name].SOURCE.stored_in(folder) for name in names}
    return {name: file.stat().st_size for name, file in files.items() if file.is_file()}
