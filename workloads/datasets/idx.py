"""The IDX format of MNIST and Fashion-MNIST: four compressed files of 28 × 28 greyscale images and labels.

An IDX file consists of two zero bytes, the data type (8: unsigned byte), the number of dimensions, the size of
each dimension as a big-endian 32-bit integer, and the values.
"""

import hashlib
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from workloads.datasets import source, twins
from workloads.datasets.archives import gunzip
from workloads.datasets.source import Arrays, HostileArchiveError, MissingDataError, UnfitError, aligned_floats
from workloads.protocol.messages import message

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TRAIN_COUNT, TEST_COUNT = 60_000, 10_000
CLASSES = 10
_BYTES_TYPE = 8
# The official files by part, with their required shape.
_PARTS = (("train", TRAIN_COUNT), ("t10k", TEST_COUNT))
SHAPES: dict[str, tuple[int, ...]] = {}
for _part, _count in _PARTS:
    SHAPES[f"{_part}-images-idx3-ubyte.gz"] = (_count, 28, 28)
    SHAPES[f"{_part}-labels-idx1-ubyte.gz"] = (_count,)


def stored_name(name: str) -> str:
    """Return the name under which an official file is stored once unpacked."""
    return name.partition("-idx")[0] + ".idx"


def header_bytes(shape: tuple[int, ...]) -> int:
    """Return the length of an IDX file's header."""
    return 4 + 4 * len(shape)


def parse_shape(raw: bytes) -> tuple[int, ...]:
    """Return the shape from the header of an IDX file whose values are bytes.

    Raises:
        UnfitError: The header is invalid or truncated.
    """
    if len(raw) < 4 or raw[:3] != bytes((0, 0, _BYTES_TYPE)):
        raise UnfitError(message("idx.bad_mark", found=raw[:4].hex()) if raw else message("idx.empty"))
    end = 4 + 4 * raw[3]
    if len(raw) < end:
        raise UnfitError(message("idx.short_header"))
    return tuple(int.from_bytes(raw[at : at + 4], "big") for at in range(4, end, 4))


def install(files: Mapping[str, Path], folder: Path, contents: Mapping[str, str] | None = None) -> None:
    """Unpack and check the four files. `contents` maps their names to the SHA-256 of the unpacked data.

    Raises:
        HostileArchiveError: A file is damaged or not an IDX file, has the wrong shape or checksum, or contains
            a label above 9.
    """
    for name, shape in SHAPES.items():
        raw = gunzip(files[name], name, header_bytes(shape) + math.prod(shape))
        try:
            _check(raw, shape)
        except UnfitError as error:
            raise HostileArchiveError(message("archive.file_with", file=name, problem=error.message)) from error
        if contents is not None and hashlib.sha256(raw).hexdigest() != contents[name]:
            raise HostileArchiveError(message("archive.other_data", file=name))
        (folder / stored_name(name)).write_bytes(raw)
    source.write_checksum(folder, map(stored_name, SHAPES))


def is_installed(folder: Path) -> bool:
    """Return whether the checksum file and all four data files exist, and the data files have the right size."""
    try:
        sizes = all(
            (folder / stored_name(name)).stat().st_size == header_bytes(shape) + math.prod(shape)
            for name, shape in SHAPES.items()
        )
    except OSError:
        return False
    return sizes and source.are_there(folder, map(stored_name, SHAPES))


def load(folder: Path | None, title: str, twin: int) -> Arrays:
    """Return float32 images in 0..1 of shape (n, 28, 28, 1) and int32 labels of shape (n,).

    Args:
        folder: Folder of the real files; None for the synthetic twin.
        title: Name of the data set.
        twin: Number of the twin to generate.

    Raises:
        MissingDataError: A file is missing or modified, has the wrong shape, or contains an invalid label.
    """
    import numpy as np

    digest = hashlib.sha256()
    parts: list[tuple[NDArray[np.float32], NDArray[np.int32]]] = []
    for images, labels, raw in _real_parts(folder, title) if folder else _synthetic_parts(twin):
        for part in raw:
            digest.update(part)
        pixels = aligned_floats(*images.shape, 1)
        np.divide(images[..., None], np.float32(255), out=pixels)
        parts.append((pixels, labels.astype(np.int32)))
    if folder:
        source.check_unchanged(folder, digest.hexdigest(), title)
    (x_train, y_train), (x_test, y_test) = parts
    origin: source.Origin = "real" if folder else "synthetic"
    return Arrays(x_train, y_train, x_test, y_test, origin, digest.hexdigest())


def _check(raw: bytes, shape: tuple[int, ...]) -> None:
    """Raise UnfitError unless this is an IDX file with this shape and valid labels."""
    stated = parse_shape(raw)
    if stated != shape:
        raise UnfitError(message("idx.other_shape", found=_text(stated) if stated else "0", expected=_text(shape)))
    rest = len(raw) - header_bytes(shape)
    if rest != math.prod(shape):
        raise UnfitError(message("idx.other_length", found=rest, expected=math.prod(shape)))
    if len(shape) == 1 and max(raw[header_bytes(shape) :]) >= CLASSES:
        raise UnfitError(message("idx.bad_label", highest=CLASSES - 1))


def _text(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape))


# Images, labels, and the bytes they were decoded from.
_Part: TypeAlias = "tuple[NDArray[np.uint8], NDArray[np.uint8], list[bytes | memoryview]]"


def _real_parts(folder: Path, title: str) -> Iterator[_Part]:
    import numpy as np

    names = list(SHAPES)
    for images_name, labels_name in zip(names[::2], names[1::2], strict=True):
        raw = [source.read_installed(folder, stored_name(name), title) for name in (images_name, labels_name)]
        arrays = []
        for name, content in zip((images_name, labels_name), raw, strict=True):
            shape = SHAPES[name]
            try:
                _check(content, shape)
            except UnfitError as error:
                arguments = {"file": stored_name(name), "title": title, "problem": error.message}
                raise MissingDataError(message("installed.file_with", **arguments)) from error
            arrays.append(np.frombuffer(content, np.uint8, offset=header_bytes(shape)).reshape(shape))
        yield arrays[0], arrays[1], list(raw)


def _synthetic_parts(twin: int) -> Iterator[_Part]:
    shapes = twins.patterns([twin, 99], classes=CLASSES, coarse=7, channels=1, shifts=3)
    for number, (_, count) in enumerate(_PARTS):
        images, labels = twins.pictures([twin, number], count, shapes, doubt_bits=6)
        yield images[..., 0], labels, [images.data, labels.data]
