"""The runner with real worker processes: every way in which a run can go, and what is kept of it."""

import dataclasses
import os
import sqlite3
import statistics
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from app.core.errors import UsageError
from app.core.paths import Paths
from app.core.records import Gpu, Machine, Run
from app.core.runs.runner import Runner
from app.core.runs.session import Limits, Session
from app.core.runs.worker_command import WorkerCommand, worker_command
from app.core.storage.database import Database
from app.core.storage.runs import load_run
from tests.conftest import ROOT
from workloads import CATALOGUE
from workloads.protocol import events
from workloads.protocol.spec import RunSpec

QUICK_TO_ACT = Limits(
    silence_s=0.3, start_s=0.8, hung_s=0.8, hung_steps=10, cancel_s=0.5, terminate_s=0.5, exit_s=1
)


def demo(**parameters: Any) -> RunSpec:
    return CATALOGUE["demo"].default_spec(parameters=parameters)


class Recorder:
    """Collects a session's events, and lets a test act when one of a kind arrives."""

    def __init__(self) -> None:
        self.events: list[events.Event] = []
        self.first_epoch = threading.Event()

    def __call__(self, event: events.Event) -> None:
        self.events.append(event)
        if isinstance(event, events.Epoch):
            self.first_epoch.set()

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


def finish(session: Session) -> None:
    assert session.wait(30), "the run did not end"


def stored(paths: Paths, session: Session) -> Run:
    with Database(paths.database) as database:
        return load_run(database, session.run_id)


def worker_pid(recorder: Recorder) -> int:
    pid: int = recorder.of(events.Hello)[0].pid
    return pid


@pytest.mark.slow
def test_a_completed_run_is_stored_as_it_was_told(paths: Paths, machine: Machine, recorder: Recorder) -> None:
    session = Runner(paths, machine).start(demo(), recorder)
    finish(session)
    run = stored(paths, session)
    assert run.summary.status == session.status == "completed"
    told = recorder.of(events.Epoch)
    assert [epoch.duration_s for epoch in run.epochs] == [epoch.duration_s for epoch in told]
    assert len(told) == run.summary.epochs_done == 3
    assert run.summary.value == statistics.median(epoch.duration_s for epoch in told[1:])
    assert sum(len(block.durations_s) for block in run.steps) == 30
    assert run.machine.cpu_name == "Test CPU"
    assert run.spec.parameters["outcome"] == "ok"


@pytest.mark.slow
def test_the_stream_is_numbered_without_gaps_and_ends_with_the_end(
    paths: Paths, machine: Machine, recorder: Recorder
) -> None:
    finish(Runner(paths, machine).start(demo(step_s=0.05), recorder))
    assert [event.seq for event in recorder.events] == list(range(len(recorder.events)))
    assert isinstance(recorder.events[0], events.Run)
    assert isinstance(recorder.events[-2], events.Result)
    assert recorder.events[-1] == events.End(
        status="completed", seq=len(recorder.events) - 1, t_s=recorder.events[-1].t_s
    )
    samples = recorder.of(events.Sample)
    assert samples, "a run of more than a second has telemetry"
    assert (samples[0].telemetry.memory_used_bytes or 0) > 0
    assert 0 < samples[0].t_s < 10


@pytest.mark.slow
@pytest.mark.parametrize(
    ("outcome", "code", "words"),
    [
        ("fail", "internal", "told to fail"),
        ("out_of_memory", "out_of_memory", "smaller batch"),
        ("non_finite", "non_finite_loss", "nan"),
        ("crash", "crashed", "The last lines it printed: Fatal Python error: Segmentation fault"),
        ("exit", "crashed", "exit code 3"),
    ],
)
def test_a_failure_is_stored_with_its_reason_and_its_epochs(
    paths: Paths, machine: Machine, recorder: Recorder, outcome: str, code: str, words: str
) -> None:
    session = Runner(paths, machine).start(demo(outcome=outcome), recorder)
    finish(session)
    summary = stored(paths, session).summary
    assert (summary.status, summary.error_code, summary.epochs_done) == ("failed", code, 1)
    assert words in (summary.error_message or "")
    assert recorder.of(events.Error)[0].code == code
    assert recorder.events[-1].type == "end"
    assert not psutil.pid_exists(worker_pid(recorder))


