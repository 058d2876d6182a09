"""The export formats, and functions that write files in these formats."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from app.core.errors import AppError
from app.core.files import write_whole
from app.core.messages import message
from app.core.report import run_table
from app.core.report.formats import csv_table, json_document, result_document
from app.core.report.formats.export_format import ExportFormat, PlanTable

FORMATS: dict[str, ExportFormat] = {
    each.name: each for each in (run_table.FORMAT, csv_table.FORMAT, json_document.FORMAT, result_document.FORMAT)
}
# Only in the terminal, because the window copies these to the clipboard.
TERMINAL_FORMATS = FORMATS | {each.name: each for each in run_table.FORUM_FORMATS}
PLAN_FORMATS = {name: each for name, each in FORMATS.items() if each.plan_lines is not None}
DEFAULT_FORMAT = run_table.FORMAT


def plan_lines(table: PlanTable, name: str) -> Iterator[str]:
    """Yield the contents of a plan's export file piece by piece, in one of PLAN_FORMATS."""
    lines = PLAN_FORMATS[name].plan_lines
    assert lines is not None
    return lines(table)


def format_of(path: Path, formats: Mapping[str, ExportFormat] = FORMATS) -> ExportFormat:
    """Return the format that matches a file name's suffix, or the default format."""
    fitting = [each for each in formats.values() if path.name.lower().endswith(each.ending)]
    return max(fitting, key=lambda each: len(each.ending), default=DEFAULT_FORMAT)


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write a file completely, or leave the old file unchanged. Raises AppError if it can't be written."""
    try:
        write_whole(path, (line.encode("utf-8", "replace") for line in lines))
    except OSError as error:
        reason = error.strerror or str(error)
        raise AppError(
            message("export.not_written", path=str(path), reason=reason), message("export.choose_another")
        ) from error
