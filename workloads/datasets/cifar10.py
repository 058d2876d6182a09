"""CIFAR-10 from the official binary archive, and its synthetic twin. Reads local files, never the network.

For the format and the checksum, see Alex Krizhevsky's CIFAR page (binary version). Each of the six files contains
10,000 records of one label byte and 3,072 pixel bytes: 1,024 red, 1,024 green, 1,024 blue, in row-major order.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from workloads.datasets import source, twins
from workloads.datasets.archives import Limits, plain, tar_members
from workloads.datasets.source import (
    Arrays,
    DatasetSource,
    HostileArchiveError,
    MissingDataError,
    SourceFile,
    aligned_floats,
)
from workloads.protocol.messages import message

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SOURCE = DatasetSource(
    id="cifar10",
    title="CIFAR-10",
    files=(
        SourceFile(
            "cifar-10-binary.tar.gz",
            url="https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
            size_bytes=170_052_171,
            sha256="c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
        ),
    ),
    citation="Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009",
    licence="none stated; research use with citation",
)
TRAIN_FILES = tuple(f"data_batch_{number}.bin" for number in range(1, 6))
FILES = (*TRAIN_FILES, "test_batch.bin")
IMAGES_PER_FILE = 10_000
RECORD_BYTES = 1 + 3 * 32 * 32
FILE_BYTES = IMAGES_PER_FILE * RECORD_BYTES
CLASSES = 10
STORED = source.stored(FILES)
_FOLDER_IN_ARCHIVE = "cifar-10-batches-bin"
_RECIPE = 1


def install(files: Mapping[str, Path], folder: Path) -> None:
    """Extract only the six data files from the archive, and write their checksum to the same folder.

    Raises:
        HostileArchiveError: The archive isn't a tar.gz, or a data file is missing or duplicated, isn't a regular
            file, or has the wrong size.
    """
    wanted = {f"{_FOLDER_IN_ARCHIVE}/{name}": name for name in FILES}
    seen: set[str] = set()
    limits = Limits(members=100, member_bytes=2 * FILE_BYTES, total_bytes=20 * FILE_BYTES)
    with tar_members(files[SOURCE.files[0].name], SOURCE.title, limits) as members:
        for member in members:
            if member.name in seen:
                raise HostileArchiveError(message("archive.twice", file=plain(member.name)))
            if member.name in wanted:
                seen.add(member.name)
                members.copy(member, folder / wanted.pop(member.name), FILE_BYTES)
            if not wanted:
                write_checksum(folder)
                return
    raise HostileArchiveError(message("archive.missing", files=sorted(wanted), count=len(wanted)))


def is_installed(folder: Path) -> bool:
    """Return whether the checksum file and all six data files exist, and the data files have the right size."""
    return source.are_there(folder, FILES, FILE_BYTES)


def load(folder: Path | None, *, scale: float = 255) -> Arrays:
    """Return the arrays that the studies' scripts use: float32 images, and labels of shape (n, 1).

    Pixels are divided by `scale`: 255 gives 0..1, and 1 keeps 0..255. If `folder` is None, the synthetic twin is
    generated. Images are converted to float32 one file at a time, to avoid holding a second full copy in memory.

    Raises:
        MissingDataError: A file is missing or modified, has the wrong size, or contains an invalid label.
    """
    import numpy as np

    train = aligned_floats(50_000, 32, 32, 3), np.empty((50_000, 1), np.int32)
    test = aligned_floats(10_000, 32, 32, 3), np.empty((10_000, 1), np.int32)
    digest = hashlib.sha256()
    files = _real_files(folder) if folder else _synthetic_files()
    for number, (images, labels, raw) in enumerate(files):
        for part in raw:
            digest.update(part)
        to, start = (train, number * IMAGES_PER_FILE) if number < len(TRAIN_FILES) else (test, 0)
        rows = slice(start, start + IMAGES_PER_FILE)
        np.divide(images, np.float32(scale), out=to[0][rows])
        to[1][rows, 0] = labels
    if folder:
        source.check_unchanged(folder, digest.hexdigest(), SOURCE.title)
    return Arrays(
        x_train=train[0],
        y_train=train[1],
        x_test=test[0],
        y_test=test[1],
        source="real" if folder else "synthetic",
        checksum=digest.hexdigest(),
    )


def write_checksum(folder: Path) -> None:
    source.write_checksum(folder, FILES)


# Images, labels, and the bytes they were decoded from.
_File: TypeAlias = "tuple[NDArray[np.uint8], NDArray[np.uint8], Sequence[memoryview]]"


def _real_files(folder: Path) -> Iterator[_File]:
    import numpy as np

    for name in FILES:
        try:
            raw = np.fromfile(folder / name, np.uint8)
        except OSError as error:
            arguments = {"file": name, "title": SOURCE.title, "reason": error.strerror or str(error)}
            raise MissingDataError(message("installed.unreadable", **arguments)) from error
        if raw.size != FILE_BYTES:
            sizes = {"size_bytes": int(raw.size), "expected_bytes": FILE_BYTES}
            raise MissingDataError(message("installed.other_size", file=name, title=SOURCE.title, **sizes))
        records = raw.reshape(IMAGES_PER_FILE, RECORD_BYTES)
        if records[:, 0].max() >= CLASSES:
            problem = message("idx.bad_label", highest=CLASSES - 1)
            raise MissingDataError(message("installed.file_with", file=name, title=SOURCE.title, problem=problem))
        images = records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        yield np.ascontiguousarray(images), np.ascontiguousarray(records[:, 0]), [raw.data]


def _synthetic_files() -> Iterator[_File]:
    shapes = twins.patterns([_RECIPE, 99], classes=CLASSES, coarse=8, channels=3, shifts=8)
    for number in range(len(FILES)):
        images, labels = twins.pictures([_RECIPE, number], IMAGES_PER_FILE, shapes, doubt_bits=3)
        yield images, labels, [images.data, labels.data]
