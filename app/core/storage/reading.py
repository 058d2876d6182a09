"""Stored rows as records. What cannot be read is left out and said; it hides no other row, and no other run."""

import dataclasses
import json
import math
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, TypeVar, get_type_hints

import msgspec

from app.core.messages import Message, sentence
from app.core.messages import text as text_of
from app.core.records import DAMAGED, RunSummary
from app.core.verdict.notes import damaged
from workloads.protocol import events
from workloads.protocol.machine import UNKNOWN_MACHINE, Machine
from workloads.protocol.spec import RunSpec
from workloads.protocol.stored import take_fitting
from workloads.protocol.telemetry import Telemetry

DAMAGED_CODE = "damaged_record"
# What is kept of a run beside its row, and its order.
TABLES = {"epochs": "idx", "step_blocks": "seq", "metrics": "key", "warnings": "seq", "samples": "rowid"}
_NAMES = tuple(field.name for field in dataclasses.fields(RunSummary))
# What stands in a list where the record has something that no run can have.
_STAND_INS = {"epochs": 1, "steps_per_epoch": 1, "batch_size": 1, "jit": False, "metric": "seconds_per_epoch_s"}
_INFINITE = (math.inf, -math.inf)
_BOOLEANS = ("jit", "virtual_machine")
_Record = TypeVar("_Record")
_UNKNOWN = dataclasses.asdict(UNKNOWN_MACHINE)


class _Parameters(msgspec.Struct):
    """What is looked for in a stored spec; all else may be another version's."""

    workload: str = ""
    parameters: dict[str, bool | int | float | str] = {}


# What is looked for in these cells; they were stored from these events.
ENVIRONMENT, DATASET, MODEL = events.Environment, events.Dataset, events.Model


class _WithGpus(msgspec.Struct):
    """What must fit in a stored machine, or its telemetry; all else is checked where it is used."""

    gpus: list[dict[str, Any]] = []


def stored_rows(connection: sqlite3.Connection, table: str, run_id: int) -> Iterator[dict[str, Any]]:
    """Yield what one of TABLES holds of a run, in its order; without the run's number."""
    sql = f"SELECT * FROM {table} WHERE run_id = ? ORDER BY {TABLES[table]}"  # noqa: S608 - our own names
    for row in connection.execute(sql, (run_id,)):
        values = dict(row)
        del values["run_id"]
        yield values


def read_summary(row: tuple[Any, ...], damage: list[str] | None = None) -> RunSummary:
    """Return a run's row as a record, whatever is in it.

    Args:
        row: Values in the order of RunSummary's fields.
        damage: Gets a clause for what cannot be read. The record itself then has the status "damaged" and an
            error that says what, and counts as invalid.
    """
    values: dict[str, Any] = dict(zip(_NAMES, row, strict=True))
    for name in _BOOLEANS:
        if values[name] in (0, 1):
            values[name] = bool(values[name])
    try:
        return msgspec.convert(values, RunSummary)
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
    """Return a run's row as it can be exported: itself where all of it can be read, which is quick to tell."""
    try:
        msgspec.convert(row, _row_type())
    except msgspec.ValidationError:
        summary = read_summary(row)
        return tuple(getattr(summary, name) for name in _NAMES)
    return row


def read_event(text: object, kind: type[_Record], label: str, damage: list[str]) -> _Record | None:
    """Return a cell of JSON as the event that it was stored from; None if it is empty or cannot be read."""
    plain = read_object(text, kind, label, damage)
    return None if plain is None else msgspec.convert(plain, kind)


def read_object(text: object, shape: Any, label: str, damage: list[str]) -> dict[str, Any] | None:
    """Return a cell of JSON as a dictionary if it fits the shape; None if it is empty or cannot be read."""
    if text is None or text == "":
        return None
    try:
        plain: dict[str, Any] = msgspec.json.decode(_text(text), type=dict[str, Any])
        msgspec.convert(plain, shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, TypeError):
        damage.append(label)
        return None
    return plain


def sorted_json(cell: object, otherwise: str) -> str:
    """Return a cell of JSON with its keys in order and without spaces; `otherwise` if it cannot be read."""
    try:
        plain = msgspec.json.decode(_text(cell), type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, TypeError):
        return otherwise
    return json.dumps(plain, sort_keys=True, separators=(",", ":"))


def read_spec(text: object, damage: list[str]) -> RunSpec:
    """Return what was asked, as far as it can be read; of no workload if it cannot."""
    plain = read_object(text, _Parameters, "what was asked", damage) or {}
    return take_fitting(plain, RunSpec, workload="")


