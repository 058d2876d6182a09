"""What tests of runs share."""

from collections.abc import Callable
from typing import Any

import pytest

from app.core.paths import Paths
from app.core.records import Run
from app.core.runs.runner import Runner
from tests.core.runs.running import Ran, Recorder, finish, start_run, stored
from workloads.protocol import events
from workloads.protocol.machine import Machine
from workloads.protocol.spec import RunSpec


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def ran(paths: Paths, machine: Machine) -> Ran:
    def run(spec: RunSpec, listener: Callable[[events.Event], None] = lambda event: None, **how: Any) -> Run:
        session = start_run(Runner(paths, **({"machine": machine} | how)), spec, listener)
        finish(session)
        return stored(paths, session)

    return run
