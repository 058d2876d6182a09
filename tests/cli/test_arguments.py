"""The grammar of the command line: defaults, and that every option says what it does."""

import re
import shlex

import pytest

from app.cli.arguments import make_parser
from app.cli.completion import places
from app.cli.layout import cells
from app.core.errors import UsageError
from app.core.messages import Message, sentence
from app.core.runs.runner import known_workload
from tests.saying import said
from workloads import STANDARD

# Making it takes far longer than asking it.
PARSER = make_parser()
COMMANDS = [place.path for place in places(PARSER) if not place.verbs]

# Without them, something else is done, or all stays as it is.
WITHOUT_DEFAULT = {
    "import": {"--show", "--remove"},
    "study run": {"--axis", "--folder"},
    "study prices": {"--device", "--power", "--purchase", "--electricity", "--lifetime", "--hours"},
}
# How the help of every option ends, before the value.
DEFAULT = "(" + sentence("help.setting", description="", default="").strip(" ()") + " "


def help_of(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit):
        PARSER.parse_args([*command.split(), "--help"])
    return capsys.readouterr().out


@pytest.mark.parametrize("verb", ["run", "ab"])
def test_the_workload_defaults_to_the_standard_one(verb: str) -> None:
    assert PARSER.parse_args([verb]).workload == STANDARD
    assert PARSER.parse_args([verb, "demo"]).workload == "demo"


@pytest.mark.parametrize(
    ("typed", "near"),
    [
        ("cifar", [STANDARD, "cifar10_cnn"]),
        ("CIFAR10", [STANDARD, "cifar10_cnn"]),
        ("keras", [STANDARD]),
        ("mnist_mpl", ["mnist_mlp"]),
    ],
)
def test_a_wrong_workload_is_told_which_ones_it_may_mean(typed: str, near: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        known_workload(typed)
    meant = caught.value.advice
    assert isinstance(meant, Message)
    assert list(meant.arguments["near"])[: len(near)] == near


@pytest.mark.parametrize("typed", ["", " ", "zzzzzz", "_" * 1000])
def test_what_is_like_nothing_gets_no_suggestion(typed: str) -> None:
    with pytest.raises(UsageError, match=said("workload.see_list").pattern) as caught:
        known_workload(typed)
    assert not said("workload.did_you_mean").is_in(str(caught.value))


def test_help_of_run_has_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    shown = " ".join(help_of("run", capsys).split())
    assert f"threads inside one operation {DEFAULT}auto)" in shown
    assert f"{DEFAULT}{STANDARD})" in shown


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_every_example_can_be_typed(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = help_of(command, capsys)
    examples = [line.strip() for line in text.splitlines() if line.startswith("  epochmark ")]
    assert examples
    for example in examples:
        words = shlex.split(example.partition(" >")[0])
        assert " ".join(words).startswith(f"epochmark {command}".strip())
        if "--help" not in words:
            PARSER.parse_args(words[1:])


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_with_a_value_says_its_default(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = help_of(command, capsys)
    assert text.startswith(f"usage: epochmark {command} [{sentence('help.options')}]")
    options = text.partition("\noptions:\n")[2].partition("\n\n")[0]
    for option in re.split(r"\n(?=  -)", options):
        name = option.split()[0]
        takes_value = re.match(r" *--[\w-]+ [A-Z{a]", option) and name not in WITHOUT_DEFAULT.get(command, ())
        if takes_value and name not in text.partition("\n\n")[0]:  # unless it's required
            assert DEFAULT in " ".join(option.split()), option


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_fits_the_terminal(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = set(help_of(command, capsys).split())
    for columns in (60, 61, 72, 80, 100, 140, 200):
        monkeypatch.setenv("COLUMNS", str(columns))
        text = help_of(command, capsys)
        assert [line for line in text.splitlines() if cells(line) > columns and len(line.split()) > 1] == []
        assert set(text.split()) == whole


def test_a_percent_sign_in_the_folders_name_does_no_harm(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EPOCHMARK_STARTED_AS", "python3 '/100% %s/start.py'")
    parser = make_parser()
    for command in ("", *COMMANDS):
        with pytest.raises(SystemExit):
            parser.parse_args([*command.split(), "--help"])
        assert "python3 '/100% %s/start.py'" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_says_what_it_does(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = help_of(command, capsys).split("\n\n", 1)[1].splitlines()
    named = [number for number, line in enumerate(lines) if re.match(r"  \S", line) and "epochmark" not in line]
    assert len(named) > 1
    for number in named:
        # Behind two spaces, or on a line of its own.
        assert re.search(r"\S  +\S", lines[number]) or lines[number + 1].startswith(" " * 8), lines[number]
