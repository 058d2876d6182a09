"""Imports epoch logs such as study 000's: CSV files with a row per epoch, without names of workload or computer.

The columns are epoch (from 0), elapsed (seconds of the epoch), loss, acc, val_loss and val_acc; all but the first
two may be missing or empty. Source: callback of the scripts in
github.com/minimaxir/deep-learning-cpu-gpu-benchmark.
"""

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.core.analysis.epoch_log import differences, epochs_of_totals, is_workload_of_logs, log_result
from app.core.errors import UsageError
from app.core.exchange.file_import import read_content
from app.core.messages import message
from app.core.plain_text import one_line
from app.core.result_file.canonical import UnfitError
from app.core.storage.database import Database
from app.core.storage.imported_results import LABEL_LIMIT, Added, add_log
from workloads import CATALOGUE
from workloads.workload import Workload

SIZE_LIMIT_BYTES = 1_000_000
EPOCHS_LIMIT = 10_000
# One microsecond and one year, the limits for results.
SHORTEST_S, LONGEST_S = 1e-6, 31_536_000.0
NEEDED = ("epoch", "elapsed")
KNOWN = (*NEEDED, "loss", "acc", "val_loss", "val_acc")
_DISTINCTIVE_EPOCHS = 3


@dataclass(frozen=True, slots=True)
class LogDetails:
    """Details that the user supplies because the log doesn't contain them.

    Attributes:
        workload: The workload that was trained; None to infer it from the beginning of the file name.
        name: Name of the computer; None to use the subfolders of the imported folder or, without a folder, the
            file name.
        are_totals: Whether the times are cumulative; None to detect this.
    """

    workload: Workload | None = None
    name: str | None = None
    are_totals: bool | None = None


def import_log(database: Database, path: Path, folder: Path | None, details: LogDetails) -> tuple[Added, bool]:
    """Store a log unless it is stored already; return the outcome, and whether the log's times are cumulative.

    Args:
        database: Database of the results.
        path: Path of the log.
        folder: The imported folder; None if the log is imported by itself.
        details: Details that the user supplied.

    Raises:
        UsageError: The file isn't an epoch log, the name is invalid, the workload is unknown or isn't measured in
            epochs, or cumulative times don't increase.
    """
    workload = details.workload or workload_of_log(path)
    if workload is None:
        raise UsageError(message("exchange.log_of_what", path=str(path)), message("exchange.log_alone"))
    if not is_workload_of_logs(workload):
        raise UsageError(message("logs.not_measured_in_epochs", workload=workload.id))
    name = " ".join(details.name.split()) if details.name is not None else _computer(path, folder)
    if not 0 < len(name) <= LABEL_LIMIT or not name.isprintable():
        raise UsageError(message("logs.bad_name", limit=LABEL_LIMIT))
    epochs_s, are_totals = _epochs(path, details.are_totals)
    # Logs with the same epochs are duplicates, unless they have names and the epochs aren't distinctive.
    is_named = details.name is not None or folder is not None
    by_name = is_named and not _is_distinctive(epochs_s)
    return add_log(database, log_result(workload, name, epochs_s), path.name, by_name=by_name), are_totals


def _is_distinctive(durations_s: Sequence[float]) -> bool:
    """Return whether the durations are distinctive enough to identify a log.

    Few or rounded durations could match by chance.
    """
    return len(durations_s) >= _DISTINCTIVE_EPOCHS and any(duration_s % 1 for duration_s in durations_s)


def _epochs(path: Path, are_totals: bool | None) -> tuple[tuple[float, ...], bool]:
    """Return the duration of each epoch, and whether the log's times are cumulative. Raises UsageError."""
    durations_s = read_durations(path)
    differences_s = epochs_of_totals(durations_s) if are_totals is None else None
    if are_totals:
        differences_s = differences(durations_s)
        if min(differences_s) < SHORTEST_S:
            raise UsageError(message("logs.not_totals", path=str(path)))
    return differences_s or durations_s, differences_s is not None


def workload_of_log(path: Path) -> Workload | None:
    """Return the workload whose id a log's name starts with, as in study 000; None if there is none."""
    words = path.stem.lower()
    names = [each.id for each in CATALOGUE.values() if is_workload_of_logs(each) and _begins(words, each.id)]
    return CATALOGUE[max(names, key=len)] if names else None


def _begins(words: str, workload_id: str) -> bool:
    return words == workload_id or words.startswith((f"{workload_id}_", f"{workload_id}-", f"{workload_id} "))


def _computer(path: Path, folder: Path | None) -> str:
    """Return "cpu-pip cpu16" for logs/cpu-pip/cpu16/mnist_mlp_tensorflow.csv, or the file name of a single log."""
    folders = () if folder is None else path.parent.relative_to(folder).parts or (path.parent.resolve().name,)
    return " ".join(one_line(" ".join(folders) or path.stem, LABEL_LIMIT).split())


def read_durations(path: Path) -> tuple[float, ...]:
    """Return the durations of a log's epochs in order. Raises UsageError with the number of an invalid line."""
    content = read_content(path, SIZE_LIMIT_BYTES)
    try:
        return _durations(csv.DictReader(content.decode("utf-8-sig").splitlines(), strict=True))
    except UnicodeDecodeError:
        problem = message("exchange.not_utf8")
    except csv.Error as error:
        problem = message("logs.not_csv", reason=str(error))
    except UnfitError as error:
        problem = error.problem
    raise UsageError(message("logs.not_a_log", path=str(path), problem=problem))


def _durations(reader: "csv.DictReader[str]") -> tuple[float, ...]:
    """Parse the durations of the epochs. Raises UnfitError."""
    columns = [str(name).strip() for name in reader.fieldnames or ()]
    if missing := [name for name in NEEDED if name not in columns]:
        raise UnfitError("logs.columns_missing", columns=missing, count=len(missing))
    if unknown := [name for name in columns if name not in KNOWN]:
        raise UnfitError("logs.unknown_column", column=unknown[0][:40])
    reader.fieldnames = columns
    durations_s: list[float] = []
    first = 0
    for row in reader:
        line = reader.line_num
        if None in row:
            raise UnfitError("logs.too_many_cells", line=line)
        if len(durations_s) >= EPOCHS_LIMIT:
            raise UnfitError("logs.too_many_epochs", limit=EPOCHS_LIMIT)
        number = _number(row["epoch"], line)
        first = int(number) if not durations_s and number in (0, 1) else first
        if number != first + len(durations_s):
            raise UnfitError("logs.epoch_out_of_order", line=line, expected=first + len(durations_s))
        duration_s = _number(row["elapsed"], line)
        if not SHORTEST_S <= duration_s <= LONGEST_S:
            raise UnfitError("logs.implausible_epoch", line=line, duration_s=duration_s)
        durations_s.append(duration_s)
    if not durations_s:
        raise UnfitError("logs.no_epochs")
    return tuple(durations_s)


def _number(text: str | None, line: int) -> float:
    try:
        number = float(text or "")
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise UnfitError("logs.not_a_number", text=str(text)[:40], line=line)
    return number
