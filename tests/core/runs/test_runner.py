"""The runner with real worker processes: what happens to a run, and what is kept of it."""

import dataclasses
import sqlite3
import statistics
import threading
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from app.core.errors import UsageError
from app.core.messages import sentence
from app.core.paths import Paths
from app.core.runs.liveness import RunLimits
from app.core.runs.runner import Runner, exact_spec
from tests.conftest import pretend_installed
from tests.core.runs.running import Ran, Recorder, demo, fake_worker, finish, start_run, stored, worker_pid
from tests.saying import said
from tests.systems import FATAL
from workloads import CATALOGUE
from workloads.engines.registry import ENGINES
from workloads.protocol import events
from workloads.protocol.machine import Gpu, Machine

pytestmark = pytest.mark.slow


def test_a_completed_run_is_stored_as_reported(ran: Ran, recorder: Recorder) -> None:
    run = ran(demo(), recorder)
    assert run.summary.status == "completed"
    told = recorder.of(events.Epoch)
    assert [epoch.duration_s for epoch in run.epochs] == [epoch.duration_s for epoch in told]
    assert len(told) == run.summary.epochs_done == 3
    assert run.summary.value == statistics.median(epoch.duration_s for epoch in told[1:])
    assert sum(len(block.durations_s) for block in run.steps) == 30
    assert run.machine.cpu_name == "Test CPU"
    assert run.spec.parameters["outcome"] == "ok"


def test_the_stream_is_numbered_without_gaps_and_ends_with_the_end(ran: Ran, recorder: Recorder) -> None:
    ran(demo(step_s=0.05), recorder)
    assert [event.seq for event in recorder.events] == list(range(len(recorder.events)))
    first, *_, result, last = recorder.events
    assert isinstance(first, events.Run)
    assert isinstance(result, events.Result)
    assert last == events.End(status="completed", seq=len(recorder.events) - 1, t_s=last.t_s)
    samples = recorder.of(events.TelemetryEvent)
    assert samples, "a run of more than a second has telemetry"
    assert (samples[0].telemetry.memory_used_bytes or 0) > 0
    assert 0 < samples[0].t_s < 10


@pytest.mark.parametrize(
    ("outcome", "code", "words"),
    [
        ("fail", "internal", "told to fail"),
        ("out_of_memory", "out_of_memory", sentence("worker.out_of_memory")),
        ("non_finite", "non_finite_loss", "nan"),
        ("crash", "crashed", FATAL),
        ("exit", "crashed", sentence("exit.code", code=3)),
    ],
)
def test_a_failure_is_stored_with_its_reason_and_its_epochs(
    ran: Ran, recorder: Recorder, outcome: str, code: str, words: str
) -> None:
    summary = ran(demo(outcome=outcome), recorder).summary
    assert (summary.status, summary.error_code, summary.epochs_done) == ("failed", code, 1)
    assert words in (summary.error_message or "")
    assert recorder.of(events.Error)[0].code == code
    assert recorder.events[-1].type == "end"
    assert not psutil.pid_exists(worker_pid(recorder))


def test_noise_on_stdout_and_a_failing_listener_harm_nothing(paths: Paths, ran: Ran, recorder: Recorder) -> None:
    def listener(event: events.Event) -> None:
        recorder(event)
        message = "the view is broken"
        raise RuntimeError(message)

    summary = ran(demo(outcome="noise"), listener).summary
    assert summary.status == "completed"
    assert not recorder.of(events.Warn)
    assert b"noise 4999" in (paths.logs / f"run-{summary.id}.log").read_bytes()


def test_cancel_ends_it_and_keeps_what_was_measured(paths: Paths, machine: Machine, recorder: Recorder) -> None:
    session = start_run(Runner(paths, machine), demo(step_s=0.05), recorder)
    assert recorder.first_epoch.wait(20)
    session.cancel()
    finish(session)
    summary = stored(paths, session).summary
    assert summary.status == session.status == "cancelled"
    assert summary.epochs_done >= 1
    assert recorder.events[-1].type == "end"
    assert not psutil.pid_exists(worker_pid(recorder))


