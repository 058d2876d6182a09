"""Definitions shared by the data sets: sources, arrays, errors, and checks of installed files."""

import hashlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from workloads.datasets.regular_file import read_regular
from workloads.protocol.messages import Message, message

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Origin: TypeAlias = Literal["real", "synthetic"]
_CHUNK_BYTES = 1 << 20
_ALIGNMENT_BYTES = 64  # TensorFlow needs this alignment to share an array's memory instead of copying it
_CHECKSUM_FILE = "contents.sha256"


class MessageError(Exception):
    """A problem with data, described by a clause.

    Args:
        message: The clause, which either completes "… was refused: " or names the file.
    """

    def __init__(self, message: Message) -> None:
        super().__init__(f"{message.code} {message.arguments}")
        self.message = message


class HostileArchiveError(MessageError):
    """A file doesn't have the expected contents."""


class MissingDataError(MessageError):
    """Installed data can't be used."""


class UnfitError(MessageError, ValueError):
    """A file's contents aren't as expected.

    The message is a clause whose subject is missing or "it".
    """


@dataclass(frozen=True, slots=True)
class SourceFile:
    """An official file.

    Attributes:
        url: Download address; None if the user must supply the file.
        size_bytes: None if not published.
        sha256: None if not published or not meaningful. The data set then checks the contents itself.
    """

    name: str
    url: str | None = None
    size_bytes: int | None = None
    sha256: str | None = None


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


def stored(names: Iterable[str]) -> frozenset[str]:
    """Return the names of the files of an installed data set, including its checksum file."""
    return frozenset([*names, _CHECKSUM_FILE])


class Dataset(Protocol):
    """The interface of a data set's module."""

    SOURCE: DatasetSource
    STORED: frozenset[str]

    def install(self, files: Mapping[str, Path], folder: Path) -> None:
        """Store the contents of the official files in a new folder. `files` maps their names to paths.

        Raises:
            HostileArchiveError: A file isn't the official one or has the wrong contents.
        """

    def is_installed(self, folder: Path) -> bool:
        """Return whether all files are installed."""


@dataclass(frozen=True, slots=True)
class Arrays:
    """Training and test data in memory. `checksum` is the SHA-256 of the source bytes."""

    x_train: "NDArray[Any]"
    y_train: "NDArray[Any]"
    x_test: "NDArray[Any]"
    y_test: "NDArray[Any]"
    source: Origin
    checksum: str


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


def write_checksum(folder: Path, names: Iterable[str]) -> None:
    """Write the combined SHA-256 of the installed files, so that `load` detects changes."""
    digest = hashlib.sha256()
    for name in names:
        with (folder / name).open("rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                digest.update(chunk)
    (folder / _CHECKSUM_FILE).write_text(digest.hexdigest() + "\n", encoding="ascii")


def are_there(folder: Path, names: Iterable[str], size_bytes: int | None = None) -> bool:
    """Return whether the files and their checksum file exist, and all files have this size, if one is given."""
    try:
        sizes = [(folder / name).stat().st_size for name in names]
        return (folder / _CHECKSUM_FILE).is_file() and (size_bytes is None or set(sizes) == {size_bytes})
    except OSError:
        return False


def check_unchanged(folder: Path, digest: str, title: str) -> None:
    """Raise MissingDataError unless `digest`, the SHA-256 of the bytes read, matches the stored checksum."""
    try:
        noted = read_regular(folder / _CHECKSUM_FILE).decode("ascii", errors="replace").strip()
    except OSError:
        noted = None
    if noted != digest:
        raise MissingDataError(message("installed.changed", title=title))


def read_installed(folder: Path, name: str, title: str) -> bytes:
    """Return the contents of an installed file.

    Raises:
        MissingDataError: The file can't be read.
    """
    try:
        return read_regular(folder / name)
    except OSError as error:
        reason = error.strerror or str(error)
        raise MissingDataError(message("installed.unreadable", file=name, title=title, reason=reason)) from error
