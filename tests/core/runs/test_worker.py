"""Workers that are deaf, hang, crash, lie or cannot be started: their run ends in a sentence."""

import json
import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import psutil
import pytest

from app.core.paths import Paths
from app.core.runs.liveness import RunLimits
from app.core.runs.runner import Runner
from app.core.runs.session import WARNINGS, WARNINGS_OF_A_CODE
from app.core.runs.worker import SecondClock
from app.core.runs.worker_command import WorkerCommand, worker_command
from app.core.verdict.rules import judge
from tests.conftest import ROOT
from tests.core.runs.running import (
    QUICK_TO_ACT,
    Ran,
    Recorder,
    demo,
    fake_worker,
    finish,
    start_run,
    stored,
    worker_pid,
)
from tests.saying import Saying, said
from tests.sure import sure
from workloads import CATALOGUE
from workloads.protocol import events
from workloads.protocol.machine import Machine
from workloads.protocol.spec import ComputerPlace, Endpoint, RunSpec

pytestmark = pytest.mark.slow


def test_a_worker_deaf_to_cancel_is_ended(paths: Paths, machine: Machine, recorder: Recorder) -> None:
    limits = RunLimits(cancel_s=0.3, terminate_s=0.3)
    session = start_run(Runner(paths, machine, limits), demo(outcome="hang"), recorder)
    assert recorder.first_epoch.wait(20)
    session.cancel()
    finish(session)
    summary = stored(paths, session).summary
    assert (summary.status, summary.epochs_done) == ("cancelled", 1)
    assert not psutil.pid_exists(worker_pid(recorder))


def test_a_hung_worker_is_warned_about_and_then_ended(ran: Ran, recorder: Recorder) -> None:
    run = ran(demo(outcome="hang"), recorder, limits=QUICK_TO_ACT)
    assert (run.summary.status, run.summary.error_code, run.summary.epochs_done) == ("failed", "hung", 1)
    assert "silent_worker" in [warning.code for warning in run.warnings]
    assert not psutil.pid_exists(worker_pid(recorder))


def test_a_worker_killed_from_outside_is_a_failed_run(paths: Paths, machine: Machine, recorder: Recorder) -> None:
    session = start_run(Runner(paths, machine), demo(step_s=0.1), recorder)
    assert recorder.first_epoch.wait(20)
    psutil.Process(worker_pid(recorder)).kill()
    finish(session)
    summary = stored(paths, session).summary
    assert (summary.status, summary.error_code) == ("failed", "crashed")
    assert os.name == "nt" or "SIGKILL" in (summary.error_message or "")


@pytest.mark.parametrize(
    ("body", "status", "warnings", "words"),
    [
        ("""say(HELLO + b'{"type":"epoch","ind')""", "failed", ["damaged_event"], said("exit.code", code="0")),
        (
            """say(HELLO + b'not json\\n{"type":"end","status":"completed"}\\n')""",
            "completed",
            ["damaged_event"],
            None,
        ),
        ("""say(HELLO + b'{"type":"new"}\\n{"type":"end","status":"completed"}\\n')""", "completed", [], None),
        (
            """say(HELLO.replace(b'"protocol":1', b'"protocol":2')); time.sleep(60)""",
            "failed",
            [],
            said("run.other_protocol", theirs="2"),
        ),
        pytest.param(
            """say(HELLO); os.close(1); time.sleep(60)""",
            "failed",
            [],
            said("exit.had_to_be_killed"),
            marks=pytest.mark.skipif(os.name == "nt", reason="a virtual environment's launcher keeps it open"),
        ),
        ("""say(HELLO); print("last words", file=sys.stderr); sys.exit(7)""", "failed", [], "last words"),
        ("""say(b"x" * 3_000_000)""", "failed", ["damaged_event"] * 4, said("exit.code", code="0")),
    ],
    ids=["half_line", "garbage", "unknown_type", "other_protocol", "closed_stream", "non_zero_exit", "long_line"],
)
def test_whatever_a_worker_sends_the_run_ends_in_a_sentence(
    ran: Ran, tmp_path: Path, body: str, status: str, warnings: list[str], words: Saying | str | None
) -> None:
    run = ran(demo(), limits=QUICK_TO_ACT, command=fake_worker(tmp_path, body))
    assert run.summary.status == status
    assert [warning.code for warning in run.warnings] == warnings
    told = run.summary.error_message or ""
    assert words is None or (words in told if isinstance(words, str) else words.is_in(told))


