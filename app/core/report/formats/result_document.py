"""Runs as a result file, which another copy of Epochmark can import. Includes only runs with a result."""

from collections.abc import Iterator, Sequence

from app.core.errors import UsageError
from app.core.files import closing
from app.core.messages import message
from app.core.redaction.private_texts import private_texts
from app.core.report.formats.export_format import ExportFormat
from app.core.report.result_records import result_of
from app.core.result_file.canonical import canonical, file_bytes, without_durations
from app.core.result_file.record import RESULTS_LIMIT, Result
from app.core.storage.database import Database
from app.core.storage.runs import all_ids, load_runs

# Readers accept no larger file. Step durations are included for the first runs as long as there is room.
SIZE_LIMIT_BYTES = 30_000_000
STEPS_LIMIT = 200_000
# Keeps a picture small enough for forums: half a megabyte more, or a megabyte with a thousand runs.
PICTURE_STEPS_LIMIT, PICTURE_LIMIT_BYTES = 20_000, 6_000_000


def results_of(database: Database, ids: Sequence[int], steps_limit: int = STEPS_LIMIT) -> list[Result]:
    """Return the results of runs, oldest first, skipping runs that have none. Without ids, all runs are included.

    Args:
        database: The results.
        ids: Run numbers.
        steps_limit: Maximum number of step durations in all results together.

    Raises:
        UsageError: None of them has a result, or there are too many.
    """
    private, results, steps, size_bytes = private_texts(), list[Result](), 0, 0
    with closing(load_runs(database, sorted(set(ids)) or all_ids(database))) as runs:
        for run in runs:
            try:
                result = result_of(run, private)
            except UsageError:
                continue
            steps += result.steps.count if result.steps is not None else 0
            result = result if steps <= steps_limit else without_durations(result)
            size_bytes += len(canonical(result))
            results.append(result)
            if size_bytes > SIZE_LIMIT_BYTES or len(results) > RESULTS_LIMIT:
                raise UsageError(message("result_file.too_large", count=len(results) - 1))
    if not results:
        raise UsageError(message("result_file.no_results"), message("result_file.choose_another"))
    return results


def result_file(database: Database, ids: Sequence[int], steps_limit: int = STEPS_LIMIT) -> bytes:
    """Return the result file of runs; see `results_of`."""
    return file_bytes(results_of(database, ids, steps_limit))


def enclosed_file(database: Database, ids: Sequence[int]) -> bytes:
    """Return the result file to embed in a picture of runs; b"" if no run fits into it, or there are too many."""
    try:
        content = result_file(database, ids, PICTURE_STEPS_LIMIT)
    except UsageError:
        return b""
    return content if len(content) <= PICTURE_LIMIT_BYTES else b""


def _lines(database: Database, ids: Sequence[int]) -> Iterator[str]:
    yield result_file(database, ids).decode("utf-8")


FORMAT = ExportFormat("result", "export.result", ".epochmark.json", _lines)
