"""Numbers that no run can have, and runs with very many epochs."""

import json

import pytest

from app.core.paths import default_paths
from app.core.storage.database import Database
from tests.cli.commands import sentence_of
from tests.conftest import HINT, CommandLine

LONG = "9" * 5_000


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["results", "show", "99999999999999999999"], "epochmark: ID is out of range: '99999999999999999999'"),
        (["results", "show", "-9223372036854775808"], "is out of range"),
        (["results", "show", "9223372036854775807"], "There's no run"),
        (["results", "group", LONG], "is out of range: '9999"),
        (["results", "delete", "1", "1e3"], "must be a whole number, not '1e3'"),
        (["results", "export", "٣"], "must be a whole number, not '٣'"),
        (["results", "list", "--limit", LONG], "is out of range"),
        (["results", "list", "--limit", ""], "must be a whole number, not ''"),
        (["logs", "remove", "1_0"], "must be a whole number, not '1_0'"),
        (["run", "demo", "--repeat", LONG], "epochmark: --repeat is out of range"),
        (["run", "demo", "--repeat", "9223372036854775807"], "--repeat must be from 2"),
        (["run", "demo", "--preset", "sustained", "--duration", "nan"], "must be a number, not 'nan'"),
        (["run", "demo", "--preset", "sustained", "--duration", "1e400"], "is out of range"),
        (["run", "demo", "--preset", "sustained", "--duration", "1e99"], "--duration must be from 1"),
        (["ab", "demo", "--a", "seed=99999999999999999999"], "seed in --a is out of range"),
        (["ab", "demo", "--a", "seed=1", "--pairs", LONG], "epochmark: --pairs is out of range"),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else None,
)
def test_implausible_numbers_are_refused_in_a_sentence(
    epochmark: CommandLine, arguments: list[str], words: str
) -> None:
    done = epochmark(*arguments)
    assert words in sentence_of(done)
    assert "itself failed" not in done.stderr
    assert len(done.stderr) < 400
    assert (done.returncode, done.stdout) == (2, "")


def test_of_very_many_epochs_the_first_and_the_last_are_shown(
    epochmark: CommandLine, environment: dict[str, str]
) -> None:
    assert epochmark("run", "demo", "--epochs", "2", "--quiet", "--set", "step_s=0").returncode == 0

    def rows() -> list[str]:
        shown = epochmark("results", "show", "1")
        assert shown.returncode == 0
        table = shown.stdout.split("\n\n")[1].splitlines()
        return table[1:]

    with Database(default_paths(environment).database) as database:
        for count, printed in ((200, 200), (201, 41)):
            with database.transaction() as connection:
                names = [row[1] for row in connection.execute("PRAGMA table_info(epochs)")]
                taken = ", ".join(f"{name} + ?" if name == "idx" else name for name in names)
                for index in range(len(rows()) if count == 200 else 200, count):
                    connection.execute(f"INSERT INTO epochs SELECT {taken} FROM epochs WHERE idx = 0", (index,))
            found = rows()
            assert len(found) == printed
            assert [int(line.split()[0]) for line in (found[0], found[-1])] == [1, count]
    assert found[20] == f"… 161 epochs not shown; `{HINT} results export 1 --format json` has them all."
    assert [int(line.split()[0]) for line in (found[19], found[21])] == [20, 182]
    done = epochmark("results", "export", "1", "--format", "json")
    assert done.returncode == 0, done.stderr
    exported = json.loads(done.stdout)
    assert len(exported["runs"][0]["epoch_records"]) == 201
