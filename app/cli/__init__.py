"""The command line: every verb of Epochmark in a terminal. Knows no Qt and no engine."""

import logging
import os
import sys

from app.cli.arguments import make_parser
from app.core.errors import AppError
from app.core.logs import set_up_logging
from app.core.paths import default_paths

EXIT_DONE, EXIT_FAILED, EXIT_USAGE, EXIT_CANCELLED = 0, 1, 2, 130
_log = logging.getLogger(__name__)


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns the exit code: 0 done, 1 failed, 2 wrong use or environment, 130 cancelled."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without "×" still gets its numbers
    options = make_parser().parse_args(arguments)
    try:
        paths = default_paths()
        paths.create()
        set_up_logging(paths.logs)
        code: int = options.verb(options, paths)
        sys.stdout.flush()
    except AppError as error:
        print(f"epochmark: {error}", file=sys.stderr)
        return EXIT_USAGE
    except KeyboardInterrupt:
        return EXIT_CANCELLED
    except BrokenPipeError:
        # Whoever read our output (head, less) has seen enough; Python must not complain while ending.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    except Exception:  # noqa: BLE001 - see below
        # The command line's last resort: one sentence for the user, the traceback for the log.
        _log.exception("Epochmark itself failed; please report this with the lines below.")
        return EXIT_FAILED
    return code
