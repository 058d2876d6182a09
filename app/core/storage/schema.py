"""The schema of the database, and migrations from earlier formats. Released migrations are never edited."""

import sqlite3
from collections.abc import Iterator

APPLICATION_ID = 0x45706D6B  # "Epmk"

# Schema of new files. Migrated files have the same columns in the same order.
SCHEMA = """
    CREATE TABLE machines (
        id INTEGER PRIMARY KEY,
        machine TEXT NOT NULL UNIQUE  -- JSON of what stays from run to run: storage.runs.machine_text
    );
    CREATE TABLE machine_parts (
        id INTEGER PRIMARY KEY,
        parts TEXT NOT NULL UNIQUE  -- JSON of workloads.protocol.machine.Machine, the whole of it
    );
    CREATE TABLE groups (  -- plans of several runs
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        created_at TEXT NOT NULL,  -- ISO 8601, UTC
        kind TEXT NOT NULL,
        plan TEXT NOT NULL,  -- JSON of app.core.records.Plan
        begun INTEGER NOT NULL DEFAULT 0  -- how many runs were started for it, also those deleted since
    );
    CREATE TABLE runs (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        started_at TEXT NOT NULL,  -- ISO 8601, UTC
        finished_at TEXT,
        status TEXT NOT NULL,  -- running, completed, cancelled, failed, interrupted
        error_code TEXT,
        error_traceback TEXT,
        workload TEXT NOT NULL,
        workload_version INTEGER NOT NULL,
        preset TEXT NOT NULL,
        batch_size INTEGER NOT NULL,
        epochs INTEGER NOT NULL,
        steps INTEGER,
        steps_per_epoch INTEGER NOT NULL,
        samples_per_epoch INTEGER NOT NULL,
        precision TEXT NOT NULL,
        jit INTEGER NOT NULL,
        threads INTEGER,
        seed INTEGER NOT NULL,
        data_source TEXT,
        engine TEXT NOT NULL,
        engine_version TEXT,
        device TEXT,
        device_name TEXT,
        epochs_done INTEGER NOT NULL DEFAULT 0,
        seconds_per_epoch_s REAL,
        basis TEXT,
        first_epoch_s REAL,
        minimum_s REAL,
        maximum_s REAL,
        spread_pct REAL,
        step_median_s REAL,
        machine_id INTEGER NOT NULL REFERENCES machines (id),
        app_version TEXT NOT NULL,
        owner_pid INTEGER,
        owner_started_s REAL,
        spec TEXT NOT NULL,  -- JSON, as asked
        environment TEXT,  -- JSON, as it became
        dataset TEXT,
        model TEXT,
        comment TEXT,  -- the user's own words
        deleted_at TEXT,  -- ISO 8601, UTC; in the trash since then
        metric TEXT NOT NULL DEFAULT 'seconds_per_epoch_s',  -- what the headline is
        value REAL,  -- the headline
        variant TEXT NOT NULL DEFAULT '',  -- what makes the network another than usual
        verdict TEXT,  -- valid, caution, invalid
        reasons TEXT,  -- codes, separated by spaces
        value_low REAL,
        value_high REAL,
        confidence_pct REAL,
        value_mean REAL,
        warmup_steps INTEGER,
        interruptions INTEGER,
        interruptions_s REAL,
        sustained_pct REAL,
        group_id INTEGER REFERENCES groups (id),
        side TEXT,
        machine_parts_id INTEGER REFERENCES machine_parts (id),
        cpu_energy_j REAL,
        cpu_energy_per_epoch_j REAL,
        gpu_energy_j REAL,
        gpu_energy_per_epoch_j REAL,
        gpu_energy_basis TEXT,  -- counter, power
        owner TEXT,  -- token of the lock that is held while it runs: see owners
        error_said TEXT,  -- JSON of workloads.protocol.messages.Message: why it failed
        settings TEXT NOT NULL DEFAULT '',  -- those without a column: "name=value …"
        plan_number INTEGER,  -- which run of its group's plan it is, from 1
        cpu_power_w REAL,
        gpu_power_w REAL,
        power_limit_w REAL,
        power_default_w REAL,
        on_battery INTEGER,
        work_per_j REAL
    );
    CREATE INDEX runs_by_workload ON runs (workload);
    CREATE INDEX runs_unfinished ON runs (status) WHERE status = 'running';
    CREATE INDEX runs_by_group ON runs (group_id) WHERE group_id IS NOT NULL;
    -- All that storage.queries filters and sorts by, so that it need not read whole rows. What many runs share
    -- comes first, but not the machine: joins with machines would leave the order of the ids for it.
    CREATE INDEX runs_listed ON runs (
        workload, preset, status, data_source, engine, device_name, machine_id, deleted_at,
        started_at, value, spread_pct, epochs_done, batch_size, comment, verdict, work_per_j
    );
    -- Finds own results that come back.
    CREATE INDEX runs_by_value ON runs (workload, value, started_at, deleted_at);
    CREATE TABLE epochs (
        run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        idx INTEGER NOT NULL,
        duration_s REAL NOT NULL,
        train_s REAL NOT NULL,
        validation_s REAL,
        steps INTEGER,
        loss REAL,
        accuracy REAL,
        val_loss REAL,
        val_accuracy REAL,
        t_s REAL,  -- when it ended, on the samples' clock
        PRIMARY KEY (run_id, idx)
    ) WITHOUT ROWID;
    CREATE TABLE step_blocks (
        run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        seq INTEGER NOT NULL,
        t_s REAL NOT NULL,
        phase TEXT NOT NULL,
        epoch INTEGER NOT NULL,
        first_index INTEGER NOT NULL,
        durations_s TEXT NOT NULL,  -- JSON array
        loss REAL,
        PRIMARY KEY (run_id, seq)
    ) WITHOUT ROWID;
    CREATE TABLE samples (
        run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        t_s REAL NOT NULL,
        telemetry TEXT NOT NULL  -- JSON of workloads.protocol.telemetry.Telemetry
    );
    CREATE INDEX samples_by_run ON samples (run_id);
    CREATE TABLE metrics (
        run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        key TEXT NOT NULL,
        value REAL,
        PRIMARY KEY (run_id, key)
    ) WITHOUT ROWID;
    CREATE TABLE warnings (
        run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        seq INTEGER NOT NULL,
        code TEXT NOT NULL,
        said TEXT NOT NULL,  -- JSON of workloads.protocol.messages.Message
        PRIMARY KEY (run_id, seq)
    ) WITHOUT ROWID;
    CREATE TABLE imported_results (  -- results of others, see app.core.result_file
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        imported_at TEXT NOT NULL,  -- ISO 8601, UTC
        digest TEXT NOT NULL UNIQUE,
        label TEXT NOT NULL,  -- of the computer
        source TEXT NOT NULL,  -- name of the file
        workload TEXT NOT NULL,
        started_at TEXT,
        value REAL NOT NULL,
        document TEXT NOT NULL  -- the result as canonical JSON, without the durations of its steps
    );
    CREATE INDEX imported_results_by_value ON imported_results (workload, value, started_at);
    -- The header says it too; where the two disagree, one of them is damaged. Each step sets it anew.
    CREATE TABLE format (version INTEGER NOT NULL);
    INSERT INTO format VALUES (12);
"""

