"""Packs flower photos, once per image size, into sixteen record files that training then reads."""

import contextlib
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from workloads.datasets.flower_photos import Examples, Photos
from workloads.datasets.source import MissingDataError
from workloads.datasets.tfrecords import Value
from workloads.protocol.messages import message

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PER_SHARD = 230  # 13 files of this size contain exactly the training photos
QUALITY = 95
LOCK_FILE = "packing.lock"  # locked while a folder of records is being created


class Packer(Protocol):
    """The engine functions needed for packing. All engines can read each other's records."""

    def encoded(self, image: "NDArray[np.uint8]", quality: int) -> bytes:
        """Return pixels as a JPEG."""

    def fitted(self, jpeg: bytes, side_px: int, quality: int) -> bytes:
        """Return the centre of an image as a square JPEG. Raises OSError if it can't be decoded."""

    def record_writer(self, path: Path) -> AbstractContextManager[Any]:
        """Return a context manager that provides a writer for a record file."""

    def record(self, features: Mapping[str, Value]) -> bytes:
        """Return a serialised example."""

    def working_in(self, folder: Path) -> AbstractContextManager[None]:
        """Return a context manager that converts errors about files in a folder to OSError."""


def examples(photos: Photos, classes: int, packer: Packer) -> tuple[Examples, Examples]:
    """Return the training and validation JPEGs, in the order of `photos`.

    Raises:
        MissingDataError: A real photo can't be decoded, or there isn't enough disk space for the records.
    """
    parts = ((photos.train, photos.train_labels), (photos.test, photos.test_labels))
    if photos.pictures is not None:
        jpegs = tuple(packer.encoded(picture, QUALITY) for picture in photos.pictures)
        train, test = (
            Examples(size=photos.size, classes=classes, count=len(which), jpegs=jpegs, which=which, labels=labels)
            for which, labels in parts
        )
        return train, test
    shards = prepared(photos, packer)
    first = len(photos.train) // PER_SHARD
    train, test = (
        Examples(size=photos.size, classes=classes, count=len(which), shards=files)
        for (which, _), files in zip(parts, (shards[:first], shards[first:]), strict=True)
    )
    return train, test


def prepared(
    photos: Photos, packer: Packer, report: Callable[[int, int], None] = lambda *_: None
) -> tuple[Path, ...]:
    """Return the record files, creating them if they don't exist yet.

    Args:
        photos: Real photos.
        packer: Engine functions that create the records.
        report: Called with the number of packed photos and the total.

    Raises:
        MissingDataError: A photo can't be decoded, or there isn't enough disk space for the records.
    """
    assert photos.folder is not None
    folder = photos.folder / f"tfrecords-{photos.size}"
    order = [*photos.train.tolist(), *photos.test.tolist()]
    labels = [*photos.train_labels.tolist(), *photos.test_labels.tolist()]
    shards = tuple(folder / f"photos-{number:02}.tfrec" for number in range(-(-len(order) // PER_SHARD)))
    if all(path.is_file() for path in shards):
        return shards
    try:
        _remove_leftovers(photos.folder, folder.name, shards)
        with _fresh_folder(photos.folder, folder.name, shards) as fresh, packer.working_in(fresh):
            files = [fresh / shard.name for shard in shards]
            _write(
                files, [photos.paths[place] for place in order], labels, photos.size, packer=packer, report=report
            )
            # Move files one by one, because others in the folder may belong to the user or to another run.
            folder.mkdir(exist_ok=True)
            for file, shard in zip(files, shards, strict=True):
                file.replace(shard)
    except OSError as error:
        reason = error.strerror or str(error)
        raise MissingDataError(message("installed.not_packed", folder=str(folder), reason=reason)) from error
    return shards


@contextlib.contextmanager
def _fresh_folder(parent: Path, name: str, shards: Sequence[Path]) -> Iterator[Path]:
    """Create a temporary folder for records, and lock it so that other processes don't delete it."""
    from filelock import FileLock  # imported late: it takes a tenth of a second

    fresh = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=parent))
    lock = FileLock(fresh / LOCK_FILE, timeout=0)
    try:
        with contextlib.suppress(OSError, NotImplementedError):  # no cleanup on drives without locks
            lock.acquire()
        yield fresh
    finally:
        lock.release()
        _remove_records(fresh, shards)


def _remove_leftovers(parent: Path, name: str, shards: Sequence[Path]) -> None:
    """Delete temporary folders left by killed processes. Skip folders that are in use or belong to the user."""
    from filelock import FileLock

    for leftover in parent.iterdir():
        is_ours = re.fullmatch(rf"\.{name}-[a-z0-9_]{{8}}", leftover.name) and not leftover.is_symlink()
        if not is_ours or not (leftover / LOCK_FILE).is_file():
            continue
        lock = FileLock(leftover / LOCK_FILE, timeout=0)
        with contextlib.suppress(OSError, NotImplementedError):  # the folder is in use
            lock.acquire()
            lock.release()
            _remove_records(leftover, shards)


def _remove_records(folder: Path, shards: Sequence[Path]) -> None:
    with contextlib.suppress(OSError):  # the folder contains other files
        for name in (*(shard.name for shard in shards), LOCK_FILE):
            (folder / name).unlink(missing_ok=True)
        folder.rmdir()


def _write(
    files: Sequence[Path],
    paths: Sequence[Path],
    labels: Sequence[int],
    size: int,
    *,
    packer: Packer,
    report: Callable[[int, int], None],
) -> None:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for number, file in enumerate(files):
            rows = slice(number * PER_SHARD, (number + 1) * PER_SHARD)
            with packer.record_writer(file) as writer:
                packed = pool.map(lambda path: _packed(path, size, packer), paths[rows])
                for jpeg, label in zip(packed, labels[rows], strict=True):
                    writer.write(packer.record({"jpeg": jpeg, "label": label}))
            report(min(len(paths), rows.stop), len(paths))


def _packed(path: Path, size: int, packer: Packer) -> bytes:
    jpeg = path.read_bytes()
    try:
        return packer.fitted(jpeg, size, QUALITY)
    except OSError as error:
        photo = f"{path.parent.name}/{path.name}"
        raise MissingDataError(message("installed.photo_not_decoded", photo=photo)) from error
