"""Tests whether unpacked packages work, by importing the engine and running computations on a card."""

import os
import sys
import time
from pathlib import Path
from typing import Literal

import msgspec

import workloads
from app.core.children import CommandLine
from app.core.engines.cancellable import CancelCheck, run_child
from app.core.engines.variants import Variant
from app.core.messages import Message, message
from app.core.paths import Paths
from app.core.plain_text import one_line
from workloads.engines.info import EngineInfo
from workloads.engines.registry import ENGINES
from workloads.protocol import typed

_IMPORT = (
    "import os, sys; sys.path.append(sys.argv[1]);"
    # Same as in workloads.engines.cpp_runtime, which this process can't import.
    "sys.platform == 'win32' and os.add_dll_directory(sys.argv[1]);"
    # If an engine ends the process without an error, the import failed as well.
    "import keras, {module}; print({done!r})"
)
_IMPORTED = "imported-by-epochmark"
IMPORT_LIMIT_S = 300.0  # on a cold disk, with a virus scanner, it takes a minute
CARD_LIMIT_S = 300.0  # at the first use of a card, its driver compiles
_LAUNCH = str(Path(workloads.__file__).resolve().with_name("launch.py"))
_MISLEADING = ("PYTHON", "KERAS_", "PIP_", "LD_PRELOAD", "DYLD_INSERT")
# These variables choose a card, as for runs.
_CHOICES = ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")


class _TooLongError(Exception):
    """A process took too long."""


def try_import(
    engine: str, packages: Path, paths: Paths, check: CancelCheck, limit_s: float = IMPORT_LIMIT_S
) -> Message | None:
    """Import an engine and Keras from a folder of packages; return the reason if this fails, otherwise None."""
    info = ENGINES[engine]
    code = _IMPORT.format(module=info.backend, done=_IMPORTED)
    command = _python(info, paths, "-c", code, str(packages))
    try:
        exit_code, text = run_child(command, _limited(check, limit_s))
    except _TooLongError:
        return message("engines.import_hangs", title=info.title, limit_s=limit_s)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if exit_code == 0 and _IMPORTED in lines:
        return None
    if exit_code <= 0 or not lines:
        return message("engines.import_crashed", title=info.title, exit_code=exit_code)
    return message("engines.import_failed", title=info.title, reason=one_line(lines[-1], 300))


class _Answer(msgspec.Struct):
    """A line of a trial's output; see workloads.trial. Lines of other types are skipped."""

    type: Literal["import", "step", "end"]
    error: str | None = None
    good: bool = False


def try_card(
    variant: Variant, packages: Path, paths: Paths, check: CancelCheck, limit_s: float = CARD_LIMIT_S
) -> Message | None:
    """Run the doctor's computations on an engine's first card; return the failure, or None if all are correct."""
    info = ENGINES[variant.engine]
    command = _python(info, paths, _LAUNCH, str(packages), "workloads.trial", variant.engine, "device", "gpu:0")
    try:
        _, text = run_child(command, _limited(check, limit_s), closes_input=False)
    except _TooLongError:
        reason: Message | str = message("engines.card_too_slow", limit_s=limit_s)
    else:
        failed = trial_failure(text)
        if failed is None:
            return None
        reason = one_line(failed, 300) if failed else message("engines.card_crashed")
    return message("engines.card_failed", title=info.title, variant=variant.name, reason=reason)


def trial_failure(output: str) -> str | None:
    """Return the error in the output of a device's trial; "" if it ended early, None if all steps were correct."""
    answers = []
    for line in output.splitlines():
        try:
            answers.append(typed.decode(line, _Answer))
        except msgspec.DecodeError:  # the engine's own output, or another kind of answer
            continue
    errors = [answer.error for answer in answers if answer.error]
    is_good = any(answer.type == "end" and answer.good for answer in answers)
    if errors:
        return errors[0]
    return None if is_good else ""


def _limited(check: CancelCheck, limit_s: float) -> CancelCheck:
    """Return a check that also raises _TooLongError after a time limit."""
    end_s = time.monotonic() + limit_s

    def look() -> None:
        check()
        if time.monotonic() > end_s:
            raise _TooLongError

    return look


def _python(info: EngineInfo, paths: Paths, *arguments: str) -> CommandLine:
    """Return a command for this Python, without variables that change how Python, Keras or the engine starts."""
    misleading = (*_MISLEADING, *info.reads)
    environment = {
        name: value
        for name, value in os.environ.items()
        if name in _CHOICES or not name.upper().startswith(misleading)
    }
    environment |= info.variables() | {"KERAS_HOME": str(paths.keras_home)}
    return CommandLine((sys.executable, "-I", "-S", "-X", "utf8", *arguments), environment)
