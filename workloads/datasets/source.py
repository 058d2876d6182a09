"""What is common to data sets: where one comes from, the arrays it becomes, and knowing its files again."""

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
_ALIGNMENT_BYTES = 64  # what TensorFlow needs to use an array's memory without copying it
_CHECKSUM_FILE = "contents.sha256"


class SaidError(Exception):
    """Something is wrong with data, in a clause.

    Args:
        said: The clause: it completes "… was refused: ", or names the file.
    """

    def __init__(self, said: Message) -> None:
        super().__init__(f"{said.code} {said.arguments}")
        self.said = said


class HostileArchiveError(SaidError):
    """A file is not what it should be."""


class MissingDataError(SaidError):
    """Installed data cannot be used."""


class UnfitError(SaidError, ValueError):
    """The contents of a file are not what they should be; the clause has no subject, or "it"."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One official file.

    Attributes:
        url: Where it may be fetched; None when only the user may bring it.
        size_bytes: None when it is not published.
        sha256: None when it is not published, or says nothing: then the data set looks at the contents itself.
    """

    name: str
    url: str | None = None
    size_bytes: int | None = None
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class DatasetSource:
    """Where a data set officially comes from, and how to know it."""

    id: str
    title: str
    files: tuple[SourceFile, ...]
    citation: str
    licence: str

    @property
    def fetchable(self) -> bool:
        """Whether it may be downloaded, or must be brought by the user."""
        return all(file.url is not None for file in self.files)

    @property
    def size_bytes(self) -> int | None:
        """What all files have together; None when that is not published."""
        sizes = [file.size_bytes for file in self.files if file.size_bytes is not None]
        return sum(sizes) if len(sizes) == len(self.files) else None


class StoredFiles:
    """The files that a data set consists of where it is installed: these, and the checksum noted beside them."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset([*names, _CHECKSUM_FILE])

    def contents(self, folder: Path) -> frozenset[str]:
        """Return the names of what `install` has stored in a folder, as far as its own lists there tell."""
        return self._names

    def owns(self, name: str, noted: Collection[str] | None) -> bool:
        """Say whether `install`, or a run later, makes something of this name; all else is the user's.

        Args:
            name: Below the data set's folder, with slashes; a folder's ends with one.
            noted: What was stored there; None where that is not known.
        """
        return name in self._names


class Dataset(Protocol):
    """What each module of a data set offers to the app."""

    SOURCE: DatasetSource
    STORED: StoredFiles

    def install(self, files: Mapping[str, Path], folder: Path) -> None:
        """Store the contents of the official files, by name, in a fresh folder.

        Raises:
            HostileArchiveError: A file is not the official one, or does not hold what it should.
        """

    def is_installed(self, folder: Path) -> bool:
        """Say whether everything is there."""


@dataclass(frozen=True, slots=True)
class Arrays:
    """Training and test data in memory. `checksum` is the SHA-256 of the bytes they were made from."""

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
    """Say whether an engine can share the array's memory."""
    return array.flags.c_contiguous and array.ctypes.data % _ALIGNMENT_BYTES == 0


def write_checksum(folder: Path, names: Iterable[str]) -> None:
    """Note the SHA-256 of installed files together, so that `load` can tell when they were changed."""
    digest = hashlib.sha256()
    for name in names:
        with (folder / name).open("rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                digest.update(chunk)
    (folder / _CHECKSUM_FILE).write_text(digest.hexdigest() + "\n", encoding="ascii")


def are_there(folder: Path, names: Iterable[str], size_bytes: int | None = None) -> bool:
    """Say whether installed files are there, in their size if it is always the same, and their checksum."""
    try:
        sizes = [(folder / name).stat().st_size for name in names]
        return (folder / _CHECKSUM_FILE).is_file() and (size_bytes is None or set(sizes) == {size_bytes})
    except OSError:
        return False


def check_unchanged(folder: Path, digest: str, title: str) -> None:
    """Raise MissingDataError unless the files that were read are those that were installed."""
    try:
        noted = read_regular(folder / _CHECKSUM_FILE).decode("ascii", errors="replace").strip()
    except OSError:
        noted = None
    if noted != digest:
        raise MissingDataError(message("installed.changed", title=title))


def read_installed(folder: Path, name: str, title: str) -> bytes:
    """Return the contents of an installed file; raises MissingDataError."""
    try:
        return read_regular(folder / name)
    except OSError as error:
        reason = error.strerror or str(error)
        raise MissingDataError(message("installed.unreadable", file=name, title=title, reason=reason)) from error
