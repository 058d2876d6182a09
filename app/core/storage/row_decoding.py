"""Decodes stored rows. Unreadable parts are omitted and reported; they don't affect other rows."""

import dataclasses
import math
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, TypeVar, get_type_hints

import msgspec

from app.core.messages import Message, sentence
from app.core.messages import text as text_of
from app.core.records import DAMAGED, RUN_COLUMNS, RunSummary
from app.core.verdict.notes import damaged
from workloads.protocol import events, typed
from workloads.protocol.machine import UNKNOWN_MACHINE, Machine
from workloads.protocol.spec import RunSpec
from workloads.protocol.stored import decode_leniently, unknown_fields
from workloads.protocol.telemetry import Telemetry

DAMAGED_CODE = "damaged_record"
# Tables with the details of a run, and the columns that define their order.
TABLES = {"epochs": "idx", "step_blocks": "seq", "metrics": "key", "warnings": "seq", "samples": "rowid"}
_ERROR = RUN_COLUMNS.index("error_message")
# Replacements for unreadable values of required fields. Other fields become 0 or "n/a".
_STAND_INS = {"epochs": 1, "steps_per_epoch": 1, "batch_size": 1, "jit": False, "metric": "seconds_per_epoch_s"}
_INFINITE = (math.inf, -math.inf)
_BOOLEANS = ("jit", "virtual_machine", "on_battery")
_Record = TypeVar("_Record")
_UNKNOWN = dataclasses.asdict(UNKNOWN_MACHINE)


class _Parameters(msgspec.Struct):
    """The required fields of a stored spec. Other fields may be from another version."""

    workload: str = ""
    parameters: dict[str, bool | int | float | str] = {}


# Types of the cells that contain an event.
ENVIRONMENT, DATASET, MODEL = events.Environment, events.Dataset, events.Model


class _WithGpus(msgspec.Struct):
    """The part of a computer's record or telemetry that must be valid. The rest is checked where it is used."""

    gpus: list[dict[str, Any]] = []


