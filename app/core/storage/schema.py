"""The schema of the database."""

APPLICATION_ID = 0x45706D6B  # "Epmk"
FORMAT = 12

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
    -- Earlier versions of Epochmark compare it with the file's header.
    CREATE TABLE format (version INTEGER NOT NULL);
    INSERT INTO format VALUES (12);
"""
