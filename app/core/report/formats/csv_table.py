"""Runs as CSV: one row per run, for spreadsheets. It names neither user, computer nor folder."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from app.core.files import closing
from app.core.records import EpochColumns, RunSummary
from app.core.report.formats.export_format import FORMAT_VERSION, ExportFormat
from app.core.report.private_texts import hide, private_texts, table_private_texts
from app.core.storage.database import Database
from app.core.storage.runs import rows_for_export

CSV_COLUMNS = (
    "format_version",
    *(field.name for kind in (RunSummary, EpochColumns) for field in fields(kind)),
)
_TEXT_COLUMNS = [
    index
    for index, field in enumerate(fields(RunSummary))
    if "str" in str(field.type) and not field.name.endswith("_at")
]
# Spreadsheets run cells that start like this as formulas (OWASP, CSV injection).
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")
_BOOLEANS = [index for index, field in enumerate(fields(RunSummary)) if "bool" in str(field.type)]
_MESSAGE = next(index for index, field in enumerate(fields(RunSummary)) if field.name == "error_message")


def guarded(text: str) -> str:
    """Return a text as a cell that no spreadsheet runs, and that stays in its row."""
    if text and text[0] in _FORMULA_STARTS:
        text = "'" + text
    # Before Python 3.13, csv doesn't quote it, and the row would break in two.
    return text.replace("\r\n", "\n").replace("\r", "\n")


def csv_lines(rows: Iterable[tuple[Any, ...]], private: Mapping[str, str] | None = None) -> Iterator[str]:
    """Yield CSV text piece by piece, so that memory stays flat for any number of runs.

    Args:
        rows: Values in the order of RunSummary's and EpochColumns' fields (see runs.rows_for_export).
        private: Texts to replace in messages; by default, the user's and the program's folders.
    """
    private = private_texts() if private is None else private
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for row in rows:
        values = list(row)
        for index in _TEXT_COLUMNS:
            values[index] = guarded(values[index]) if values[index] else values[index]
        for index in _BOOLEANS:
            if values[index] is not None:
                values[index] = "true" if values[index] else "false"
        if values[_MESSAGE]:
            values[_MESSAGE] = hide(values[_MESSAGE], private)
        writer.writerow((FORMAT_VERSION, *values))
        if buffer.tell() > 65_536:
            yield buffer.getvalue()
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue()


def _lines(database: Database, ids: Sequence[int]) -> Iterator[str]:
    # Closed before the database, even if the output is lost or Ctrl-C ends it.
    with closing(rows_for_export(database, ids)) as rows:
        yield from csv_lines(rows, table_private_texts(database))


FORMAT = ExportFormat("csv", "export.csv", ".csv", _lines)
