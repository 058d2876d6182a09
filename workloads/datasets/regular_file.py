"""Reads files that may have been replaced by a folder or by something endless, such as a pipe or a device."""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO


def read_regular(path: Path, limit_bytes: int | None = None) -> bytes:
    """Read a regular file without ever blocking.

    Args:
        path: The file. Links are followed.
        limit_bytes: Maximum size; None for no limit.

    Raises:
        OSError: The file can't be read, isn't a regular file, or exceeds the limit.
    """
    with _open_regular(path) as file:
        _check(os.fstat(file.fileno()), path, limit_bytes)
        content = file.read() if limit_bytes is None else file.read(limit_bytes + 1)
    if limit_bytes is not None and len(content) > limit_bytes:
        raise _too_large(path)
    return content


def _open_regular(path: Path) -> BinaryIO:
    _check(path.stat(), path, None)  # check first, because opening a device may have side effects

    def open_at_once(name: str, flags: int) -> int:
        return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))

    file = open(path, "rb", opener=open_at_once)  # noqa: SIM115 - the caller closes it
    try:
        _check(os.fstat(file.fileno()), path, None)
    except OSError:
        file.close()
        raise
    return file


def _check(status: os.stat_result, path: Path, limit_bytes: int | None) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    if limit_bytes is not None and status.st_size > limit_bytes:
        raise _too_large(path)


def _too_large(path: Path) -> OSError:
    return OSError(errno.EFBIG, "it is too large", str(path))
