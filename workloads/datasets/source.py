"""Definitions shared by the data sets: official sources, the stored file, archives and arrays."""

import contextlib
import math
import re
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Origin: TypeAlias = Literal["real", "synthetic"]
_ALIGNMENT_BYTES = 64  # TensorFlow needs this alignment to share an array's memory instead of copying it
_FORMAT = 1  # of the arrays that `convert` returns
# What reading a damaged .npz file raises. Its members have checksums, so no damage to an array goes unnoticed.
_DAMAGED = (OSError, EOFError, KeyError, RuntimeError, TypeError, ValueError, zipfile.BadZipFile, zlib.error)


class UnofficialFileError(Exception):
    """A file doesn't have the official contents. The argument is its official name."""


class DamagedDataError(Exception):
    """The stored file of a data set can't be used."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """An official file."""

    name: str
    url: str | None = None  # download address; None if the user must supply the file
    size_bytes: int | None = None  # None if not published
    sha256: str | None = None  # None if not published or not meaningful. `convert` then checks the contents.


@dataclass(frozen=True, slots=True)
class DatasetSource:
    """The official source of a data set."""

    id: str
    title: str
    files: tuple[SourceFile, ...]
    citation: str
    licence: str

    @property
    def fetchable(self) -> bool:
        """Whether the data set may be downloaded. If not, the user must supply its files."""
        return all(file.url is not None for file in self.files)

    @property
    def size_bytes(self) -> int | None:
        """Total size of all files in bytes; None if not published."""
        sizes = [file.size_bytes for file in self.files if file.size_bytes is not None]
        return sum(sizes) if len(sizes) == len(self.files) else None

    def stored_in(self, folder: Path) -> Path:
        return folder / f"{self.id}-epochmark-{_FORMAT}.npz"

    def is_stored_in(self, folder: Path) -> bool:
        """Return whether the data set's file exists."""
        try:
            return self.stored_in(folder).is_file()
        except OSError:  # the name is too long, or the folder isn't accessible
            return False


class Dataset(Protocol):
    """The interface of a data set's module."""

    SOURCE: DatasetSource

    def convert(self, files: Mapping[str, Path]) -> "dict[str, NDArray[Any]]":
        """Return the contents of the official files as arrays to store, including their checksum.

        Args:
            files: Paths of the official files by name. Their sizes and checksums have been verified.

        Raises:
            UnofficialFileError: A file without a published checksum has the wrong contents.
        """


@dataclass(frozen=True, slots=True)
class Arrays:
    """Training and test data in memory. `checksum` is the SHA-256 of the source bytes."""

    x_train: "NDArray[Any]"
    y_train: "NDArray[Any]"
    x_test: "NDArray[Any]"
    y_test: "NDArray[Any]"
    source: Origin
    checksum: str


def members(archive: Path, pattern: re.Pattern[str]) -> Iterator[tuple[re.Match[str], bytes]]:
    """Yield the files in a verified .tar.gz archive whose whole names match a pattern."""
    with tarfile.open(archive, "r|gz") as tar:
        for member in tar:
            if (match := pattern.fullmatch(member.name)) and (content := tar.extractfile(member)):
                yield match, content.read()


@contextlib.contextmanager
def stored(file: Path) -> "Iterator[Mapping[str, NDArray[Any]]]":
    """Open the stored file of a data set. Each array is read when it is used.

    Raises:
        DamagedDataError: The file can't be read or doesn't contain the arrays.
    """
    import numpy as np

    try:
        with file.open("rb") as opened, np.load(opened, allow_pickle=False) as arrays:
            yield arrays
    except _DAMAGED as error:
        raise DamagedDataError from error


def scaled(images: "NDArray[Any]", scale: float) -> "NDArray[np.float32]":
    """Return images as float32, divided by `scale`, in memory that an engine can use."""
    import numpy as np

    floats = aligned_floats(*images.shape)
    np.divide(images, np.float32(scale), out=floats)
    return floats


def aligned_floats(*shape: int) -> "NDArray[np.float32]":
    """Return an uninitialised float32 array that an engine can use without copying."""
    import numpy as np

    size_bytes = math.prod(shape) * 4
    raw = np.empty(size_bytes + _ALIGNMENT_BYTES, np.uint8)
    start = -raw.ctypes.data % _ALIGNMENT_BYTES
    return raw[start : start + size_bytes].view(np.float32).reshape(shape)


def is_aligned(array: "NDArray[Any]") -> bool:
    """Return whether an engine can use the array's memory without copying."""
    return array.flags.c_contiguous and array.ctypes.data % _ALIGNMENT_BYTES == 0
