"""Who owns a run: a live one never counts as dead, and a dead one's worker never survives."""

import json
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest

from app.core.paths import default_paths
from app.core.storage.database import Database
from app.core.storage.outcomes import recover_runs
from app.core.storage.runs import list_runs
from tests.build import set_fields
from tests.cli.commands import posix_only, read_until, runs, sentence_of, start
from tests.conftest import CommandLine
from tests.saying import said


@contextmanager
def opened(environment: dict[str, str]) -> Iterator[Database]:
    with Database(default_paths(environment).database) as database:
        yield database


@posix_only
@pytest.mark.parametrize(
    "changes",
    [
        # The clock was set by an hour, so that the start time is another one than was noted.
        {"started_s": time.time() - 3600},
        # Another container: its process numbers mean nothing here.
        {"pid": 4194303, "started_s": 1.0},
    ],
)
def test_a_live_run_is_not_mistaken_for_a_dead_one(
    epochmark: CommandLine, environment: dict[str, str], changes: dict[str, float]
) -> None:
    process = start(environment, "run", "demo", "--json", "--epochs", "500")
    run_id = read_until(process, "run")["run_id"]
    read_until(process, "epoch")
    with opened(environment) as database:
        (owner,) = database.connection.execute("SELECT owner FROM runs").fetchone()
        set_fields(database, owner=json.dumps(json.loads(owner) | changes))
    assert [run["status"] for run in runs(epochmark)] == ["running"]
    refused = epochmark("results", "delete", str(run_id))
    assert refused.returncode == 2
    assert said("runs.still_running", run_id=run_id).is_in(sentence_of(refused))
    process.send_signal(signal.SIGINT)
    assert read_until(process, "end")["status"] == "cancelled"
    process.communicate()
    assert [run["status"] for run in runs(epochmark)] == ["cancelled"]
    assert not list((default_paths(environment).data / "owners").iterdir()), "its lock is left"


# Takes its time: a command has to run, to lose its row, and to come to its end.
@pytest.mark.slow
def test_a_run_whose_row_is_gone_ends_with_a_sentence_and_a_file(environment: dict[str, str]) -> None:
    process = start(environment, "run", "demo", "--json", "--epochs", "30")
    read_until(process, "epoch")
    with opened(environment) as database:
        database.connection.execute("DELETE FROM runs")
    out, err = process.communicate(timeout=100)
    assert process.returncode == 1
    assert "Traceback" not in err
    assert said("runs.gone").is_in(err)
    assert json.loads(out.splitlines()[-1])["type"] == "end"
    (rescued,) = default_paths(environment).data.glob("run-*.unsaved.jsonl")
    assert str(rescued) in err
    assert "epoch" in {json.loads(line)["type"] for line in rescued.read_text().splitlines()}


@pytest.mark.long
@posix_only
def test_a_run_that_ends_while_others_check_is_never_called_interrupted(environment: dict[str, str]) -> None:
    for _ in range(3):
        process = start(environment, "run", "demo", "--json", "--epochs", "2", "--set", "step_s=0")
        while process.poll() is None:
            with opened(environment) as database:
                recover_runs(database)
        process.communicate()
    with opened(environment) as database:
        assert {run.status for run in list_runs(database)} == {"completed"}


@pytest.mark.long
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux ends children with their parent")
def test_a_worker_stopped_before_its_first_line_does_not_outlive_its_parent(environment: dict[str, str]) -> None:
    process = start(environment, "run", "demo", "--json", "--epochs", "500")
    parent = psutil.Process(process.pid)
    while not (children := [child for child in parent.children() if "workloads" in child.cmdline()]):
        assert process.poll() is None
    children[0].suspend()  # in the first milliseconds of its interpreter
    process.kill()
    process.communicate()
    _, alive = psutil.wait_procs(children, timeout=10)
    assert not [child for child in alive if child.status() != psutil.STATUS_ZOMBIE]
