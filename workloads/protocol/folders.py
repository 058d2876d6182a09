"""Finds out whether a path leads to a folder, and makes temporary folders that don't outlive killed processes."""

import contextlib
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

_PREFIX, _LOCK = "epochmark-", ".epochmark-lock"


def is_folder(path: Path) -> bool:
    """Return whether a path leads to a folder. Raises OSError if this can't be found out.

    `Path.is_dir` raises no error since Python 3.14, and `os.path.isdir` never did.
    """
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a null character
        return False


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """Create a temporary folder, and remove it on exit. `remove_leftovers` removes those of killed processes."""
    with tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True) as name:
        # Locked before it gets its name. Windows doesn't let others delete a file that is open.
        draft = Path(name, _LOCK if sys.platform == "win32" else "draft")
        with draft.open("wb") as file:
            if _lock(file.fileno()):
                draft.rename(draft.with_name(_LOCK))
            yield Path(name)


def remove_leftovers() -> None:
    """Remove the temporary folders of killed processes."""
    for lock in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/{_LOCK}"):
        with contextlib.suppress(OSError):  # in use, or another user's
            if sys.platform == "win32":
                lock.unlink()
                shutil.rmtree(lock.parent)
            else:
                with lock.open("rb") as file:
                    if _lock(file.fileno()):
                        shutil.rmtree(lock.parent)


def _lock(descriptor: int) -> bool:
    if sys.platform == "win32":
        return False
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
