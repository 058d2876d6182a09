"""Others' measurements, read from the log format of study 000: a CSV row per epoch.

Its columns are epoch (from 0), elapsed (seconds of this epoch), loss, acc, val_loss and val_acc; all but the first
two may be missing or empty. Source: github.com/minimaxir/deep-learning-cpu-gpu-benchmark, the scripts' callback.
"""

import csv
import itertools
import json
import logging
import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from app.core.analysis.stats import epoch_statistics
from app.core.clock import now_text
from app.core.errors import UsageError
from app.core.external_results import ImportedLog
from app.core.messages import message
from app.core.records import Amount
from app.core.storage.database import Database
from workloads.workload import Workload

SIZE_LIMIT_BYTES = 1_000_000
EPOCHS_LIMIT = 10_000
NAME_LIMIT = 80
# A microsecond and about three years: no epoch is outside these.
SHORTEST_S, LONGEST_S = 1e-6, 1e8
NEEDED = ("epoch", "elapsed")
# Of totals: how alike their differences are, and how large against the first epoch, which includes start-up.
_STEADY, _SHARE_OF_FIRST = 2.0, 0.2
_log = logging.getLogger(__name__)
KNOWN = (*NEEDED, "loss", "acc", "val_loss", "val_acc")


def import_log(
    database: Database, path: Path, workload: Workload, name: str, *, is_of_totals: bool = False
) -> ImportedLog:
    """Read a log and store it; return it as stored.

    Args:
        database: The results.
        path: The CSV file.
        workload: What was trained, which the log doesn't say.
        name: What to call the machine.
        is_of_totals: Whether the log's seconds count from the start of training.

    Raises:
        UsageError: The file isn't such a log, the name is unusable, the workload isn't measured in epochs, or
            totals don't rise.
    """
    if not is_workload_of_logs(workload):
        raise UsageError(message("logs.not_measured_in_epochs", workload=workload.id))
    name = " ".join(name.split())
    if not 0 < len(name) <= NAME_LIMIT or not name.isprintable():
        raise UsageError(message("logs.bad_name", limit=NAME_LIMIT))
    durations_s = read_log(path)
    if is_of_totals:
        durations_s = _differences(durations_s)
        if min(durations_s) < SHORTEST_S:
            raise UsageError(message("logs.not_totals", path=str(path)))
    result = epoch_statistics(durations_s)
    assert result is not None  # a log has epochs
    values = (now_text(), workload.id, name, json.dumps(durations_s), result.median_s)
    with database.transaction() as connection:
        sql = (
            "INSERT INTO logs (imported_at, workload, name, durations_s, seconds_per_epoch_s)"
            " VALUES (?, ?, ?, ?, ?)"
        )
        number = connection.execute(sql, values).lastrowid
    assert number is not None
    (log,) = _logs(database, "WHERE id = ?", number)
    return log


def is_workload_of_logs(workload: Workload) -> bool:
    """Return whether logs can be of a workload."""
    return workload.metric == "seconds_per_epoch_s" and not workload.is_demo


def find_log(
    database: Database, workload: Workload, durations_s: Sequence[float], name: str | None = None
) -> ImportedLog | None:
    """Return a log with the same seconds for each epoch, and this name unless it's None; None if there's none."""
    where = "WHERE workload = ? AND durations_s = ?"
    logs = _logs(database, where, workload.id, json.dumps(durations_s))
    return next((log for log in logs if name in (None, log.name)), None)


def read_log(path: Path) -> tuple[float, ...]:
    """Return the seconds of each epoch in a log, in order; raise UsageError, naming the line, if it is invalid."""
    shown = str(path)
    try:
        if not path.is_file():
            raise UsageError(message("logs.not_a_file", path=shown))
        if path.stat().st_size > SIZE_LIMIT_BYTES:
            raise UsageError(message("logs.too_large", path=shown, limit_bytes=SIZE_LIMIT_BYTES))
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(message("logs.unreadable", path=shown, reason=error.strerror)) from error
    except UnicodeDecodeError as error:
        raise UsageError(message("logs.not_utf8", path=shown, position=error.start)) from error
    try:
        return _durations(csv.DictReader(text.splitlines(), strict=True))
    except csv.Error as error:
        raise UsageError(message("logs.not_csv", path=shown, reason=str(error))) from error
    except _NotALogError as error:
        raise UsageError(message("logs.not_a_log", path=shown, problem=error.problem)) from error


