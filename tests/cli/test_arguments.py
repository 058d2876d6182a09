"""Arguments of the command line, and their completion by shells."""

import argparse
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rich.cells import cell_len

from app.cli.arguments import make_parser
from app.cli.specs import make_spec
from app.core.errors import UsageError
from app.core.messages import ENGLISH, Message, sentence
from app.core.paths import Paths
from app.core.runs.runner import known_workload
from app.core.settings import Settings, save_settings
from workloads import CATALOGUE, STANDARD

# Making it takes far longer than asking it.
PARSER = make_parser()


def commands(parser: argparse.ArgumentParser, path: str = "") -> Iterator[str]:
    below = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not below:
        yield path
    for action in below:
        for name, each in action.choices.items():
            yield from commands(each, f"{path} {name}".strip())


COMMANDS = list(commands(PARSER))

# Without them, something else is done, or all stays as it is.
WITHOUT_DEFAULT = {"import": {"--show", "--remove"}, "study run": {"--axis", "--folder"}}
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
    [("cifar", [STANDARD]), ("CIFAR10", [STANDARD]), ("keras", [STANDARD]), ("mnist_mpl", ["mnist_mlp"])],
)
def test_a_wrong_workload_is_told_which_ones_it_may_mean(typed: str, near: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        known_workload(typed)
    meant = caught.value.advice
    assert isinstance(meant, Message)
    assert list(meant.arguments["near"]) == near


@pytest.mark.parametrize("typed", ["mnist_mlp", "MNIST MLP", " mnist mlp"])
def test_a_workload_is_known_by_its_id_and_its_title(typed: str) -> None:
    assert known_workload(typed).id == "mnist_mlp"


@pytest.mark.parametrize(
    ("options", "preset"),
    [((), "quick"), (("--epochs", "2"), "standard"), (("--preset", "sustained"), "sustained")],
)
def test_the_preset_is_quick_unless_epochs_are_given(paths: Paths, options: tuple[str, ...], preset: str) -> None:
    save_settings(paths.settings, Settings(preset="standard"))
    assert make_spec(PARSER.parse_args(["run", "demo", *options]), paths).preset == preset


@pytest.mark.parametrize(("verb", "near"), [("rnu", "run"), ("zzz", "")])
def test_a_mistyped_verb_gets_one_suggestion(verb: str, near: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        PARSER.parse_args([verb])
    code = "cli.unknown_verb_near" if near else "cli.unknown_verb"
    assert sentence(code, verb=verb, near=near) in capsys.readouterr().err


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_every_example_can_be_typed(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = help_of(command, capsys)
    examples = [line.strip() for line in text.splitlines() if line.startswith("  epochmark ")]
    assert bool(examples) == (f"examples.{command.replace(' ', '_') or 'app'}" in ENGLISH)
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
        assert [line for line in text.splitlines() if cell_len(line) > columns and len(line.split()) > 1] == []
        assert set(text.split()) == whole


# What the shells are asked: the words, the last one unfinished, and what they may become.
LINES = [
    ("epochmark r", ["results", "run"]),
    ("epochmark run cifar10_k", ["cifar10_keras_cnn", "cifar10_keras_cnn_inference"]),
    ("epochmark run --pre", ["--precision", "--preset"]),
    ("epochmark run --preset ", ["quick", "standard", "sustained"]),
    ("epochmark run --preset st", ["standard"]),
    ("epochmark run mnist_mlp --epo", ["--epochs"]),
    ("epochmark run --device cpu --engine to", ["torch"]),
    ("epochmark ab mnist_ml", ["mnist_mlp"]),
    ("epochmark data f", ["fetch"]),
    ("epochmark data fetch mn", ["mnist"]),
    ("epochmark engine install j", ["jax"]),
    ("epochmark engine compare mnist_mlp imdb_", None),
    ("epochmark results export --format j", ["json"]),
    ("epochmark study run --workload mnist_ml", ["mnist_mlp"]),
    ("epochmark completion f", ["fish"]),
    ("epochmark results show ", []),
    ("epochmark data run", []),
    ("epochmark run --seed ", []),
]


@pytest.fixture
def script(
    paths: Paths, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], str]:
    def print_script(shell: str) -> str:
        options = make_parser().parse_args(["completion", shell])
        options.verb(options, paths)
        return capsys.readouterr().out

    return print_script


def ask(shell: str, program: str, folder: Path, *arguments: str) -> str:
    """Return what a shell prints; skip where there is none."""
    where = shutil.which(shell)
    if where is None:
        pytest.skip(f"there's no {shell} on this computer")
    surroundings = {"PATH": os.environ["PATH"], "HOME": str(folder), "TERM": "dumb"}
    words = [where, *arguments, "-c", program]
    done = subprocess.run(words, cwd=folder, env=surroundings, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def expected(line: str, words: list[str] | None) -> list[str]:
    if words is not None:
        return words
    return sorted(name for name in CATALOGUE if name.startswith(line.rpartition(" ")[2]))


def test_bash_completes(script: Callable[[str], str], tmp_path: Path) -> None:
    source = script("bash")
    source += 'c() { COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); COMPREPLY=()\n'
    source += '_shtab_epochmark epochmark "${@: -1}" "${@: -2:1}"; echo "${COMPREPLY[*]}"; }\n'
    for line, words in LINES:
        asked = " ".join(f"'{word}'" for word in line.split(" "))
        assert sorted(ask("bash", f"{source}c {asked}", tmp_path, "--norc").split()) == expected(line, words), line
    (tmp_path / "a file.log").touch()
    assert ask("bash", f"{source}c epochmark doctor --log a", tmp_path, "--norc").strip() == "a file.log"


def test_fish_completes(script: Callable[[str], str], tmp_path: Path) -> None:
    source = script("fish")
    for line, words in LINES:
        shown = ask("fish", f"{source}complete -C '{line}'", tmp_path, "--no-config").splitlines()
        assert sorted(each.partition("\t")[0] for each in shown) == expected(line, words), line


def test_zsh_reads_its_script(script: Callable[[str], str], tmp_path: Path) -> None:
    assert ask("zsh", f"compdef() {{ echo $@; }}\n{script('zsh')}", tmp_path, "-f").endswith("epochmark\n")


def test_after_start_py_the_script_defines_the_command(
    script: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "it's here"
    folder.mkdir()
    (folder / "start.py").write_text('echo "$EPOCHMARK_STARTED_AS $1 $2"', encoding="utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("EPOCHMARK_STARTED_AS", "sh start.py")
    assert ask("bash", script("bash") + "epochmark run 'a b'", tmp_path, "--norc") == "epochmark run a b\n"
    assert "function epochmark;" in script("fish")
    monkeypatch.setenv("EPOCHMARK_STARTED_AS", "$(touch pwned) start.py")
    ask("bash", script("bash") + "epochmark 2>/dev/null || true", tmp_path, "--norc")
    assert not (tmp_path / "pwned").exists()
    monkeypatch.setenv("EPOCHMARK_STARTED_AS", "'start.py")
    assert not script("bash").startswith("epochmark()")
    monkeypatch.setenv("EPOCHMARK_STARTED_AS", "epochmark")
    assert not script("bash").startswith("epochmark()")


@pytest.mark.parametrize("words", ["results list {}", "results show {}", "run demo --engine {}", "{}"])
def test_endless_words_are_cut(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        PARSER.parse_args([word.format("1" * 4_300) for word in words.split()])
    assert len(capsys.readouterr().err) < 500
