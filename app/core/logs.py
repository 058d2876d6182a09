"""Logs warnings to the terminal as plain sentences, and everything to a file of limited size."""

import logging
import logging.handlers
import os
import shutil
import sys
import threading
from collections import deque
from pathlib import Path
from typing import BinaryIO, TextIO

from app.core.plain_text import one_line, safe_text

FILE_LIMIT_BYTES = 1 << 20
WORKER_LOG_LIMIT_BYTES = 4 << 20
SENTENCE_LIMIT = 2_000
# Lines of a worker's log that are kept. A crash report lists every thread and can be long.
_TAIL_LINES, _LINE_BYTES = 400, 4_096


def set_up_logging(folder: Path, limit_bytes: int = FILE_LIMIT_BYTES) -> None:
    """Send the app's log to `folder`/epochmark.log, and warnings also to stderr.

    A file that reaches the limit is rotated and replaces the previous rotated file.
    """
    root = logging.getLogger("app")
    root.setLevel(logging.INFO)
    for handler in list(root.handlers):
        root.removeHandler(handler)
        handler.close()
    terminal = _QuietTerminal(sys.stderr)
    terminal.setLevel(logging.WARNING)
    terminal.setFormatter(_Sentence())
    root.addHandler(terminal)
    file = _QuietFile(folder / "epochmark.log", maxBytes=limit_bytes, backupCount=1, encoding="utf-8", delay=True)
    file.setFormatter(_Safe("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root.addHandler(file)


class _Sentence(logging.Formatter):
    """Formats records without tracebacks. Only the file contains tracebacks."""

    def format(self, record: logging.LogRecord) -> str:
        return one_line(record.getMessage(), SENTENCE_LIMIT)


class _Safe(logging.Formatter):
    """Escapes external text so that the log is safe to read in a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        return safe_text(super().format(record))


class _QuietTerminal(logging.StreamHandler[TextIO]):
    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's own signature
        pass  # not worth a traceback if the terminal is closed


class _QuietFile(logging.handlers.RotatingFileHandler):
    def rotate(self, source: str, dest: str) -> None:
        # On Windows, if another instance of Epochmark has the file open, copy and truncate the file instead.
        try:
            super().rotate(source, dest)
        except PermissionError:
            shutil.copyfile(source, dest)
            os.truncate(source, 0)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's own signature
        pass  # failing to log must not stop the app


class LogCopier(threading.Thread):
    """Copies a worker's stderr to a file up to a limit, and keeps the last lines for error messages."""

    def __init__(self, stream: BinaryIO, path: Path, limit_bytes: int = WORKER_LOG_LIMIT_BYTES) -> None:
        super().__init__(daemon=True, name="worker-log")
        self._stream = stream
        self._path = path
        self._limit_bytes = limit_bytes
        self._tail: deque[bytes] = deque(maxlen=_TAIL_LINES)

    def run(self) -> None:
        """Copy until the stream ends. A full disk stops copying but not the worker."""
        left_bytes = self._limit_bytes
        try:
            file = self._path.open("wb", buffering=0)  # unbuffered, so that closing never writes
        except OSError:
            file = None
        for line in iter(lambda: self._stream.readline(65_536), b""):
            self._tail.append(line[:_LINE_BYTES])
            if file is None or left_bytes <= 0:
                continue
            try:
                left_bytes -= file.write(line)
            except OSError:
                left_bytes = 0
        if file is not None:
            file.close()

    def last_lines(self) -> list[str]:
        lines = [line.decode("utf-8", "replace").rstrip() for line in list(self._tail)]
        return [line for line in lines if line]
