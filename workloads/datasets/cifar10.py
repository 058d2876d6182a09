"""CIFAR-10 from the official binary archive, and its synthetic twin. Reads files; never the network.

Format and checksum: Alex Krizhevsky's CIFAR page (binary version). Each of the six files holds 10,000
records of one label byte and 3,072 pixel bytes: 1,024 red, 1,024 green, 1,024 blue, row by row.
"""

import hashlib
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from workloads.datasets.source import (
    Arrays,
    DatasetSource,
    HostileArchiveError,
    MissingDataError,
    aligned_floats,
    member_copier,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SOURCE = DatasetSource(
    id="cifar10",
    title="CIFAR-10",
    url="https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
    size_bytes=170_052_171,
    sha256="c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
    citation="Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009",
)
TRAIN_FILES = tuple(f"data_batch_{number}.bin" for number in range(1, 6))
FILES = (*TRAIN_FILES, "test_batch.bin")
IMAGES_PER_FILE = 10_000
RECORD_BYTES = 1 + 3 * 32 * 32
FILE_BYTES = IMAGES_PER_FILE * RECORD_BYTES
CLASSES = 10
_CHECKSUM_FILE = "contents.sha256"
_FOLDER_IN_ARCHIVE = "cifar-10-batches-bin"
# The recipe's number is part of every pixel: raise it and the expected checksum when the recipe changes.
_RECIPE = 1


def unpack(archive: Path, folder: Path) -> None:
    """Copy the six data files out of the archive, and nothing else, and note their checksum beside them.

    Raises:
        HostileArchiveError: Not a tar.gz, a data file is missing, doubled, no regular file or of another size.
    """
    copy = member_copier(folder, FILE_BYTES)
    wanted = {f"{_FOLDER_IN_ARCHIVE}/{name}": name for name in FILES}
    seen: set[str] = set()
    try:
        with tarfile.open(archive, "r|gz") as tar:
            for count, member in enumerate(tar):
                if count > 100 or not 0 <= member.size <= 2 * FILE_BYTES:
                    msg = f"it holds more than CIFAR-10 does (at {member.name[:80]!r})"
                    raise HostileArchiveError(msg)
                if member.name in seen:
                    msg = f"it holds {member.name} more than once"
                    raise HostileArchiveError(msg)
                if member.name in wanted:
                    seen.add(member.name)
                    copy(tar, member, wanted.pop(member.name))
                if not wanted:
                    write_checksum(folder)
                    return
    except (tarfile.TarError, EOFError, OSError, ValueError, TypeError) as error:  # TypeError: gzip header cut
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the disk's fault, not the archive's
        msg = f"it is damaged ({str(error) or type(error).__name__})"
        raise HostileArchiveError(msg) from error
    msg = f"{', '.join(sorted(wanted))} is missing"
    raise HostileArchiveError(msg)


def is_installed(folder: Path) -> bool:
    """Say whether all six files are there in their exact size, and the checksum noted with them."""
    try:
        sizes = all((folder / name).stat().st_size == FILE_BYTES for name in FILES)
        return sizes and (folder / _CHECKSUM_FILE).is_file()
    except OSError:
        return False


def load(folder: Path | None) -> Arrays:
    """Return the arrays that the study's script makes: float32 images in 0..1, labels of shape (n, 1).

    The real files are read when a folder is given, the synthetic twin is made otherwise. Images go to float32
    file by file, so that no second full copy exists.

    Raises:
        MissingDataError: A file is missing, was changed, has another size or an impossible label.
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
        np.divide(images, np.float32(255), out=to[0][rows])
        to[1][rows, 0] = labels
    if folder and digest.hexdigest() != _noted_checksum(folder):
        msg = "the files of CIFAR-10 are not those that were installed"
        raise MissingDataError(msg)
    return Arrays(
        x_train=train[0],
        y_train=train[1],
        x_test=test[0],
        y_test=test[1],
        source="real" if folder else "synthetic",
        checksum=digest.hexdigest(),
    )


def write_checksum(folder: Path) -> None:
    """Note the SHA-256 of the six files together, so that `load` can tell when they were changed."""
    digest = hashlib.sha256()
    for name in FILES:
        digest.update((folder / name).read_bytes())
    (folder / _CHECKSUM_FILE).write_text(digest.hexdigest() + "\n", encoding="ascii")


def _noted_checksum(folder: Path) -> str | None:
    try:
        return (folder / _CHECKSUM_FILE).read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return None


# Images, labels, and the bytes that they were made from.
_File: TypeAlias = "tuple[NDArray[np.uint8], NDArray[np.uint8], Sequence[memoryview]]"


def _real_files(folder: Path) -> Iterator[_File]:
    import numpy as np

    for name in FILES:
        try:
            raw = np.fromfile(folder / name, np.uint8)
        except OSError as error:
            msg = f"{name} of CIFAR-10 cannot be read ({error.strerror})"
            raise MissingDataError(msg) from error
        if raw.size != FILE_BYTES:
            msg = f"{name} of CIFAR-10 has {raw.size} bytes instead of {FILE_BYTES}"
            raise MissingDataError(msg)
        records = raw.reshape(IMAGES_PER_FILE, RECORD_BYTES)
        if records[:, 0].max() >= CLASSES:
            msg = f"{name} of CIFAR-10 holds a label above {CLASSES - 1}"
            raise MissingDataError(msg)
        images = records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        yield np.ascontiguousarray(images), np.ascontiguousarray(records[:, 0]), [raw.data]


def _synthetic_files() -> Iterator[_File]:
    """Yield six files' worth of images that can be learnt: a blurred pattern per class, shifted, under noise.

    Only raw PCG64 output and integer arithmetic are used: NumPy keeps that stream the same in all versions
    (NEP 19), which it does not promise for its distributions.
    """
    import numpy as np

    patterns = _patterns()
    for number in range(len(FILES)):
        bits = np.random.PCG64([_RECIPE, number])
        choice = bits.random_raw(IMAGES_PER_FILE)
        kinds = (choice % np.uint64(CLASSES)).astype(np.uint8)
        shifts = ((choice >> np.uint64(16)) % np.uint64(patterns.shape[1])).astype(np.intp)
        # One label in eight is drawn anew, so that the loss has a floor, as on real pictures.
        drawn = ((choice >> np.uint64(32)) % np.uint64(CLASSES)).astype(np.uint8)
        labels = np.where(choice >> np.uint64(61) == 0, drawn, kinds)
        raw = bits.random_raw(IMAGES_PER_FILE * 3072 // 8).astype("<u8", copy=False)
        images = raw.view(np.uint8).reshape(IMAGES_PER_FILE, 32, 32, 3)
        images = (images >> 1) + (images >> 3)  # noise 0..158
        images += patterns[kinds, shifts]  # pattern 0..95
        yield images, labels, [images.data, labels.data]


def _patterns() -> "NDArray[np.uint8]":
    """Return (class, shift, 32, 32, 3) patterns of 0..95, blurred and shifted around the edges."""
    import numpy as np

    coarse = (np.random.PCG64([_RECIPE, 99]).random_raw(CLASSES * 8 * 8 * 3) >> np.uint64(56)).astype(np.uint16)
    pattern = coarse.reshape(CLASSES, 8, 8, 3).repeat(4, axis=1).repeat(4, axis=2)
    for _ in range(2):
        pattern = (pattern + np.roll(pattern, 1, axis=1)) // 2
        pattern = (pattern + np.roll(pattern, 1, axis=2)) // 2
    shifts = [(2 * down, 2 * right) for down in range(8) for right in range(8)]
    shifted = [np.roll(pattern, shift, axis=(1, 2)) for shift in shifts]
    return (np.stack(shifted, axis=1) * 3 // 8).astype(np.uint8)