def stored_rows(connection: sqlite3.Connection, table: str, run_id: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of a run from one of TABLES, in order, without the run's id."""
    sql = f"SELECT * FROM {table} WHERE run_id = ? ORDER BY {TABLES[table]}"  # noqa: S608 - our own names
    for row in connection.execute(sql, (run_id,)):
        values = dict(row)
        del values["run_id"]
        yield values


def read_summary(row: tuple[Any, ...], damage: list[str] | None = None) -> RunSummary:
    """Convert the row of a run to a record. The values may be of any type.

    Args:
        row: Values in the order of RUN_COLUMNS, with the JSON of the message as `error_message`.
        damage: List to which a clause is added for each unreadable part; None to discard the clauses. If there are
            unreadable parts, the record has the status "damaged", an error that lists them, and the verdict
            "invalid".
    """
    values: dict[str, Any] = dict(zip(RUN_COLUMNS, row, strict=True))
    values["error_message"] = _error_text(values["error_message"])
    for name in _BOOLEANS:
        if values[name] in (0, 1):
            values[name] = bool(values[name])
    try:
        return typed.convert(values, RunSummary)
    except msgspec.ValidationError:
        pass
    broken = [name for name, kind in _types().items() if not _fits(values[name], kind)]
    for name in broken:
        optional = _fits(None, _types()[name])
        values[name] = None if optional else _STAND_INS.get(name, 0 if _fits(0, _types()[name]) else "n/a")
    part = f"its row ({', '.join(broken)})"
    if damage is not None:
        damage.append(part)
    return dataclasses.replace(
        RunSummary(**values),
        status=DAMAGED,
        error_code=DAMAGED_CODE,
        error_message=text_of(damaged([part])),
        verdict="invalid",
        reasons=DAMAGED_CODE,
    )


def read_row(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the row of a run for export.

    For speed, the row of a readable run without an error is returned unchanged.
    """
    try:
        if row[_ERROR] is not None:
            row = (*row[:_ERROR], _error_text(row[_ERROR]), *row[_ERROR + 1 :])
        typed.convert(row, _row_type())
    except msgspec.ValidationError:
        summary = read_summary(row)
        return summary.row
    return row


def _error_text(cell: Any) -> Any:
    """Return the sentence of a stored message. Other values are returned unchanged."""
    said = read_message(cell)
    return cell if said is None else text_of(said)


def read_event(text: object, kind: type[_Record], label: str, damage: list[str]) -> _Record | None:
    """Parse a JSON cell as an event of the given type; None if it is empty or unreadable."""
    plain = read_object(text, kind, label, damage)
    return None if plain is None else typed.convert(plain, kind)


def read_object(text: object, shape: Any, label: str, damage: list[str]) -> dict[str, Any] | None:
    """Parse a JSON cell as a dictionary that matches `shape`; None if it is empty or unreadable."""
    if text is None or text == "":
        return None
    try:
        plain: dict[str, Any] = typed.decode(_text(text), dict[str, Any])
        typed.convert(plain, shape)
    except (msgspec.DecodeError, TypeError):
        damage.append(label)
        return None
    return plain


def read_spec(text: object, damage: list[str]) -> RunSpec:
    """Return the readable parts of a requested spec; if there are none, a spec without a workload."""
    plain = read_object(text, _Parameters, "what was asked", damage) or {}
    if names := unknown_fields(plain, RunSpec):
        damage.append(f"what was asked ({', '.join(names)})")
    return decode_leniently(plain, RunSpec, workload="")


def read_machine(text: object, damage: list[str]) -> Machine:
    """Return the readable parts of a computer's record."""
    if text is None:  # the row is missing
        damage.append("the machine")
    plain = read_object(text, _WithGpus, "the machine", damage) or {}
    gpus = [{"name": sentence("result.unknown_gpu"), "vendor": "unknown"} | gpu for gpu in plain.get("gpus", ())]
    return decode_leniently(plain | {"gpus": gpus}, Machine, **_UNKNOWN)


def read_epochs(rows: Iterable[Mapping[str, Any]], damage: list[str]) -> tuple[events.Epoch, ...]:
    """Return the readable epochs, in the order of the rows."""

    def epoch(row: Mapping[str, Any]) -> events.Epoch:
        values = dict(row)
        return _convert(values | {"index": values.pop("idx"), "t_s": values.pop("t_s") or 0.0}, events.Epoch)

    return tuple(_read(rows, epoch, "epochs", damage))


def iter_steps(rows: Iterable[Mapping[str, Any]], damage: list[str]) -> Iterator[events.Steps]:
    """Yield the readable blocks of steps in the order of the rows, omitting empty blocks."""

    def steps(row: Mapping[str, Any]) -> events.Steps:
        durations_s = typed.decode(_text(row["durations_s"]), tuple[events.Duration, ...])
        return _convert({**row, "durations_s": durations_s}, events.Steps)

    return (block for block in _read(rows, steps, "blocks of steps", damage) if block.durations_s)


def read_telemetry_rows(rows: Iterable[Mapping[str, Any]], damage: list[str]) -> tuple[events.TelemetryEvent, ...]:
    """Return the readable telemetry, in the order of the rows."""

    def event(row: Mapping[str, Any]) -> events.TelemetryEvent:
        plain = typed.decode(_text(row["telemetry"]), dict[str, Any])
        typed.convert(plain, _WithGpus)
        t_s = typed.convert(row["t_s"], events.Duration)
        return events.TelemetryEvent(t_s=t_s, telemetry=decode_leniently(plain, Telemetry))

    return tuple(_read(rows, event, "rows of telemetry", damage))


def read_warnings(rows: Iterable[Mapping[str, Any]], damage: list[str]) -> tuple[events.Warn, ...]:
    """Return the readable warnings."""

    def warning(row: Mapping[str, Any]) -> events.Warn:
        said = typed.decode(_text(row["said"]), Message)
        return _convert({**row, "said": said, "message": text_of(said)}, events.Warn)

    return tuple(_read(rows, warning, "warnings", damage))


def read_message(cell: object) -> Message | None:
    """Return a stored message; None if there is none or it can't be read."""
    try:
        return None if cell is None else typed.decode(_text(cell), Message)
    except (msgspec.DecodeError, TypeError):
        return None


def read_metrics(rows: Iterable[Mapping[str, Any]], damage: list[str]) -> dict[str, float | None]:
    metrics = _read(rows, lambda row: _convert(dict(row), events.Metric), "single numbers", damage)
    return {metric.key: metric.value for metric in metrics}


def _read(rows: Iterable[Mapping[str, Any]], read: Any, label: str, damage: list[str]) -> Iterator[Any]:
    """Yield the readable rows, and report the number of unreadable ones."""
    count = lost = 0
    for row in rows:
        count += 1
        # Infinity becomes None (not available), because JSON can't represent it. SQLite stores NaN as NULL.
        finite = {name: None if value in _INFINITE else value for name, value in row.items()}
        try:
            yield read(finite)
        except (msgspec.DecodeError, TypeError):
            lost += 1
    if lost:
        damage.append(f"{lost:,} of {count:,} {label}")


def _convert(values: Mapping[str, Any], kind: type[_Record]) -> _Record:
    return typed.convert(values, kind)


def _text(cell: object) -> str | bytes:
    if not isinstance(cell, str | bytes):
        msg = f"{type(cell).__name__} in place of JSON"
        raise TypeError(msg)
    return cell


def _fits(value: object, kind: Any) -> bool:
    try:
        typed.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True


@cache
def _types() -> dict[str, Any]:
    return get_type_hints(RunSummary, include_extras=True)


@cache
def _row_type() -> type[msgspec.Struct]:
    # SQLite has no booleans. A class is used because msgspec would inspect any other type again on each call.
    kinds = [(name, int | None if name in _BOOLEANS else _types()[name]) for name in RUN_COLUMNS]
    return msgspec.defstruct("_Row", kinds, array_like=True)
