"""Our own CSV export, read back: with or without a byte-order mark, with points or with decimal commas."""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import Any, get_args, get_type_hints

import msgspec

from app.core.exchange.rebuilt import rebuilt
from app.core.plain_text import one_line
from app.core.records import EpochColumns, RunSummary
from app.core.report.formats.csv_table import CSV_COLUMNS, unguarded
from app.core.report.formats.export_format import FORMAT_VERSION
from app.core.result_file.canonical import UnfitError
from app.core.result_file.record import RESULTS_LIMIT, Result
from workloads.protocol import events

# Columns of the log of an epoch, which says neither workload nor computer.
_LOG_COLUMNS = {"epoch", "elapsed"}
_NUMBER_CHARS = 40
_WHOLE = re.compile(r"-?[0-9]+")
_FRACTION = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_CELL_LIMIT = 400_000
_HEADING_BYTES = 10_000
_EPOCH_NAMES = {
    field.name: field.name.removeprefix("epoch_").replace("durations", "duration")
    for field in fields(EpochColumns)
}


def read(content: bytes) -> tuple[Result, ...]:
    """Return the results of a table's rows, without rows that have none; raises UnfitError with the line."""
    heading = content[: content.find(b"\n")] if b"\n" in content else content[:_HEADING_BYTES]
    # A table with semicolons has decimal commas.
    delimiter = ";" if b";" in heading and b"," not in heading else ","
    csv.field_size_limit(_CELL_LIMIT)
    text = io.TextIOWrapper(io.BytesIO(content.rstrip(b"\r\n")), encoding="utf-8-sig", newline="")
    reader = csv.reader(text, delimiter=delimiter, strict=True)
    results: list[Result] = []
    try:
        columns = next(reader, [])
        _check_columns(columns)
        for count, row in enumerate(reader, 1):
            if count > RESULTS_LIMIT:
                raise UnfitError("exchange.too_many_runs", limit=RESULTS_LIMIT)
            result = _result(columns, row, reader.line_num, comma=delimiter == ";")
            results += [] if result is None else [result]
    except UnicodeDecodeError as error:
        raise UnfitError("exchange.not_utf8" if reader.line_num else "exchange.unknown_kind") from error
    except csv.Error as error:
        raise UnfitError("exchange.not_csv", line=reader.line_num, reason=one_line(str(error), 80)) from error
    return tuple(results)


def _check_columns(columns: Sequence[str]) -> None:
    if set(columns) >= _LOG_COLUMNS:
        raise UnfitError("exchange.is_log")
    if not columns or columns[0] != CSV_COLUMNS[0]:
        raise UnfitError("exchange.unknown_kind")
    if unknown := [name for name in columns if name not in CSV_COLUMNS]:
        raise UnfitError("exchange.unknown_column", column=one_line(unknown[0], 40))
    if len(set(columns)) != len(columns):
        raise UnfitError("exchange.column_twice")
    if missing := [name for name in _needed() if name not in columns]:
        raise UnfitError("exchange.column_missing", columns=missing[:5], count=len(missing))


def _result(columns: Sequence[str], row: Sequence[str], line: int, *, comma: bool) -> Result | None:
    if len(row) != len(columns):
        raise UnfitError("exchange.other_cells", line=line, count=len(row), expected=len(columns))
    cells = dict(zip(columns, row, strict=True))
    if cells["format_version"] != str(FORMAT_VERSION):
        version = one_line(cells["format_version"], 20)
        raise UnfitError("exchange.unknown_version", version=version, newest=FORMAT_VERSION)
    values = {name: _value(name, cells.get(name, ""), line, comma=comma) for name in _kinds()}
    epochs = _epochs(cells, line, comma=comma)
    try:
        summary = msgspec.convert(values, RunSummary)
        return None if summary.value is None else rebuilt(summary, is_whole=False, epochs=epochs)
    except msgspec.ValidationError as error:
        raise UnfitError("exchange.in_line", line=line, problem=one_line(str(error), 120)) from error
    except UnfitError as error:
        raise UnfitError("exchange.in_line", line=line, problem=error.problem) from error


def _value(name: str, cell: str, line: int, *, comma: bool) -> Any:
    kind, is_optional = _kinds()[name]
    if not cell:
        return None if is_optional or kind is not str else ""
    if kind is str:
        return unguarded(cell)
    if kind is bool and cell in ("true", "false"):
        return cell == "true"
    number = _number(cell, kind, comma=comma)
    if number is None:
        raise UnfitError("exchange.bad_cell", line=line, column=name, text=one_line(cell, 40))
    return number


def _number(text: str, kind: type, *, comma: bool) -> float | int | None:
    text = text.replace(",", ".") if comma else text
    if len(text) > _NUMBER_CHARS or kind is bool:
        return None
    if kind is int:
        return int(text) if _WHOLE.fullmatch(text) else None
    return float(text) if _FRACTION.fullmatch(text) else None


def _epochs(cells: Mapping[str, str], line: int, *, comma: bool) -> tuple[events.Epoch, ...]:
    columns = {
        name: _numbers(cells.get(column, ""), column, line, comma=comma) for column, name in _EPOCH_NAMES.items()
    }
    count = len(columns["duration_s"])
    if any(len(values) not in (0, count) for values in columns.values()):
        raise UnfitError("exchange.uneven_epochs", line=line)
    rows = ({name: values[index] for name, values in columns.items() if values} for index in range(count))
    try:
        return tuple(msgspec.convert({"index": index} | row, events.Epoch) for index, row in enumerate(rows))
    except msgspec.ValidationError as error:
        raise UnfitError("exchange.in_line", line=line, problem=one_line(str(error), 120)) from error


def _numbers(cell: str, column: str, line: int, *, comma: bool) -> list[float | None]:
    numbers: list[float | None] = []
    for part in cell.split(" ") if cell else ():
        number = _number(part, float, comma=comma)
        if number is None and part != "n/a":
            raise UnfitError("exchange.bad_cell", line=line, column=column, text=one_line(part, 40))
        numbers.append(number)
    return numbers


@cache
def _kinds() -> dict[str, tuple[type, bool]]:
    """Return the type of each column, and whether it may be empty."""
    kinds = {}
    for name, hint in get_type_hints(RunSummary).items():
        parts = [part for part in get_args(hint) if part is not type(None)]
        kinds[name] = (parts[0], True) if parts else (hint, False)
    return kinds


@cache
def _needed() -> tuple[str, ...]:
    """Return the columns without which no row means anything; others came with later versions."""
    return tuple(name for name, (_, is_optional) in _kinds().items() if not is_optional and name != "settings")