# A log that was stored twice becomes one result. Unreadable logs are dropped; they weren't shown before either.
LOGS_AS_RESULTS = """
    INSERT OR IGNORE INTO imported_results (imported_at, digest, label, source, workload, value, document)
        SELECT imported_at, json_extract(result, '$.digest'), json_extract(result, '$.machine.cpu_name'),
            'log ' || id, workload, seconds_per_epoch_s, result
        FROM (
            SELECT *, log_as_result(CAST(workload AS BLOB), CAST(name AS BLOB), CAST(durations_s AS BLOB))
                AS result FROM logs
        ) WHERE result IS NOT NULL ORDER BY id;
"""

_WITHOUT_LOGS = """
    DROP TABLE logs;
    UPDATE format SET version = 10;
"""

# Migrations by the format from which they start, without gaps up to the newest one.
MIGRATIONS: dict[int, str] = {
    8: """
    -- Checkouts between 0.1 and the first release had other indexes in format 8.
    DROP INDEX IF EXISTS imported_results_by_workload;
    DROP INDEX IF EXISTS runs_by_start;
    CREATE INDEX IF NOT EXISTS imported_results_by_value ON imported_results (workload, value, started_at);
    CREATE INDEX IF NOT EXISTS runs_by_value ON runs (workload, value, started_at, deleted_at);
    -- A plan's runs were listed in the plan.
    ALTER TABLE groups ADD COLUMN begun INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE runs ADD COLUMN plan_number INTEGER;
    UPDATE runs SET plan_number = (
        SELECT coalesce(
            json_extract(plan, '$.numbers."' || runs.id || '"'),
            (SELECT key + 1 FROM json_each(plan, '$.run_ids') WHERE value = runs.id)
        ) FROM groups WHERE groups.id = runs.group_id AND json_valid(plan)
    ) WHERE group_id IS NOT NULL;
    UPDATE groups SET begun = coalesce(json_array_length(plan, '$.run_ids'), 0) WHERE json_valid(plan);
    UPDATE groups SET plan = json_set(
        json_remove(plan, '$.run_ids', '$.numbers', '$.times'),
        '$.rounds', coalesce(json_extract(plan, '$.times'), 1),
        '$.order', CASE kind
            WHEN 'ab' THEN 'pairs' WHEN 'engines' THEN 'there_and_back' WHEN 'study' THEN 'shuffled' ELSE 'in_turn'
        END,
        '$.survives_failures', json(CASE WHEN kind IN ('engines', 'study', 'suite') THEN 'true' ELSE 'false' END)
    ) WHERE json_valid(plan);
    -- Sentences stood beside their messages, and in the earliest records alone.
    UPDATE runs SET error_said =
        json_object('code', 'verdict.as_stored', 'arguments', json_object('text', error_message))
        WHERE error_said IS NULL AND error_message IS NOT NULL;
    ALTER TABLE runs DROP COLUMN error_message;
    CREATE TABLE new_warnings (
        run_id INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
        seq INTEGER NOT NULL,
        code TEXT NOT NULL,
        said TEXT NOT NULL,
        PRIMARY KEY (run_id, seq)
    ) WITHOUT ROWID;
    INSERT INTO new_warnings SELECT run_id, seq, code,
        coalesce(said, json_object('code', 'verdict.as_stored', 'arguments', json_object('text', message)))
        FROM warnings;
    DROP TABLE warnings;
    ALTER TABLE new_warnings RENAME TO warnings;
    UPDATE format SET version = 9;
    """,
    # Epoch logs of other computers had their own table.
    9: LOGS_AS_RESULTS + _WITHOUT_LOGS,
    # Power under load belongs to a result.
    10: """
    ALTER TABLE runs ADD COLUMN cpu_power_w REAL;
    ALTER TABLE runs ADD COLUMN gpu_power_w REAL;
    ALTER TABLE runs ADD COLUMN gpu_power_limit_w REAL;
    ALTER TABLE runs ADD COLUMN gpu_power_default_w REAL;
    ALTER TABLE runs ADD COLUMN on_battery INTEGER;
    ALTER TABLE runs ADD COLUMN work_per_j REAL;
    DROP INDEX IF EXISTS runs_listed;
    CREATE INDEX runs_listed ON runs (
        workload, preset, status, data_source, engine, device_name, machine_id, deleted_at,
        started_at, value, spread_pct, epochs_done, batch_size, comment, verdict, work_per_j
    );
    UPDATE format SET version = 11;
    """,
    # CPUs have power limits as well.
    11: """
    ALTER TABLE runs RENAME COLUMN gpu_power_limit_w TO power_limit_w;
    ALTER TABLE runs RENAME COLUMN gpu_power_default_w TO power_default_w;
    UPDATE format SET version = 12;
    """,
}
OLDEST = min(MIGRATIONS)
FORMAT = max(MIGRATIONS) + 1


