"""Colours: for people at a terminal who want them, and never in what programs read."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from app.cli import main
from app.core.messages import sentence
from app.core.paths import default_paths
from app.core.storage.database import Database
from tests.build import set_fields
from tests.cli.commands import on_a_terminal, posix_only
from tests.recording import recorded_events, store_recording

BOLD, MUTED, GREEN, YELLOW, RED, OFF = (f"\x1b[{code}m" for code in (1, 2, 32, 33, 31, 0))
Shown = Callable[..., str]


@pytest.fixture(scope="module")
def one_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with one real run, to be copied: storing its thousands of events takes longer than the tests."""
    path = tmp_path_factory.mktemp("one") / "runs"
    with Database(path) as database:
        store_recording(database, recorded_events())
        set_fields(database, verdict="caution")
    return path


@pytest.fixture
def shown(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], one_run: Path
) -> Shown:
    monkeypatch.setenv("EPOCHMARK_HOME", environment["EPOCHMARK_HOME"])
    paths = default_paths()
    paths.create()
    shutil.copy(one_run, paths.database)

    def show(*arguments: str, force: str = "") -> str:
        monkeypatch.setenv("FORCE_COLOR", force)
        main([*arguments])
        return capsys.readouterr().out

    return show


def test_verdicts_headings_and_the_own_result_are_coloured(shown: Shown) -> None:
    listed = shown("results", "list", force="1")
    assert f"{YELLOW}Caution{OFF}" in listed
    assert listed.startswith(f"{MUTED}{sentence('column.id')}{OFF}")
    compared = shown("compare", force="1")
    own = [line for line in compared.splitlines() if "█" in line]
    assert [line.startswith(BOLD) and line.endswith(OFF) for line in own] == [True]
    assert compared.count(BOLD) == 1


def test_the_text_is_the_same_with_colours_and_without(shown: Shown) -> None:
    for arguments in (["results", "list"], ["results", "show", "1"], ["compare"], ["workloads"]):
        coloured = shown(*arguments, force="1")
        for code in (BOLD, MUTED, GREEN, YELLOW, RED, OFF):
            coloured = coloured.replace(code, "")
        assert coloured == shown(*arguments)


FOR_PROGRAMS = (
    *("results list --json", "results show 1 --json", "results export", "results export --format json"),
    *("compare --json", "workloads --json", "workloads --help"),
)


@pytest.mark.parametrize("arguments", FOR_PROGRAMS)
def test_what_programs_read_is_never_coloured(shown: Shown, arguments: str) -> None:
    printed = shown(*arguments.split(), force="1")
    assert printed
    assert "\x1b" not in printed


@posix_only
@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "is_coloured"),
    [({}, True), ({"NO_COLOR": ""}, True), ({"NO_COLOR": "0"}, False), ({"TERM": "dumb"}, False)],
    ids=["terminal", "empty NO_COLOR", "NO_COLOR", "dumb"],
)
def test_a_terminal_is_coloured_unless_told_otherwise(
    environment: dict[str, str], changes: dict[str, str], is_coloured: bool
) -> None:
    seen = on_a_terminal(environment | {"TERM": "xterm"} | changes, "workloads")
    assert (b"\x1b[2m" in seen) == is_coloured
    assert b"cifar10_keras_cnn" in seen
