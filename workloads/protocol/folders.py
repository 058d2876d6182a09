"""Finds out whether a path leads to a folder."""

import stat
from pathlib import Path


def is_folder(path: Path) -> bool:
    """Return whether a path leads to a folder. Raises OSError if this can't be found out.

    `Path.is_dir` raises no error since Python 3.14, and `os.path.isdir` never did.
    """
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a null character
        return False
