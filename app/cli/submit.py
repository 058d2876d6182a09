"""The `results submit` command: prepares a submission without sending anything."""

import argparse

from app.cli.layout import Column
from app.cli.result_files import check_place
from app.cli.text import in_line, say, say_raw, say_table
from app.core.errors import UsageError
from app.core.exchange.sharing import shared_result
from app.core.exchange.submitting import submission
from app.core.messages import message, sentence, text
from app.core.paths import Paths
from app.core.report.export import write_lines
from app.core.settings import load_settings
from app.core.storage.database import Database
from app.core.storage.runs import load_run
from app.core.verdict.judged_run import JudgedRun

_COLUMNS = (Column("column.field"), Column("column.value", least=20))


def submit(options: argparse.Namespace, paths: Paths) -> int:
    """Write a run's result file, print all its fields, and explain where to submit it and what to paste."""
    check_place(options.output)
    hidden = [name.strip() for name in (options.without or "").split(",") if name.strip()]
    with Database(paths.database) as database:
        shared = shared_result(database, JudgedRun(load_run(database, options.id)), None, hidden)
    if not shared.enclosed:
        raise UsageError(message("submit.no_file", run_id=options.id), message("result_file.choose_another"))
    write_lines(options.output, [shared.enclosed.decode("utf-8")])
    say_table(_COLUMNS, [(field.label, field.text) for field in shared.fields if field.name not in hidden])
    made = submission(shared, options.output.name)
    lines = [
        sentence("submit.saved", name=in_line(str(options.output))),
        *(in_line(text(each)) for each in made.doubts),
    ]
    address = load_settings(paths.settings).collection_address
    if address:
        say("\n".join([*lines, sentence("submit.sent"), "", sentence("submit.paste", address=address), ""]))
        say_raw(made.text)
        return 0
    missing = UsageError(message("submit.no_address"), message("submit.enter_address"))
    say("\n".join([*lines, sentence("submit.sent"), str(missing)]))
    return 0
