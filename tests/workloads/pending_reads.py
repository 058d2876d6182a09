"""Runs a child of the app as on Windows: asking about descriptor 0 waits while another thread reads its pipe.

    python -m tests.workloads.pending_reads MODULE [ARGUMENTS]

There, NumPy's OpenBLAS asks as it is imported. Here, importing NumPy does; demo and trial import it, as real
engines do.
"""

import os
import runpy
import sys
from typing import Any

from tests.waiting import wait_until
from workloads import CATALOGUE
from workloads.engines import registry

_really_read = os.read
_read_now: set[tuple[int, int]] = set()


def _file(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino


def _read(descriptor: int, size: int) -> bytes:
    _read_now.add(_file(descriptor))
    try:
        return _really_read(descriptor, size)
    finally:
        _read_now.discard(_file(descriptor))


def _wait_like_windows(event: str, details: tuple[Any, ...]) -> None:
    if event == "import" and details[0] == "numpy":
        wait_until(lambda: _file(0) not in _read_now)


def _import_numpy(*_: object) -> None:
    # By then, the thread that listens to the parent waits in its read.
    wait_until(lambda: _read_now)
    import numpy as np  # noqa: F401


class _Trial:
    errors = (RuntimeError,)

    def build(self) -> dict[str, object]:
        return {"version": "1", "cuda": False}

    def gpus(self) -> list[dict[str, object]]:
        return []


class _Engine:
    def trial(self) -> _Trial:
        _import_numpy()
        return _Trial()


def main() -> None:
    os.read = _read
    sys.addaudithook(_wait_like_windows)
    CATALOGUE["demo"].run = _import_numpy  # type: ignore[assignment,method-assign]
    registry.engine_named = lambda name: _Engine()  # type: ignore[assignment,return-value]
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
