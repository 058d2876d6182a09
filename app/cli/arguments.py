"""The command line's grammar."""

import argparse
import re
import sys
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import app
from app.cli import ab, data, doctor, logs, machine, results, run
from app.cli.text import complain, in_line, say
from app.cli.values import fraction, output, whole
from app.core.report.export import FORMATS, USUAL
from workloads.settings import Setting, all_settings


class _Parser(argparse.ArgumentParser):
    """Complains in one sentence, like the rest of the app, and exits with 2."""

    def error(self, message: str) -> NoReturn:
        # "argument ID: must be …" is how argparse joins a sentence of ours to its subject.
        message = re.sub(r"^argument (\S+): (?=must |is )", r"\1 ", message)
        complain(f"epochmark: {in_line(message)}. See `{self.prog} --help`.")
        raise SystemExit(2)

    def _print_message(self, message: str, file: Any = None) -> None:
        # argparse itself overlooks that its text cannot be written.
        if file is sys.stdout:
            say(message, end="", flush=True)
        else:
            complain(message, end="")


def make_parser() -> argparse.ArgumentParser:
    """Return the parser; `verb` of its result is the function to call."""
    parser = _Parser(
        prog="epochmark",
        description="How fast does this computer train neural networks, and how does that compare?",
    )
    parser.add_argument("--version", action="version", version=f"Epochmark {app.__version__}")
    parser.set_defaults(folders=True)
    verbs = parser.add_subparsers(metavar="VERB", required=True)
    _add_run(verbs)
    _add_ab(verbs)
    _add_machine(verbs)
    _add_doctor(verbs)
    _add_data(verbs)
    _add_results(verbs)
    _add_logs(verbs)
    return parser


# argparse has no public name for it.
Verbs: TypeAlias = "argparse._SubParsersAction[_Parser]"


def _add_run(verbs: Verbs) -> None:
    parser = verbs.add_parser("run", help="run a benchmark")
    _add_run_options(parser)
    parser.add_argument(
        "--repeat",
        type=whole,
        metavar="N",
        help="run it N times, each in a fresh process, and say how much they differ",
    )
    parser.set_defaults(verb=run.run)


def _add_ab(verbs: Verbs) -> None:
    parser = verbs.add_parser(
        "ab",
        help="run two ways in turn and say which is faster",
        description=f"KEY: {', '.join(ab.side_keys())}, or a parameter of the workload. All other options hold for"
        " both sides.",
    )
    _add_run_options(parser)
    for side in ("a", "b"):
        parser.add_argument(
            f"--{side}",
            default="",
            metavar="KEY=VALUE,…",
            help=f'what is special about side {side.upper()}; "" for nothing',
        )
        parser.add_argument(f"--label-{side}", metavar="TEXT", help=f"what side {side.upper()} is called")
    parser.add_argument("--pairs", type=whole, default=6, metavar="N", help="runs of each side (default: 6)")
    parser.add_argument(
        "--by-hand", action="store_true", help="ask before each change of side: for what only you can change"
    )
    parser.set_defaults(verb=ab.ab)


def _add_run_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("workload", metavar="WORKLOAD", help="see `epochmark workloads`")
    parser.add_argument(
        "--preset",
        choices=("quick", "standard", "sustained"),
        help="quick estimates an epoch within a minute, sustained trains for ten",
    )
    parser.add_argument(
        "--duration", type=fraction, metavar="S", help="seconds that sustained trains at least, or quick at most"
    )
    for setting in all_settings():
        _add_setting(parser, setting)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="settings")
    parser.add_argument("--json", action="store_true", help="print the events, one JSON object a line")
    parser.add_argument("--quiet", action="store_true", help="print only the result")


def _add_setting(parser: argparse.ArgumentParser, setting: Setting) -> None:
    """Add the option of a run setting; without it the workload, the engine or the settings decide."""
    allowed = setting.allowed()
    if allowed:
        parser.add_argument(setting.flag, dest=setting.name, choices=allowed, help=_option_help(setting))
    elif setting.kind == "int":
        parser.add_argument(setting.flag, dest=setting.name, type=whole, metavar="N", help=_option_help(setting))
    else:
        parser.add_argument(setting.flag, dest=setting.name, metavar="auto|cpu|gpu:N", help=_option_help(setting))


def _option_help(setting: Setting) -> str:
    return setting.description


def _add_machine(verbs: Verbs) -> None:
    for name, help_, verb in (
        ("workloads", "list the benchmarks", machine.workloads),
        ("hardware", "show this computer's parts", machine.hardware),
    ):
        parser = verbs.add_parser(name, help=help_)
        parser.add_argument("--json", action="store_true")
        parser.set_defaults(verb=verb, folders=False)  # they only look, so that an unwritable home is no obstacle
    parser = verbs.add_parser("compare", help="show your latest completed run among known machines")
    parser.add_argument("workload", nargs="?", metavar="WORKLOAD")
    parser.add_argument("--baseline", metavar="NAME", help="the machine that the others are compared with")
    parser.add_argument("--json", action="store_true")
    parser.set_defaults(verb=machine.compare)