def add_functions(connection: sqlite3.Connection) -> None:
    """Register the SQL functions used by migrations."""
    connection.create_function("log_as_result", 3, _log_as_result, deterministic=True)


def _log_as_result(workload: bytes, name: bytes, durations_s: bytes) -> str | None:
    """Convert a row of the `logs` table to the document of an imported result; None if it is unreadable."""
    import msgspec  # imported late, because it is rarely needed

    from app.core.analysis.epoch_log import log_result
    from app.core.result_file.canonical import canonical, check, sealed
    from app.core.result_file.record import Result, Seconds
    from workloads import CATALOGUE, STANDARD
    from workloads.protocol import typed

    replace = msgspec.structs.replace
    try:
        workload_id = workload.decode()
        epochs_s = typed.decode(durations_s, tuple[float, ...])
        result = log_result(CATALOGUE.get(workload_id, CATALOGUE[STANDARD]), name.decode(), epochs_s)
        result = replace(result, spec=replace(result.spec, workload=workload_id))
        try:
            typed.convert(epochs_s, tuple[Seconds, ...])
        except msgspec.ValidationError:  # more than a year, so only the headline can be stored
            numbers = replace(result.statistics, first_epoch_s=None, minimum_s=None, maximum_s=None)
            result = replace(result, epochs=None, statistics=numbers)
        document = canonical(sealed(result))
        check(typed.decode(document, Result))
    except (AssertionError, AttributeError, ArithmeticError, ValueError, RecursionError):
        return None
    return document.decode("utf-8")


def statements(script: str) -> Iterator[str]:
    """Split a script into statements. executescript would commit the transaction."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
