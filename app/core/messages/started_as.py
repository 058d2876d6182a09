"""Determines the command that started Epochmark, for use in sentences."""

import os
import sys
from pathlib import Path

from app.core.plain_text import one_line

# Set by start.py before it replaces itself with this process.
VARIABLE = "EPOCHMARK_STARTED_AS"
NAME = "epochmark"
START_PY = "python3 start.py"
# `python3` doesn't exist on Windows.
START_PY_HERE = "py start.py" if os.name == "nt" else START_PY
_REPAIR = " --repair"
_LIMIT = 300


def started_as() -> str:
    """Return the command prefix for the user, such as "python3 start.py", "python -m app" or "epochmark"."""
    return one_line(os.environ.get(VARIABLE) or _typed(sys.orig_argv, sys.argv), _LIMIT)


def start_py() -> str:
    return one_line(os.environ.get(VARIABLE) or START_PY_HERE, _LIMIT)


def repair_command() -> str:
    """Return the command that repairs TensorFlow: `start.py` in a checkout, otherwise `engine install`."""
    if (Path(__file__).resolve().parents[3] / "start.py").is_file():
        return start_py() + _REPAIR
    return started_as() + " engine install tensorflow"


def as_started(command: str) -> str:
    """Replace `python3 start.py` at the beginning of a documented command with the prefix from `started_as`."""
    before, program, after = command.partition(START_PY)
    if not program or not after:  # the first start may be on another system, such as WSL
        return command
    if after.startswith(_REPAIR):
        return before + repair_command() + after.removeprefix(_REPAIR)
    return before + started_as() + after


def _typed(whole: list[str], arguments: list[str]) -> str:
    """Return the part of a command line before its arguments. The first item of `arguments` is the program."""
    typed = whole[: len(whole) - len(arguments) + 1]
    if typed[-2:] in (["-m", "app"], ["-m", NAME]):
        launcher = Path(typed[0]).parent.parent / "epochmark.cmd"  # in the installed program for Windows
        return _joined([str(launcher)] if launcher.is_file() else typed)
    program = Path(arguments[0]) if arguments else Path()
    if program.stem == NAME and not _is_on_path(program):
        return str(program)
    return NAME


def _joined(words: list[str]) -> str:
    if os.name == "nt":
        import subprocess

        line = subprocess.list2cmdline(words)
        return f"& {line}" if line.startswith('"') else line  # PowerShell requires "&" to run a quoted program
    import shlex  # rarely needed

    return shlex.join(words)


def _is_on_path(program: Path) -> bool:
    import shutil

    where = shutil.which(NAME)
    try:
        return where is not None and Path(where).parent.samefile(program.parent)
    except OSError:
        return False
