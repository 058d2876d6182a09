"""The command line: every verb of Epochmark in a terminal. Knows no Qt and no engine."""

import contextlib
import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path

from app.cli import results
from app.cli.arguments import make_parser
from app.cli.views import is_broken_pipe
from app.core.errors import AppError
from app.core.keeping.share import ShareCard
from app.core.logs import set_up_logging
from app.core.paths import default_paths, with_datasets_folder
from app.core.settings import load_settings

EXIT_DONE, EXIT_FAILED, EXIT_USAGE, EXIT_CANCELLED = 0, 1, 2, 130
_log = logging.getLogger(__name__)


def main(
    arguments: list[str] | None = None, draw_share: Callable[[ShareCard, Path, bool], None] | None = None
) -> int:
    """Run one command; returns the exit code: 0 done, 1 failed, 2 wrong use or environment, 130 cancelled.

    Args:
        arguments: What was typed; by default what this process was started with.
        draw_share: Writes a result's picture to a file, in dark colours or not; what draws lies above this layer.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without "×" still gets its numbers
    options = make_parser().parse_args(arguments)
    options.draw_share = draw_share
    if (getattr(options, "json", False) or options.verb is results.export) and hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")  # for programs, whatever the terminal speaks
    paths = None
    try:
        paths = default_paths()
        if options.folders:
            paths.create()
        set_up_logging(paths.logs)
        if options.folders:
            paths = with_datasets_folder(paths, load_settings(paths.settings).datasets_folder)
        code: int = options.verb(options, paths)
        sys.stdout.flush()
    except AppError as error:
        print(f"epochmark: {error}", file=sys.stderr)
        return EXIT_USAGE
    except KeyboardInterrupt:
        return EXIT_CANCELLED
    except Exception as error:  # noqa: BLE001 - see below
        if isinstance(error, OSError) and error.filename is None:  # no file of ours, so standard output
            return _give_up_output(error)
        # The command line's last resort: one sentence for the user, the traceback for the log.
        where = paths.logs / "epochmark.log" if paths else "the log"
        kind = type(error).__name__
        _log.exception("Epochmark itself failed (%s); please report this with the end of %s.", kind, where)
        return EXIT_FAILED
    return code


def _give_up_output(error: OSError) -> int:
    """Say that the output is lost, or nothing if its reader (head, less) has seen enough."""
    with contextlib.suppress(OSError, ValueError):  # Python must not complain about the rest while ending
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if not is_broken_pipe(error):
        _log.info("The output cannot be written.", exc_info=error)
        print(f"epochmark: The output cannot be written ({error.strerror or error}).", file=sys.stderr)
    return EXIT_FAILED
