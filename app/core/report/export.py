"""Runs as text: CSV (a row a run) and JSON (everything). Nothing here names the user, the computer or a folder."""

import contextlib
import csv
import dataclasses
import io
import json
import math
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import msgspec

import app
from app.core.errors import AppError, UsageError
from app.core.files import write_whole
from app.core.paths import default_paths
from app.core.privacy import Pattern, private_names
from app.core.records import EpochColumns, Run, RunSummary
from app.core.settings import load_settings
from app.core.storage.database import Database
from app.core.storage.reading import read_spec
from app.core.verdict.bottleneck import explain
from app.core.verdict.energy import epoch_energies
from workloads import CATALOGUE
from workloads.protocol.parameters import folders_of
from workloads.protocol.spec import RunSpec, spec_as_dict

FORMAT_VERSION = 1
CSV_COLUMNS = (
    "format_version",
    *(field.name for kind in (RunSummary, EpochColumns) for field in fields(kind)),
)
_TEXT_COLUMNS = [
    index
    for index, field in enumerate(fields(RunSummary))
    if "str" in str(field.type) and not field.name.endswith("_at")
]
# A spreadsheet runs cells that begin like this as formulas (OWASP, CSV injection).
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")
_BOOLEANS = [index for index, field in enumerate(fields(RunSummary)) if "bool" in str(field.type)]
_MESSAGE = next(index for index, field in enumerate(fields(RunSummary)) if field.name == "error_message")


def csv_lines(rows: Iterable[tuple[Any, ...]], private: Mapping[str, str] | None = None) -> Iterator[str]:
    """Yield CSV text piece by piece, so that memory stays flat however many runs there are.

    Args:
        rows: Values in the order of RunSummary's and EpochColumns' fields (see runs.rows_for_export).
        private: Texts to be replaced in messages, by default the user's and the program's folders.
    """
    private = private_texts() if private is None else private
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for row in rows:
        values = list(row)
        for index in _TEXT_COLUMNS:
            text = values[index]
            if text and text[0] in _FORMULA_STARTS:
                values[index] = text = "'" + text
            if text and "\r" in text:
                # Until Python 3.13 csv does not quote it, and the row would break in two.
                values[index] = text.replace("\r\n", "\n").replace("\r", "\n")
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


def json_lines(runs: Iterable[Run], private: Mapping[str, str] | None = None) -> Iterator[str]:
    """Yield one JSON document piece by piece: format_version, app_version and the runs with all raw durations."""
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
    """Yield a run's JSON; its steps piece by piece, for there may be millions."""
    plain = run_as_dict(dataclasses.replace(run, steps=()), private)
    del plain["step_records"]
    yield json.dumps(plain, allow_nan=False).removesuffix("}") + ', "step_records": ['
    separator = ""
    for block in run.steps:
        yield separator + json.dumps(_event(block, "seq"), allow_nan=False)
        separator = ", "
    yield "]}"


