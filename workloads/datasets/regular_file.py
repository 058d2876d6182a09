"""Reading files that may have been replaced by something endless: a pipe, a device, a folder."""

import errno
import os
import stat
from pathlib import Path


def read_regular(path: Path, limit_bytes: int | None = None) -> bytes:
    """Read a regular file without ever blocking.

    Args:
        path: The file; a link to one is followed.
        limit_bytes: Maximum size; None for no limit.

    Raises:
        OSError: It can't be read, isn't a regular file, or is larger.
    """
    _check(path.stat(), path, None)  # opening a device may have side effects

    def open_at_once(name: str, flags: int) -> int:
        return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))

    with open(path, "rb", opener=open_at_once) as file:
        _check(os.fstat(file.fileno()), path, limit_bytes)
        content = file.read() if limit_bytes is None else file.read(limit_bytes + 1)
    if limit_bytes is not None and len(content) > limit_bytes:
        raise _too_large(path)
    return content


def _check(status: os.stat_result, path: Path, limit_bytes: int | None) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    if limit_bytes is not None and status.st_size > limit_bytes:
        raise _too_large(path)


def _too_large(path: Path) -> OSError:
    return OSError(errno.EFBIG, "it is too large", str(path))
