"""How runs end in the store: with what they come to, or, where that fails, as they are; and those left behind."""

# ruff: noqa: S608 - SQL is put together from our own column names, never from values
import logging
from collections.abc import Mapping

from app.core.analysis.headline import now_text, store_outcome
from app.core.errors import AppError
from app.core.storage.database import Database, storable
from app.core.storage.owners import is_owned
from app.core.storage.runs import load_run
from app.core.verdict.energy import energy_columns
from app.core.verdict.rules import judge
from workloads.protocol import events

NOT_SUMMARISED = "not_summarised"
_log = logging.getLogger(__name__)


def end_run(database: Database, run_id: int, status: str, error: events.Error | None) -> None:
    """Store how a run ended, its headline and its verdict; raises DatabaseError if that cannot be written.

    A record that cannot be summarised is stored as it is, with a code that says so: no other run waits for it.
    """
    try:
        store_outcome(database, run_id, status, error)
        store_verdict(database, run_id)
    except AppError:
        raise
    except Exception as fault:  # noqa: BLE001 - whatever it is, it must not hide the other runs
        kind = type(fault).__name__
        _log.exception(
            "Run %s has no headline: summarising it failed (%s). Its measurements are kept.", run_id, kind
        )
        message = f"What was measured is kept, but summarising it failed ({kind})."
        values = {
            "status": status,
            "finished_at": now_text(),
            "error_code": error.code if error else NOT_SUMMARISED,
            "error_message": f"{error.message} {message}" if error else message,
            "error_traceback": error.traceback if error else None,
            "verdict": "invalid",
            "reasons": NOT_SUMMARISED,
        }
        _update(database, run_id, values)


def recover_runs(database: Database) -> list[int]:
    """Mark runs whose owner is gone as interrupted, their epochs kept; returns their numbers.

    Each for itself: one that cannot be ended now is left to the next start.
    """
    with database.complaints():
        rows = database.connection.execute(
            "SELECT id, owner, owner_pid, owner_started_s FROM runs WHERE status = 'running'"
        ).fetchall()
    ended = []
    for run_id, owner, pid, started_s in rows:
        if is_owned(database.path, owner, pid, started_s):
            continue
        if not _is_running(database, run_id):
            continue  # its owner has ended it, and let go of it, in this moment
        try:
            end_run(database, run_id, "interrupted", None)
        except AppError as error:
            _log.info("Run %s cannot be ended now: %s", run_id, error)
        else:
            ended.append(run_id)
    return ended


def _is_running(database: Database, run_id: int) -> bool:
    with database.complaints():
        sql = "SELECT 1 FROM runs WHERE id = ? AND status = 'running'"
        return database.connection.execute(sql, (run_id,)).fetchone() is not None


def store_verdict(database: Database, run_id: int) -> None:
    """Judge a run that is over by its record; store the verdict and its energy beside it; raises DatabaseError."""
    run = load_run(database, run_id)
    verdict = judge(run)
    codes = " ".join(reason.code for reason in verdict.reasons if reason.level != "fact")
    _update(database, run_id, {"verdict": verdict.level, "reasons": codes or None, **energy_columns(run)})


def _update(database: Database, run_id: int, values: Mapping[str, object]) -> None:
    columns = ", ".join(f"{name} = ?" for name in values)
    with database.transaction() as connection:
        connection.execute(f"UPDATE runs SET {columns} WHERE id = ?", (*map(storable, values.values()), run_id))
