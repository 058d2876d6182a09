"""The schema of the database."""

APPLICATION_ID = 0x45706D6B  # "Epmk"
FORMAT = 13

# Lists filter, search and sort by these fields of the summary. All others are only in the documents.
_LISTED = (
    *("workload", "preset", "status", "data_source", "engine", "device_name", "cpu_name", "started_at", "value"),
    *("spread_pct", "epochs_done", "batch_size", "comment", "verdict", "work_per_j"),
)
_COLUMNS = ",\n        ".join(f"{name} AS (json_extract(summary, '$.{name}')) STORED" for name in _LISTED)

# Statements end with semicolons, which occur nowhere else.
DOCUMENTS = f"""
    CREATE TABLE plans (  -- of several runs
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        uid TEXT NOT NULL UNIQUE,
        created_at TEXT NOT NULL,  -- ISO 8601, UTC
        kind TEXT NOT NULL,
        plan TEXT NOT NULL,  -- JSON of app.core.records.Plan
        begun INTEGER NOT NULL DEFAULT 0  -- how many runs were started for it, also those deleted since
    );
    CREATE TABLE runs (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        uid TEXT NOT NULL UNIQUE,  -- app.core.uids
        plan_id INTEGER REFERENCES plans (id),
        plan_number INTEGER,  -- which run of its plan it is, from 1
        deleted_at TEXT,  -- ISO 8601, UTC, in the trash since then
        owner TEXT,  -- JSON of storage.owners.Owner: whose run it is while it is in progress
        machine_key TEXT NOT NULL,  -- the same for all runs of a computer: storage.runs.machine_key
        summary TEXT NOT NULL,  -- JSON of app.core.records.RunSummary, without None
        record TEXT NOT NULL,  -- JSON of spec, machine, environment, dataset, model and error_traceback
        {_COLUMNS}
    );
    CREATE INDEX runs_by_workload ON runs (workload);
    CREATE INDEX runs_unfinished ON runs (status) WHERE status = 'running';
    CREATE INDEX runs_by_plan ON runs (plan_id) WHERE plan_id IS NOT NULL;
    -- All that storage.queries filters and sorts by, so that it need not read whole rows. What many runs share
    -- comes first.
    CREATE INDEX runs_listed ON runs (
        workload, preset, status, data_source, engine, device_name, cpu_name, deleted_at,
        started_at, value, spread_pct, epochs_done, batch_size, comment, verdict, work_per_j
    );
    CREATE TABLE imported (  -- results of others, see app.core.result_file
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        uid TEXT NOT NULL UNIQUE,
        plan_uid TEXT,  -- the same for the runs of a plan
        source TEXT NOT NULL,  -- name of the file
        imported_at TEXT NOT NULL,  -- ISO 8601, UTC
        document TEXT NOT NULL,  -- the result as canonical JSON, without the durations of its steps
        workload AS (json_extract(document, '$.spec.workload')) STORED
    );
    CREATE INDEX imported_by_workload ON imported (workload);
    CREATE INDEX imported_by_plan ON imported (plan_uid) WHERE plan_uid IS NOT NULL;
"""

SCHEMA = f"""{DOCUMENTS}
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
"""
