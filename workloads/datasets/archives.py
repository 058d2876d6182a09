"""Reads untrusted archives: limits sizes, extracts only regular files, and chooses the file names itself."""

import gzip
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from workloads.datasets.source import HostileArchiveError
from workloads.protocol.messages import message

_CHUNK_BYTES = 1 << 20
_NAME_LIMIT = 80


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits for an archive. Unwanted members count too, because a stream must be unpacked to skip them."""

    members: int
    member_bytes: int
    total_bytes: int


def plain(name: str) -> str:
    """Return a name from an archive, shortened and made safe to print on a terminal."""
    shown = "".join(sign if sign.isprintable() else "?" for sign in name[: _NAME_LIMIT + 1])
    return shown if len(shown) <= _NAME_LIMIT else f"{shown[:_NAME_LIMIT]}…"


@contextmanager
def refusing_damage() -> Iterator[None]:
    """Convert errors from unpacking damaged files to HostileArchiveError. Disk errors remain OSErrors."""
    try:
        yield
    except AttributeError as error:  # raised by tarfile before Python 3.11.4 instead of zlib's error
        if not isinstance(error.__context__, zlib.error):
            raise
        raise HostileArchiveError(message("archive.damaged", reason=plain(str(error.__context__)))) from error
    except (tarfile.TarError, zlib.error, EOFError, OSError, ValueError, TypeError) as error:
        # TypeError: truncated gzip header.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        reason = plain(str(error)) or type(error).__name__
        raise HostileArchiveError(message("archive.damaged", reason=reason)) from error


@contextmanager
def tar_members(archive: Path, title: str, limits: Limits) -> Iterator["Members"]:
    with refusing_damage(), tarfile.open(archive, "r|gz") as tar:
        yield Members(tar, title, limits)


class Members:
    """The members of a tar stream. Only the current member can be read."""

    def __init__(self, tar: tarfile.TarFile, title: str, limits: Limits) -> None:
        self._tar, self._title, self._limits = tar, title, limits

    def __iter__(self) -> Iterator[tarfile.TarInfo]:
        """Yield each member. Raises HostileArchiveError at the first member beyond the limits."""
        total_bytes = 0
        for count, member in enumerate(self._tar, start=1):
            total_bytes += member.size
            too_large = not 0 <= member.size <= self._limits.member_bytes
            if too_large or count > self._limits.members or total_bytes > self._limits.total_bytes:
                said = message("archive.too_much", title=self._title, member=plain(member.name))
                raise HostileArchiveError(said)
            yield member

    def read(self, member: tarfile.TarInfo, max_bytes: int) -> bytes:
        """Return the contents of a small regular member."""
        _check_regular(member)
        if member.size > max_bytes:
            arguments = {"file": plain(member.name), "size_bytes": member.size, "limit_bytes": max_bytes}
            raise HostileArchiveError(message("archive.file_too_large", **arguments))
        content = self._tar.extractfile(member)
        assert content is not None  # always true for a regular file
        with content:
            return content.read()

    def copy(self, member: tarfile.TarInfo, target: Path, size_bytes: int) -> None:
        """Copy a regular member of exactly `size_bytes` to a new file."""
        _check_regular(member)
        if member.size != size_bytes:
            arguments = {"file": plain(member.name), "size_bytes": member.size, "expected_bytes": size_bytes}
            raise HostileArchiveError(message("archive.file_of_other_size", **arguments))
        content = self._tar.extractfile(member)
        assert content is not None  # always true for a regular file
        with content, target.open("xb") as file:
            while chunk := content.read(_CHUNK_BYTES):
                file.write(chunk)


def gunzip(path: Path, name: str, size_bytes: int) -> bytes:
    """Return the contents of a .gz file, which must unpack to exactly `size_bytes`."""
    try:
        with refusing_damage(), gzip.open(path) as file:
            content = file.read(size_bytes + 1)  # one byte more, to detect bombs and verify the trailer
    except HostileArchiveError as error:
        raise HostileArchiveError(message("archive.in_file", file=name, reason=error.message)) from error
    if len(content) != size_bytes:
        if len(content) > size_bytes:
            raise HostileArchiveError(message("archive.unpacks_to_more", file=name, expected_bytes=size_bytes))
        arguments = {"file": name, "size_bytes": len(content), "expected_bytes": size_bytes}
        raise HostileArchiveError(message("archive.unpacks_to_less", **arguments))
    return content


def _check_regular(member: tarfile.TarInfo) -> None:
    if not member.isreg():
        raise HostileArchiveError(message("archive.not_regular", file=plain(member.name)))
