"""Writes users' files safely: completely or not at all, through links, and into pipes."""

import contextlib
import errno
import os
import re
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

Row = TypeVar("Row")
Result = TypeVar("Result")

_WRITE = os.O_WRONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NEW = os.O_CREAT | os.O_EXCL
# A link that another program puts in place of a file isn't followed.
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_OWN_DESCRIPTOR = re.compile(r"/dev/(?:fd/(\d{1,9})|(stdout)|(stderr))|/proc/self/fd/(\d{1,9})")
# The disk or the user's quota is full, or a file has reached the maximum allowed size.
NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_SMALL_BYTES = 1 << 20
# In a folder owned by another user, or for a single file mounted into a container.
_NOT_REPLACEABLE = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.EXDEV})
_LOOK_EVERY_S = 0.05
PATIENCE_S = 10.0
# For users' files. Another program may keep a file open for longer; then it is written in place.
_FILE_PATIENCE_S = 0.5
_NAMES_AT_MOST = 10_000
_BLOCK_BYTES = 1 << 16


def write_whole(path: Path, chunks: Iterable[bytes]) -> None:
    """Write a file completely, or keep the old file.

    A link is followed. An existing file keeps its permissions and owner; a new one follows the umask. Devices and
    pipes are written to; a pipe without a reader blocks. Other hard links to an existing file keep the old
    content.

    Raises:
        OSError: It can't be written. Errors raised by `chunks` are passed on, and the old file is kept.
    """
    own = _own_descriptor(path)
    if own is not None:
        _fill(os.dup(own), chunks)
        return
    try:
        status = path.stat()
    except FileNotFoundError:
        _replace(path.resolve(), chunks, None)  # a dangling link creates its target
        return
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(status.st_mode):
        _fill(_open_device(path), chunks)
        return
    target = path.resolve(strict=True)
    # Replacing a file requires only rights to its folder. Without write access to the file itself, refuse.
    patiently(lambda: os.close(os.open(target, _WRITE | _NO_LINK | _NO_WAIT)), _FILE_PATIENCE_S)
    _replace(target, chunks, status)


def write_new(folder: Path, name: str, chunks: Iterable[bytes]) -> Path:
    """Write a new file, never over or through an existing file; return its path.

    Args:
        folder: An existing folder.
        name: File name. If it exists, -2, -3 and so on is added before the suffix.
        chunks: The content.

    Raises:
        OSError: It can't be written; no partial file is left.
    """
    plain = Path(name)
    if plain.name != name or name in ("", ".."):
        raise ValueError(f"{name!r} is no name of a file")
    for number in range(1, _NAMES_AT_MOST):
        path = folder / (name if number == 1 else f"{plain.stem}-{number}{plain.suffix}")
        try:
            descriptor = os.open(path, _WRITE | _NEW | _NO_LINK, 0o666)
        except FileExistsError:
            continue
        try:
            _fill(descriptor, chunks)
        except BaseException:
            _remove(path)
            raise
        return path
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(folder / name))


def patiently(act: Callable[[], Result], patience_s: float = PATIENCE_S, *, system: str = sys.platform) -> Result:
    """Rename, delete or open a file; on Windows, wait for a virus scanner, which opens every new file.

    Args:
        act: The operation.
        patience_s: How long to try.
        system: As `sys.platform`; for tests.

    Raises:
        PermissionError: The operation is still refused.
    """
    for _ in range(round(patience_s / _LOOK_EVERY_S) if system == "win32" else 0):
        try:
            return act()
        except PermissionError:
            time.sleep(_LOOK_EVERY_S)
    return act()


@contextlib.contextmanager
def closing(source: Iterator[Row]) -> Iterator[Iterator[Row]]:
    """Close a generator at the end of a `with` block, before its source is closed."""
    try:
        yield source
    finally:
        if isinstance(source, Generator):
            source.close()


