"""The `table` command: builds a community table from result files or checks such files."""

import argparse

from app.cli.layout import Column
from app.cli.text import complain, in_line, say, say_raw, say_table
from app.cli.values import STANDARD_OUTPUT
from app.core.errors import UsageError
from app.core.exchange.community_build import Refused, Row, TableEntry, look_at, table_rows, table_text
from app.core.exchange.community_file import get_table, use_previous
from app.core.messages import message, sentence, text
from app.core.metrics import format_value, headline_kind
from app.core.paths import Paths
from app.core.report.export import write_lines
from app.core.settings import load_settings
from workloads.engines.registry import engine_title

_COLUMNS = (
    Column("column.workload"),
    Column("column.device", least=12),
    Column("column.engine"),
    Column("column.batch", is_right=True, order=2),
    Column("column.precision", order=1),
    Column("column.settings", order=5),
    Column("column.result", is_right=True),
    Column("column.range", is_right=True, order=4),
    Column("column.machines", is_right=True),
    Column("column.cautions", is_right=True, order=3),
)


def check(options: argparse.Namespace, paths: Paths) -> int:
    """Report for each result whether a community table would accept it. Return 1 if any is rejected."""
    entries, refused = look_at(options.files)
    for entry in entries:
        if entry.refusal is None:
            level = entry.result.verdict.level if entry.result.verdict is not None else ""
            say(in_line(sentence("table.taken", place=_place(entry), verdict=level)))
    _say_left_out(entries, refused)
    return 1 if refused or any(entry.refusal is not None for entry in entries) else 0


def build(options: argparse.Namespace, paths: Paths) -> int:
    """Build a community table from the result files in a folder. Return 1 if none is accepted."""
    entries, refused = look_at([options.folder])
    rows = table_rows(entries)
    if options.output == STANDARD_OUTPUT:
        say_raw(table_text(rows))
    elif rows:
        say_table(_COLUMNS, [_cells(row) for row in rows])
    _say_left_out(entries, refused)
    if options.output not in (None, STANDARD_OUTPUT):
        write_lines(options.output, [table_text(rows)])
        complain(sentence("table.written", path=in_line(str(options.output)), count=len(rows)))
    if not rows:
        complain(sentence("table.empty"))
    return 0 if rows else 1


def get(options: argparse.Namespace, paths: Paths) -> int:
    """Download a community table or restore the previous one."""
    if options.previous:
        if options.address is not None:
            raise UsageError(message("table.one_action"))
        say(sentence("table.previous_used", count=use_previous(paths)))
        return 0
    address = options.address or load_settings(paths.settings).table_address
    if not address:
        raise UsageError(message("table.no_address"), message("table.name_address"))
    count = get_table(paths, address)
    say(sentence("table.newest_already") if count is None else sentence("table.fetched", count=count))
    return 0


def _say_left_out(entries: list[TableEntry], refused: list[Refused]) -> None:
    for entry in entries:
        if entry.refusal is not None:
            complain(in_line(text(message("table.not_taken", place=_place(entry), problem=entry.refusal))))
    for each in refused:
        complain(in_line(str(each.error)))


def _place(entry: TableEntry) -> str:
    """Return the file of a result, with the result's number if it isn't the first in the file."""
    if entry.number == 1:
        return str(entry.path)
    return sentence("table.place", path=str(entry.path), number=entry.number)


def _cells(row: Row) -> tuple[str, ...]:
    low, high = (format_value(row.metric, value) for value in (row.low, row.high))
    return (
        row.workload,
        row.device,
        engine_title(row.engine),
        str(row.batch_size),
        row.precision,
        row.settings,
        f"{format_value(row.metric, row.median)} {headline_kind(row.metric).short_unit}",
        low if low == high else f"{low}–{high}",
        str(row.machines),
        str(row.cautions),
    )
