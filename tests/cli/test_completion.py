"""Completion in real shells: each script is read by its shell and asked what may follow."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from app.cli.arguments import make_parser
from app.cli.completion import places
from app.core.paths import Paths
from workloads import CATALOGUE

Complete = Callable[[str], list[str]]
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
    ("epochmark --color never results ex", ["export"]),
    ("epochmark results export --format j", ["json"]),
    ("epochmark import --workload mnist_ml", ["mnist_mlp"]),
    ("epochmark completion f", ["fish"]),
    ("epochmark results show ", []),
    ("epochmark data run", []),
    ("epochmark run --seed ", []),
    ("epochmark nonsense --x", []),
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
    done = subprocess.run(
        [where, *arguments, "-c", program],
        cwd=folder,
        env=surroundings,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def expected(line: str, words: list[str] | None) -> list[str]:
    if words is not None:
        return words
    return sorted(name for name in CATALOGUE if name.startswith(line.rpartition(" ")[2]))


def test_bash_completes(script: Callable[[str], str], tmp_path: Path) -> None:
    source = script("bash")
    source += 'c() { COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _epochmark; echo "${COMPREPLY[*]}"; }\n'
    for line, words in LINES:
        asked = " ".join(f"'{word}'" for word in line.split(" "))
        assert sorted(ask("bash", f"{source}c {asked}", tmp_path, "--norc").split()) == expected(line, words), line
    # Bash takes an equals sign for a word of its own.
    assert ask("bash", f"{source}c epochmark run --preset = qu", tmp_path, "--norc") == "quick\n"
    assert ask("bash", f"{source}c epochmark run --preset =", tmp_path, "--norc") == "quick standard sustained\n"
    (tmp_path / "a file.log").touch()
    assert ask("bash", f"{source}c epochmark doctor --log a", tmp_path, "--norc").strip() == "a file.log"


def test_fish_completes(script: Callable[[str], str], tmp_path: Path) -> None:
    source = script("fish")
    for line, words in LINES:
        shown = ask("fish", f"{source}complete -C '{line}'", tmp_path, "--no-config").splitlines()
        assert sorted(each.partition("\t")[0] for each in shown) == expected(line, words), line


def test_zsh_reads_its_script(script: Callable[[str], str], tmp_path: Path) -> None:
    source = script("zsh").partition("autoload -Uz compinit")[0]
    stand_in = "compadd() { shift; echo $@; }; words=(epochmark run --preset ''); CURRENT=4; _epochmark"
    assert ask("zsh", source + stand_in, tmp_path, "-f") == "quick standard sustained\n"


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
    assert "epochmark() {" not in script("bash").replace("_epochmark() {", "")
    monkeypatch.setenv("EPOCHMARK_STARTED_AS", "epochmark")
    assert "epochmark() {" not in script("bash").replace("_epochmark() {", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_and_option_is_in_every_script(script: Callable[[str], str], shell: str) -> None:
    source = script(shell)
    for place in places(make_parser()):
        for name in [*place.verbs, *place.options, *place.values.words]:
            assert name.lstrip("-") in source, (place.path, name)
    assert {place.path for place in places(make_parser())} >= {"", "run", "data", "data fetch", "engine compare"}
