"""The `results` command: lists, shows, shares, deletes and exports stored runs."""

import argparse
import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from app.cli.grammar import JSON, THEME_OPTION, command, flag, option
from app.cli.groups import say_report
from app.cli.layout import Column, table
from app.cli.result_files import write_result
from app.cli.terminal import VERDICT_INKS, Ink, verdict_ink
from app.cli.text import complain, in_line, room, say, say_json, say_json_list, say_lines, say_raw, say_table
from app.cli.values import STANDARD_OUTPUT, output, whole
from app.core.analysis.facts import fact_texts
from app.core.analysis.headline import value_text
from app.core.analysis.own_runs import run_name
from app.core.analysis.position import position
from app.core.errors import AppError, UsageError
from app.core.exchange.sharing import TEXT_FORMS, shared_result
from app.core.files import closing
from app.core.messages import message, sentence, text
from app.core.metrics import format_metric, headline_kind, metric_lines
from app.core.paths import Paths
from app.core.plans.experiments import readable_report, report_of
from app.core.records import Group, Run, RunSummary
from app.core.report.export import DEFAULT_FORMAT, TERMINAL_FORMATS, write_lines
from app.core.report.formats import csv_table, result_document
from app.core.report.formats.json_document import run_as_dict
from app.core.report.run_texts import (
    estimate_basis,
    headline,
    machine_line,
    repeats_steps,
    round_name,
    run_engine_line,
    verdict_line,
)
from app.core.storage.database import Database
from app.core.storage.groups import group_places, load_group
from app.core.storage.outcomes import recover_runs
from app.core.storage.runs import all_ids, delete_runs, list_runs, load_run, missing_runs
from app.core.titles import data_title, preset_title, status_title, verdict_title
from app.core.verdict.bottleneck import bottleneck_text
from app.core.verdict.energy import energy_used
from app.core.verdict.judged_run import JudgedRun
from app.core.verdict.notes import peak_share, power_limit
from app.core.verdict.rules import judge

# For longer tables of epochs, only the beginning and the end are shown.
EPOCHS_SHOWN, EPOCHS_AT_ENDS = 200, 20
LISTED_RUNS = 50
RUN_ID = option("id", "help.run_id", type=whole, metavar="ID")
_FORMATS = [name for name in TERMINAL_FORMATS if name != csv_table.FORMAT.name]
_RUN_COLUMNS = (
    Column("column.id", is_right=True),
    Column("column.started_utc", order=6),
    Column("studies.axis_workload"),
    Column("heading.result", is_right=True),
    Column("metric.spread_pct", is_right=True, order=3),
    Column("setting.epochs", is_right=True, order=2),
    Column("heading.batch", is_right=True, order=1),
    Column("setting.device", least=12, order=7),
    Column("setting.data", order=4),
    Column("results_page.status", order=8),
    Column("heading.verdict", ink=verdict_ink),
    Column("column.group", order=5),
)
_EPOCH_COLUMNS = (
    Column("column.seconds", is_right=True),
    Column("column.training", is_right=True, order=1),
    Column("column.validation", is_right=True, order=2),
    Column("column.loss", is_right=True, order=3),
    Column("column.accuracy", is_right=True),
    Column("column.val_loss", is_right=True, order=4),
    Column("column.val_accuracy", is_right=True),
)


@command(
    "results list",
    option("--limit", arguments={"limit": LISTED_RUNS}, type=whole, default=LISTED_RUNS, metavar="N"),
    JSON,
)
def list_(options: argparse.Namespace, paths: Paths) -> int:
    if options.limit < 1:
        raise UsageError(message("cli.limit_too_small", limit=options.limit))
    with _open(paths) as database:
        if options.json:
            say_json_list(run.as_dict() for run in list_runs(database, limit=options.limit))
            return 0
        runs = list(list_runs(database, limit=options.limit))
        places = group_places(database, runs)
    if not runs:
        say(sentence("cli.no_runs"))
        return 0
    _say_list(runs, places)
    return 0


def _say_list(runs: Sequence[RunSummary], places: Mapping[int, str]) -> None:
    """Print a table of runs, with their places in groups by number, and a legend for its marks."""
    rows = [
        (
            str(run.id),
            run.started_at[: len("2026-11-25T14:12")].replace("T", " ") or "n/a",
            run.workload,
            _marked_value(run),
            f"{run.spread_pct:.1f} %" if run.spread_pct is not None else "n/a",
            _epochs(run),
            str(run.batch_size),
            run_name(run),
            data_title(run.data_source) or "n/a",
            status_title(run.status),
            verdict_title(run.verdict),
            *([places.get(run.id, "")] if places else []),
        )
        for run in runs
    ]
    say_table(_RUN_COLUMNS if places else _RUN_COLUMNS[:-1], rows)
    bases = {run.basis for run in runs}
    if "estimate" in bases:
        say(sentence("cli.legend_estimate"))
    if "first_epoch" in bases:
        say(sentence("cli.legend_first_epoch"))


