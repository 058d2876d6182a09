"""Writes result files, either after a run or as an export."""

from collections.abc import Sequence
from pathlib import Path

from app.cli.text import complain, in_line, say_raw
from app.cli.values import STANDARD_OUTPUT
from app.core.errors import UsageError
from app.core.messages import message, sentence
from app.core.report.export import write_lines
from app.core.report.formats.result_document import results_of
from app.core.result_file.canonical import file_bytes
from app.core.storage.database import Database
from workloads.protocol.folders import is_folder


def check_place(path: Path) -> None:
    """Raise UsageError if a result file couldn't be written to this path after the run."""
    if path == STANDARD_OUTPUT:
        raise UsageError(message("cli.result_to_file"))
    try:
        fits = is_folder(path.parent) and not is_folder(path)
    except OSError:  # such as a name that is too long
        fits = False
    if not fits:
        raise UsageError(message("cli.no_place", path=str(path)), message("export.choose_another"))


def write_result(database: Database, ids: Sequence[int], path: Path | None) -> None:
    """Write the results of runs to a file or to standard output, and report how many. Raises AppError."""
    results = results_of(database, ids)
    text, without = file_bytes(results).decode("utf-8"), len(ids) - len(results)
    if path in (None, STANDARD_OUTPUT):
        say_raw(text)
        return
    assert path is not None
    write_lines(path, [text])
    code = "cli.results_exported" if without else "cli.runs_exported"
    complain(sentence(code, path=in_line(str(path)), count=len(results), without=without))


def write_after_run(database: Database, ids: Sequence[int], path: Path) -> bool:
    """Write the result file after a run. Returns False if there is no result to write."""
    try:
        write_result(database, ids, path)
    except UsageError as error:
        complain(f"epochmark: {in_line(str(error))}")
        return False
    return True
