"""Installed data sets: fetched or imported, checked, unpacked beside the others, listed and removed."""

import json
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from app.core.errors import AppError, UsageError
from app.core.judging.outcome import now_text
from app.core.keeping.downloads import Progress, WrongFileError, check_file, download
from app.core.paths import Paths, check_datasets_folder, make_folder
from workloads.datasets import DATASETS
from workloads.datasets.source import Dataset, DatasetSource, HostileArchiveError, SourceFile

_NOTE = "installed.json"


@dataclass(frozen=True, slots=True)
class InstalledDataset:
    """A data set and its state here."""

    id: str
    title: str
    installed: bool
    fetchable: bool  # or only the user may bring it
    size_bytes: int | None  # of the official files; None when it is not published
    files: tuple[SourceFile, ...]
    citation: str
    licence: str


class _RefusedError(AppError):
    """The files are not what they should be."""


def list_datasets(paths: Paths) -> list[InstalledDataset]:
    """Return all known data sets and whether they are installed."""
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
    paths: Paths, dataset_id: str, url: str | None = None, progress: Progress = lambda *_: None
) -> Path:
    """Download a data set, check and install it; returns its folder.

    Args:
        paths: Where everything is.
        dataset_id: Which.
        url: A mirror of its file, or of the folder that holds its files where there are several.
        progress: Told of all files together.

    Raises:
        AppError: It cannot be downloaded, checked or installed; a partial download is kept for the next time.
    """
    module, source = _known(dataset_id)
    if not source.fetchable:
        raise UsageError(
            f"{source.title} cannot be fetched: its licence ({source.licence}) lets nobody offer it.",
            f"Import your own copy: `data import {source.id} FOLDER`, with {_names(source)} in the folder.",
        )
    check_datasets_folder(paths)  # before many minutes of downloading
    make_folder(paths.downloads)
    files: dict[str, Path] = {}
    done_bytes, all_bytes = 0, source.size_bytes or 0
    for file in source.files:
        assert file.size_bytes is not None  # of everything that may be fetched
        files[file.name] = target = _download_place(paths, source, file)
        if not _is_whole(target, file):  # the last installation may have failed after its downloads
            before_bytes = done_bytes

            def report(part_bytes: int, _: int, before_bytes: int = before_bytes) -> None:
                progress(before_bytes + part_bytes, all_bytes)

            download(_address(source, file, url), target, file.size_bytes, file.sha256, report)
        done_bytes += file.size_bytes
    try:
        folder = _install(paths, module, source, files)
    except _RefusedError:
        _delete(files.values())  # else they would be refused again and again
        raise
    _delete(files.values())
    return folder


def import_dataset(paths: Paths, dataset_id: str, *places: Path) -> Path:
    """Install a data set from its official files here, which stay; returns its folder.

    Args:
        paths: Where everything is.
        dataset_id: Which.
        places: The files, or the folder that holds them. Several files are told apart by their names.

    Raises:
        AppError: A file is missing, cannot be read, is another one, or cannot be installed.
    """
    module, source = _known(dataset_id)
    check_datasets_folder(paths)
    files = _find(source, places)
    for file in source.files:
        path = files[file.name]
        try:
            # Where only the contents can be known, another packing of them is as good.
            check_file(path, file.size_bytes if file.sha256 else None, file.sha256, str(path))
        except WrongFileError as error:
            raise UsageError(error.message, f"Wanted is the official {file.name}.") from error
        except (OSError, ValueError) as error:
            raise UsageError(f"{path} cannot be read ({getattr(error, 'strerror', None) or error}).") from error
    return _install(paths, module, source, files)