def epochs_of_totals(durations_s: Sequence[float]) -> tuple[float, ...] | None:
    """Return the epochs' own seconds if a log seems to count from the start of training; None if it doesn't.

    Totals rise by about the same each time, and by a good part of the first epoch: no computer slows down so
    steadily. It needs three epochs to tell.
    """
    differences_s = _differences(durations_s)
    later_s = differences_s[1:]
    if len(later_s) < 2:
        return None
    typical_s = statistics.median(later_s)
    is_steady = all(typical_s / _STEADY <= each_s <= typical_s * _STEADY for each_s in later_s)
    return differences_s if typical_s >= _SHARE_OF_FIRST * durations_s[0] and is_steady else None


def _differences(totals_s: Sequence[float]) -> tuple[float, ...]:
    return (totals_s[0], *(later_s - before_s for before_s, later_s in itertools.pairwise(totals_s)))


class _NotALogError(Exception):
    """The content isn't an epoch log.

    Attributes:
        problem: What is wrong with it.
    """

    def __init__(self, code: str, **arguments: object) -> None:
        super().__init__(code)
        self.problem = message(code, **arguments)


def list_logs(database: Database, workload: str | None = None) -> list[ImportedLog]:
    """Return the readable imported logs, oldest first; only those of one workload if given."""
    return [log for log in _logs(database) if workload in (None, log.workload)]


def _logs(database: Database, where: str = "", *values: object) -> list[ImportedLog]:
    columns = "id, imported_at, workload, name, durations_s, seconds_per_epoch_s"
    with database.complaints():
        sql = f"SELECT {columns} FROM logs {where} ORDER BY id"  # noqa: S608 - both are written here
        rows = database.connection.execute(sql, values).fetchall()
    return [log for row in rows if (log := _stored_log(dict(row))) is not None]


def _stored_log(row: dict[str, Any]) -> ImportedLog | None:
    try:
        durations_s = msgspec.json.decode(row["durations_s"], type=tuple[Amount, ...])
        return msgspec.convert(row | {"durations_s": durations_s}, ImportedLog)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, TypeError) as error:
        _log.info("The imported log %s cannot be read (%s).", row["id"], error)
        return None


def remove_log(database: Database, log_id: int) -> None:
    """Delete an imported log; raises UsageError if there is no such log."""
    with database.transaction() as connection:
        if not connection.execute("DELETE FROM logs WHERE id = ?", (log_id,)).rowcount:
            raise UsageError(message("logs.unknown", log_id=log_id), message("logs.see_list"))


def _durations(reader: "csv.DictReader[str]") -> tuple[float, ...]:
    """Return the epochs' seconds; raises _NotALogError."""
    columns = [str(name).strip() for name in reader.fieldnames or ()]
    if missing := [name for name in NEEDED if name not in columns]:
        raise _NotALogError("logs.columns_missing", columns=missing, count=len(missing))
    if unknown := [name for name in columns if name not in KNOWN]:
        raise _NotALogError("logs.unknown_column", column=unknown[0][:40])
    reader.fieldnames = columns
    durations_s: list[float] = []
    first = 0
    for row in reader:
        line = reader.line_num
        if None in row:
            raise _NotALogError("logs.too_many_cells", line=line)
        if len(durations_s) >= EPOCHS_LIMIT:
            raise _NotALogError("logs.too_many_epochs", limit=EPOCHS_LIMIT)
        number = _number(row["epoch"], line)
        first = int(number) if not durations_s and number in (0, 1) else first
        if number != first + len(durations_s):
            raise _NotALogError("logs.epoch_out_of_order", line=line, expected=first + len(durations_s))
        duration_s = _number(row["elapsed"], line)
        if not SHORTEST_S <= duration_s <= LONGEST_S:
            raise _NotALogError("logs.implausible_epoch", line=line, duration_s=duration_s)
        durations_s.append(duration_s)
    if not durations_s:
        raise _NotALogError("logs.no_epochs")
    return tuple(durations_s)


def _number(text: str | None, line: int) -> float:
    try:
        number = float(text or "")
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise _NotALogError("logs.not_a_number", text=str(text)[:40], line=line)
    return number