def read_machine(text: object, damage: list[str]) -> Machine:
    """Return the machine, as far as it can be read."""
    if text is None:  # its row is gone
        damage.append("the machine")
    plain = read_object(text, _WithGpus, "the machine", damage) or {}
    gpus = [{"name": sentence("result.unknown_gpu"), "vendor": "unknown"} | gpu for gpu in plain.get("gpus", ())]
    return take_fitting(plain | {"gpus": gpus}, Machine, **_UNKNOWN)


def read_epochs(rows: Iterable[Mapping[str, Any]], damage: list[str]) -> tuple[events.Epoch, ...]:
    """Return the epochs that can be read, in the order of the rows."""

    def epoch(row: Mapping[str, Any]) -> events.Epoch:
        values = dict(row)
        return _convert(values | {"index": values.pop("idx"), "t_s": values.pop("t_s") or 0.0}, events.Epoch)

    return tuple(_read(rows, epoch, "epochs", damage))


def iter_steps(rows: Iterable[Mapping[str, Any]], damage: list[str]) -> Iterator[events.Steps]:
    """Yield the blocks of steps that can be read, in the order of the rows; those without a step are left out."""

    def steps(row: Mapping[str, Any]) -> events.Steps:
        durations_s = msgspec.json.decode(_text(row["durations_s"]), type=tuple[events.Duration, ...])
        return _convert({**row, "durations_s": durations_s}, events.Steps)

    return (block for block in _read(rows, steps, "blocks of steps", damage) if block.durations_s)


def read_samples(rows: Iterable[Mapping[str, Any]], damage: list[str]) -> tuple[events.Sample, ...]:
    """Return the telemetry that can be read, in the order of the rows."""

    def sample(row: Mapping[str, Any]) -> events.Sample:
        plain = msgspec.json.decode(_text(row["telemetry"]), type=dict[str, Any])
        msgspec.convert(plain, _WithGpus)
        t_s = msgspec.convert(row["t_s"], events.Duration)
        return events.Sample(t_s=t_s, telemetry=take_fitting(plain, Telemetry))

    return tuple(_read(rows, sample, "rows of telemetry", damage))


def read_warnings(rows: Iterable[Mapping[str, Any]], damage: list[str]) -> tuple[events.Warn, ...]:
    """Return what was warned of, as far as it can be read."""

    def warning(row: Mapping[str, Any]) -> events.Warn:
        return _convert({**row, "said": read_message(row["said"])}, events.Warn)

    return tuple(_read(rows, warning, "warnings", damage))


def read_message(cell: object) -> Message | None:
    """Return a stored message; None if there is none, or it cannot be read: its sentence stands beside it."""
    try:
        return None if cell is None else msgspec.json.decode(_text(cell), type=Message)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, TypeError):
        return None


def read_metrics(rows: Iterable[Mapping[str, Any]], damage: list[str]) -> dict[str, float | None]:
    """Return the single numbers that can be read, by their keys."""
    metrics = _read(rows, lambda row: _convert(dict(row), events.Metric), "single numbers", damage)
    return {metric.key: metric.value for metric in metrics}


def _read(rows: Iterable[Mapping[str, Any]], read: Any, label: str, damage: list[str]) -> Iterator[Any]:
    """Yield the rows that can be read; those that cannot are counted."""
    count = lost = 0
    for row in rows:
        count += 1
        # What is no number is not available: SQLite can hold infinity, and JSON cannot.
        finite = {name: None if value in _INFINITE else value for name, value in row.items()}
        try:
            yield read(finite)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, TypeError):
            lost += 1
    if lost:
        damage.append(f"{lost:,} of {count:,} {label}")


def _convert(values: Mapping[str, Any], kind: type[_Record]) -> _Record:
    return msgspec.convert(values, kind)


def _text(cell: object) -> str | bytes:
    if not isinstance(cell, str | bytes):
        msg = f"{type(cell).__name__} in place of JSON"
        raise TypeError(msg)
    return cell


def _fits(value: object, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True


@cache
def _types() -> dict[str, Any]:
    return get_type_hints(RunSummary, include_extras=True)


@cache
def _row_type() -> type[msgspec.Struct]:
    # As SQLite has them: it knows no booleans. A class, because msgspec looks anew at any other type each time.
    kinds = [(name, int | None if name in _BOOLEANS else kind) for name, kind in _types().items()]
    return msgspec.defstruct("_Row", kinds, array_like=True)