@pytest.mark.slow
def test_noise_on_stdout_harms_nothing(paths: Paths, machine: Machine, recorder: Recorder) -> None:
    session = Runner(paths, machine).start(demo(outcome="noise"), recorder)
    finish(session)
    assert stored(paths, session).summary.status == "completed"
    assert not recorder.of(events.Warn)
    log = (paths.logs / f"run-{session.run_id}.log").read_bytes()
    assert b"noise 4999" in log


@pytest.mark.slow
def test_cancel_is_answered_and_keeps_what_was_measured(
    paths: Paths, machine: Machine, recorder: Recorder
) -> None:
    session = Runner(paths, machine).start(demo(step_s=0.05), recorder)
    assert recorder.first_epoch.wait(20)
    session.cancel()
    finish(session)
    summary = stored(paths, session).summary
    assert summary.status == session.status == "cancelled"
    assert summary.epochs_done >= 1
    assert recorder.events[-1].type == "end"
    assert not psutil.pid_exists(worker_pid(recorder))


@pytest.mark.slow
def test_a_worker_deaf_to_cancel_is_ended(paths: Paths, machine: Machine, recorder: Recorder) -> None:
    limits = Limits(cancel_s=0.3, terminate_s=0.3)
    session = Runner(paths, machine, limits).start(demo(outcome="hang"), recorder)
    assert recorder.first_epoch.wait(20)
    session.cancel()
    finish(session)
    summary = stored(paths, session).summary
    assert (summary.status, summary.epochs_done) == ("cancelled", 1)
    assert not psutil.pid_exists(worker_pid(recorder))


@pytest.mark.slow
def test_a_worker_deaf_to_cancel_can_be_killed_at_once(paths: Paths, machine: Machine, recorder: Recorder) -> None:
    patient = Limits(cancel_s=1_000, terminate_s=1_000)
    session = Runner(paths, machine, patient).start(demo(outcome="hang"), recorder)
    assert recorder.first_epoch.wait(20)
    session.cancel()
    session.kill()
    finish(session)
    assert stored(paths, session).summary.status == "cancelled"
    assert not psutil.pid_exists(worker_pid(recorder))


@pytest.mark.slow
def test_a_hung_worker_is_warned_about_and_then_ended(paths: Paths, machine: Machine, recorder: Recorder) -> None:
    session = Runner(paths, machine, QUICK_TO_ACT).start(demo(outcome="hang"), recorder)
    finish(session)
    summary = stored(paths, session).summary
    assert (summary.status, summary.error_code, summary.epochs_done) == ("failed", "hung", 1)
    assert "silent_worker" in [warning.code for warning in stored(paths, session).warnings]
    assert not psutil.pid_exists(worker_pid(recorder))


@pytest.mark.slow
def test_a_worker_killed_from_outside_is_a_failed_run(paths: Paths, machine: Machine, recorder: Recorder) -> None:
    session = Runner(paths, machine).start(demo(step_s=0.1), recorder)
    assert recorder.first_epoch.wait(20)
    psutil.Process(worker_pid(recorder)).kill()
    finish(session)
    summary = stored(paths, session).summary
    assert (summary.status, summary.error_code) == ("failed", "crashed")
    assert "SIGKILL" in (summary.error_message or "")


def fake_worker(tmp_path: Path, body: str) -> Callable[[RunSpec, Paths], WorkerCommand]:
    """Return a command for a worker that is a script of ours; `say` writes raw bytes to the stream."""
    script = tmp_path / "fake_worker.py"
    script.write_text(
        "import os, sys, time\nsys.stdin.readline()\n"
        "def say(data): os.write(1, data)\n"
        'HELLO = b\'{"type":"hello","protocol":1,"pid":1,"python":"3","wall_time_ns":1}\\n\'\n'
        + textwrap.dedent(body)
    )

    def command(spec: RunSpec, paths: Paths) -> WorkerCommand:
        return WorkerCommand((sys.executable, str(script)), worker_command(spec, paths).environment)

    return command


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "status", "warnings", "words"),
    [
        ("""say(HELLO + b'{"type":"epoch","ind')""", "failed", ["damaged_event"], "exit code 0"),
        (
            """say(HELLO + b'not json\\n{"type":"end","status":"completed"}\\n')""",
            "completed",
            ["damaged_event"],
            "",
        ),
        ("""say(HELLO + b'{"type":"new"}\\n{"type":"end","status":"completed"}\\n')""", "completed", [], ""),
        ("""say(HELLO.replace(b'"protocol":1', b'"protocol":2')); time.sleep(60)""", "failed", [], "protocol 2"),
        ("""say(HELLO); os.close(1); time.sleep(60)""", "failed", [], "had to be killed"),
        ("""say(HELLO); print("last words", file=sys.stderr); sys.exit(7)""", "failed", [], "last words"),
        ("""say(b"x" * 3_000_000)""", "failed", ["damaged_event"] * 4, "exit code 0"),
    ],
    ids=["half_line", "garbage", "unknown_type", "other_protocol", "closed_stream", "non_zero_exit", "long_line"],
)
def test_whatever_a_worker_sends_the_run_ends_in_a_sentence(
    paths: Paths,
    machine: Machine,
    recorder: Recorder,
    tmp_path: Path,
    body: str,
    status: str,
    warnings: list[str],
    words: str,
) -> None:
    session = Runner(paths, machine, QUICK_TO_ACT, fake_worker(tmp_path, body)).start(demo(), recorder)
    finish(session)
    run = stored(paths, session)
    assert run.summary.status == status
    assert [warning.code for warning in run.warnings] == warnings
    assert words in (run.summary.error_message or "")


