"""The database's schema, as a series of plain SQL migrations. A released one is never edited."""

import sqlite3
from collections.abc import Iterator

APPLICATION_ID = 0x45706D6B  # "Epmk"

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE machines (
        id INTEGER PRIMARY KEY,
        machine TEXT NOT NULL UNIQUE  -- JSON of app.core.records.Machine
    );
    CREATE TABLE runs (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        started_at TEXT NOT NULL,  -- ISO 8601, UTC
        finished_at TEXT,
        status TEXT NOT NULL,  -- running, completed, cancelled, failed, interrupted
        error_code TEXT,
        error_message TEXT,
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
        model TEXT
    );
    CREATE INDEX runs_by_workload ON runs (workload);
    CREATE INDEX runs_unfinished ON runs (status) WHERE status = 'running';
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
        telemetry TEXT NOT NULL  -- JSON of app.core.records.Telemetry
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
        message TEXT NOT NULL,
        PRIMARY KEY (run_id, seq)
    ) WITHOUT ROWID;
    """,
    """
    ALTER TABLE runs ADD COLUMN comment TEXT;  -- the user's own words
    ALTER TABLE runs ADD COLUMN deleted_at TEXT;  -- ISO 8601, UTC; in the trash since then
    -- All that app.core.history searches and sorts by, so that it need not read whole rows. What many runs share
    -- comes first, but not the machine: joins with machines would leave the order of the ids for it.
    CREATE INDEX runs_listed ON runs (
        workload, preset, status, data_source, engine, device_name, machine_id, deleted_at,
        started_at, seconds_per_epoch_s, spread_pct, epochs_done, batch_size, comment
    );
    """,
    """
    ALTER TABLE runs ADD COLUMN metric TEXT NOT NULL DEFAULT 'seconds_per_epoch_s';  -- what the headline is
    ALTER TABLE runs ADD COLUMN value REAL;  -- the headline
    ALTER TABLE runs ADD COLUMN variant TEXT NOT NULL DEFAULT '';  -- what makes the network another than usual
    UPDATE runs SET value = seconds_per_epoch_s;
    DROP INDEX runs_listed;
    CREATE INDEX runs_listed ON runs (
        workload, preset, status, data_source, engine, device_name, machine_id, deleted_at,
        started_at, value, spread_pct, epochs_done, batch_size, comment
    );
    CREATE TABLE logs (  -- measurements of others, read from a log of epochs
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        imported_at TEXT NOT NULL,  -- ISO 8601, UTC
        workload TEXT NOT NULL,
        name TEXT NOT NULL,  -- of the machine, as the user calls it
        durations_s TEXT NOT NULL,  -- JSON array, epoch by epoch
        seconds_per_epoch_s REAL NOT NULL
    );
    """,
    """
    CREATE TABLE groups (  -- runs that were made as one
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        created_at TEXT NOT NULL,  -- ISO 8601, UTC
        kind TEXT NOT NULL,  -- repeat, ab
        plan TEXT NOT NULL  -- JSON of app.core.runs.sequence.Plan
    );
    ALTER TABLE runs ADD COLUMN verdict TEXT;  -- valid, caution, invalid
    ALTER TABLE runs ADD COLUMN reasons TEXT;  -- codes, separated by spaces
    ALTER TABLE runs ADD COLUMN value_low REAL;
    ALTER TABLE runs ADD COLUMN value_high REAL;
    ALTER TABLE runs ADD COLUMN confidence_pct REAL;
    ALTER TABLE runs ADD COLUMN value_mean REAL;
    ALTER TABLE runs ADD COLUMN warmup_steps INTEGER;
    ALTER TABLE runs ADD COLUMN interruptions INTEGER;
    ALTER TABLE runs ADD COLUMN interruptions_s REAL;
    ALTER TABLE runs ADD COLUMN sustained_pct REAL;
    ALTER TABLE runs ADD COLUMN group_id INTEGER REFERENCES groups (id);
    ALTER TABLE runs ADD COLUMN side TEXT;
    CREATE INDEX runs_by_group ON runs (group_id) WHERE group_id IS NOT NULL;
    DROP INDEX runs_listed;
    CREATE INDEX runs_listed ON runs (
        workload, preset, status, data_source, engine, device_name, machine_id, deleted_at,
        started_at, value, spread_pct, epochs_done, batch_size, comment, verdict
    );
    """,
    """
    ALTER TABLE epochs ADD COLUMN t_s REAL;  -- when it ended, on the samples' clock; NULL for older ones
    CREATE TABLE machine_parts (  -- whole machines; machines has only what stays from run to run
        id INTEGER PRIMARY KEY,
        parts TEXT NOT NULL UNIQUE  -- JSON of app.core.records.Machine
    );
    ALTER TABLE runs ADD COLUMN machine_parts_id INTEGER REFERENCES machine_parts (id);
    ALTER TABLE runs ADD COLUMN cpu_energy_j REAL;
    ALTER TABLE runs ADD COLUMN cpu_energy_per_epoch_j REAL;
    ALTER TABLE runs ADD COLUMN gpu_energy_j REAL;
    ALTER TABLE runs ADD COLUMN gpu_energy_per_epoch_j REAL;
    ALTER TABLE runs ADD COLUMN gpu_energy_basis TEXT;  -- counter, power
    """,
    """
    ALTER TABLE runs ADD COLUMN owner TEXT;  -- token of the lock that is held while it runs: see owners
    -- The header says it too; where the two disagree, one of them is damaged. Each later step sets it anew.
    CREATE TABLE format (version INTEGER NOT NULL);
    INSERT INTO format VALUES (6);
    """,
    """
    -- JSON of workloads.protocol.messages.Message beside their sentences; NULL for older ones.
    ALTER TABLE runs ADD COLUMN error_said TEXT;
    ALTER TABLE warnings ADD COLUMN said TEXT;
    ALTER TABLE runs ADD COLUMN settings TEXT NOT NULL DEFAULT '';  -- those without a column: "name=value …"
    UPDATE format SET version = 7;
    """,
    """
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
    -- Finds own results that come back.
    CREATE INDEX runs_by_value ON runs (workload, value, started_at, deleted_at);
    UPDATE format SET version = 8;
    """,
)


def statements(script: str) -> Iterator[str]:
    """Split a script into statements; executescript would commit the transaction."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
