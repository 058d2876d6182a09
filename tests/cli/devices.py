"""Devices for tests to write to: never the system's own where a fault could replace them."""

import os
import stat
import sys
from pathlib import Path

import pytest

_MINORS = {"null": 3, "full": 7}


def device(folder: Path, name: str) -> Path:
    """Return a device "null" or "full": root's tests, whom nothing stops, get one of their own; else skips."""
    if not sys.platform.startswith("linux"):
        pytest.skip("the numbers of Linux's devices")
    if os.geteuid() != 0:
        return Path("/dev") / name
    path = folder / name
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, _MINORS[name]))
        path.open("rb").close()
    except OSError:
        pytest.skip("no devices can be made here")
    return path
