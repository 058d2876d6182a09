"""Runs in real worker processes, and what tests ask of them."""

import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.core.paths import Paths
from app.core.records import Run
from app.core.runs.liveness import RunLimits
from app.core.runs.runner import Runner
from app.core.runs.session import Listener, Session
from app.core.runs.worker_command import WorkerCommand, worker_command
from app.core.storage.runs import load_run
from tests.build import in_database
from workloads import CATALOGUE
from workloads.protocol import events
from workloads.protocol.spec import RunSpec

QUICK_TO_ACT = RunLimits(
    silence_s=0.3, start_s=20, hung_s=0.8, hung_steps=10, cancel_s=0.5, terminate_s=0.5, exit_s=1
)
Ran = Callable[..., Run]


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


def start_run(runner: Runner, spec: RunSpec, listener: Listener = lambda _: None) -> Session:
    return runner.start(runner.check(spec), listener)


def finish(session: Session) -> None:
    assert session.wait(30), "the run did not end"


def stored(paths: Paths, session: Session) -> Run:
    return in_database(paths.database, load_run, session.run_id)


def worker_pid(recorder: Recorder) -> int:
    pid: int = recorder.of(events.Hello)[0].pid
    return pid


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
