"""Reads and writes stored documents and rows. Unreadable parts are omitted and reported."""

import dataclasses
import hashlib
import json
import math
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar, get_type_hints

import msgspec

from app.core.messages import Message, sentence
from app.core.messages import text as text_of
from app.core.records import DAMAGED, RunSummary
from app.core.verdict.notes import damaged
from workloads.protocol import events, typed
from workloads.protocol.machine import UNKNOWN_MACHINE, Machine
from workloads.protocol.spec import RunSpec
from workloads.protocol.stored import decode_leniently, unknown_fields
from workloads.protocol.telemetry import Telemetry

DAMAGED_CODE = "damaged_record"
# Tables with the details of a run, and the columns that define their order.
TABLES = {"epochs": "idx", "step_blocks": "seq", "metrics": "key", "warnings": "seq", "samples": "rowid"}
# Fields of a summary that are columns, because they never change or aren't of the run alone.
_IN_COLUMNS = ("id", "uid", "group_id")
# Replacements for unreadable values of required fields. Other fields become 0 or "n/a".
_STAND_INS = {"epochs": 1, "steps_per_epoch": 1, "batch_size": 1, "jit": False, "metric": "seconds_per_epoch_s"}
# Fields of a summary that come from the computer's record.
MACHINE_FIELDS = ("cpu_name", "physical_cores", "logical_cores", "memory_bytes", "os_name", "virtual_machine")
# Must not change, because a computer's runs are found by the values of these fields.
_MACHINE_STAYS = (
    *("cpu_name", "physical_cores", "logical_cores", "memory_bytes", "os_name", "architecture"),
    *("python_version", "virtual_machine", "virtualization"),
)
_GPU_STAYS = ("name", "vendor", "memory_bytes", "driver", "compute_capability", "source")
_INFINITE = (math.inf, -math.inf)
_Record = TypeVar("_Record")
_UNKNOWN = dataclasses.asdict(UNKNOWN_MACHINE)


class _Parameters(msgspec.Struct):
    """The required fields of a stored spec. Other fields may be from another version."""

    workload: str = ""
    parameters: dict[str, bool | int | float | str] = {}


class _WithGpus(msgspec.Struct):
    """The part of a computer's record or telemetry that must be valid. The rest is checked where it is used."""

    gpus: list[dict[str, Any]] = []


def storable(value: Any) -> Any:
    """Return plain values with invalid Unicode in their texts, as in a file name, replaced by "?"."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {storable(name): storable(part) for name, part in value.items()}
    return [storable(part) for part in value] if isinstance(value, list | tuple) else value


def as_json(value: object) -> str:
    return msgspec.json.encode(storable(msgspec.to_builtins(value))).decode()


def present(record: Any) -> dict[str, Any]:
    """Return a record as plain values, without those that are None."""
    return {name: value for name, value in msgspec.to_builtins(record).items() if value is not None}


def summary_text(summary: RunSummary) -> str:
    """Return the document of a summary, without what columns contain."""
    return as_json({name: value for name, value in present(summary).items() if name not in _IN_COLUMNS})


def json_field(document: str, path: str) -> str:
    """Return SQL for a field of a document; NULL in a damaged one, which would otherwise abort the query."""
    return f"CASE WHEN json_valid({document}) THEN json_extract({document}, '$.{path}') END"


def change(document: str, run_id: int, values: Mapping[str, object]) -> tuple[str, Sequence[Any]]:
    """Return the statement that sets fields of a run's "summary" or "record". Other fields stay, known or not."""
    set_to = {name: as_json(value) for name, value in values.items() if value is not None}
    new = "".join(f", '$.{name}', json(?)" for name in set_to)
    gone = "".join(f", '$.{name}'" for name in values if name not in set_to)
    sql = f"UPDATE runs SET {document} = json_remove(json_set({document}{new}){gone}) WHERE id = ?"  # noqa: S608
    return sql, (*set_to.values(), run_id)


def machine_key(machine: Machine) -> str:
    """Return the identity of a computer: the digest of the values that don't change between runs."""
    plain: dict[str, Any] = msgspec.to_builtins(machine)
    stays = {name: plain[name] for name in _MACHINE_STAYS}
    stays["gpus"] = [
        {name: gpu[name] for name in _GPU_STAYS} for gpu in plain["gpus"] if gpu["source"] in ("nvml", "gputil")
    ]
    return key_of(json.dumps(stays, sort_keys=True))


