"""Epoch logs among other files: what was trained and on which computer, as their names and folders say."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.core.errors import UsageError
from app.core.external_results import ImportedLog
from app.core.messages import message
from app.core.plain_text import one_line
from app.core.storage.database import Database
from app.core.storage.imported_logs import (
    NAME_LIMIT,
    epochs_of_totals,
    find_log,
    import_log,
    is_workload_of_logs,
    read_log,
)
from workloads import CATALOGUE
from workloads.workload import Workload

DISTINCTIVE_EPOCHS = 3


@dataclass(frozen=True, slots=True)
class AddedLog:
    """What became of a log.

    Attributes:
        log: As it is stored.
        is_new: Whether it wasn't stored before.
        of_totals: Whether its seconds count from the start of training, so that their differences were taken.
    """

    log: ImportedLog
    is_new: bool = True
    of_totals: bool = False


def workload_of_log(path: Path) -> Workload | None:
    """Return the workload whose ID a log's name begins with, as study 000 names them; None if there is none."""
    words = path.stem.lower()
    names = [each.id for each in CATALOGUE.values() if is_workload_of_logs(each) and _begins(words, each.id)]
    return CATALOGUE[max(names, key=len)] if names else None


def add_log(database: Database, path: Path, folder: Path | None = None) -> AddedLog:
    """Store a log that isn't stored yet.

    Args:
        database: The results.
        path: The log; its name begins with the ID of a workload.
        folder: What was imported with everything in it; the folders from there on name the computer.

    Raises:
        UsageError: It isn't such a log, or its name doesn't say what was trained.
    """
    durations_s = read_log(path)
    workload = workload_of_log(path)
    if workload is None:
        raise UsageError(message("exchange.log_of_what", path=str(path)), message("exchange.import_log_alone"))
    differences_s = epochs_of_totals(durations_s)
    name = _computer(path, folder)
    epochs_s = differences_s or durations_s
    earlier = find_log(database, workload, epochs_s, None if folder is None or _is_distinctive(epochs_s) else name)
    if earlier is not None:
        return AddedLog(earlier, is_new=False)
    log = import_log(database, path, workload, name, is_of_totals=differences_s is not None)
    return AddedLog(log, of_totals=differences_s is not None)


def _is_distinctive(durations_s: Sequence[float]) -> bool:
    """Return whether the durations identify a log: few or rounded ones could match by chance."""
    return len(durations_s) >= DISTINCTIVE_EPOCHS and any(duration_s % 1 for duration_s in durations_s)


def _begins(words: str, workload_id: str) -> bool:
    return words == workload_id or words.startswith((f"{workload_id}_", f"{workload_id}-", f"{workload_id} "))


def _computer(path: Path, folder: Path | None) -> str:
    """Return "cpu-pip cpu16" for logs/cpu-pip/cpu16/mnist_mlp_tensorflow.csv; a log alone has its own name."""
    folders = () if folder is None else path.parent.relative_to(folder).parts or (path.parent.resolve().name,)
    return one_line(" ".join(folders) or path.stem, NAME_LIMIT).strip() or path.stem[:NAME_LIMIT]
