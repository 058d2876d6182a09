"""A runner on a computer with eight cores, and a database for studies."""

from dataclasses import replace
from functools import partial

import pytest

from app.core.paths import Paths
from app.core.plans.study import planning
from app.core.runs import runner as runner_module
from app.core.runs.runner import Runner
from app.core.storage.database import Database
from tests.build import Store, store_study
from workloads.protocol.machine import Gpu, Machine


@pytest.fixture
def eight_cores(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setattr(planning, "visible_cpus", lambda: 16)
    monkeypatch.setattr(runner_module, "visible_cpus", lambda: 16)
    return replace(machine, physical_cores=8, logical_cores=16, memory_bytes=64 * 10**9)


@pytest.fixture
def runner(paths: Paths, eight_cores: Machine) -> Runner:
    return Runner(paths, eight_cores)


@pytest.fixture
def with_card(eight_cores: Machine, paths: Paths) -> Runner:
    card = Gpu("NVIDIA GeForce RTX 3090", "nvidia", 24 * 10**9, compute_capability="8.6")
    card = replace(card, power_limit_w=370.0, power_default_w=370.0, power_min_w=200.0, power_max_w=390.0)
    return Runner(paths, replace(eight_cores, os_name="Linux 6.1", gpus=(card,)))


@pytest.fixture
def stored(database: Database, eight_cores: Machine) -> Store:
    return partial(store_study, database, eight_cores)
