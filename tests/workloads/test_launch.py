"""The worker as a process: what goes in on stdin, and what comes out on stdout and nowhere else."""

import json
import subprocess
import sys
from collections.abc import Iterator
from subprocess import PIPE
from typing import Any

import pytest

from tests.child import python
from tests.conftest import ROOT
from tests.sure import sure
from workloads import CATALOGUE
from workloads.protocol import events
from workloads.protocol.spec import Job, write_job

pytestmark = pytest.mark.slow


@pytest.fixture
def worker() -> Iterator["subprocess.Popen[bytes]"]:
    command = [sys.executable, "-m", "workloads"]
    with subprocess.Popen(command, cwd=ROOT, stdin=PIPE, stdout=PIPE, stderr=subprocess.DEVNULL) as process:
        yield process
        process.kill()


def job(**parameters: Any) -> bytes:
    return write_job(Job(spec=CATALOGUE["demo"].default_spec(parameters=parameters), datasets_folder=b"nowhere"))


def send(worker: "subprocess.Popen[bytes]", line: bytes) -> None:
    assert worker.stdin is not None
    worker.stdin.write(line)
    worker.stdin.flush()


def read(worker: "subprocess.Popen[bytes]") -> list[dict[str, Any]]:
    assert worker.stdout is not None
    return [json.loads(line) for line in worker.stdout]


def read_until(worker: "subprocess.Popen[bytes]", kind: str) -> dict[str, Any]:
    assert worker.stdout is not None
    for line in worker.stdout:
        event: dict[str, Any] = json.loads(line)
        if event["type"] == kind:
            return event
    raise AssertionError(kind)


def test_every_line_is_an_event_even_when_libraries_print(worker: "subprocess.Popen[bytes]") -> None:
    send(worker, job(outcome="noise"))
    stream = read(worker)
    assert [event["seq"] for event in stream] == list(range(len(stream)))
    assert stream[0]["type"] == "hello"
    assert stream[0]["protocol"] == events.PROTOCOL
    assert stream[-1] == {"type": "end", "seq": len(stream) - 1, "t_s": stream[-1]["t_s"], "status": "completed"}
    assert worker.wait(10) == 0


@pytest.mark.parametrize("has_a_job", [True, False])
def test_a_closed_stdin_ends_even_a_worker_that_hangs(worker: "subprocess.Popen[bytes]", has_a_job: bool) -> None:
    if has_a_job:
        send(worker, job(outcome="hang"))
        read_until(worker, "epoch")
    sure(worker.stdin).close()
    assert worker.wait(10) == 3


def test_a_request_to_cancel_is_answered(worker: "subprocess.Popen[bytes]") -> None:
    send(worker, job(step_s=10))
    read_until(worker, "phase")
    send(worker, b"cancel\n")
    assert read_until(worker, "end")["status"] == "cancelled"
    assert worker.wait(5) == 1


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"not a job\n", "unreadable_job"),
        (b'{"spec": {"workload": "demo", "epochs": 0}, "datasets_folder": ""}\n', "epochs"),
        (b'{"spec": {"workload": "demo", "shell": "rm"}, "datasets_folder": ""}\n', "shell"),
        (b'{"spec": {"workload": "nonsense"}, "datasets_folder": ""}\n', "workload.unknown"),
        (b'{"spec": {"workload": "demo", "batch_size": 5000}, "datasets_folder": ""}\n', "batch_too_large"),
    ],
)
def test_a_job_that_cannot_be_run_is_refused_with_the_reason(
    worker: "subprocess.Popen[bytes]", line: bytes, words: str
) -> None:
    send(worker, line)
    stream = read(worker)
    assert [event["type"] for event in stream] == ["hello", "error", "end"]
    assert stream[1]["code"] == "bad_parameters"
    assert words in stream[1]["said"]["code"] + str(stream[1]["said"]["arguments"])
    assert stream[2]["status"] == "failed"


@pytest.mark.parametrize(
    ("fault", "engine"),
    [
        ("ENGINES['broken'] = registry.TORCH", "broken"),
        ("engine_named('tensorflow').is_out_of_memory = None", "tensorflow"),
    ],
)
def test_a_broken_engine_hides_no_other_error(fault: str, engine: str) -> None:
    program = (
        f"from workloads.engines import registry; registry.{fault}; import workloads.__main__ as w; w.start()"
    )
    spec = CATALOGUE["demo"].default_spec(parameters={"outcome": "fail"}, engine=engine)
    line = write_job(Job(spec=spec, datasets_folder=b"nowhere"))
    with subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdin=PIPE, stdout=PIPE) as worker:
        send(worker, line)
        (error,) = [event for event in read(worker) if event["type"] == "error"]
    assert error["code"] == "internal"
    assert "told to fail" in str(error["said"]["arguments"])


def test_the_catalogue_and_the_worker_load_no_engine() -> None:
    code = "import sys, workloads.__main__; print(*sorted({'keras', 'tensorflow', 'numpy'} & set(sys.modules)))"
    done = python("-c", code)
    assert (done.returncode, done.stdout.strip()) == (0, "")