@pytest.mark.slow
def test_a_flood_of_events_is_followed_to_its_end(
    paths: Paths, machine: Machine, recorder: Recorder, tmp_path: Path
) -> None:
    body = """
    say(HELLO)
    line = b'{"type":"log","message":"' + b"x" * 200 + b'"}\\n'
    for _ in range(300):
        say(line * 100)
    say(b'{"type":"end","status":"completed"}\\n')
    """
    session = Runner(paths, machine, command=fake_worker(tmp_path, body)).start(demo(), recorder)
    finish(session)
    assert session.status == "completed"
    assert len(recorder.of(events.Log)) == 30_000


@pytest.mark.slow
def test_children_of_a_worker_do_not_outlive_the_run(
    paths: Paths, machine: Machine, recorder: Recorder, tmp_path: Path
) -> None:
    body = """
    import subprocess
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    say(HELLO + b'{"type":"log","message":"%d"}\\n{"type":"end","status":"completed"}\\n' % child.pid)
    """
    session = Runner(paths, machine, QUICK_TO_ACT, fake_worker(tmp_path, body)).start(demo(), recorder)
    finish(session)
    child = int(recorder.of(events.Log)[0].message)
    gone = not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE
    assert gone


@pytest.mark.slow
def test_a_worker_that_cannot_be_started_is_a_stored_failure(
    paths: Paths, machine: Machine, recorder: Recorder
) -> None:
    def command(spec: RunSpec, paths: Paths) -> WorkerCommand:
        return WorkerCommand(("/no/such/python",), {})

    session = Runner(paths, machine, command=command).start(demo(), recorder)
    finish(session)
    assert stored(paths, session).summary.status == "failed"
    assert recorder.events[-1].type == "end"


@pytest.mark.slow
def test_a_failing_listener_does_not_cost_the_run(paths: Paths, machine: Machine) -> None:
    def listener(event: events.Event) -> None:
        message = "the view is broken"
        raise RuntimeError(message)

    session = Runner(paths, machine).start(demo(), listener)
    finish(session)
    assert stored(paths, session).summary.status == "completed"


def test_a_run_that_cannot_be_is_refused_before_anything_is_stored(paths: Paths, machine: Machine) -> None:
    with pytest.raises(UsageError, match="batch of 5,000 is larger than the 1,000"):
        Runner(paths, machine).start(CATALOGUE["demo"].default_spec(batch_size=5000))
    assert not paths.database.exists()


