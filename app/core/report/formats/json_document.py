"""Exports runs as JSON with all stored data, without names of users, computers or folders."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

import app
from app.core.files import closing
from app.core.records import Run
from app.core.redaction.private_texts import chosen_texts, hidden, hide, private_texts, without_folders
from app.core.report.formats.export_format import FORMAT_VERSION, ExportFormat, PlanTable
from app.core.storage.database import Database
from app.core.storage.runs import all_ids, load_runs
from app.core.verdict.bottleneck import explain
from app.core.verdict.energy import epoch_energies


def json_lines(runs: Iterable[Run], private: Mapping[str, str] | None = None) -> Iterator[str]:
    """Yield a JSON document piece by piece: format_version, app_version, and the runs with all durations."""
    private = private_texts() if private is None else private
    head = json.dumps({"format_version": FORMAT_VERSION, "app_version": app.__version__})
    yield head.removesuffix("}") + ', "runs": ['
    separator = "\n"
    for run in runs:
        yield separator
        yield from _run_lines(run, private)
        separator = ",\n"
    yield "\n]}\n"


def _run_lines(run: Run, private: Mapping[str, str]) -> Iterator[str]:
    """Yield the JSON of a run piece by piece, because a run may have millions of steps."""
    plain = _without_steps(run, private)
    yield json.dumps(plain, allow_nan=False).removesuffix("}") + ', "step_records": ['
    separator = ""
    for block in run.steps:
        yield separator + json.dumps(_event(block, "seq"), allow_nan=False)
        separator = ", "
    yield "]}"


def run_as_dict(run: Run, private: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return a run as plain JSON types, without private folders."""
    steps = [_event(event, "seq") for event in run.steps]
    return _without_steps(run, private) | {"step_records": steps}


def _without_steps(run: Run, private: Mapping[str, str] | None) -> dict[str, Any]:
    private = chosen_texts([run.spec]) | dict(private_texts() if private is None else private)
    plain = run.summary.as_dict()
    plain["error_message"] = hide(run.summary.error_message, private)
    plain["spec"] = without_folders(run.spec)
    # The machine ID is omitted, because it would permanently link all files of one computer.
    machine = msgspec.to_builtins(run.machine)
    plain["machine"] = {name: value for name, value in machine.items() if name != "machine_id"}
    parts = {"environment": run.environment, "dataset": run.dataset, "model": run.model}
    plain |= {name: None if event is None else _event(event, "seq", "t_s") for name, event in parts.items()}
    plain["metrics"], plain["limit"] = run.metrics, _limit(run)
    plain["epoch_records"] = [
        _event(event, "seq") | {f"{part}_energy_j": used for part, used in energies.items()}
        for event, energies in zip(run.epochs, epoch_energies(run), strict=True)
    ]
    plain["warnings"] = [{"code": event.code, "message": hide(event.message, private)} for event in run.warnings]
    plain["telemetry"] = [{"t_s": event.t_s, **msgspec.to_builtins(event.telemetry)} for event in run.telemetry]
    for part, fields in run.unknown.items():  # of a newer version
        (plain if part == "summary" else plain[part] or {}).update(hidden(fields, private))
    if run.damage:
        plain["damage"] = list(run.damage)
        plain["raw"] = {
            table: [{name: _cell(value, private) for name, value in row.items()} for row in rows]
            for table, rows in run.raw.items()
        }
    return plain


def _limit(run: Run) -> str:
    """Return text that states what limited a run's speed; "" if unknown or not applicable."""
    try:
        explanation = explain(run)
    except Exception:  # noqa: BLE001 - one unexpected record must not stop the export of the others
        return ""
    return "" if explanation is None else explanation.text


def _cell(value: object, private: Mapping[str, str]) -> object:
    """Return a stored cell of any type as a JSON value, without private text."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "backslashreplace")
    if isinstance(value, float) and not math.isfinite(value):
        value = str(value)
    return hide(value, private) if isinstance(value, str) else value


def _event(event: msgspec.Struct, *without: str) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(event)
    return {name: value for name, value in plain.items() if name not in ("type", *without)}


def _lines(database: Database, ids: Sequence[int]) -> Iterator[str]:
    # Closed before the database, even if writing fails or is interrupted by Ctrl-C.
    with closing(load_runs(database, sorted(set(ids)) or all_ids(database))) as runs:
        yield from json_lines(runs)


def _plan_lines(table: PlanTable) -> Iterator[str]:
    plain = {"format_version": table.format_version, **table.plain}
    if "sentences" in plain:
        plain["sentences"] = [hide(line, table.private) for line in plain["sentences"]]
    for row in plain[table.rows]:
        row["reason"] = hide(row["reason"], table.private)
    yield json.dumps(plain, indent=2, allow_nan=False) + "\n"


FORMAT = ExportFormat("json", "export.json", ".json", _lines, _plan_lines)