def _epochs(run: RunSummary) -> str:
    done = f"{run.epochs_done}/{run.epochs}" if run.preset != "sustained" else str(run.epochs_done)
    if run.steps and run.steps < run.steps_per_epoch:
        return sentence("cli.short_epochs", epochs=done)
    return done


@command("results show", RUN_ID, JSON)
def show(options: argparse.Namespace, paths: Paths) -> int:
    with _open(paths) as database:
        run = load_run(database, options.id)
        place = group_places(database, [run.summary]).get(options.id)
    if options.json:
        say_json(json.dumps(run_as_dict(run, private={}), indent=2, allow_nan=False))
        return 0
    _print_run(run, place)
    return 0


@command("results group", option("id", type=whole, metavar="ID"), JSON)
def group(options: argparse.Namespace, paths: Paths) -> int:
    with _open(paths) as database:
        report = readable_report(database, load_group(database, options.id)).with_details(database, paths)
    if options.json:
        say_json(json.dumps(report.as_dict(), indent=2, allow_nan=False))
    else:
        say_report(report)
    return 0


@command(
    "results share",
    RUN_ID,
    flag("--group"),
    option("--output", type=output, metavar="FILE.png"),
    THEME_OPTION,
    option("--text", choices=TEXT_FORMS),
    option("--without", metavar="FIELD,…"),
)
def share(options: argparse.Namespace, paths: Paths) -> int:
    if (options.output is None) == (options.text is None):
        raise UsageError(message("cli.picture_or_text"))
    hidden = [name.strip() for name in (options.without or "").split(",") if name.strip()]
    with _open(paths) as database:
        group = run = None
        if options.group:
            group, run = _example(database, options.id)
        shared = shared_result(database, run or JudgedRun(load_run(database, options.id)), group, hidden)
    if options.text is not None:
        say_raw(shared.text_as(options.text))  # unwrapped, because the user pastes it elsewhere
        return 0
    if options.draw_share is None:
        raise AppError(message("cli.no_pictures_here"), message("cli.use_start_py"))
    options.draw_share(shared.card, options.output, options.theme == "dark", shared.enclosed)
    code = "cli.picture_of_group_saved" if options.group else "cli.picture_saved"
    say(sentence(code, number=options.id, path=in_line(str(options.output))))
    return 0


def _example(database: Database, group_id: int) -> tuple[Group, JudgedRun]:
    """Return a group and the run that represents it. Raises UsageError if the group has no result."""
    stored = load_group(database, group_id)
    run = report_of(stored).example
    if run is None:
        raise UsageError(message("cli.no_group_result", group_id=group_id), message("result_file.choose_another"))
    return stored, JudgedRun(load_run(database, run.id))


@command("results delete", option("ids", type=whole, nargs="+", metavar="ID"))
def delete(options: argparse.Namespace, paths: Paths) -> int:
    with _open(paths) as database:
        delete_runs(database, options.ids)
    say(sentence("cli.runs_deleted", run_ids=options.ids, count=len(options.ids)))
    return 0


@command(
    "results export",
    option("ids", type=whole, nargs="*", metavar="ID"),
    option("--format", arguments={"format": DEFAULT_FORMAT.name}, choices=_FORMATS, default=DEFAULT_FORMAT.name),
    option("--output", type=output, metavar="FILE"),
    flag("--all"),
)
def export(options: argparse.Namespace, paths: Paths) -> int:
    with _open(paths) as database:
        ids_stored = all_ids(database)
        if missing := sorted(set(options.ids) - set(ids_stored)):
            raise missing_runs(missing)
        ids = sorted(set(options.ids)) or ids_stored
        if options.format == result_document.FORMAT.name and not options.all:
            write_result(database, ids, options.output)
            return 0
        with closing(_lines(database, options)) as lines:
            put(lines, options.output, "cli.runs_exported", count=len(ids))
    return 0


