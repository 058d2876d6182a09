"""Shared by data sets: their sources, their arrays, and how to recognise their files."""

import hashlib
import math
from collections.abc import Collection, Iterable, Mapping
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
_ALIGNMENT_BYTES = 64  # TensorFlow requires this to share an array's memory instead of copying it
_CHECKSUM_FILE = "contents.sha256"


class MessageError(Exception):
    """Something is wrong with data, described by a clause.

    Args:
        message: The clause, which completes "… was refused: " or names the file.
    """

    def __init__(self, message: Message) -> None:
        super().__init__(f"{message.code} {message.arguments}")
        self.message = message


class HostileArchiveError(MessageError):
    """A file doesn't have the expected contents."""


class MissingDataError(MessageError):
    """Installed data can't be used."""


class UnfitError(MessageError, ValueError):
    """A file's contents aren't as expected. The clause has no subject, or the subject "it"."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One official file.

    Attributes:
        url: Download address; None if only the user may supply the file.
        size_bytes: None if not published.
        sha256: None if not published or not meaningful, in which case the data set checks the contents itself.
    """

    name: str
    url: str | None = None
    size_bytes: int | None = None
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class DatasetSource:
    """The official source of a data set, and how to recognise its files."""

    id: str
    title: str
    files: tuple[SourceFile, ...]
    citation: str
    licence: str

    @property
    def fetchable(self) -> bool:
        """Whether it may be downloaded. If not, the user must supply it."""
        return all(file.url is not None for file in self.files)

    @property
    def size_bytes(self) -> int | None:
        """Total size of all files; None if not published."""
        sizes = [file.size_bytes for file in self.files if file.size_bytes is not None]
        return sum(sizes) if len(sizes) == len(self.files) else None


class StoredFiles:
    """The files of an installed data set, and their checksum."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset([*names, _CHECKSUM_FILE])

    def contents(self, folder: Path) -> frozenset[str]:
        """Return the names of the files that `install` has stored in a folder, according to its own lists."""
        return self._names

    def owns(self, name: str, noted: Collection[str] | None) -> bool:
        """Return whether `install` or a later run creates a file with this name. All others are the user's.

        Args:
            name: Path in the data set's folder, with slashes; the name of a folder ends with a slash.
            noted: The files stored there; None if unknown.
        """
        return name in self._names


class Dataset(Protocol):
    """The interface of a data set's module."""

    SOURCE: DatasetSource
    STORED: StoredFiles

    def install(self, files: Mapping[str, Path], folder: Path) -> None:
        """Store the contents of the official files, given by name, in a new folder.

        Raises:
            HostileArchiveError: A file isn't the official one, or has the wrong contents.
        """

    def is_installed(self, folder: Path) -> bool:
        """Return whether everything is installed."""


@dataclass(frozen=True, slots=True)
class Arrays:
    """Training and test data in memory. `checksum` is the SHA-256 of the bytes they were created from."""

    x_train: "NDArray[Any]"
    y_train: "NDArray[Any]"
    x_test: "NDArray[Any]"
    y_test: "NDArray[Any]"
    source: Origin
    checksum: str


def aligned_floats(*shape: int) -> "NDArray[np.float32]":
    """Return an uninitialised float32 array that an engine can share instead of copying."""
    import numpy as np

    size_bytes = math.prod(shape) * 4
    raw = np.empty(size_bytes + _ALIGNMENT_BYTES, np.uint8)
    start = -raw.ctypes.data % _ALIGNMENT_BYTES
    return raw[start : start + size_bytes].view(np.float32).reshape(shape)


def is_aligned(array: "NDArray[Any]") -> bool:
    """Return whether an engine can share the array's memory."""
    return array.flags.c_contiguous and array.ctypes.data % _ALIGNMENT_BYTES == 0


def write_checksum(folder: Path, names: Iterable[str]) -> None:
    """Write the combined SHA-256 of installed files, so that `load` detects changes."""
    digest = hashlib.sha256()
    for name in names:
        with (folder / name).open("rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                digest.update(chunk)
    (folder / _CHECKSUM_FILE).write_text(digest.hexdigest() + "\n", encoding="ascii")


def are_there(folder: Path, names: Iterable[str], size_bytes: int | None = None) -> bool:
    """Return whether installed files exist and have the right checksum and, if it is fixed, the right size."""
    try:
        sizes = [(folder / name).stat().st_size for name in names]
        return (folder / _CHECKSUM_FILE).is_file() and (size_bytes is None or set(sizes) == {size_bytes})
    except OSError:
        return False


def check_unchanged(folder: Path, digest: str, title: str) -> None:
    """Raise MissingDataError unless the bytes read match the installed files."""
    try:
        noted = read_regular(folder / _CHECKSUM_FILE).decode("ascii", errors="replace").strip()
    except OSError:
        noted = None
    if noted != digest:
        raise MissingDataError(message("installed.changed", title=title))


def read_installed(folder: Path, name: str, title: str) -> bytes:
    """Return the contents of an installed file. Raises MissingDataError."""
    try:
        return read_regular(folder / name)
    except OSError as error:
        reason = error.strerror or str(error)
        raise MissingDataError(message("installed.unreadable", file=name, title=title, reason=reason)) from error
