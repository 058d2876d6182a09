"""Throw-away processes: real TensorFlow once, and processes that misbehave in every way."""

import os
import signal
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


@pytest.mark.long
@pytest.mark.engine
def test_a_missing_device_fails_and_is_not_replaced(paths: Paths) -> None:
    work = run_trial("gpu:7", paths)
    assert work.status == "failed"
    assert len(work.steps) == 3
    assert all(step.error for step in work.steps)


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
def test_a_process_that_hangs_is_killed_at_its_limit(run: Run) -> None:
    found = run(f"print('{BUILD}'); import time; time.sleep(600)", 1.0)
    assert found.status == "timed_out"
    assert found.exit_code is None
    assert found.build is not None


@pytest.mark.slow
def test_a_process_that_refuses_to_end_is_killed_too(run: Run) -> None:
    script = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    assert run(script, 1.0).status == "timed_out"


@pytest.mark.slow
def test_another_thread_cancels_at_once(run: Run) -> None:
    cancel = threading.Event()
    threading.Timer(0.3, cancel.set).start()
    assert run("import time; time.sleep(600)", 500.0, cancel).status == "cancelled"


@pytest.mark.slow
def test_lines_that_are_not_answers_are_skipped(run: Run) -> None:
    script = (
        "import sys; w = sys.stdout.buffer.write; w(b'hello\\n\\xff\\xfe\\n{}\\n[1]\\nnull\\n');"
        "w((b'[' * 50_000 + b'\\n') * 2);"
        f"w(b'{{\"type\":\"step\",\"name\":3}}\\n'); w(b'x' * 300000 + b'\\n');"
        f'w(b\'{STEP}\\n\'); w(b\'{{"type":"end","good":true}}\\n\')'
    )
    found = run(script)
    assert found.status == "completed"
    assert len(found.steps) == 1


@pytest.mark.slow
def test_a_process_that_answers_for_ever_is_not_listened_to_for_ever(run: Run) -> None:
    found = run(f"for _ in range(5000): print('{STEP}')")
    assert found.status == "crashed"
    assert len(found.steps) == 1_000


@pytest.mark.slow
def test_a_flood_of_messages_keeps_its_beginning_and_its_end(run: Run) -> None:
    script = (
        "import sys; e = sys.stderr; e.write('FIRST LINE\\n');"
        "[e.write('x' * 1000 + '\\n') for _ in range(20000)]; e.write('LAST LINE\\n')"
    )
    found = run(script)
    assert found.log.startswith("FIRST LINE")
    assert found.log.rstrip().endswith("LAST LINE")
    assert "left out" in found.log
    assert len(found.log) < 600_000


@pytest.mark.slow
def test_children_of_the_process_are_ended_with_it(run: Run, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    script = (
        "import subprocess, sys, pathlib;"
        "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']);"
        f"pathlib.Path({str(note)!r}).write_text(str(p.pid))"
    )
    assert run(script).status == "crashed"
    wait_until(lambda: _is_gone(int(note.read_text())))


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="sessions are POSIX")
def test_children_in_a_session_of_their_own_are_ended_at_the_limit(run: Run, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    script = (
        "import subprocess, sys, pathlib, time;"
        "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True);"
        f"pathlib.Path({str(note)!r}).write_text(str(p.pid)); time.sleep(600)"
    )
    assert run(script, 3.0).status == "timed_out"
    wait_until(lambda: _is_gone(int(note.read_text())))


def _is_gone(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


@pytest.mark.slow
def test_a_missing_program_is_reported_in_a_sentence() -> None:
    with pytest.raises(AppError, match=said("doctor.trial_not_started").pattern):
        run_command("cpu", WorkerCommand(("/nowhere/python",), {}), 1.0, threading.Event())


@pytest.mark.slow
def test_a_failed_import_is_reported_and_not_a_crash(run: Run) -> None:
    failed = '{"type":"import","error":"ImportError: no","duration_s":null}'
    found = run(f"print('{failed}'); raise SystemExit(1)")
    assert (found.status, found.import_error) == ("failed", "ImportError: no")


def test_the_child_refuses_other_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert child.answer(["device"], lambda *_, **__: None) == child.EXIT_USAGE
    assert "list" in capsys.readouterr().err


@pytest.mark.slow
def test_the_child_ends_with_its_parent(paths: Paths) -> None:
    import subprocess

    command = trial_command(("list",), paths)
    done = subprocess.run(
        command.arguments,
        env=command.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == EXIT_ORPHANED


def test_a_wrong_result_is_noticed() -> None:
    import numpy as np

    right = np.array([1.0, 2.0])
    assert child.judge(np.array([1.0, 2.01]), right) is None
    assert "wrong" in (child.judge(np.array([1.0, 2.2]), right) or "")
    assert "wrong" in (child.judge(np.array([float("nan"), 2.0]), right) or "")
