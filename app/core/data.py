"""Installed data sets: fetched or imported, checked, unpacked beside the others, listed and removed."""

import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from app.core.downloads import Progress, WrongFileError, check_file, download
from app.core.errors import AppError, UsageError
from app.core.paths import Paths, check_datasets_folder, make_folder
from app.core.runs import now_text
from workloads.datasets import DATASETS
from workloads.datasets.source import DatasetSource, HostileArchiveError

_NOTE = "installed.json"


@dataclass(frozen=True, slots=True)
class InstalledDataset:
    """A data set and its state here."""

    id: str
    title: str
    installed: bool
    size_bytes: int  # of the official archive
    url: str
    sha256: str
    citation: str


def list_datasets(paths: Paths) -> list[InstalledDataset]:
    """Return all known data sets and whether they are installed."""
    return [
        InstalledDataset(
            id=dataset_id,
            title=module.SOURCE.title,
            installed=module.is_installed(paths.datasets / dataset_id),
            size_bytes=module.SOURCE.size_bytes,
            url=module.SOURCE.url,
            sha256=module.SOURCE.sha256,
            citation=module.SOURCE.citation,
        )
        for dataset_id, module in DATASETS.items()
    ]


def fetch_dataset(
    paths: Paths, dataset_id: str, url: str | None = None, progress: Progress = lambda *_: None
) -> Path:
    """Download a data set (from a mirror if `url` says so), check and install it; returns its folder.

    Raises:
        AppError: It cannot be downloaded, checked or installed; a partial download is kept for the next time.
    """
    module, source = _known(dataset_id)
    check_datasets_folder(paths)  # before many minutes of downloading
    make_folder(paths.downloads)
    archive = paths.downloads / f"{dataset_id}.tar.gz"
    if not _is_whole(archive, source):  # the last installation may have failed after its download
        download(url or source.url, archive, source.size_bytes, source.sha256, progress)
    folder = _install(paths, module, source, archive)
    archive.unlink(missing_ok=True)
    return folder


def import_dataset(paths: Paths, dataset_id: str, archive: Path) -> Path:
    """Install a data set from the official archive in a local file, which stays; returns its folder.

    Raises:
        AppError: The file cannot be read, is another one, or cannot be installed.
    """
    module, source = _known(dataset_id)
    check_datasets_folder(paths)
    try:
        check_file(archive, source.size_bytes, source.sha256, str(archive))
    except WrongFileError as error:
        raise UsageError(
            error.message, f"Wanted is the binary version, {source.url.rsplit('/', 1)[-1]}."
        ) from error
    except OSError as error:
        raise UsageError(f"{archive} cannot be read ({error.strerror}).") from error
    return _install(paths, module, source, archive)


def remove_dataset(paths: Paths, dataset_id: str) -> bool:
    """Delete an installed data set and what is left of its download; returns whether anything was there."""
    _known(dataset_id)
    check_datasets_folder(paths)
    folder = paths.datasets / dataset_id
    downloads = [paths.downloads / f"{dataset_id}.tar.gz{end}" for end in ("", ".part")]
    found = any(path.exists() for path in (folder, *downloads))
    try:
        for download_ in downloads:
            download_.unlink(missing_ok=True)
        if folder.exists():
            shutil.rmtree(folder)
    except OSError as error:
        raise AppError(f"{folder} cannot be removed ({error.strerror}).") from error
    return found


def _known(dataset_id: str) -> tuple[ModuleType, DatasetSource]:
    if dataset_id not in DATASETS:
        raise UsageError(f"There is no data set {dataset_id[:60]!r}.", f"There are: {', '.join(DATASETS)}.")
    return DATASETS[dataset_id], DATASETS[dataset_id].SOURCE


def _is_whole(archive: Path, source: DatasetSource) -> bool:
    try:
        check_file(archive, source.size_bytes, source.sha256, archive.name)
    except (WrongFileError, OSError):
        return False
    return True


def _install(paths: Paths, module: ModuleType, source: DatasetSource, archive: Path) -> Path:
    """Unpack beside the final place and rename: the data set is there as a whole or not at all."""
    make_folder(paths.datasets)
    folder = paths.datasets / source.id
    fresh: Path | None = None
    try:
        for leftover in paths.datasets.glob(f".{source.id}-*"):  # of an installation that was killed
            shutil.rmtree(leftover)
        fresh = Path(tempfile.mkdtemp(prefix=f".{source.id}-", dir=paths.datasets))
        module.unpack(archive, fresh)
        note = {"sha256": source.sha256, "url": source.url, "installed_at": now_text()}
        (fresh / _NOTE).write_text(json.dumps(note, indent=2) + "\n", encoding="utf-8")
        fresh.chmod(0o755)
        if folder.exists():
            shutil.rmtree(folder)
        fresh.rename(folder)
    except HostileArchiveError as error:
        raise AppError(f"{archive} was refused: {error}.") from error
    except OSError as error:
        raise AppError(
            f"{source.title} cannot be installed in {folder} ({error.strerror}).",
            "Free some space or choose another folder with EPOCHMARK_HOME, then try again.",
        ) from error
    finally:
        if fresh is not None:
            shutil.rmtree(fresh, ignore_errors=True)
    return folder
