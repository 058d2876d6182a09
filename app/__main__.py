"""Decides what to start (CLI or GUI) before importing either of them."""

import _signal as signals  # type: ignore[import-not-found] # what `signal` wraps, without its imports

if __name__ == "__main__" and signals.getsignal(signals.SIGINT) is signals.default_int_handler:
    # While modules are imported, Ctrl-C ends the process without a traceback. Afterwards, each part handles it.
    signals.signal(signals.SIGINT, signals.SIG_DFL)

import gc
import io
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from app.core.report.card import ShareCard


def main() -> int:
    """Start the part selected by the arguments and the environment, and return the exit code."""
    arguments = sys.argv[1:]
    _open_standard_files()
    if signals.getsignal(signals.SIGINT) is signals.default_int_handler:  # when started by the `epochmark` script
        signals.signal(signals.SIGINT, signals.SIG_DFL)
    if arguments == ["--self-test"]:
        from app.cli.text import say
        from app.gui.shell.self_test import run_self_test

        return run_self_test(say)
    file = _opened_file(arguments)
    if arguments and file is None:
        from app.cli import main as run_command

        return run_command(arguments, _draw_share, scan_picture=_scan_picture)
    from app.gui.shell.display import find_problem, has_display

    if not has_display():
        return _run_without_window()
    if problem := find_problem():
        from app.cli.text import complain
        from app.core.messages import sentence

        complain("epochmark: " + sentence("start.run_in_terminal", problem=problem))
        return 2
    # Modules stay until the end, so scanning them for garbage only takes time. The window collects later.
    gc.disable()
    from app.gui.shell.application import run_window

    return run_window(file)


def _opened_file(arguments: list[str]) -> "Path | None":
    if len(arguments) != 1 or not os.path.isabs(arguments[0]):  # noqa: PTH117 - pathlib would be imported for it
        return None
    from pathlib import Path

    from app.gui.shell.display import has_display

    return Path(arguments[0]) if has_display() else None


def _open_standard_files() -> None:
    """Reopen closed standard streams, so that the next file opened doesn't get a stream's file descriptor.

    Writing to a closed output stream still fails, because it is replaced by a read-only device.
    """
    if os.name != "posix":
        use_windows_streams()
        return
    files = ((0, "stdin", os.O_RDONLY), (1, "stdout", os.O_RDONLY), (2, "stderr", os.O_WRONLY))
    for number, name, flags in files:
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, flags)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            os.set_inheritable(number, True)
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            stream = open(number, mode, encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115 - for good
            setattr(sys, name, stream)


def use_windows_streams(environment: "Mapping[str, str]" = os.environ) -> None:
    """Configure Python's streams as on other systems. Called on Windows.

    Without a console (pythonw.exe), there are no streams, so the null device is used. Files and pipes are switched
    to UTF-8, because other programs expect it instead of the system's code page. Consoles support Unicode anyway.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 - stays open
        elif (
            isinstance(stream, io.TextIOWrapper)
            and not stream.isatty()
            and not environment.get("PYTHONIOENCODING")
        ):
            stream.reconfigure(encoding="utf-8", errors=stream.errors)


def _run_without_window() -> int:
    """Run the GUI's default workload in the terminal."""
    from app.cli import main as run_command
    from app.core.messages import sentence

    return run_command(["run", "cifar10_keras_cnn", "--preset", "quick"], notice=sentence("start.no_display"))


def _draw_share(card: "ShareCard", path: "Path", dark: bool, enclosed: bytes) -> None:
    """Draw a result on behalf of the CLI, which doesn't use Qt. Raises AppError if Qt can't be loaded."""
    from app.core.errors import AppError
    from app.core.messages import message

    try:
        from app.gui.run.share_picture import draw_headless
    except ImportError as error:
        from app.gui.shell.display import DEBIAN_PACKAGES

        raise AppError(
            message("start.qt_not_loaded", reason=str(error)),
            message("start.install_packages", packages=DEBIAN_PACKAGES),
        ) from error
    draw_headless(card, path, dark, enclosed)


def _scan_picture(path: "Path") -> str:
    """Read the QR code in a picture for the CLI; "" if there is none or Qt can't be loaded."""
    try:
        from app.gui.services.picture_code import scan_file
    except ImportError:
        return ""
    return scan_file(path)


if __name__ == "__main__":
    sys.exit(main())