def test_a_full_disk_during_a_run_is_reported_and_the_run_still_ends(
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
    session = start_run(Runner(paths, machine, RunLimits(store_s=0.5)), spec, recorder)
    finish(session)
    assert said("database.disk_full").is_in(str(session.trouble))
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


ON_CPU = """
say(HELLO)
say(b'{"type":"environment","engine":"tensorflow","device":"cpu","precision":"float32","jit":false}\\n')
say(b'{"type":"end","status":"completed"}\\n')
"""


NVIDIA = Gpu("A GPU", "nvidia")
UHD = Gpu("UHD Graphics 770", "intel", source="sysfs", shares_memory=True)


@pytest.mark.parametrize(
    ("gpu", "os_name", "device", "codes"),
    [
        (NVIDIA, "Linux 6.1", "auto", ["gpu_not_used"]),
        (NVIDIA, "Linux 6.1", "cpu", []),
        (NVIDIA, "Windows 11", "auto", ["gpu_not_used"]),
        (Gpu("A GPU", "nvidia", source="sysfs"), "Linux 6.1", "auto", ["gpu_not_used"]),  # with another driver
        (UHD, "Linux 6.1", "auto", []),
        (Gpu("A GPU", "apple", source="ioreg"), "macOS 15.1", "auto", ["gpu_not_used"]),
        (Gpu("A GPU", "other", source="sysfs"), "Linux 6.1", "auto", []),  # a server's
    ],
)
def test_an_unused_gpu_is_reported(
    ran: Ran, machine: Machine, tmp_path: Path, gpu: Gpu, os_name: str, device: str, codes: list[str]
) -> None:
    with_gpu = dataclasses.replace(machine, gpus=(gpu,), os_name=os_name)
    spec = msgspec.structs.replace(demo(), device=device)
    run = ran(spec, machine=with_gpu, command=fake_worker(tmp_path, ON_CPU))
    assert [warning.code for warning in run.warnings] == codes


def test_a_gpu_without_a_build_is_reported_with_what_would_use_it(
    ran: Ran, machine: Machine, tmp_path: Path
) -> None:
    command = fake_worker(tmp_path, ON_CPU)
    for name, code in (
        ("AMD Radeon RX 9070 XT", "engines.no_build_but_others"),
        ("AMD Radeon RX 580", "engines.no_build"),
    ):
        with_gpu = dataclasses.replace(
            machine, gpus=(Gpu(name, "amd", source="sysfs"),), os_name="Linux 6.1", architecture="x86_64"
        )
        (warning,) = ran(demo(), machine=with_gpu, command=command).warnings
        assert said(code, engine="TensorFlow", gpu=name).is_in(warning.message)


def test_only_those_whose_engine_the_doctor_examines_are_sent_there(
    paths: Paths, ran: Ran, machine: Machine, tmp_path: Path, second_engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ENGINES[second_engine], "vendors", {"nvidia"})
    pretend_installed(second_engine, paths)
    with_gpu = dataclasses.replace(machine, gpus=(Gpu("A GPU", "nvidia"),))
    command = fake_worker(tmp_path, ON_CPU)
    for engine, title, sends in (("tensorflow", "TensorFlow", True), (second_engine, "Plain NumPy", False)):
        spec = msgspec.structs.replace(demo(), engine=engine)
        (warning,) = ran(spec, machine=with_gpu, command=command).warnings
        code = "run.gpu_not_used" if sends else "run.gpu_not_used_by_other"
        assert said(code, engine=title, gpu="A GPU").is_all_of(warning.message)


@pytest.mark.parametrize("values", [{"seed": 2**70}, {"epochs": 2**40}, {"threads": 10**9}])
def test_a_value_that_no_spec_can_hold_is_refused(values: dict[str, Any]) -> None:
    spec = CATALOGUE["mnist_mlp"].default_spec(**values)
    with pytest.raises(UsageError, match=said("setting.out_of_range").pattern):
        exact_spec(spec)
