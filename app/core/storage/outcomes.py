"""Stores the outcomes of runs, with a summary unless computing it fails, and recovers abandoned runs."""

import logging
from collections.abc import Mapping
from dataclasses import asdict

from app.core.analysis.headline import headline_of, measured_of
from app.core.clock import now_text
from app.core.errors import AppError, UsageError
from app.core.messages import Message, message
from app.core.storage.database import Database
from app.core.storage.documents import change
from app.core.storage.owners import is_owned
from app.core.storage.runs import load_run, near_peak
from app.core.verdict.context import evidence_of, shared_part_of
from app.core.verdict.energy import energy_columns, measured_facts, power_columns
from app.core.verdict.rules import judge
from workloads.engines.registry import engine_title
from workloads.protocol import events
from workloads.protocol.folders import remove_leftovers

NOT_SUMMARISED = "not_summarised"
_log = logging.getLogger(__name__)


def end_run(database: Database, run_id: int, status: str, error: events.Error | None) -> None:
    """Store a run's outcome, headline and verdict. Raises DatabaseError if they can't be written.

    If the run can't be summarised, it is stored with an error code, so that it doesn't affect other runs.
    """
    try:
        _store_outcome(database, run_id, status, error)
        store_verdict(database, run_id)
        for other in near_peak(database, run_id):
            store_verdict(database, other)
    except AppError:
        raise
    except Exception as fault:  # noqa: BLE001 - one unexpected record must not affect other runs
        kind = type(fault).__name__
        _log.exception(
            "Run %s has no headline: summarising it failed (%s). Its measurements are kept.", run_id, kind
        )
        said = message("run.not_summarised", kind=kind)
        if error is not None:
            said = message("run.problem_with_advice", problem=stored_message(error), advice=said)
        values = {
            "status": status,
            "finished_at": now_text(),
            "error_code": error.code if error else NOT_SUMMARISED,
            "error_said": said,
            "verdict": "invalid",
            "reasons": NOT_SUMMARISED,
        }
        _store(database, run_id, values, error)


def _store_outcome(database: Database, run_id: int, status: str, error: events.Error | None) -> None:
    with database.complaints():  # before the transaction, because it takes seconds for a long run
        run = load_run(database, run_id, with_peak=False)
        evidence = evidence_of(run)
        is_shared = shared_part_of(evidence) is not None
        headline = headline_of(measured_of(run, evidence.timed_steps, on_shared_host=is_shared))
    values = {
        "status": status,
        "finished_at": now_text(),
        "error_code": error.code if error else None,
        "error_said": stored_message(error) if error else None,
        **asdict(headline),
    }
    _store(database, run_id, values, error)


def recover_runs(database: Database) -> list[int]:
    """Mark as interrupted all runs whose owner no longer exists, keeping their epochs; return the runs' ids.

    Their temporary folders are removed.

    Runs are processed separately. If a run can't be ended now, the attempt is repeated at the next start.
    """
    with database.complaints():
        rows = database.connection.execute("SELECT id, owner FROM runs WHERE status = 'running'").fetchall()
    ended = []
    for run_id, owner in rows:
        if is_owned(database.path, owner):
            continue
        if not _is_running(database, run_id):
            continue  # the owner has just ended the run
        try:
            end_run(database, run_id, "interrupted", None)
        except AppError as error:
            _log.info("Run %s cannot be ended now: %s", run_id, error)
        else:
            ended.append(run_id)
    if ended:
        remove_leftovers()
    return ended


def running_on(database: Database, engine: str) -> list[int]:
    """Return the ids of all runs in progress that use an engine. Call `recover_runs` first."""
    with database.complaints():
        sql = "SELECT id FROM runs WHERE status = 'running' AND engine = ? ORDER BY id"
        return [row[0] for row in database.connection.execute(sql, (engine,))]


def check_engine_unused(database: Database, engine: str) -> None:
    """Raise UsageError if a run in progress uses an engine."""
    recover_runs(database)
    runs = running_on(database, engine)
    if runs:
        said = message("engines.in_use", title=engine_title(engine), run_id=runs[0])
        raise UsageError(said, message("engines.wait_for_run"))


def _is_running(database: Database, run_id: int) -> bool:
    with database.complaints():
        sql = "SELECT 1 FROM runs WHERE id = ? AND status = 'running'"
        return database.connection.execute(sql, (run_id,)).fetchone() is not None


def store_verdict(database: Database, run_id: int) -> None:
    """Judge a finished run and store its verdict, energy and power. Raises DatabaseError."""
    run = load_run(database, run_id)
    verdict = judge(run)
    codes = " ".join(reason.code for reason in verdict.reasons if reason.level != "fact")
    measured = energy_columns(run) | power_columns(run) | measured_facts(run)
    _store(database, run_id, {"verdict": verdict.level, "reasons": codes or None, **measured})


def stored_message(event: events.Error | events.Warn) -> Message:
    """Return the message of an event or, if it has none, a message with its sentence."""
    return event.said or message("verdict.as_stored", text=event.message)


def _store(
    database: Database, run_id: int, values: Mapping[str, object], error: events.Error | None = None
) -> None:
    with database.transaction() as connection:
        connection.execute(*change("summary", run_id, values))
        if error is not None and error.traceback is not None:
            connection.execute(*change("record", run_id, {"error_traceback": error.traceback}))
