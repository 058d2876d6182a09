"""The stamp in an engine's folder: its packages, their checksums, and the Python version they are for."""

import contextlib
import errno
import os
import sys
import sysconfig
from pathlib import Path
from typing import Annotated

import msgspec

from app.core.files import read_regular
from workloads.protocol import typed

FORMAT = 1
NAME = "engine.json"
_LIMIT_BYTES = 1 << 20
# The path doesn't exist, or is a folder, a pipe, a circular link or too large.
_NO_STAMP = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EINVAL, errno.ELOOP, errno.EFBIG})
_Word = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
_Sha256 = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
_Count = Annotated[int, msgspec.Meta(ge=0, lt=1 << 62)]


class Package(msgspec.Struct, frozen=True):
    """One installed package."""

    name: _Word
    version: _Word
    sha256: _Sha256  # checksum of the package's wheel
    # Whether the checksum is in Epochmark's lock. Otherwise, it was only recorded during installation.
    is_locked: bool


class Stamp(msgspec.Struct, frozen=True):
    """An installed engine."""

    format: Annotated[int, msgspec.Meta(ge=1, le=FORMAT)]  # format version of this file
    engine: _Word  # name of the engine
    variant: _Word  # name of the variant
    version: _Word  # version of the engine itself
    python: _Word  # version of Python, such as "3.11"
    platform: _Word  # value of `sysconfig.get_platform()`
    # All installed packages.
    packages: Annotated[tuple[Package, ...], msgspec.Meta(min_length=1, max_length=1_000)]
    records_sha256: _Sha256  # combined SHA-256 of all RECORD files, which contain the checksums of all other files
    size_bytes: _Count  # total size of all files
    installed_at: _Word  # installation time as ISO 8601 in UTC

    def is_for_this_python(self) -> bool:
        return (self.python, self.platform) == (this_python(), sysconfig.get_platform())


def this_python() -> str:
    """Return the part of the Python version that packages depend on, as "major.minor"."""
    return "{}.{}".format(*sys.version_info)


def read_stamp(folder: Path) -> Stamp | None:
    """Return the stamp of a folder; None if there is no valid one. Raises OSError if the folder is unreachable."""
    try:
        return parse_stamp(read_regular(folder / NAME, _LIMIT_BYTES))
    except OSError as error:
        if error.errno in _NO_STAMP:
            return None
        raise


def parse_stamp(raw: bytes) -> Stamp | None:
    """Parse a stamp; None if this version of Epochmark can't use it."""
    try:
        return typed.decode(raw, Stamp)
    except msgspec.DecodeError:
        return None


def write_stamp(folder: Path, stamp: Stamp) -> None:
    """Write the stamp to a new folder and flush it to disk. Raises OSError."""
    content = msgspec.json.format(msgspec.json.encode(stamp), indent=2) + b"\n"
    with (folder / NAME).open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    sync_folder(folder)


def sync_folder(folder: Path) -> None:
    """Flush a folder's directory entries to disk if the system supports this."""
    if os.name == "posix":
        with contextlib.suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
