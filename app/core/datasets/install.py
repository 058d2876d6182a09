"""Downloads, imports, verifies, converts, lists and removes data sets.

A data set is stored in one file. The folder may be the user's and contain other files, so only files with the
names used here are replaced or deleted.
"""

import contextlib
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.core import locks
from app.core.datasets.downloads import Progress, WrongFileError, check_file, download
from app.core.errors import AppError, UsageError
from app.core.files import NO_SPACE, patiently
from app.core.messages import message
from app.core.paths import Paths, make_folder
from app.core.plain_text import one_line
from workloads.datasets import DATASETS
from workloads.datasets.source import Dataset, DatasetSource, SourceFile, UnofficialFileError
from workloads.protocol.folders import is_folder

if TYPE_CHECKING:
    from numpy.typing import NDArray

Waits = Callable[[], None]  # called repeatedly while another instance works on it; may raise to cancel
_LOOK_EVERY_S = 0.2
_DRAFT = ".epochmark-draft"
_ABANDONED_S = 3600.0  # another home's process, whose locks aren't visible here, may still be writing newer drafts


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


def list_datasets(paths: Paths) -> list[InstalledDataset]:
    """Return all supported data sets and whether they are installed."""
    return [
        InstalledDataset(
            id=dataset_id,
            title=module.SOURCE.title,
            installed=module.SOURCE.is_stored_in(paths.datasets),
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
    """Download, check and convert a data set; return its file.

    Args:
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
    stored = source.stored_in(paths.datasets)
    before_ns = _written_ns(stored)
    with _alone(paths, source, waits):
        if _written_ns(stored) not in {None, before_ns}:
            return stored
        make_folder(paths.downloads)
        files = {file.name: _download_place(paths, source, file) for file in source.files}
        _download(source, files, url, progress)
        try:
            _install(paths, module, files)
        except WrongFileError:
            _delete(files.values())  # otherwise every attempt would reject them
            raise
        _delete(files.values())
    return stored


def import_dataset(paths: Paths, dataset_id: str, *places: Path, waits: Waits = lambda: None) -> Path:
    """Convert official files on this computer, and return the data set's file. The official files are kept.

    Args:
        places: The files, or the folder that contains them. Several files are identified by their names.
        waits: Called while another instance of Epochmark is working on the data set.

    Raises:
        AppError: A file is missing, unreadable or wrong, or the data set can't be installed.
    """
    module, source = _known(dataset_id)
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
        _install(paths, module, files)
    return source.stored_in(paths.datasets)


def remove_dataset(paths: Paths, dataset_id: str, waits: Waits = lambda: None) -> bool:
    """Delete a data set's file and its partial download; return whether there were any.

    Raises:
        AppError: The data set can't be deleted.
    """
    _, source = _known(dataset_id)
    downloads = [_download_place(paths, source, file) for file in source.files]
    parts = [target.with_name(target.name + ".part") for target in downloads]
    with _alone(paths, source, waits), _explained(paths, source, "files.not_removed"):
        _delete_drafts(paths, source)
        return _delete([*downloads, *parts, source.stored_in(paths.datasets)])


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
    # The lock isn't next to the data, because that folder is the user's, and not every drive supports locks.
    path = paths.locks / f"data-{source.id}.lock"
    hold = locks.acquire(path)
    while hold is None:
        waits()
        hold = locks.acquire(path, _LOOK_EVERY_S)
    with hold:
        yield


@contextlib.contextmanager
def _explained(paths: Paths, source: DatasetSource, failure: str = "files.not_installed") -> Iterator[None]:
    """Convert an OSError to an AppError with this message code."""
    try:
        yield
    except OSError as error:
        folder = one_line(str(paths.datasets), 300)
        raise AppError(
            message(failure, title=source.title, folder=folder, reason=error.strerror),
            message("dataset.free_space_or_move_home" if error.errno in NO_SPACE else "engines.check_folder"),
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
    """Delete regular files, but nothing else at these paths; return whether any existed."""
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


def _install(paths: Paths, module: Dataset, files: Mapping[str, Path]) -> None:
    """Convert verified files, and store the result completely or not at all."""
    source = module.SOURCE
    make_folder(paths.datasets)
    try:
        with _explained(paths, source):
            _delete_drafts(paths, source)
            _store(source, paths.datasets, module.convert(files))
    except UnofficialFileError as error:
        name = str(error)
        raise WrongFileError(
            message("dataset.other_contents", file=one_line(str(files[name]), 300)),
            message("dataset.use_official_file", file=name),
        ) from error


def _store(source: DatasetSource, folder: Path, arrays: "Mapping[str, NDArray[Any]]") -> None:
    import numpy as np

    draft = folder / f".{source.id}-{secrets.token_hex(4)}{_DRAFT}"
    try:
        with draft.open("xb") as file:
            np.savez(file, allow_pickle=False, **arrays)
            file.flush()
            os.fsync(file.fileno())
        patiently(lambda: draft.replace(source.stored_in(folder)))
    finally:
        draft.unlink(missing_ok=True)


def _delete_drafts(paths: Paths, source: DatasetSource) -> None:
    for draft in paths.datasets.glob(f".{source.id}-????????{_DRAFT}"):
        with contextlib.suppress(OSError):  # another process has finished it
            if time.time() - draft.lstat().st_mtime > _ABANDONED_S:
                _delete([draft])


def _written_ns(path: Path) -> int | None:
    """Return when a file was written; None if there is no such file."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None
