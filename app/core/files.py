"""Reads regular files, and writes users' files completely or not at all. Links are followed."""

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

Item = TypeVar("Item")
Result = TypeVar("Result")

_WRITE = os.O_WRONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NEW = os.O_CREAT | os.O_EXCL
# Links aren't followed, because another program could replace a file with one.
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_OWN_DESCRIPTOR = re.compile(r"/dev/(?:fd/(\d{1,9})|(stdout)|(stderr))|/proc/self/fd/(\d{1,9})")
# The disk is full, the user's quota is used up, or the file has reached the maximum size.
NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_SMALL_BYTES = 1 << 20
# Errors in folders owned by another user, and for single files mounted in a container.
_NOT_REPLACEABLE = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.EXDEV})
_LOOK_EVERY_S = 0.05
PATIENCE_S = 10.0
# For users' files. If another program keeps a file open for longer, the file is written in place.
_FILE_PATIENCE_S = 0.5
_NAMES_AT_MOST = 10_000
_BLOCK_BYTES = 1 << 16


def read_regular(path: Path, limit_bytes: int) -> bytes:
    """Read a regular file without ever blocking. Links are followed.

    Raises:
        OSError: The file can't be read, isn't a regular file, or exceeds the limit.
    """

    def open_at_once(name: str, flags: int) -> int:
        return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))

    _check_regular(path.stat(), path, limit_bytes)  # check first, because opening a device may have side effects
    with open(path, "rb", opener=open_at_once) as file:
        _check_regular(os.fstat(file.fileno()), path, limit_bytes)
        content = file.read(limit_bytes + 1)
    if len(content) > limit_bytes:
        raise _too_large(path)
    return content


def write_whole(path: Path, chunks: Iterable[bytes]) -> None:
    """Write a file completely, or leave the old file unchanged.

    Links are followed. An existing file keeps its permissions and owner; a new file follows the umask. Devices and
    pipes are written to directly; writing to a pipe without a reader blocks. Other hard links to the file keep the
    old content.

    Raises:
        OSError: The file can't be written. Exceptions from `chunks` are passed on. The old file is unchanged.
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
    # Replacing a file only requires write access to its folder. Refuse without write access to the file itself.
    patiently(lambda: os.close(os.open(target, _WRITE | _NO_LINK | _NO_WAIT)), _FILE_PATIENCE_S)
    _replace(target, chunks, status)


def write_new(folder: Path, name: str, chunks: Iterable[bytes]) -> Path:
    """Write a new file without overwriting an existing one or following a link; return its path.

    Args:
        name: Name of the file. If it exists, "-2", "-3" or a higher number is added before the suffix.

    Raises:
        OSError: The file can't be written. No partial file remains.
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
    """Rename, delete or open a file; on Windows, retry while a virus scanner has it open.

    Args:
        patience_s: How long to retry, in seconds.

    Raises:
        PermissionError: The operation is still refused after that time.
    """
    for _ in range(round(patience_s / _LOOK_EVERY_S) if system == "win32" else 0):
        try:
            return act()
        except PermissionError:
            time.sleep(_LOOK_EVERY_S)
    return act()


@contextlib.contextmanager
def closing(source: Iterator[Item]) -> Iterator[Iterator[Item]]:
    """Close a generator at the end of a `with` block."""
    try:
        yield source
    finally:
        if isinstance(source, Generator):
            source.close()


def _check_regular(status: os.stat_result, path: Path, limit_bytes: int) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    if status.st_size > limit_bytes:
        raise _too_large(path)


def _too_large(path: Path) -> OSError:
    return OSError(errno.EFBIG, "it is too large", str(path))


def _own_descriptor(path: Path) -> int | None:
    """Return our own open descriptor to which the path refers (/dev/stdout, /dev/fd/N …), or None."""
    # Opening such a path again would truncate a redirected file.
    match = _OWN_DESCRIPTOR.fullmatch(str(path)) if os.name == "posix" else None
    if match is None:
        return None
    number, stdout, _, own = match.groups()
    return int(number or own) if number or own else 1 if stdout else 2


def _open_device(path: Path) -> int:
    """Open a device or pipe. Waiting for a pipe's reader can be interrupted with Ctrl-C."""
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
    """Replace the target with a new file; if that isn't possible, write to the existing file."""
    part = target.with_name(f".epochmark-{os.urandom(16).hex()}.part")
    try:
        try:
            descriptor = _make(part, target, status)
        except OSError as error:
            if status is None or error.errno not in _NOT_REPLACEABLE:
                raise
            # The whole content is collected first, because the file can't be replaced.
            with tempfile.TemporaryFile() as spool:
                spool.writelines(chunks)
                spool.seek(0)
                _overwrite(target, iter(lambda: spool.read(_BLOCK_BYTES), b""))
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
    """Create a new file with the permissions and owner of the file that it will replace."""
    if status is None:
        return os.open(part, _WRITE | _NEW | _NO_LINK, 0o666)
    descriptor = os.open(part, _WRITE | _NEW | _NO_LINK, 0o600)
    try:
        if os.name == "posix":
            if (status.st_uid, status.st_gid) != (os.geteuid(), os.fstat(descriptor).st_gid):
                os.fchown(descriptor, status.st_uid, status.st_gid)
            os.fchmod(descriptor, status.st_mode & 0o777)
            # Access control lists and other attributes, if the file system supports them
            if hasattr(os, "listxattr"):
                with contextlib.suppress(OSError):
                    for name in os.listxattr(target):
                        if name.startswith(("user.", "system.posix_acl")):
                            os.setxattr(descriptor, name, os.getxattr(target, name))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _overwrite(target: Path, chunks: Iterable[bytes]) -> None:
    _fill(os.open(target, _WRITE | os.O_TRUNC | _NO_LINK), chunks)


def _fill(descriptor: int, chunks: Iterable[bytes]) -> None:
    """Write to a descriptor and close it. Regular files are flushed to disk."""
    try:
        for chunk in chunks:
            rest = memoryview(chunk)
            while rest:  # unbuffered: flushing a buffer to a pipe would block on close
                rest = rest[os.write(descriptor, rest) :]
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)


def has_no_room(folder: Path) -> bool:
    """Return whether a folder's disk or the user's quota is full."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(os.urandom(_SMALL_BYTES))
            file.flush()
    except OSError as error:
        return error.errno in NO_SPACE
    return False
