"""A runner on a computer with eight cores, and a database for studies."""

from dataclasses import replace
from functools import partial

import pytest

from app.core.paths import Paths
from app.core.plans.study import planning
from app.core.runs import runner as runner_module
from app.core.runs.runner import Runner
from app.core.storage.database import Database
from tests.core.plans.study.storing_studies import Store, store_study
from workloads.protocol.machine import Machine


@pytest.fixture
def eight_cores(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A computer with 8 cores and 16 threads, all of them usable."""
    monkeypatch.setattr(planning, "visible_cpus", lambda: 16)
    monkeypatch.setattr(runner_module, "visible_cpus", lambda: 16)
    return replace(machine, physical_cores=8, logical_cores=16, memory_bytes=64 * 10**9)


@pytest.fixture
def runner(paths: Paths, eight_cores: Machine) -> Runner:
    return Runner(paths, eight_cores)


@pytest.fixture
def stored(database: Database, eight_cores: Machine) -> Store:
    """Store a study of a plan, with what each point gives."""
    return partial(store_study, database, eight_cores)
