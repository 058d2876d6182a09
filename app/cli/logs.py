"""The command `logs`: others' measurements, imported from epoch logs such as those of study 000."""

import argparse
import json
from dataclasses import asdict

from app.cli.layout import NAME_WIDTH, Column
from app.cli.text import complain, say, say_json, say_table
from app.core.messages import sentence
from app.core.metrics import format_seconds
from app.core.paths import Paths
from app.core.plain_text import one_line
from app.core.runs.runner import known_workload
from app.core.storage.database import Database
from app.core.storage.imported_logs import epochs_of_totals, import_log, list_logs, remove_log

_COLUMNS = (
    Column("column.id", is_right=True),
    Column("column.name", least=12),
    Column("column.workload"),
    Column("column.seconds_per_epoch", is_right=True),
    Column("column.epochs", is_right=True, order=2),
    Column("column.imported", order=1),
)


def import_(options: argparse.Namespace, paths: Paths) -> int:
    """Import a log."""
    workload = known_workload(options.workload)
    with Database(paths.database) as database:
        log = import_log(database, options.file, workload, options.name, is_of_totals=options.totals)
    if not options.totals and epochs_of_totals(log.durations_s) is not None:
        complain(sentence("cli.log_of_totals", log_id=log.id))
    say(
        sentence(
            "cli.log_imported",
            log_id=log.id,
            name=one_line(log.name, NAME_WIDTH),
            epoch_s=log.seconds_per_epoch_s,
            count=len(log.durations_s),
            workload=workload.id,
        )
    )
    return 0


def show(options: argparse.Namespace, paths: Paths) -> int:
    """List the imported logs."""
    with Database(paths.database) as database:
        logs = list_logs(database)
    if options.json:
        say_json(json.dumps([asdict(log) for log in logs], indent=2))
        return 0
    if not logs:
        say(sentence("cli.no_logs"))
        return 0
    rows = [
        (
            str(log.id),
            log.name,
            log.workload,
            format_seconds(log.seconds_per_epoch_s),
            str(len(log.durations_s)),
            log.imported_at[:10],
        )
        for log in logs
    ]
    say_table(_COLUMNS, rows)
    return 0


def remove(options: argparse.Namespace, paths: Paths) -> int:
    """Delete an imported log."""
    with Database(paths.database) as database:
        remove_log(database, options.id)
    say(sentence("cli.log_removed", log_id=options.id))
    return 0
