"""Suites with real worker processes: a part that fails, runs out of memory or crashes stops no other one."""

import msgspec
import pytest

from app.core.paths import Paths
from app.core.plans.suite.definition import DEMO
from app.core.plans.suite.uncertainty import Score
from app.core.records import Plan, Suite
from app.core.runs.plan_session import resume_plan, run_plan
from app.core.runs.runner import Runner
from tests.build import in_database, load_suite
from tests.sure import sure
from workloads.protocol.machine import Machine

pytestmark = pytest.mark.slow


def plan_of(*outcomes: str) -> Plan:
    specs = [part.spec(engine="tensorflow", device="cpu", without_tf32=False) for part in DEMO.parts]
    return Plan(
        kind="suite",
        specs=tuple(
            msgspec.structs.replace(spec, parameters={**spec.parameters, "outcome": outcome, "step_s": 0.001})
            for spec, outcome in zip(specs, outcomes, strict=True)
        ),
        survives_failures=True,
        suite=Suite(number=DEMO.number),
    )


@pytest.mark.long
def test_a_part_that_fails_or_lacks_memory_stops_no_other_one(paths: Paths, machine: Machine) -> None:
    runner = Runner(paths, machine)
    session = run_plan(plan_of("crash", "out_of_memory", "ok"), runner)
    assert session.wait(60)
    result = in_database(paths.database, load_suite, sure(session.group_id))
    assert [each.state for each in result.parts] == ["failed", "out_of_memory", "done"]
    assert result.parts[1].score == Score(0.0)
    assert result.total is None
    assert [each.spec.batch_size for each in result.left] == [50, 100]
    assert all(each.reason for each in result.parts)
    resumed = resume_plan(result.group, result.left, runner)
    assert resumed.wait(60)
    again = in_database(paths.database, load_suite, sure(session.group_id))
    assert len(again.group.runs) == 5, "only what has no result ran again"
    assert again.parts[2].run == result.parts[2].run