def run_as_dict(run: Run, private: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return a run as plain JSON types, without the user's and the program's folders."""
    private = chosen_texts([run.spec]) | dict(private_texts() if private is None else private)
    plain: dict[str, Any] = asdict(run.summary)
    plain["error_message"] = hide(run.summary.error_message, private)
    plain["spec"] = _without_folders(run.spec)
    # Without its number: all files of one computer could be put together by it for good.
    plain["machine"] = {name: value for name, value in asdict(run.machine).items() if name != "machine_id"}
    told = {"environment": run.environment, "dataset": run.dataset, "model": run.model}
    plain |= {name: None if event is None else _event(event, "seq", "t_s") for name, event in told.items()}
    plain["metrics"], plain["limit"] = run.metrics, _limit(run)
    plain["epoch_records"] = [
        _event(event, "seq") | {f"{part}_energy_j": used for part, used in energies.items()}
        for event, energies in zip(run.epochs, epoch_energies(run), strict=True)
    ]
    plain["step_records"] = [_event(event, "seq") for event in run.steps]
    plain["warnings"] = [{"code": event.code, "message": hide(event.message, private)} for event in run.warnings]
    plain["telemetry"] = [{"t_s": event.t_s, **msgspec.to_builtins(event.telemetry)} for event in run.samples]
    if run.damage:
        plain["damage"] = list(run.damage)
        plain["raw"] = {
            table: [{name: _cell(value, private) for name, value in row.items()} for row in rows]
            for table, rows in run.raw.items()
        }
    return plain


def _limit(run: Run) -> str:
    """Return what limited a run, "" where that is no question or cannot be told."""
    try:
        found = explain(run)
    except Exception:  # noqa: BLE001 - one record that no rule foresaw must not stop the export of the others
        return ""
    return "" if found is None else found.text


def _cell(value: object, private: Mapping[str, str]) -> object:
    """Return a stored cell as JSON has it, whatever it is."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "backslashreplace")
    if isinstance(value, float) and not math.isfinite(value):
        value = str(value)
    return hide(value, private) if isinstance(value, str) else value


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write a file as a whole, or leave what was there; raises AppError if it cannot be written."""
    try:
        write_whole(path, (line.encode("utf-8", "replace") for line in lines))
    except OSError as error:
        raise AppError(f"{path} cannot be written ({error.strerror or error}).", "Choose another file.") from error


def private_texts() -> dict[str, str]:
    """Return what must not leave the computer, and what stands in its place."""
    folders = {Path(sys.base_prefix): "<python>", Path(sys.prefix): "<python>"}
    folders[Path(app.__file__).parents[1]] = "<program>"
    names: dict[str, str] = {}
    with contextlib.suppress(UsageError):
        own = default_paths()
        folders |= dict.fromkeys((own.data, own.config, own.cache), "<epochmark>")
        chosen = load_settings(own.settings).datasets_folder
        folders |= {Path(chosen): "<datasets>"} if chosen and Path(chosen).is_absolute() else {}
    with contextlib.suppress(RuntimeError):  # a user without an entry and without HOME
        home = Path.home()
        folders[home] = "~"
        names = {f"/{home.name}": "/user", f"\\{home.name}": "\\user"} if home.name else {}
    texts: dict[str, str] = {}
    for folder, stand_in in folders.items():
        if folder.name:  # HOME=/ in some containers
            texts |= dict.fromkeys((str(folder), str(folder.resolve()), repr(str(folder))[1:-1]), stand_in)
    # The longest first: a folder may lie in another.
    return {text: texts[text] for text in sorted(texts, key=len, reverse=True)} | names | private_names()


def chosen_folders(spec: RunSpec) -> list[str]:
    """Return the folders that a stored spec names, in their order."""
    return [str(folder) for text in _folder_parameters(spec).values() for folder in folders_of(text)]


def chosen_texts(specs: Iterable[RunSpec]) -> dict[str, str]:
    """Return the folders that were chosen for runs, as texts that must not leave the computer; longest first."""
    texts: dict[str, str] = {}
    for spec in specs:
        for number, folder in enumerate(chosen_folders(spec), 1):
            if Path(folder).name:
                texts |= dict.fromkeys((folder, repr(folder)[1:-1]), f"<folder {number}>")
    return {text: texts[text] for text in sorted(texts, key=len, reverse=True)}


def table_private_texts(database: Database) -> dict[str, str]:
    """Return what must not leave the computer in a table, whose rows do not hold the folders that were chosen."""
    choosing = [
        workload.id
        for workload in CATALOGUE.values()
        if any(parameter.kind == "folders" for parameter in workload.parameters)
    ]
    sql = "SELECT spec FROM runs WHERE error_message IS NOT NULL AND workload IN (SELECT value FROM json_each(?))"
    with database.complaints():
        rows = database.connection.execute(sql, (json.dumps(choosing),)).fetchall()
    return chosen_texts(read_spec(row[0], []) for row in rows) | private_texts()


def _folder_parameters(spec: RunSpec) -> dict[str, str]:
    """Return the texts of a spec's parameters of kind "folders", by their names."""
    workload = CATALOGUE.get(spec.workload)
    names = (
        [parameter.name for parameter in workload.parameters if parameter.kind == "folders"] if workload else []
    )
    values = spec.parameters
    return {name: str(values[name]) for name in names if name in values}


def _without_folders(spec: RunSpec) -> dict[str, Any]:
    hidden = {
        name: os.pathsep.join(f"<folder {number}>" for number, _ in enumerate(folders_of(text), 1))
        for name, text in _folder_parameters(spec).items()
    }
    return spec_as_dict(spec) | {"parameters": spec.parameters | hidden}


def hide(text: str | None, private: Mapping[str, str]) -> str | None:
    """Return the text with private parts replaced where they are whole names."""
    if text is not None:
        for secret, stand_in in private.items():
            expression = secret if isinstance(secret, Pattern) else re.escape(secret) + r"(?!\w)"
            text = re.sub(expression, stand_in.replace("\\", r"\\"), text)
    return text


def _event(event: msgspec.Struct, *without: str) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(event)
    return {name: value for name, value in plain.items() if name not in ("type", *without)}