def _add_doctor(verbs: Verbs) -> None:
    parser = verbs.add_parser("doctor", help="find out why TensorFlow does not use a GPU, or what a log means")
    parser.add_argument("--log", metavar="FILE", help="explain this log instead; - for standard input")
    parser.add_argument("--report", action="store_true", help="print the text to copy into a question")
    parser.add_argument("--verbose", action="store_true", help="list harmless lines too")
    parser.add_argument("--json", action="store_true")
    parser.set_defaults(verb=doctor.doctor, folders=False)


def _add_data(verbs: Verbs) -> None:
    parent = verbs.add_parser("data", help="list, fetch, import or remove data sets")
    actions = parent.add_subparsers(metavar="ACTION", required=True)
    parser = actions.add_parser("list", help="show the data sets and whether they are installed")
    parser.add_argument("--json", action="store_true")
    parser.set_defaults(verb=data.show)
    parser = actions.add_parser("fetch", help="download and install a data set")
    parser.add_argument("dataset", metavar="NAME")
    parser.add_argument("--url", help="a mirror of the official file, or of the folder of several files")
    parser.set_defaults(verb=data.fetch)
    parser = actions.add_parser("import", help="install a data set from files that are here")
    parser.add_argument("dataset", metavar="NAME")
    parser.add_argument(
        "files", metavar="FILE", type=Path, nargs="+", help="its official files, or the folder that holds them"
    )
    parser.set_defaults(verb=data.import_)
    parser = actions.add_parser("remove", help="delete an installed data set")
    parser.add_argument("dataset", metavar="NAME")
    parser.set_defaults(verb=data.remove)


def _add_logs(verbs: Verbs) -> None:
    parent = verbs.add_parser("logs", help="import, list or remove logs of epochs that others measured")
    actions = parent.add_subparsers(metavar="ACTION", required=True)
    parser = actions.add_parser("import", help="take in a CSV log of study 000 (epoch, elapsed, loss, acc, …)")
    parser.add_argument("file", metavar="FILE", type=Path)
    parser.add_argument("--workload", required=True, metavar="ID", help="what was trained")
    parser.add_argument("--name", required=True, help="what the machine is to be called")
    parser.set_defaults(verb=logs.import_)
    parser = actions.add_parser("list", help="show the imported logs")
    parser.add_argument("--json", action="store_true")
    parser.set_defaults(verb=logs.show)
    parser = actions.add_parser("remove", help="delete an imported log")
    parser.add_argument("id", type=whole, metavar="ID")
    parser.set_defaults(verb=logs.remove)


def _add_results(verbs: Verbs) -> None:
    parent = verbs.add_parser("results", help="list, show, share, delete or export stored runs")
    actions = parent.add_subparsers(metavar="ACTION", required=True)
    parser = actions.add_parser("list", help="show the newest runs")
    parser.add_argument("--limit", type=whole, default=50, metavar="N", help="how many (default: 50)")
    parser.add_argument("--json", action="store_true")
    parser.set_defaults(verb=results.list_)
    parser = actions.add_parser("show", help="show one run")
    parser.add_argument("id", type=whole, metavar="ID")
    parser.add_argument("--json", action="store_true")
    parser.set_defaults(verb=results.show)
    parser = actions.add_parser("group", help="show a group: repetitions, or the two sides of an A/B")
    parser.add_argument("id", type=whole, metavar="ID")
    parser.add_argument("--json", action="store_true")
    parser.set_defaults(verb=results.group)
    parser = actions.add_parser("share", help="draw a run's result as a picture")
    parser.add_argument("id", type=whole, metavar="ID")
    parser.add_argument(
        "--output", type=output, required=True, metavar="FILE.png", help="what is there is replaced"
    )
    parser.add_argument("--theme", choices=("light", "dark"), default="dark", help="its colours (default: dark)")
    parser.set_defaults(verb=results.share)
    parser = actions.add_parser("delete", help="delete runs")
    parser.add_argument("ids", type=whole, nargs="+", metavar="ID")
    parser.set_defaults(verb=results.delete)
    parser = actions.add_parser("export", help="write runs as CSV or JSON")
    parser.add_argument("ids", type=whole, nargs="*", metavar="ID", help="all runs if none is named")
    parser.add_argument("--format", choices=tuple(FORMATS), default=USUAL.name)
    parser.add_argument("--output", type=output, metavar="FILE", help="standard output if not given, or -")
    parser.set_defaults(verb=results.export)
