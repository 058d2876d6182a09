"""What is common to data sets: where one comes from, the arrays it becomes, and copying from archives."""

import math
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_CHUNK_BYTES = 1 << 20
_ALIGNMENT_BYTES = 64  # what TensorFlow needs to use an array's memory without copying it


class HostileArchiveError(Exception):
    """An archive is not what it should be; the message completes "… was refused: "."""


class MissingDataError(Exception):
    """Installed data cannot be used; the message is a clause that names the file."""


@dataclass(frozen=True, slots=True)
class DatasetSource:
    """Where a data set officially comes from, and how to know it."""

    id: str
    title: str
    url: str
    size_bytes: int
    sha256: str
    citation: str


@dataclass(frozen=True, slots=True)
class Arrays:
    """Training and test data in memory. `checksum` is the SHA-256 of the bytes they were made from."""

    x_train: "NDArray[Any]"
    y_train: "NDArray[Any]"
    x_test: "NDArray[Any]"
    y_test: "NDArray[Any]"
    source: Literal["real", "synthetic"]
    checksum: str


def aligned_floats(*shape: int) -> "NDArray[np.float32]":
    """Return an uninitialised float32 array that an engine can share instead of copying."""
    import numpy as np

    size_bytes = math.prod(shape) * 4
    raw = np.empty(size_bytes + _ALIGNMENT_BYTES, np.uint8)
    start = -raw.ctypes.data % _ALIGNMENT_BYTES
    return raw[start : start + size_bytes].view(np.float32).reshape(shape)


def is_aligned(array: "NDArray[Any]") -> bool:
    """Say whether an engine can share the array's memory."""
    return array.flags.c_contiguous and array.ctypes.data % _ALIGNMENT_BYTES == 0


def member_copier(folder: Path, size_bytes: int) -> Callable[[tarfile.TarFile, tarfile.TarInfo, str], None]:
    """Return a function that copies one checked member to `folder` under a name of our own choice."""

    def copy(tar: tarfile.TarFile, member: tarfile.TarInfo, name: str) -> None:
        if not member.isreg():
            msg = f"{member.name} is no regular file"
            raise HostileArchiveError(msg)
        if member.size != size_bytes:
            msg = f"{member.name} has {member.size} bytes instead of {size_bytes}"
            raise HostileArchiveError(msg)
        content = tar.extractfile(member)
        assert content is not None  # it is a regular file
        with content, (folder / name).open("xb") as target:
            while chunk := content.read(_CHUNK_BYTES):
                target.write(chunk)

    return copy