def test_a_worker_that_no_longer_beats_is_ended_although_it_may_be_silent_for_long(
    ran: Ran, recorder: Recorder, tmp_path: Path
) -> None:
    body = """
    say(HELLO + b'{"type":"alive"}\\n{"type":"alive"}\\n')
    time.sleep(60)
    """
    limits = replace(QUICK_TO_ACT, silence_s=50.0, start_s=50.0, loads_s=0.5)
    run = ran(demo(), recorder, limits=limits, command=fake_worker(tmp_path, body))
    assert (run.summary.status, run.summary.error_code) == ("failed", "hung")
    assert not recorder.of(events.Alive)


def test_warnings_without_end_are_kept_by_kind_and_all_in_all(
    ran: Ran, tmp_path: Path, recorder: Recorder
) -> None:
    body = """
    say(HELLO)
    for code in range(20):
        line = b'{"type":"warning","code":"kind_%d","message":"' % code + b"x" * 2_000 + b'"}\\n'
        for _ in range(10):
            say(line * 20)
    say(b'{"type":"end","status":"completed"}\\n')
    """
    run = ran(demo(), recorder, command=fake_worker(tmp_path, body))
    *kept, last = run.warnings
    codes = range(WARNINGS // WARNINGS_OF_A_CODE)
    assert [warning.code for warning in kept] == [
        f"kind_{code}" for code in codes for _ in range(WARNINGS_OF_A_CODE)
    ]
    assert last.code == "events_left_out"
    assert sure(last.said).arguments["count"] == 20 * 200 - WARNINGS
    assert run.summary.status == "completed"


def test_a_worker_that_cannot_be_started_is_a_stored_failure(ran: Ran, recorder: Recorder) -> None:
    run = ran(demo(), recorder, command=lambda spec, paths: WorkerCommand(("/no/such/python",), {}))
    assert run.summary.status == "failed"
    assert recorder.events[-1].type == "end"


@pytest.mark.skipif(sys.platform == "darwin", reason="there, only a closed stdin ends it")
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
runner = Runner(paths, detect_machine())
runner.start(runner.check(CATALOGUE["demo"].default_spec(parameters={"step_s": 1})), say).wait(600)
"""
    environment = {**os.environ, "EPOCHMARK_HOME": str(tmp_path / "other")}
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, stdout=subprocess.PIPE
    ) as parent:
        worker = psutil.Process(int(sure(parent.stdout).readline()))
        worker.suspend()
        parent.kill()
    psutil.wait_procs([worker], timeout=5)
    assert not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE


def test_a_system_that_refuses_threads_is_named_and_no_worker_remains(paths: Paths, machine: Machine) -> None:
    def listen(event: events.Event) -> None:
        if isinstance(event, events.Run):  # published before the worker is started
            threading.stack_size(1 << 46)  # no system has as much memory, so it refuses the thread

    before, children = threading.stack_size(), psutil.Process().children()
    try:
        session = start_run(Runner(paths, machine), demo(), listen)
        finish(session)
    finally:
        threading.stack_size(before)
    assert said("worker.threads_refused").is_all_of(stored(paths, session).summary.error_message or "")
    assert session.trouble is None
    assert psutil.Process().children() == children


def test_another_computers_words_are_kept_without_its_folders_and_addresses(
    paths: Paths, machine: Machine, tmp_path: Path
) -> None:
    reason = {"code": "computers.lost", "arguments": {"reason": "peer 10.1.2.3 in /home/karla/run, user: karla"}}
    ended = {"code": "computers.ended", "arguments": {"rank": 1, "reason": reason}}
    lines = [
        {"type": "error", "code": "crashed", "message": "", "said": ended},
        {"type": "end", "status": "failed"},
    ]
    body = "say(HELLO)\n" + "".join(f"say({json.dumps(line).encode()!r} + b'\\n')\n" for line in lines)
    place = ComputerPlace(rank=0, count=2, host=Endpoint(address="127.0.0.1", port=1), address="127.0.0.1")
    runner = Runner(paths, machine, command=fake_worker(tmp_path, body), computers=place)
    session = start_run(runner, demo())
    finish(session)
    told = stored(paths, session).summary.error_message or ""
    assert said("computers.ended", rank="1").is_in(told)
    assert not [word for word in ("karla", "10.1.2.3", "/home") if word in told]


STEPS = events.Steps(phase="measure", epoch=0, first_index=0, durations_s=(0.1,))


def clocks(step_s: float, seconds: float, *, rate: float = 1.0, jitter_s: float = 0.001) -> dict[str, float]:
    """Return what the second clock says of steps; the worker's clock shows `rate` seconds in each second."""
    now_s, chance = 0.0, random.Random(1)
    second = SecondClock(clock=lambda: now_s)
    for number in range(1, int(seconds / step_s)):
        second.asked()
        now_s = max(now_s + 0.0001, step_s * number + chance.uniform(0, jitter_s))
        second.heard(msgspec.structs.replace(STEPS, t_s=step_s * number * rate))
    return second.metrics()


@pytest.mark.parametrize(
    ("step_s", "rate", "jitter_s"),
    [
        *((step_s, rate, 0.001) for step_s in (0.1, 0.7, 2.0) for rate in (0.5, 0.9, 1.0)),
        (0.1, 1.0, 0.3),  # a busy computer delivers late and unevenly
    ],
)
def test_it_measures_how_fast_the_workers_clock_runs(step_s: float, rate: float, jitter_s: float) -> None:
    metrics = clocks(step_s, 40, rate=rate, jitter_s=jitter_s)
    assert metrics["worker_clock_s"] / metrics["parent_clock_s"] == pytest.approx(rate, abs=0.002)
    assert clocks(step_s, 2) == {}, "too short to tell"


def test_only_the_promptest_arrival_of_a_quarter_second_is_kept() -> None:
    times_s = iter([0.0, *(moment for number in range(4_000) for moment in (number / 100, (number + 0.9) / 100))])
    second = SecondClock(clock=lambda: next(times_s))
    for number in range(4_000):
        second.asked()
        second.heard(msgspec.structs.replace(STEPS, t_s=number / 100))
    assert 20 < second.metrics()["parent_clock_s"] <= 40


CHEATS = {
    "whole_process": """
import time
real = time.perf_counter
time.perf_counter = lambda: real() / 2
""",
    "durations_only": """
from workloads.protocol import reporter
import time
usual = reporter.Reporter.__init__
def start(self, emitter):
    usual(self, emitter, lambda: time.perf_counter() / 2)
reporter.Reporter.__init__ = start
""",
    "": "",
}


def started_by(code: str) -> Callable[[RunSpec, Paths], WorkerCommand]:
    """Return a command for a worker in which this runs first."""

    def command(spec: RunSpec, paths: Paths) -> WorkerCommand:
        whole = f"{code}\nfrom workloads.__main__ import start\nstart()"
        return WorkerCommand((sys.executable, "-c", whole), worker_command(spec, paths).environment)

    return command


# Takes its time: clocks are compared over real seconds.
@pytest.mark.slow
@pytest.mark.parametrize(
    "cheat", ["whole_process", *(pytest.param(cheat, marks=pytest.mark.long) for cheat in ("durations_only", ""))]
)
def test_a_worker_whose_clock_is_halved_is_found_out(cheat: str, ran: Ran) -> None:
    spec = CATALOGUE["demo"].default_spec(epochs=9, parameters={"step_s": 0.05})
    run = ran(spec, command=started_by(CHEATS[cheat]))
    codes = {reason.code: reason for reason in judge(run).reasons}
    assert ("clock_slow" in codes) == bool(cheat)
    if cheat == "whole_process":
        assert codes["clock_slow"].level == "invalid"
        worker_s, parent_s = run.metrics["worker_clock_s"], run.metrics["parent_clock_s"]
        assert worker_s == pytest.approx(sure(parent_s) / 2, rel=0.02)
        assert said("verdict.clock_slow").is_in(codes["clock_slow"].text)
    if cheat == "durations_only":
        assert said("verdict.durations_short").is_in(codes["clock_slow"].text)


# Takes its time, as above.
@pytest.mark.slow
def test_a_worker_cannot_speak_for_the_second_clock(ran: Ran) -> None:
    code = "from workloads.protocol import events\nfrom workloads import CATALOGUE\n"
    code += "usual = CATALOGUE['demo'].run\ndef run(job, reporter):\n"
    code += "    reporter.send(events.Metric(key='parent_clock_s', value=1.0))\n    usual(job, reporter)\n"
    code += "CATALOGUE['demo'].run = run"
    run = ran(CATALOGUE["demo"].default_spec(epochs=1), command=started_by(code))
    assert "parent_clock_s" not in run.metrics
