"""The settings of data sets: where they are, which are there, and how they come and go without a network."""

import contextlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QDir, Qt, Signal
from PySide6.QtWidgets import QFileDialog, QVBoxLayout, QWidget

from app.core.datasets.install import InstalledDataset, Removal, import_dataset, list_datasets, remove_dataset
from app.core.datasets.own_files import named
from app.core.errors import AppError
from app.core.metrics import format_bytes
from app.core.plain_text import one_line
from app.gui.pages.settings.parts import ask, open_folder, setting
from app.gui.services.bundle import Services
from app.gui.style.tokens import GAP_PX
from app.gui.widgets.basics import Button, Card, ElidedLabel, line


class DataCard(Card):
    """Shows and changes the folder of data sets, imports and removes them.

    Signals:
        changed: Other data sets are there now.
    """

    changed = Signal()

    def __init__(self, services: Services) -> None:
        super().__init__("Data sets")
        self._services = services
        self._asked = 0
        theme = services.theme
        self.folder = ElidedLabel(muted=True)
        self.open_button = Button(theme, "Open", "folder-open")
        self.open_button.setAccessibleName("Open the folder of data sets")
        self.open_button.clicked.connect(lambda: open_folder(services, services.paths.datasets))
        self.change_button = Button(theme, "Change …")
        self.change_button.setAccessibleName("Choose another folder for data sets")
        self.change_button.clicked.connect(self._on_change)
        self.usual_button = Button(theme, "Usual folder", "undo-2")
        self.usual_button.clicked.connect(lambda: self._take(None))
        self.rows: dict[str, DatasetLine] = {}
        self._list = QVBoxLayout()
        self._list.setSpacing(GAP_PX)
        buttons = (self.usual_button, self.change_button, self.open_button)
        self.body.addLayout(setting("Folder", self.folder, *buttons))
        self.body.addWidget(line())
        self.body.addLayout(self._list)

    def refresh(self) -> None:
        """Look again at what is in the folder."""
        self._asked += 1
        number, paths = self._asked, self._services.paths
        custom = self._services.preferences.settings.datasets_folder is not None
        self.usual_button.setVisible(custom)

        def look() -> tuple[int, int | None, list[InstalledDataset]]:
            datasets = list_datasets(paths)
            installed = [dataset.id for dataset in datasets if dataset.installed]
            return number, folder_bytes(paths.datasets, installed), datasets

        self._services.tasks.start(look, self._on_looked, self._services.complain)

    def _on_looked(self, answer: tuple[int, int | None, list[InstalledDataset]]) -> None:
        number, size_bytes, datasets = answer
        if number != self._asked:
            return  # a later look is on its way
        there = size_bytes is not None
        self.open_button.setEnabled(there)
        size = format_bytes(size_bytes) if there else "not there yet"
        self.folder.show_text(f"{self._services.paths.datasets} · {size}")
        for dataset in datasets:
            if dataset.id not in self.rows:
                self.rows[dataset.id] = DatasetLine(self._services, dataset)
                self.rows[dataset.id].import_button.clicked.connect(partial(self._on_import, dataset))
                self.rows[dataset.id].remove_button.clicked.connect(partial(self._on_remove, dataset))
                self._list.addWidget(self.rows[dataset.id])
            self.rows[dataset.id].show_state(dataset)

    def _on_change(self) -> None:
        dialog = QFileDialog(self, "Choose a folder for data sets", str(self._services.paths.datasets))
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.fileSelected.connect(lambda path: self._take(QDir.toNativeSeparators(path)))
        _open(dialog)

    def _take(self, folder: str | None) -> None:
        try:
            self._services.preferences.change(datasets_folder=folder)
        except AppError as error:
            self._services.complain(error)
        self.refresh()
        self.changed.emit()

    def _on_import(self, dataset: InstalledDataset) -> None:
        names = [file.name for file in dataset.files]
        if len(names) == 1:
            dialog = QFileDialog(self, f"Choose the official file of {dataset.title}")
            dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
            dialog.setNameFilters([f"{names[0]} (*{''.join(Path(names[0]).suffixes)})", "All files (*)"])
        else:
            dialog = QFileDialog(self, f"Choose the {len(names)} files of {dataset.title} together")
            dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
            dialog.setNameFilters([f"{dataset.title} ({' '.join(names)})", "All files (*)"])
        dialog.filesSelected.connect(lambda files: self._import(dataset, [Path(path) for path in files]))
        _open(dialog)

    def _import(self, dataset: InstalledDataset, files: Sequence[Path]) -> None:
        paths = self._services.paths
        self.rows[dataset.id].show_busy("Checking and unpacking …")
        self._services.tasks.start(
            lambda: import_dataset(paths, dataset.id, *files, waits=partial(_give_up, dataset)),
            lambda _: self._on_changed(f"{dataset.title} is installed."),
            self._on_failed,
        )

    def _on_remove(self, dataset: InstalledDataset) -> None:
        text = f"Remove {dataset.title} from this computer? Runs then use synthetic data of the same shapes."
        ask(self, text, f"Remove {dataset.title}", lambda: self._remove(dataset))

    def _remove(self, dataset: InstalledDataset) -> None:
        paths = self._services.paths
        self.rows[dataset.id].show_busy("Removing …")
        self._services.tasks.start(
            lambda: remove_dataset(paths, dataset.id, partial(_give_up, dataset)),
            lambda removal: self._on_changed(_told(dataset, removal)),
            self._on_failed,
        )

    def _on_changed(self, told: str) -> None:
        self._services.tell(told, "", "", None)
        self.refresh()
        self.changed.emit()

    def _on_failed(self, error: AppError) -> None:
        self._services.complain(error)
        self.refresh()


