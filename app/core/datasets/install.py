"""Downloads, imports, verifies, unpacks, lists and removes data sets."""

import contextlib
import errno
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.core import locks
from app.core.datasets.downloads import Progress, WrongFileError, check_file, download
from app.core.datasets.folder import DataFolder
from app.core.errors import AppError, UsageError
from app.core.messages import message
from app.core.paths import Paths, check_datasets_folder, make_folder
from app.core.plain_text import one_line
from workloads.datasets import DATASETS
from workloads.datasets.source import Dataset, DatasetSource, HostileArchiveError, SourceFile
from workloads.protocol.folders import is_folder

Waits = Callable[[], None]  # called repeatedly while another instance works on it; may raise to cancel
_LOOK_EVERY_S = 0.2
_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})


@dataclass(frozen=True, slots=True)
class InstalledDataset:
    """A data set and its state on this computer."""

    id: str
    title: str
    installed: bool
    fetchable: bool  # False: only the user can supply it
    size_bytes: int | None  # total size of the official files; None if not published
    files: tuple[SourceFile, ...]
    citation: str
    licence: str


@dataclass(frozen=True, slots=True)
class Removal:
    """Result of removing a data set.

    Attributes:
        was_there: Whether an installation or a partial download existed.
        folder: The data set's folder.
        kept: Names of files in the folder that Epochmark didn't create; empty if the folder was removed.
    """

    was_there: bool
    folder: Path
    kept: tuple[str, ...]


class _RefusedError(AppError):
    """The files aren't the expected ones."""


def list_datasets(paths: Paths) -> list[InstalledDataset]:
    """Return all supported data sets and whether they are installed."""
    _put_back(paths)
    return [
        InstalledDataset(
            id=dataset_id,
            title=module.SOURCE.title,
            installed=module.is_installed(paths.datasets / dataset_id),
            fetchable=module.SOURCE.fetchable,
            size_bytes=module.SOURCE.size_bytes,
            files=module.SOURCE.files,
            citation=module.SOURCE.citation,
            licence=module.SOURCE.licence,
        )
        for dataset_id, module in DATASETS.items()
    ]


def fetch_dataset(
    paths: Paths,
    dataset_id: str,
    url: str | None = None,
    progress: Progress = lambda *_: None,
    waits: Waits = lambda: None,
) -> Path:
    """Download, check and install a data set; return its folder.

    Args:
        paths: The app's folders.
        dataset_id: Id of the data set.
        url: Mirror of its file or, if it has several, of the folder that contains them; None for the official
            server.
        progress: Called with the number of bytes processed and the total number for all files.
        waits: Called while another instance of Epochmark is working on the data set. If that instance installs it,
            the data set isn't downloaded again.

    Raises:
        AppError: The data set can't be downloaded, checked or installed. A partial download is kept for the next
            attempt.
    """
    module, source = _known(dataset_id)
    if not source.fetchable:
        raise UsageError(
            message("dataset.not_downloadable", title=source.title, licence=source.licence),
            message("dataset.import_own_copy", dataset=source.id, files=_names(source)),
        )
    check_datasets_folder(paths)
    place = DataFolder(paths.datasets, module)
    before = place.stamp()
    with _alone(paths, source, waits):
        if place.stamp() != before and module.is_installed(place.path):
            return place.path
        with _explained(source, place):
            place.check_replaceable()  # before a download that may take minutes
        make_folder(paths.downloads)
        files = {file.name: _download_place(paths, source, file) for file in source.files}
        _download(source, files, url, progress)
        try:
            _install(paths, place, source, files)
        except _RefusedError:
            _delete(files.values())  # otherwise every attempt would reject them
            raise
        _delete(files.values())
    return place.path


def import_dataset(paths: Paths, dataset_id: str, *places: Path, waits: Waits = lambda: None) -> Path:
    """Install a data set from official files on this computer, and return its folder. The files are kept.

    Args:
        paths: The app's folders.
        dataset_id: Id of the data set.
        places: The files, or the folder that contains them. Several files are identified by their names.
        waits: Called while another instance of Epochmark is working on the data set.

    Raises:
        AppError: A file is missing, unreadable or wrong, or the data set can't be installed.
    """
    module, source = _known(dataset_id)
    check_datasets_folder(paths)
    place = DataFolder(paths.datasets, module)
    files = _find(source, places)
    for file in source.files:
        path = files[file.name]
        shown = one_line(str(path), 300)
        try:
            # If only the contents can be checked, any archive with these contents is accepted.
            check_file(path, file.size_bytes if file.sha256 else None, file.sha256, shown)
        except WrongFileError as error:
            raise UsageError(error.message, message("dataset.use_official_file", file=file.name)) from error
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise UsageError(message("files.unreadable", path=shown, reason=reason)) from error
    with _alone(paths, source, waits):
        _install(paths, place, source, files)
    return place.path


def remove_dataset(paths: Paths, dataset_id: str, waits: Waits = lambda: None) -> Removal:
    """Delete an installed data set and its partial download, and nothing else.

    Args:
        paths: The app's folders.
        dataset_id: Id of the data set.
        waits: Called while another instance of Epochmark is working on the data set.

    Raises:
        UsageError: Epochmark didn't install the files in the folder; they are kept.
        AppError: The data set can't be deleted.
    """
    module, source = _known(dataset_id)
    check_datasets_folder(paths)
    place = DataFolder(paths.datasets, module)
    targets = [_download_place(paths, source, file) for file in source.files]
    with _alone(paths, source, waits), _explained(source, place, "files.not_removed", "dataset.make_writable"):
        left = _delete([*targets, *(target.with_name(target.name + ".part") for target in targets)])
        place.tidy()
        content = place.remove()
    if content.problem:
        shown = one_line(str(place.path), 300)
        raise UsageError(
            message("dataset.folder_not_ours_kept", folder=shown, problem=content.problem),
            message("dataset.delete_it_yourself"),
        )
    return Removal(was_there=left or content.own is not None, folder=place.path, kept=content.strangers)


