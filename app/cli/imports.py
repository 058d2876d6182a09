"""The `import` command: imports other people's results from result files, pictures and folders."""

import argparse
import itertools
import json
from dataclasses import asdict
from pathlib import Path

from app.cli.grammar import JSON, command, flag, option
from app.cli.layout import NAME_WIDTH, Column
from app.cli.terminal import verdict_ink
from app.cli.text import complain, in_line, say, say_json, say_table
from app.cli.values import whole
from app.core.analysis.headline import result_amount
from app.core.errors import UsageError
from app.core.exchange.importing import Outcome, import_files, import_text
from app.core.exchange.preview import leaves, preview
from app.core.messages import Message, message, sentence, text
from app.core.paths import Paths
from app.core.plain_text import one_line
from app.core.result_file.canonical import canonical
from app.core.result_file.short_form import has_mark
from app.core.storage.database import Database
from app.core.storage.imported_results import list_results, load_result, remove_result
from app.core.titles import verdict_title

_COLUMNS = (
    Column("column.id", is_right=True),
    Column("heading.name", least=12),
    Column("studies.axis_workload"),
    Column("heading.result", is_right=True),
    Column("heading.verdict", ink=verdict_ink),
    Column("heading.uid", order=2),
    Column("heading.file", least=12, order=3),
    Column("heading.imported", order=1),
)

_FIELD_COLUMNS = (Column("heading.field"), Column("heading.value", least=20))


@command(
    "import",
    option("files", metavar="FILE", type=Path, nargs="*"),
    flag("--list"),
    option("--show", type=whole, metavar="ID"),
    option("--remove", type=whole, metavar="ID"),
    JSON,
)
def import_(options: argparse.Namespace, paths: Paths) -> int:
    """Import files, list imported results, or show or remove one. Return 1 if a file was rejected."""
    asked = [bool(options.files), options.list, options.show is not None, options.remove is not None]
    if sum(asked) != 1:
        raise UsageError(message("imports.one_action"), message("imports.example"))
    if options.json and not options.list and options.show is None:
        raise UsageError(message("imports.json_lists"))
    if options.list:
        return _list(options, paths)
    if options.show is not None:
        return _show(options.show, paths, as_json=options.json)
    if options.remove is not None:
        with Database(paths.database) as database:
            remove_result(database, options.remove)
        say(sentence("imports.removed", number=options.remove))
        return 0
    return _import(options, paths)


def _import(options: argparse.Namespace, paths: Paths) -> int:
    taken = refused = 0
    # A short form can't be mistaken for a path.
    codes = [str(path) for path in options.files if has_mark(str(path).upper())]
    files = [path for path in options.files if str(path) not in codes]
    with Database(paths.database) as database:
        typed = (import_text(database, code) for code in codes)
        for outcome in itertools.chain(typed, import_files(database, files, options.scan_picture)):
            if outcome.refusal is not None:
                complain(f"epochmark: {in_line(str(outcome.refusal))}")
                refused += 1
                continue
            taken += outcome.count
            say(in_line(text(_line(outcome))), flush=True)
    if taken:
        say(sentence("imports.see_compare"))
    return 1 if refused else 0


def _line(outcome: Outcome) -> Message:
    added, path = outcome.added, str(outcome.path)
    parts = list[Message]()
    for code, numbers in (
        ("imports.taken", added.imported),
        ("imports.replaced", added.upgraded),
        ("imports.present", added.duplicates),
        ("imports.own", added.own_runs),
    ):
        if numbers:
            parts.append(message(code, numbers=_numbers(numbers), count=len(numbers)))
    return message("imports.file", path=path, parts=parts)


def _numbers(numbers: tuple[int, ...]) -> str:
    if len(numbers) > 5:
        return f"{min(numbers)} … {max(numbers)}"
    return ", ".join(map(str, sorted(numbers)))


def _show(number: int, paths: Paths, *, as_json: bool) -> int:
    with Database(paths.database) as database:
        result = load_result(database, number)
    if as_json:
        say_json(canonical(result).decode("utf-8"))
        return 0
    words = [(field.label, field.text) for field in preview(result)]
    say_table(_FIELD_COLUMNS, [*words, *leaves(result)])
    say(sentence("imports.not_verified"))
    return 0


def _list(options: argparse.Namespace, paths: Paths) -> int:
    with Database(paths.database) as database:
        results = list_results(database)
    if options.json:
        plain = [asdict(result) | {"summary": result.summary.as_dict()} for result in results]
        say_json(json.dumps(plain, indent=2))
        return 0
    if not results:
        say(sentence("imports.none"))
        return 0
    rows = [
        (
            str(result.id),
            one_line(result.label, NAME_WIDTH),
            result.summary.workload,
            result_amount(result.summary, is_short=True),
            verdict_title(result.summary.verdict),
            result.uid,
            result.source,
            result.imported_at[:10],
        )
        for result in results
    ]
    say_table(_COLUMNS, rows)
    say(sentence("imports.not_verified"))
    return 0