def remove_dataset(paths: Paths, dataset_id: str) -> bool:
    """Delete an installed data set and what is left of its download; returns whether anything was there."""
    _, source = _known(dataset_id)
    check_datasets_folder(paths)
    folder = paths.datasets / dataset_id
    targets = [_download_place(paths, source, file) for file in source.files]
    downloads = [*targets, *(target.with_name(target.name + ".part") for target in targets)]
    found = any(path.exists() for path in (folder, *downloads))
    try:
        for download_ in downloads:
            download_.unlink(missing_ok=True)
        if folder.exists():
            shutil.rmtree(folder)
    except OSError as error:
        raise AppError(f"{folder} cannot be removed ({error.strerror}).") from error
    return found


def _known(dataset_id: str) -> tuple[Dataset, DatasetSource]:
    if dataset_id not in DATASETS:
        raise UsageError(f"There is no data set {dataset_id[:60]!r}.", f"There are: {', '.join(DATASETS)}.")
    return DATASETS[dataset_id], DATASETS[dataset_id].SOURCE


def _names(source: DatasetSource) -> str:
    return ", ".join(file.name for file in source.files)


def _find(source: DatasetSource, places: Sequence[Path]) -> dict[str, Path]:
    """Return which of the user's files is which."""
    names = [file.name for file in source.files]
    found: dict[str, Path] = {}
    for place in places:
        try:
            if place.is_dir():
                found |= {name: place / name for name in names if (place / name).exists()}
                continue
        except OSError as error:
            raise UsageError(f"{place} cannot be read ({error.strerror}).") from error
        if len(names) > 1 and place.name not in names:
            raise UsageError(f"{place} is none of the files of {source.title}.", f"They are: {_names(source)}.")
        found[place.name if len(names) > 1 else names[0]] = place
    if missing := [name for name in names if name not in found]:
        raise UsageError(
            f"{', '.join(missing)} of {source.title} {'is' if len(missing) == 1 else 'are'} missing in "
            f"{', '.join(map(str, places))}.",
            "Name all its files, or the folder that holds them.",
        )
    return found


def _address(source: DatasetSource, file: SourceFile, mirror: str | None) -> str:
    if mirror is None:
        return str(file.url)
    return mirror if len(source.files) == 1 else f"{mirror.rstrip('/')}/{file.name}"


def _download_place(paths: Paths, source: DatasetSource, file: SourceFile) -> Path:
    return paths.downloads / f"{source.id}-{file.name}"


def _delete(files: Iterable[Path]) -> None:
    for path in files:
        path.unlink(missing_ok=True)


def _is_whole(path: Path, file: SourceFile) -> bool:
    try:
        check_file(path, file.size_bytes, file.sha256, path.name)
    except (WrongFileError, OSError):
        return False
    return True


def _install(paths: Paths, module: Dataset, source: DatasetSource, files: Mapping[str, Path]) -> Path:
    """Unpack beside the final place and rename: the data set is there as a whole or not at all."""
    make_folder(paths.datasets)
    folder = paths.datasets / source.id
    fresh: Path | None = None
    try:
        for leftover in paths.datasets.glob(f".{source.id}-*"):  # of an installation that was killed
            shutil.rmtree(leftover)
        fresh = Path(tempfile.mkdtemp(prefix=f".{source.id}-", dir=paths.datasets))
        module.install(files, fresh)
        note = {"files": [asdict(file) for file in source.files], "installed_at": now_text()}
        (fresh / _NOTE).write_text(json.dumps(note, indent=2) + "\n", encoding="utf-8")
        fresh.chmod(0o755)
        if folder.exists():
            shutil.rmtree(folder)
        fresh.rename(folder)
    except HostileArchiveError as error:
        what = source.title if len(files) > 1 else files[source.files[0].name]
        raise _RefusedError(f"{what} was refused: {error}.") from error
    except OSError as error:
        raise AppError(
            f"{source.title} cannot be installed in {folder} ({error.strerror}).",
            "Free some space or choose another folder with EPOCHMARK_HOME, then try again.",
        ) from error
    finally:
        if fresh is not None:
            shutil.rmtree(fresh, ignore_errors=True)
    return folder