def key_of(machine: str) -> str:
    return hashlib.sha256(machine.encode("utf-8", "replace")).hexdigest()[:32]


def stored_rows(connection: sqlite3.Connection, table: str, run_id: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of a run from one of TABLES, in order, without the run's id."""
    sql = f"SELECT * FROM {table} WHERE run_id = ? ORDER BY {TABLES[table]}"  # noqa: S608 - our own names
    for row in connection.execute(sql, (run_id,)):
        values = dict(row)
        del values["run_id"]
        yield values


def read_summary(
    run_id: int, uid: object, plan_id: object, document: object, damage: list[str] | None = None
) -> RunSummary:
    """Return a run's summary from its columns. They may contain anything.

    Args:
        uid: Cell of the uid.
        plan_id: Cell of the plan's id.
        document: Cell of the summary.
        damage: List to which a clause is added for each unreadable part; None to discard the clauses. If there are
            unreadable parts, the record has the status "damaged", an error that lists them, and the verdict
            "invalid".
    """
    text = document if isinstance(document, str) else ""
    group_id = "null" if plan_id is None else plan_id
    # Parsed at once with the columns, which is faster than adding them later.
    try:
        summary: RunSummary = _decoder().decode(f'{{"id":{run_id},"uid":"{uid}","group_id":{group_id},{text[1:]}')
        return summary
    except (msgspec.DecodeError, RecursionError, ValueError):  # ValueError: invalid Unicode
        pass
    parts: list[str] = []
    plain = read_object(text, dict[str, Any], "", []) or {}
    plain |= {"id": run_id, "uid": uid, "group_id": plan_id}
    broken = [name for name, kind in _types().items() if not _fits(plain.get(name, _default(name)), kind)]
    for name in broken:
        optional = _fits(None, _types()[name])
        plain[name] = None if optional else _STAND_INS.get(name, 0 if _fits(0, _types()[name]) else "n/a")
    parts.append(f"its summary ({', '.join(broken)})" if broken else "its summary")
    if damage is not None:
        damage += parts
    return dataclasses.replace(
        typed.convert(plain, RunSummary),
        status=DAMAGED,
        error_code=DAMAGED_CODE,
        error_said=damaged(parts),
        verdict="invalid",
        reasons=DAMAGED_CODE,
    )


def _default(name: str) -> object:
    """Return the value of a field that a document lacks; for a required one, a value of the wrong type."""
    default = next(field.default for field in dataclasses.fields(RunSummary) if field.name == name)
    return object() if default is dataclasses.MISSING else default


def unknown_parts(plain: Mapping[str, Any], kind: Any) -> dict[str, Any]:
    """Return the fields of a document that this version doesn't know."""
    names = _field_names(kind)
    return {name: value for name, value in plain.items() if name not in names}


@cache
def _field_names(kind: Any) -> frozenset[str]:
    return frozenset((*get_type_hints(kind), *_IN_COLUMNS))


def read_event(plain: object, kind: type[_Record], label: str, damage: list[str]) -> _Record | None:
    """Convert a part of a record to an event; None if it is missing or unreadable."""
    parts = read_object(plain, kind, label, damage)
    return None if parts is None else typed.convert(parts, kind)


def read_object(part: object, shape: Any, label: str, damage: list[str]) -> dict[str, Any] | None:
    """Return JSON text or plain values as a dictionary that matches `shape`; None if empty or unreadable."""
    if part is None or part == "":
        return None
    try:
        plain = part if isinstance(part, dict) else typed.decode(_text(part), dict[str, Any])
        typed.convert(plain, shape)
    except (msgspec.DecodeError, TypeError):
        damage.append(label)
        return None
    return plain


def read_spec(part: object, damage: list[str]) -> RunSpec:
    """Return the readable parts of a requested spec; if there are none, a spec without a workload."""
    plain = read_object(part, _Parameters, "what was asked", damage) or {}
    if names := unknown_fields(plain, RunSpec):
        damage.append(f"what was asked ({', '.join(names)})")
    return decode_leniently(plain, RunSpec, workload="")


def read_machine(part: object, damage: list[str]) -> Machine:
    """Return the readable parts of a computer's record."""
    if part is None:
        damage.append("the machine")
    plain = read_object(part, _WithGpus, "the machine", damage) or {}
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
def _decoder() -> Any:
    return typed.decoder(RunSummary)
