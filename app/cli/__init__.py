"""The command-line interface. Uses neither Qt nor an engine."""

import logging
import signal
import sys
from collections.abc import Callable
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO, TypeAlias

from app.cli import results
from app.cli.arguments import make_parser
from app.cli.interrupts import EXIT_INTERRUPTED, Ending, TerminatedError, die_by
from app.cli.text import complain, forget, in_line, is_broken_pipe, say
from app.core.errors import AppError, refusal
from app.core.logs import set_up_logging
from app.core.messages import sentence
from app.core.paths import default_paths
from app.core.report.card import ShareCard

EXIT_DONE, EXIT_FAILED, EXIT_USAGE = 0, 1, 2
EXIT_CANCELLED = EXIT_INTERRUPTED
DrawShare: TypeAlias = Callable[[ShareCard, Path, bool, bytes], None]
Scan: TypeAlias = Callable[[Path], str]
_log = logging.getLogger(__name__)


def main(
    arguments: list[str] | None = None,
    draw_share: DrawShare | None = None,
    notice: str | None = None,
    scan_picture: Scan | None = None,
) -> int:
    """Run a command and return its exit code: 0 done, 1 failed, 2 invalid usage or environment, 130 cancelled.

    The caller supplies the functions that need Qt: one that saves a result as a picture with an embedded result
    file, in light or dark colours, and one that reads the QR code in a picture.
    """
    ending = Ending()
    try:
        ending.begin()
        code = _run(arguments, draw_share, notice, scan_picture)
        ending.end(code)  # inside the block, because a signal may arrive just before it
    except KeyboardInterrupt:
        code = EXIT_CANCELLED
        forget(sys.stdout)  # unread output must not delay the exit
        ending.end(code)
    except TerminatedError:
        ending.end(EXIT_CANCELLED)
        die_by(signal.SIGTERM)
    return code


def _run(
    arguments: list[str] | None, draw_share: DrawShare | None, notice: str | None, scan_picture: Scan | None
) -> int:
    for stream in (sys.stdout, sys.stderr):
        _speak(stream, encoding=None)  # even a terminal without "×" must show numbers
    try:
        if notice is not None:
            say(notice, flush=True)
        code = _carry_out(arguments, draw_share, scan_picture)
        sys.stdout.flush()
    except SystemExit as error:  # argparse has already printed its error
        return error.code if isinstance(error.code, int) else EXIT_DONE
    except AppError as error:
        complain(f"epochmark: {in_line(str(error))}")
        return EXIT_USAGE
    except Exception as error:  # noqa: BLE001 - see below
        if isinstance(error, OSError) and error.filename is None:  # not our file, so it is standard output
            forget(sys.stdout)
            if not is_broken_pipe(error):  # not only a reader (head, less) that has stopped reading
                _log.info("The output can't be written.", exc_info=error)
                complain("epochmark: " + sentence("cli.output_lost", reason=error.strerror or str(error)))
            return EXIT_FAILED
        refused = refusal(error)
        if refused is not None:
            complain(f"epochmark: {in_line(str(refused))}")
            return EXIT_FAILED
        # The CLI's last resort: a sentence for the user, and the traceback for the log.
        _log.exception("%s", sentence("cli.bug", kind=type(error).__name__, log=_log_name()))
        return EXIT_FAILED
    return code


def _carry_out(arguments: list[str] | None, draw_share: DrawShare | None, scan_picture: Scan | None) -> int:
    options = make_parser().parse_args(arguments)
    options.draw_share, options.scan_picture = draw_share, scan_picture
    if getattr(options, "json", False) or options.verb is results.export:
        _speak(sys.stdout, encoding="utf-8")  # for other programs, regardless of the terminal's encoding
    paths = default_paths()
    if options.folders:
        paths.create()
    set_up_logging(paths.logs)
    code: int = options.verb(options, paths)
    return code


def _speak(stream: TextIO, *, encoding: str | None) -> None:
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(encoding=encoding, errors="replace")


def _log_name() -> str:
    """Return the path of the log, or a placeholder if it is unknown."""
    try:
        return str(default_paths().logs / "epochmark.log")
    except AppError:
        return sentence("cli.unknown_log")
