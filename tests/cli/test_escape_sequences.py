"""Nothing that came from outside steers the terminal: logs, labels, stored messages, names, arguments."""

import ast
import json
import os
import unicodedata
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from app.core.logs import set_up_logging
from app.core.paths import default_paths
from app.core.records import RunSummary
from app.core.storage.database import Database
from tests.build import set_fields
from tests.cli.commands import on_a_terminal
from tests.conftest import ROOT, CommandLine

NASTY = "\x1b]52;c;cm0=\x07 \x9b2J \x1bP1q\x1b\\ \u202egnp\u202c \u200b\u2066 \x7f\x08\u2028 fake\rRun 9\nRun 8"


def steering(text: str) -> list[str]:
    return [
        char
        for char in text
        if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"} and char not in "\n\t"
    ]


AB = ("ab", "demo", "--epochs", "1", "--set", "step_s=0", "--pairs", "1", "--a", "seed=1", "--label-a", NASTY[:40])


def soil(database: Database) -> None:
    """Put the nasty text into every stored text, but for what says which record it is."""
    kept = {"metric", "basis", "side", "workload", "uid"}
    names = [field.name for field in fields(RunSummary) if "str" in str(field.type) and field.name not in kept]
    said = {"code": "verdict.as_stored", "arguments": {"text": NASTY}}
    machine = {"cpu_name": NASTY, "os_name": NASTY}
    with database.transaction() as connection:
        set_fields(connection, error_said=said, machine=machine, **dict.fromkeys(names, NASTY))
        sql = "INSERT INTO warnings (run_id, seq, code, said) VALUES (1, 99, 'nasty', ?)"
        connection.execute(sql, (json.dumps(said),))
        plan = json.loads(connection.execute("SELECT plan FROM plans").fetchone()[0])
        plan |= {"label_a": NASTY, "label_b": NASTY}
        connection.execute("UPDATE plans SET plan = ?, created_at = ?", (json.dumps(plan), NASTY))


def test_stored_texts_are_shown_as_escapes(epochmark: CommandLine, environment: dict[str, str]) -> None:
    done = epochmark(*AB)
    assert done.returncode == 0, done.stderr
    assert steering(done.stdout + done.stderr) == []
    with Database(default_paths(environment).database) as database:
        soil(database)
    for arguments in (
        ["results", "list"],
        ["results", "show", "1"],
        ["results", "show", "1", "--json"],
        ["results", "group", "1"],
        ["results", "group", "1", "--json"],
        ["results", "export"],
        ["results", "export", "--format", "json"],
        ["compare", "demo"],
    ):
        done = epochmark(*arguments)
        assert done.returncode == 0, (arguments, done.stderr)
        assert steering(done.stdout + done.stderr) == [], arguments
        assert "compare" in arguments or "1b]52;c;" in done.stdout, "it was there to be shown"
        if "export" not in arguments and "--json" not in arguments:
            assert not [line for line in done.stdout.splitlines() if line.startswith("Run 8")]


def test_a_log_is_explained_without_its_escape_sequences(epochmark: CommandLine, tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text(f"fatal error: {NASTY}\nRuntimeError: \x1b[31mred\x9d0;x\x9c\n", encoding="utf-8")
    for options in ([], ["--verbose"], ["--json"]):
        done = epochmark("doctor", "--log", str(log), *options)
        assert "fatal error" in done.stdout
        assert steering(done.stdout + done.stderr) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", NASTY],
        ["run", "demo", "--set", NASTY],
        ["run", "demo", "--set", f"outcome={NASTY}"],
        ["run", "demo", "--device", NASTY],
        ["run", "demo", NASTY],
        ["ab", "demo", "--a", NASTY],
        [NASTY],
        ["compare", "--baseline", NASTY],
        ["doctor", "--log", NASTY],
        ["results", "export", "--output", f"{NASTY}/x"],
        ["results", "show", NASTY],
        ["data", "fetch", "cifar10", "--url", NASTY],
    ],
    ids=lambda arguments: " ".join(text for text in arguments if text.isalnum()),
)
def test_what_was_typed_is_echoed_as_escapes(epochmark: CommandLine, arguments: list[str]) -> None:
    done = epochmark(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert steering(done.stderr) == []
    assert len(done.stderr.splitlines()) == 1


def test_warnings_and_the_log_hold_no_escape_sequences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import logging

    set_up_logging(tmp_path)
    logging.getLogger("app.test").warning("The server said %s.", NASTY)
    set_up_logging(tmp_path)
    shown = capsys.readouterr().err
    assert shown.startswith("The server said \\x1b]52;c;")
    assert len(shown.splitlines()) == 1
    assert steering(shown + (tmp_path / "epochmark.log").read_text("utf-8")) == []


def calls(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func)


def test_all_output_of_the_command_line_goes_through_one_place() -> None:
    for path in sorted((ROOT / "app" / "cli").glob("*.py")):
        if path.name == "text.py":
            continue
        called = set(calls(ast.parse(path.read_text("utf-8"))))
        assert not called & {"print", "sys.stdout.write", "sys.stderr.write", "sys.stdout.writelines"}, path.name


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="a pseudo-terminal")
def test_labels_do_not_steer_the_live_line(environment: dict[str, str]) -> None:
    shown = on_a_terminal(environment, *AB)
    assert set(steering(shown.decode())) == {"\r"}