@pytest.mark.slow
def test_a_full_disk_during_a_run_is_said_and_the_run_still_ends(
    paths: Paths, machine: Machine, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = sqlite3.connect

    def connect_on_a_full_disk(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*arguments, **options)
        if threading.current_thread().name.startswith("run-"):
            # SQLite's own limit gives the very error of a full disk.
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
            connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    monkeypatch.setattr(sqlite3, "connect", connect_on_a_full_disk)
    spec = CATALOGUE["demo"].default_spec(epochs=200, parameters={"step_s": 0})
    session = Runner(paths, machine, Limits(store_s=0.5)).start(spec, recorder)
    finish(session)
    assert "disk is full" in str(session.trouble)
    assert session.status == "failed"
    assert "not_stored" in [warning.code for warning in recorder.of(events.Warn)]
    assert recorder.events[-1].type == "end"
    # What the database could not take is in a file beside it, and named.
    (rescued,) = paths.data.glob("*.unsaved.jsonl")
    assert str(rescued) in str(session.trouble)
    unsaved = [
        event
        for line in rescued.read_bytes().splitlines()
        if isinstance(event := events.decode(line), events.Epoch)
    ]
    kept = [epoch.index for epoch in stored(paths, session).epochs] + [epoch.index for epoch in unsaved]
    assert kept == list(range(200))


@pytest.mark.slow
def test_a_database_locked_during_a_run_costs_neither_time_nor_epochs(
    paths: Paths, machine: Machine, recorder: Recorder
) -> None:
    spec = CATALOGUE["demo"].default_spec(epochs=20, parameters={"step_s": 0})
    session = Runner(paths, machine).start(spec, recorder)
    with Database(paths.database) as database:
        database.connection.execute("BEGIN IMMEDIATE")
        assert not session.wait(2), "the end waits for the database"
        assert len(recorder.of(events.Epoch)) == 20, "the run itself does not"
        database.connection.execute("ROLLBACK")
    finish(session)
    assert session.trouble is None
    assert len(stored(paths, session).epochs) == 20
    assert stored(paths, session).summary.status == "completed"


@pytest.mark.slow
def test_a_slow_listener_is_no_hung_worker(paths: Paths, machine: Machine) -> None:
    pause = threading.Event()

    def listener(event: events.Event) -> None:
        if isinstance(event, events.Epoch) and event.index == 0:
            pause.wait(2 * QUICK_TO_ACT.hung_s)

    session = Runner(paths, machine, QUICK_TO_ACT).start(demo(), listener)
    finish(session)
    assert stored(paths, session).summary.status == "completed"
    assert all(warning.seq == 1 for warning in stored(paths, session).warnings), "1: before the worker spoke"


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux ends it, elsewhere its stdin")
def test_a_stopped_worker_goes_with_its_parent(paths: Paths, machine: Machine, tmp_path: Path) -> None:
    code = """
import sys
from app.core.runs.worker_command import worker_command
from app.core.hardware.machine import detect_machine
from app.core.paths import default_paths
from app.core.runs.runner import Runner
from workloads import CATALOGUE
paths = default_paths()
paths.create()
say = lambda event: event.type == "hello" and print(event.pid, flush=True)
Runner(paths, detect_machine()).start(CATALOGUE["demo"].default_spec(parameters={"step_s": 1}), say)
"""
    environment = {**os.environ, "EPOCHMARK_HOME": str(tmp_path / "other")}
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, stdout=subprocess.PIPE
    ) as parent:
        assert parent.stdout is not None
        worker = psutil.Process(int(parent.stdout.readline()))
        worker.suspend()
        parent.kill()
    psutil.wait_procs([worker], timeout=5)
    assert not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE


@pytest.mark.slow
@pytest.mark.parametrize(("vendor", "codes"), [("nvidia", ["gpu_not_used"]), ("intel", []), ("apple", [])])
def test_a_gpu_that_the_engine_could_use_and_does_not_is_said(
    paths: Paths, machine: Machine, recorder: Recorder, tmp_path: Path, vendor: str, codes: list[str]
) -> None:
    body = """
    say(HELLO)
    say(b'{"type":"environment","engine":"tensorflow","device":"cpu","precision":"float32","jit":false}\\n')
    say(b'{"type":"end","status":"completed"}\\n')
    """
    with_gpu = dataclasses.replace(machine, gpus=(Gpu("A GPU", vendor),))
    session = Runner(paths, with_gpu, command=fake_worker(tmp_path, body)).start(demo(), recorder)
    finish(session)
    assert [warning.code for warning in stored(paths, session).warnings] == codes


@pytest.mark.slow
def test_two_runs_side_by_side_are_kept_apart(paths: Paths, machine: Machine) -> None:
    runner = Runner(paths, machine)
    sessions = [runner.start(demo()), runner.start(demo(step_s=0.02))]
    for session in sessions:
        finish(session)
    runs = [stored(paths, session) for session in sessions]
    assert [(run.summary.status, len(run.epochs)) for run in runs] == [("completed", 3)] * 2
    assert (runs[0].summary.value or 0) < (runs[1].summary.value or 0)