def _own_descriptor(path: Path) -> int | None:
    """Return the number of our own open descriptor if the path names one (/dev/stdout, /dev/fd/N …), else None.

    Opening it again would truncate a redirected file.
    """
    match = _OWN_DESCRIPTOR.fullmatch(str(path)) if os.name == "posix" else None
    if match is None:
        return None
    number, stdout, _, own = match.groups()
    return int(number or own) if number or own else 1 if stdout else 2


def _open_device(path: Path) -> int:
    """Open a path that is neither file nor folder. Waiting for a pipe's reader can be interrupted with Ctrl-C."""
    while True:
        try:
            descriptor = os.open(path, _WRITE | _NO_WAIT)
        except OSError as error:
            if error.errno != errno.ENXIO or not stat.S_ISFIFO(path.stat().st_mode):
                raise
            time.sleep(_LOOK_EVERY_S)
        else:
            if os.name == "posix":
                os.set_blocking(descriptor, True)
            return descriptor


def _replace(target: Path, chunks: Iterable[bytes], status: os.stat_result | None) -> None:
    """Replace the target with a new file, or write to it if that isn't possible.

    Args:
        target: The file; not a link.
        chunks: The content.
        status: The target's status; None if it doesn't exist.
    """
    part = target.with_name(f".epochmark-{os.urandom(16).hex()}.part")
    try:
        try:
            descriptor = _make(part, target, status)
        except OSError as error:
            if status is None or error.errno not in _NOT_REPLACEABLE:
                raise
            _write_in_place(target, chunks)
            return
        _fill(descriptor, chunks)
        try:
            patiently(lambda: part.replace(target), _FILE_PATIENCE_S)
        except OSError as error:
            if status is None or error.errno not in _NOT_REPLACEABLE:
                raise
            with part.open("rb") as source:
                _overwrite(target, iter(lambda: source.read(_BLOCK_BYTES), b""))
    finally:
        _remove(part)


def _make(part: Path, target: Path, status: os.stat_result | None) -> int:
    """Open a new file with the permissions and the owner of the file it will replace."""
    if status is None:
        return os.open(part, _WRITE | _NEW | _NO_LINK, 0o666)
    descriptor = os.open(part, _WRITE | _NEW | _NO_LINK, 0o600)
    try:
        if os.name == "posix":
            if (status.st_uid, status.st_gid) != (os.geteuid(), os.fstat(descriptor).st_gid):
                os.fchown(descriptor, status.st_uid, status.st_gid)
            os.fchmod(descriptor, status.st_mode & 0o777)
            _copy_attributes(target, descriptor)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _copy_attributes(target: Path, descriptor: int) -> None:
    """Copy access lists and other attributes, if the file system supports them."""
    if hasattr(os, "listxattr"):
        with contextlib.suppress(OSError):
            for name in os.listxattr(target):
                if name.startswith(("user.", "system.posix_acl")):
                    os.setxattr(descriptor, name, os.getxattr(target, name))


def _write_in_place(target: Path, chunks: Iterable[bytes]) -> None:
    """Write to an existing file in a folder where no new file can be created, once the whole content is known."""
    with tempfile.TemporaryFile() as spool:
        spool.writelines(chunks)
        spool.seek(0)
        _overwrite(target, iter(lambda: spool.read(_BLOCK_BYTES), b""))


def _overwrite(target: Path, chunks: Iterable[bytes]) -> None:
    _fill(os.open(target, _WRITE | os.O_TRUNC | _NO_LINK), chunks)


def _fill(descriptor: int, chunks: Iterable[bytes]) -> None:
    """Write to a descriptor and close it; a file's content is flushed to disk."""
    try:
        for chunk in chunks:
            rest = memoryview(chunk)
            while rest:  # unbuffered, because closing would block while flushing a buffer to a pipe
                rest = rest[os.write(descriptor, rest) :]
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)


def has_no_room(folder: Path) -> bool:
    """Return whether a folder's disk, or the user's quota on it, is full."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(os.urandom(_SMALL_BYTES))
            file.flush()
    except OSError as error:
        return error.errno in NO_SPACE
    return False
