"""Exports runs as a result file, which other copies of Epochmark can import. Runs without a result are skipped."""

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

# Larger files are rejected when imported. Step durations are included for the first runs, up to a limit.
SIZE_LIMIT_BYTES = 30_000_000
STEPS_LIMIT = 200_000
# Keep pictures small enough for forums: half a megabyte more, or a megabyte with a thousand runs.
PICTURE_STEPS_LIMIT, PICTURE_LIMIT_BYTES = 20_000, 6_000_000


def results_of(database: Database, ids: Sequence[int], steps_limit: int = STEPS_LIMIT) -> list[Result]:
    """Return the results of runs, oldest first, skipping runs without a result. Without ids, include all runs.

    Args:
        steps_limit: Maximum total number of step durations.

    Raises:
        UsageError: No run has a result, or the file would be too large.
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
    """Return the result file of runs. Arguments and errors are as in `results_of`."""
    return file_bytes(results_of(database, ids, steps_limit))


def enclosed_file(database: Database, ids: Sequence[int]) -> bytes:
    """Return the result file to embed in a picture of runs; b"" if there is none or it is too large."""
    try:
        content = result_file(database, ids, PICTURE_STEPS_LIMIT)
    except UsageError:
        return b""
    return content if len(content) <= PICTURE_LIMIT_BYTES else b""


def _lines(database: Database, ids: Sequence[int]) -> Iterator[str]:
    yield result_file(database, ids).decode("utf-8")


FORMAT = ExportFormat("result", "export.result", ".epochmark.json", _lines)
