"""A runner, a database, and suites with given results, without running anything."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from app.core.exchange.importing import import_files
from app.core.paths import Paths, default_paths
from app.core.plans.suite.definition import SUITE_1
from app.core.plans.suite.score import SuiteResult
from app.core.records import Plan
from app.core.report.formats.result_document import enclosed_file
from app.core.runs.runner import Runner
from app.core.storage.database import Database
from app.core.storage.groups import begin_group
from tests.build import Outcome, load_suite, store_point
from workloads.protocol.machine import Machine

Store = Callable[..., SuiteResult]
Send = Callable[[list[int], str], None]


@pytest.fixture
def runner(paths: Paths, machine: Machine) -> Runner:
    return Runner(paths, machine)


@pytest.fixture
def store(database: Database, machine: Machine) -> Store:
    """Store a plan's suite; by workload how many times as fast as the reference, or the error that ended it."""

    def stored(
        plan: Plan, outcomes: Mapping[str, float | str | None] | None = None, **columns: Any
    ) -> SuiteResult:
        group_id = begin_group(database, plan)
        for planned in plan.runs():
            spec = planned.spec
            times = dict.fromkeys(("started_at", "finished_at"), f"2026-11-24T10:{planned.number:02}:00Z")
            outcome = (outcomes or {}).get(spec.workload, 1.0)
            part = next(each for each in SUITE_1.parts if each.workload == spec.workload)
            value: Outcome = outcome if not isinstance(outcome, float) else part.reference * outcome
            if isinstance(outcome, float) and part.metric.startswith("seconds_"):
                value = part.reference / outcome
            store_point(database, machine, spec, group_id, value, **times | columns)
        return load_suite(database, group_id)

    return stored


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Database]:
    paths = default_paths({"EPOCHMARK_HOME": str(tmp_path / "elsewhere")})
    paths.create()
    with Database(paths.database) as opened:
        yield opened


@pytest.fixture
def send(database: Database, elsewhere: Database, tmp_path: Path) -> Send:
    def send_file(ids: list[int], name: str) -> None:
        path = tmp_path / "sent" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(enclosed_file(database, ids))
        (outcome,) = import_files(elsewhere, [path])
        assert outcome.refusal is None

    return send_file
