"""The grammar of the command line: defaults, and that every option says what it does."""

import re

import pytest

from app.cli.arguments import make_parser
from workloads import STANDARD

COMMANDS = (
    "run",
    "ab",
    "workloads",
    "hardware",
    "compare",
    "doctor",
    *(f"data {action}" for action in ("list", "fetch", "import", "remove")),
    *(f"engine {action}" for action in ("list", "install", "remove", "check")),
    *(f"results {action}" for action in ("list", "show", "group", "share", "delete", "export")),
    *(f"logs {action}" for action in ("import", "list", "remove")),
)


def help_of(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit):
        make_parser().parse_args([*command.split(), "--help"])
    return capsys.readouterr().out


def test_run_defaults_to_the_standard_workload() -> None:
    assert make_parser().parse_args(["run"]).workload == STANDARD
    assert make_parser().parse_args(["run", "demo"]).workload == "demo"


def test_help_of_run_has_examples_and_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    shown = " ".join(help_of("run", capsys).split())
    assert "epochmark run mnist_mlp --preset quick" in shown
    assert "threads inside one operation (default: auto)" in shown


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_says_what_it_does(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = help_of(command, capsys).split("\n\n", 1)[1].splitlines()
    named = [number for number, line in enumerate(lines) if re.match(r"  \S", line) and "epochmark" not in line]
    assert len(named) > 1
    for number in named:
        # Behind two spaces, or on a line of its own.
        assert re.search(r"\S  +\S", lines[number]) or lines[number + 1].startswith(" " * 8), lines[number]
