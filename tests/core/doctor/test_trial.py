"""Throw-away processes: real TensorFlow once, and processes that misbehave in every way."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from app.core.doctor.trial import Trial, run_command, run_trial
from app.core.errors import AppError
from app.core.paths import Paths
from app.core.runs.worker_command import WorkerCommand, trial_command
from tests.saying import said
from tests.sure import sure
from tests.waiting import wait_until
from workloads import trial as child
from workloads.protocol.streams import EXIT_ORPHANED

Run = Callable[..., Trial]
BUILD = '{"type":"build","version":"2.21.0","keras":"3.15","cuda":true}'
SESSION = ", start_new_session=True"
STEP = '{"type":"step","name":"matmul","error":null,"duration_s":0.5}'


@pytest.fixture
def run() -> Run:
    """Run a Python script as if it were the trial."""

    def start(script: str, limit_s: float = 30.0, cancel: threading.Event | None = None) -> Trial:
        command = WorkerCommand((sys.executable, "-u", "-c", script), dict(os.environ))
        return run_command("gpu:0", command, limit_s, cancel or threading.Event())

    return start


@pytest.mark.long
@pytest.mark.engine
def test_real_tensorflow_lists_its_devices_and_works_on_the_cpu(paths: Paths) -> None:
    listing = run_trial("list", paths)
    assert listing.status == "completed", listing.log
    assert sure(listing.build).version.startswith("2.")
    assert [device.id for device in listing.devices][:1] == ["cpu"]
    assert listing.import_s is not None
    assert listing.log.strip(), "what TensorFlow prints: on some processors that oneDNN is on, on others less"
    work = run_trial("cpu", paths)
    assert work.status == "completed", work.log
    assert [(step.name, step.error) for step in work.steps] == [
        ("matmul", None),
        ("convolution", None),
        ("xla", None),
    ]
    assert all(step.duration_s > 0 for step in work.steps)
    missing = run_trial("gpu:7", paths)
    assert (missing.status, [bool(step.error) for step in missing.steps]) == ("failed", [True] * 3), "not replaced"


def test_the_environment_is_a_workers_but_the_engine_speaks(paths: Paths) -> None:
    command = trial_command(("device", "gpu:0"), paths, {"KERAS_MAX_EPOCHS": "1", "CUDA_VISIBLE_DEVICES": "1"})
    assert command.arguments[-4:] == ("workloads.trial", "tensorflow", "device", "gpu:0")
    assert command.environment["TF_CPP_MIN_LOG_LEVEL"] == "0"
    assert command.environment["TF_FORCE_GPU_ALLOW_GROWTH"] == "true"
    assert command.environment["CUDA_VISIBLE_DEVICES"] == "1"
    assert "KERAS_MAX_EPOCHS" not in command.environment
    assert trial_command(("device", "cpu"), paths, {}).environment["CUDA_VISIBLE_DEVICES"] == "-1"


@pytest.mark.slow
def test_output_before_a_crash_is_kept(run: Run) -> None:
    found = run(f"print('{STEP}'); import os, sys; print('LLVM ERROR', file=sys.stderr); os.abort()")
    assert (found.status, found.exit_code) == ("crashed", 3 if sys.platform == "win32" else -signal.SIGABRT)
    assert [step.name for step in found.steps] == ["matmul"]
    assert "LLVM ERROR" in found.log


@pytest.mark.slow
def test_a_process_that_hangs_and_refuses_to_end_is_killed_at_its_limit(run: Run) -> None:
    script = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    found = run(f"print('{BUILD}'); {script}", 1.0)
    assert (found.status, found.exit_code) == ("timed_out", None)
    assert found.build is not None


@pytest.mark.slow
def test_another_thread_cancels_at_once(run: Run) -> None:
    cancel = threading.Event()
    threading.Timer(0.3, cancel.set).start()
    assert run("import time; time.sleep(600)", 500.0, cancel).status == "cancelled"


@pytest.mark.slow
def test_a_flood_of_answers_and_messages_and_what_is_no_answer_are_cut(run: Run) -> None:
    script = (
        "import sys; w = sys.stdout.buffer.write; w(b'hello\\n\\xff\\xfe\\n{}\\n[1]\\nnull\\n');"
        "w((b'[' * 50_000 + b'\\n') * 2);"
        f"w(b'{{\"type\":\"step\",\"name\":3}}\\n'); w(b'x' * 300000 + b'\\n');"
        f'w(b\'{STEP}\\n\' * 5_000); w(b\'{{"type":"end","good":true}}\\n\'); sys.stdout.flush();'
        "e = sys.stderr; e.write('FIRST LINE\\n');"
        "[e.write('x' * 1000 + '\\n') for _ in range(20_000)]; e.write('LAST LINE\\n')"
    )
    found = run(script)
    assert found.status == "crashed", "its end comes after too many answers"
    assert 900 < len(found.steps) < 1_000, "the others are no steps"
    assert found.log.startswith("FIRST LINE")
    assert found.log.rstrip().endswith("LAST LINE")
    assert "left out" in found.log
    assert len(found.log) < 600_000


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="sessions are POSIX")
@pytest.mark.parametrize(
    ("options", "limit_s", "status"),
    [("", 30.0, "crashed"), pytest.param(SESSION, 3.0, "timed_out", marks=pytest.mark.long)],
)
def test_children_of_the_process_are_ended_with_it(
    run: Run, tmp_path: Path, options: str, limit_s: float, status: str
) -> None:
    note = tmp_path / "pid"
    script = (
        "import subprocess, sys, pathlib, time;"
        f"p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']{options});"
        f"pathlib.Path({str(note)!r}).write_text(str(p.pid)); {options and 'time.sleep(600)'}"
    )
    assert run(script, limit_s).status == status
    pid = int(note.read_text())
    wait_until(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)


@pytest.mark.slow
def test_a_missing_program_is_reported_in_a_sentence() -> None:
    with pytest.raises(AppError, match=said("doctor.trial_not_started").pattern):
        run_command("cpu", WorkerCommand(("/nowhere/python",), {}), 1.0, threading.Event())


@pytest.mark.slow
def test_a_failed_import_is_reported_and_not_a_crash(run: Run) -> None:
    failed = '{"type":"import","error":"ImportError: no","duration_s":null}'
    found = run(f"print('{failed}'); raise SystemExit(1)")
    assert (found.status, found.import_error) == ("failed", "ImportError: no")


@pytest.mark.slow
def test_the_child_ends_with_its_parent(paths: Paths) -> None:
    command = trial_command(("list",), paths)
    variables = command.environment
    code = subprocess.call(command.arguments, env=variables, stdin=subprocess.DEVNULL, timeout=100)
    assert code == EXIT_ORPHANED


def test_a_wrong_result_is_noticed() -> None:
    import numpy as np

    right = np.array([1.0, 2.0])
    assert child.judge(np.array([1.0, 2.01]), right) is None
    assert "wrong" in (child.judge(np.array([1.0, 2.2]), right) or "")
    assert "wrong" in (child.judge(np.array([float("nan"), 2.0]), right) or "")