def _known(dataset_id: str) -> tuple[Dataset, DatasetSource]:
    if dataset_id not in DATASETS:
        raise UsageError(
            message("dataset.unknown_dataset", dataset=one_line(dataset_id, 60)),
            message("dataset.known_datasets", datasets=list(DATASETS)),
        )
    return DATASETS[dataset_id], DATASETS[dataset_id].SOURCE


@contextlib.contextmanager
def _alone(paths: Paths, source: DatasetSource, waits: Waits) -> Iterator[None]:
    """Lock a data set and its downloads against other processes that use the same folders."""
    make_folder(paths.locks)
    path = _lock_place(paths, source)
    hold = locks.acquire(path)
    while hold is None:
        waits()
        hold = locks.acquire(path, _LOOK_EVERY_S)
    with hold:
        yield


def _lock_place(paths: Paths, source: DatasetSource) -> Path:
    # The lock isn't next to the data, because that folder is the user's, and not every drive supports locks.
    return paths.locks / f"data-{source.id}.lock"


def _put_back(paths: Paths) -> None:
    """Restore data sets after an interrupted replacement, unless another process is working on them."""
    for module in DATASETS.values():
        place = DataFolder(paths.datasets, module)
        if place.is_cut_off() and paths.locks.is_dir():
            with contextlib.suppress(AppError):
                hold = locks.acquire(_lock_place(paths, module.SOURCE))
                if hold is not None:
                    with hold:
                        place.tidy()


@contextlib.contextmanager
def _explained(
    source: DatasetSource,
    place: DataFolder,
    failure: str = "files.not_installed",
    advice: str = "dataset.choose_other_folder",
) -> Iterator[None]:
    """Convert an OSError to an AppError with these message codes."""
    try:
        yield
    except OSError as error:
        folder = one_line(str(place.path), 300)
        raise AppError(
            message(failure, title=source.title, folder=folder, reason=error.strerror),
            message("dataset.free_space_or_choose_folder" if error.errno in _NO_SPACE else advice),
        ) from error


def _names(source: DatasetSource) -> list[str]:
    return [file.name for file in source.files]


def _find(source: DatasetSource, places: Sequence[Path]) -> dict[str, Path]:
    """Map the name of each official file to the user's file."""
    names = _names(source)
    files: dict[str, Path] = {}
    for place in places:
        shown = one_line(str(place), 300)
        try:
            if is_folder(place):
                there = {path.name for path in place.iterdir()}
                files |= {name: place / name for name in names if name in there}
                continue
        except OSError as error:
            raise UsageError(message("files.unreadable", path=shown, reason=error.strerror)) from error
        if len(names) > 1 and place.name not in names:
            raise UsageError(
                message("dataset.not_one_of_its_files", path=shown, title=source.title),
                message("dataset.its_files", files=names),
            )
        files[place.name if len(names) > 1 else names[0]] = place
    if missing := [name for name in names if name not in files]:
        raise UsageError(
            message(
                "dataset.files_missing",
                title=source.title,
                files=missing,
                places=[one_line(str(place), 300) for place in places],
                count=len(missing),
            ),
            message("dataset.name_all_files"),
        )
    return files


def _download(source: DatasetSource, targets: Mapping[str, Path], mirror: str | None, progress: Progress) -> None:
    done_bytes, all_bytes = 0, source.size_bytes or 0
    for file in source.files:
        assert file.size_bytes is not None  # known for all downloadable files
        target = targets[file.name]
        if not _is_whole(target, file):  # a previous installation may have failed after downloading
            before_bytes = done_bytes

            def report(part_bytes: int, _: int, before_bytes: int = before_bytes) -> None:
                progress(before_bytes + part_bytes, all_bytes)

            download(_address(source, file, mirror), target, file.size_bytes, file.sha256, report)
        done_bytes += file.size_bytes


def _address(source: DatasetSource, file: SourceFile, mirror: str | None) -> str:
    if mirror is None:
        return str(file.url)
    folder, mark, query = mirror.partition("?")
    return mirror if len(source.files) == 1 else f"{folder.rstrip('/')}/{file.name}{mark}{query}"


def _download_place(paths: Paths, source: DatasetSource, file: SourceFile) -> Path:
    return paths.downloads / f"{source.id}-{file.name}"


def _delete(files: Iterable[Path]) -> bool:
    """Delete downloaded files, but nothing else at these paths; return whether any existed."""
    was_there = False
    for path in files:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            if stat.S_ISREG(path.lstat().st_mode):
                path.unlink()
                was_there = True
    return was_there


def _is_whole(path: Path, file: SourceFile) -> bool:
    try:
        check_file(path, file.size_bytes, file.sha256, path.name)
    except (WrongFileError, OSError):
        return False
    return True


def _install(paths: Paths, place: DataFolder, source: DatasetSource, files: Mapping[str, Path]) -> None:
    make_folder(paths.datasets)
    try:
        with _explained(source, place):
            place.tidy()
            place.check_replaceable()
            place.install(files)
    except HostileArchiveError as error:
        what = source.title if len(files) > 1 else one_line(str(files[source.files[0].name]), 300)
        raise _RefusedError(message("dataset.refused", file=what, reason=error.message)) from error