def _lines(database: Database, options: argparse.Namespace) -> Iterator[str]:
    """Return the lines of an export. Raises UsageError for options that the format doesn't support."""
    if not options.all:
        return TERMINAL_FORMATS[options.format].lines(database, options.ids)
    if options.format != DEFAULT_FORMAT.name:
        raise UsageError(message("cli.only_csv"))
    return csv_table.table_lines(database, options.ids)


def put(lines: Iterable[str], path: Path | None, said: str, **arguments: Any) -> None:
    """Write lines to a file, and report this with a message. If `path` is None, write to standard output."""
    if path in (None, STANDARD_OUTPUT):
        for line in lines:
            say_raw(line)
    else:
        assert path is not None
        write_lines(path, lines)
        complain(sentence(said, path=in_line(str(path)), **arguments))


def _marked_value(run: RunSummary) -> str:
    estimate, first = run.basis == "estimate", run.basis == "first_epoch"
    if run.value is None:
        return "n/a"
    unit = headline_kind(run.metric).short_unit
    return f"{'~' * estimate}{value_text(run)}{'*' * first} {unit}"


@contextlib.contextmanager
def _open(paths: Paths) -> Iterator[Database]:
    with Database(paths.database) as database:
        recover_runs(database)
        yield database


def _print_run(run: Run, place: str | None) -> None:
    summary = run.summary
    title = sentence(
        "cli.run_title",
        run_id=summary.id,
        workload=summary.workload,
        preset=preset_title(summary.preset),
        status=status_title(summary.status),
    )
    say(in_line(title))
    for clause in run.damage:
        say(in_line(sentence("cli.run_damaged", part=clause)))
    if place:
        say(sentence("cli.run_group", place=in_line(place), group_id=summary.group_id))
    say(in_line(sentence("cli.run_started", at=summary.started_at, version=summary.app_version)))
    say(in_line(sentence("cli.run_machine", machine=machine_line(run.machine))))
    say(in_line(sentence("cli.run_engine", engine=run_engine_line(summary))))
    data = data_title(summary.data_source) or "n/a"
    say(in_line(sentence("cli.run_data", data=data, batch_size=summary.batch_size, seed=summary.seed)))
    if summary.error_message:
        error = sentence("cli.run_error", error=summary.error_code, reason=summary.error_message)
        say(in_line(error))
    for warning in run.warnings:
        say(in_line(sentence("cli.run_note", note=warning.message)))
    if run.epochs:
        _print_epochs(run)
    verdict = judge(run)
    say(f"\n{headline(summary, estimate_basis(verdict))}")
    say(in_line(verdict_line(verdict)), lead=VERDICT_INKS.get(verdict.level))
    if comparison := position(summary):
        say(in_line(comparison))
    for label, value in metric_lines(run.metrics):
        say(in_line(f"{label}: {value}"))
    notes = (peak_share(run.peak), power_limit(summary), energy_used(summary))
    for line in filter(None, (bottleneck_text(run), *map(text, notes), *fact_texts(summary))):
        say(in_line(line))


def _print_epochs(run: Run) -> None:
    """Print the epochs as a table. If there are many, print only the first and last ones."""
    epochs, left_out = run.epochs, 0
    if len(epochs) > EPOCHS_SHOWN:
        left_out = len(epochs) - 2 * EPOCHS_AT_ENDS
        epochs = epochs[:EPOCHS_AT_ENDS] + epochs[-EPOCHS_AT_ENDS:]
    rows = [
        (
            str(epoch.index + 1),
            f"{epoch.duration_s:.2f}",
            f"{epoch.train_s:.2f}",
            "n/a" if epoch.validation_s is None else f"{epoch.validation_s:.2f}",
            format_metric("loss", epoch.loss),
            format_metric("accuracy", epoch.accuracy),
            format_metric("loss", epoch.val_loss),
            format_metric("accuracy", epoch.val_accuracy),
        )
        for epoch in epochs
    ]
    heads = (Column("", title=round_name(run.summary), is_right=True), *_EPOCH_COLUMNS)
    # Inference has no loss and no accuracy.
    columns = [number for number in range(8) if number < 3 or any(row[number] != "n/a" for row in rows)]
    shown = [[row[number] for number in columns] for row in rows]
    lines = table([heads[number] for number in columns], shown, room())
    say()
    say_lines(lines[: 1 + EPOCHS_AT_ENDS])
    if left_out:
        code = "cli.rounds_left_out" if repeats_steps(run.summary) else "cli.epochs_left_out"
        say(sentence(code, left_out=left_out, run_id=run.summary.id), ink=Ink.MUTED)
    say_lines(lines[1 + EPOCHS_AT_ENDS :])