class DatasetLine(QWidget):
    """One data set: whether it is here, and what can be done about it."""

    def __init__(self, services: Services, dataset: InstalledDataset) -> None:
        super().__init__()
        self.state = ElidedLabel(muted=True)
        files = "a file" if len(dataset.files) == 1 else "files"
        self.import_button = Button(services.theme, f"Import from {files} …", "file-down")
        self.import_button.setAccessibleName(f"Import {dataset.title} from {files}")
        self.remove_button = Button(services.theme, "Remove", "trash-2")
        self.remove_button.setAccessibleName(f"Remove {dataset.title}")
        self.setLayout(setting(dataset.title, self.state, self.import_button, self.remove_button))

    def show_state(self, dataset: InstalledDataset) -> None:
        """Show whether the data set is installed."""
        if dataset.installed:
            text = "Installed and checked"
        elif not dataset.fetchable:
            text = f"Not installed: bring your own copy, {', '.join(file.name for file in dataset.files)}"
        else:
            size = format_bytes(dataset.size_bytes or 0)  # known of everything that may be fetched
            text = f"Not installed: download {size} on the Benchmark page, or import it"
        self.state.show_text(text)
        self.import_button.setEnabled(not dataset.installed)
        self.remove_button.setEnabled(dataset.installed)

    def show_busy(self, text: str) -> None:
        """Show that something is being done, which cannot be stopped."""
        self.state.show_text(text)
        self.import_button.setEnabled(False)
        self.remove_button.setEnabled(False)


def _give_up(dataset: InstalledDataset) -> None:
    """Refuse instead of waiting, perhaps for a long download, in a line that has no button to stop that."""
    raise AppError(
        f"{dataset.title} is just being downloaded, imported or removed elsewhere.", "Try again when that is done."
    )


def _told(dataset: InstalledDataset, removal: Removal) -> str:
    text = f"{dataset.title} is removed."
    if removal.kept:
        folder = one_line(str(removal.folder), 300)
        text += f" {folder} stays with {named(removal.kept)}, which is not Epochmark's."
    return text


def folder_bytes(folder: Path, names: Sequence[str]) -> int | None:
    """Return how large the data sets in a folder are; None if it is not there."""
    if not folder.is_dir():
        return None
    size_bytes = 0
    for path in (path for name in names for path in (folder / name).rglob("*")):
        with contextlib.suppress(OSError):  # gone by now
            size_bytes += path.lstat().st_size
    return size_bytes


def _open(dialog: QFileDialog) -> None:
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.open()
