"""Importing an engine in a process that is thrown away: a broken one may crash or hang its process."""

import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from app.core.engines.pip import command_for, run_child
from app.core.engines.watching import Pulse
from app.core.messages import Message, message
from app.core.paths import Paths
from app.core.plain_text import one_line
from workloads.engines.registry import engine_named

_CODE = (
    "import os, sys; sys.path.append(sys.argv[1]);"
    # As workloads.engines.cpp_runtime does, which the process can't import.
    "sys.platform == 'win32' and os.add_dll_directory(sys.argv[1]);"
    # An engine that ends the process without an error wasn't imported, either.
    "import keras, {module}; print({done!r})"
)
_DONE = "imported-by-epochmark"
LIMIT_S = 300.0  # on a cold disk, with a virus scanner, it takes a minute
_MISLEADING = ("PYTHON", "KERAS_", "PIP_", "LD_PRELOAD", "DYLD_INSERT")


class _TooLongError(Exception):
    """It hangs."""


def try_import(
    engine: str, packages: Path, paths: Paths, pulse: Pulse, limit_s: float = LIMIT_S
) -> Message | None:
    """Import an engine and Keras from a folder of packages; return why that fails, None if it doesn't."""
    asked = engine_named(engine)
    code = _CODE.format(module=asked.backend, done=_DONE)
    arguments = (sys.executable, "-I", "-S", "-X", "utf8", "-c", code, str(packages))
    ours = asked.variables() | {"KERAS_HOME": str(paths.keras_home)}
    end_s = time.monotonic() + limit_s

    def look() -> None:
        pulse()
        if time.monotonic() > end_s:
            raise _TooLongError

    try:
        exit_code, text = run_child(command_for(arguments, _clean(os.environ, asked.reads) | ours), look)
    except _TooLongError:
        return message("engines.import_hangs", title=asked.title, limit_s=limit_s)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if exit_code == 0 and _DONE in lines:
        return None
    if exit_code <= 0 or not lines:
        return message("engines.import_crashed", title=asked.title, exit_code=exit_code)
    return message("engines.import_failed", title=asked.title, reason=one_line(lines[-1], 300))


def _clean(environment: Mapping[str, str], reads: tuple[str, ...]) -> dict[str, str]:
    """Leave out what changes how Python, Keras or the engine start."""
    return {
        name: value for name, value in environment.items() if not name.upper().startswith((*_MISLEADING, *reads))
    }
