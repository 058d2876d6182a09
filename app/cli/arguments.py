"""The command line's parser."""

import argparse

import app
from app.cli import ab, completion, data, doctor, engine, imports, machine, results, run, study, suite  # noqa: F401
from app.cli.grammar import COMMANDS, add_commands
from app.cli.parser import USUAL_VERBS, Parser
from app.core.messages import sentence
from app.core.messages.started_as import started_as


def make_parser() -> argparse.ArgumentParser:
    """Return the parser. The `verb` attribute of its result is the function to call."""
    parser = Parser(prog=started_as(), description=sentence("help.app"), epilog=sentence("examples.app"))
    parser.add_argument("--self-test", action="store_true", help=sentence("help.self_test"))
    parser.add_argument("--version", action="version", version=f"Epochmark {app.__version__}")
    parser.set_defaults(folders=True, color="auto", json=False, quiet=False)
    verbs = parser.add_subparsers(metavar="VERB", required=True, prog=parser.prog)
    for verb in dict.fromkeys((*USUAL_VERBS, *sorted(name.split()[0] for name in COMMANDS))):
        add_commands(verbs, verb)
    more = sentence("help.more_verbs", verbs=list(verbs.choices)[len(USUAL_VERBS) :])
    parser.epilog = f"{more}\n\n{parser.epilog}"
    return parser
