"""Exports runs as CSV with all columns, for analysis, without names of users, computers or folders."""

import csv
import io
import operator
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from app.core.files import closing
from app.core.records import RUN_FIELDS, EpochColumns, RunSummary
from app.core.redaction.private_texts import hide, private_texts, table_private_texts
from app.core.report.formats.export_format import FORMAT_VERSION, ExportFormat, PlanTable
from app.core.storage.database import Database
from app.core.storage.runs import rows_for_export

CSV_COLUMNS = ("format_version", *RUN_FIELDS, *(field.name for field in fields(EpochColumns)))
_KINDS = {field.name: str(field.type) for field in fields(RunSummary)} | {"error_message": "str"}
_TEXT_COLUMNS = [
    index for index, name in enumerate(RUN_FIELDS) if "str" in _KINDS[name] and not name.endswith("_at")
]
_BOOLEANS = [index for index, name in enumerate(RUN_FIELDS) if "bool" in _KINDS[name]]
_values = operator.attrgetter(*RUN_FIELDS)
# Spreadsheets run cells with such a beginning as formulas (OWASP, CSV injection). If a value already begins with
# our mark, another one is added, so that removing one mark always restores the value.
_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")
_MARK = "'"
_MESSAGE = RUN_FIELDS.index("error_message")


def guarded(text: str) -> str:
    """Return text for a cell that spreadsheets don't run as a formula, and whose line breaks can't split a row."""
    if _FORMULA.match(text):
        text = _MARK + text
    # Before Python 3.13, csv doesn't quote "\r", which would split the row.
    return text.replace("\r\n", "\n").replace("\r", "\n")


def csv_lines(
    rows: Iterable[tuple[RunSummary, Sequence[str | None]]], private: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Yield CSV text piece by piece, with constant memory use for any number of runs.

    Args:
        rows: Runs and the cells of EpochColumns, as returned by runs.rows_for_export.
        private: Strings to replace in messages; None for the private texts of this user and computer.
    """
    private = private_texts() if private is None else private
    return csv_rows(CSV_COLUMNS, (_cells(run, epochs, private) for run, epochs in rows))


def _cells(run: RunSummary, epochs: Sequence[str | None], private: Mapping[str, str]) -> Sequence[Any]:
    values = [*_values(run)]
    for index in _TEXT_COLUMNS:
        values[index] = values[index] and guarded(values[index])
    for index in _BOOLEANS:
        if values[index] is not None:
            values[index] = "true" if values[index] else "false"
    if run.error_said is not None:
        values[_MESSAGE] = hide(values[_MESSAGE], private)
    return (FORMAT_VERSION, *values, *epochs)


def csv_rows(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Yield a CSV file with a heading piece by piece."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(heads)
    for row in rows:
        writer.writerow(row)
        if buffer.tell() > 65_536:
            yield buffer.getvalue()
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue()


def table_lines(database: Database, ids: Sequence[int]) -> Iterator[str]:
    # Closed before the database, even if writing fails or is interrupted by Ctrl-C.
    with closing(rows_for_export(database, ids)) as rows:
        yield from csv_lines(rows, table_private_texts(database))


def plan_lines(table: PlanTable) -> Iterator[str]:
    """Yield the configurations, tests or runs of a plan as CSV."""
    rows = (
        (guarded(hide(cell, table.private) or "") if isinstance(cell, str) else cell for cell in cells)
        for cells in table.cells
    )
    heads = ("format_version", *table.columns)
    return csv_rows(heads, ((table.format_version, *cells) for cells in rows))


FORMAT = ExportFormat("csv-all", "export.csv_all", ".all.csv", table_lines)
