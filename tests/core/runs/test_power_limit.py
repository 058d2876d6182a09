"""Waiting for a power limit that the user sets: what is waited for, and what is said."""

import threading
from collections.abc import Generator, Sequence
from dataclasses import replace

import pytest

from app.core.errors import UsageError
from app.core.messages import message
from app.core.paths import Paths
from app.core.plans.repeat import repeat_plan
from app.core.plans.study.axes import with_values
from app.core.records import PlannedRun
from app.core.runs.plan_session import PlanCallbacks, Wait, run_plan
from app.core.runs.power_limit import LimitWait, PowerLimits, power_limits_for
from app.core.runs.runner import Runner
from tests.sure import sure
from workloads import CATALOGUE
from workloads.protocol.machine import Gpu, Machine
from workloads.protocol.spec import RunSpec
from workloads.protocol.telemetry import GpuTelemetry, Telemetry

CARD = Gpu(
    "NVIDIA GeForce RTX 3090",
    "nvidia",
    power_limit_w=370.0,
    power_default_w=370.0,
    power_min_w=100.0,
    power_max_w=390.0,
)


class Script:
    """A card whose limit follows a script, one value a reading; None while it sleeps."""

    def __init__(self, *limits_w: float | None) -> None:
        self.left = list(limits_w)

    def readings(self, stop: threading.Event) -> Generator[Telemetry, None, None]:
        while not stop.is_set() and self.left:
            yield Telemetry(gpus=(GpuTelemetry(0, power_limit_w=self.left.pop(0)),))

    def power_limits(self, machine: Machine, gpu: int | None = 0) -> PowerLimits:
        return PowerLimits(
            machine, lambda _: gpu, self.readings, lambda _, index, limit_w: f"set {index} {limit_w:.0f}"
        )


@pytest.fixture
def with_card(machine: Machine) -> Machine:
    return replace(machine, gpus=(CARD,))


def spec_at(limit_w: int | None) -> RunSpec:
    spec = CATALOGUE["demo"].default_spec(epochs=1, parameters={"step_s": 0.001})
    return with_values(spec, {"gpu_power_limit_w": limit_w})


def waited(script: Script, machine: Machine, *wanted_w: int | None) -> tuple[PowerLimits, list[LimitWait]]:
    told: list[LimitWait] = []
    limits = script.power_limits(machine)
    for limit_w in wanted_w:
        limits.wait(spec_at(limit_w), threading.Event(), told.append)
    return limits, told


def test_it_waits_until_the_limit_is_in_force(with_card: Machine) -> None:
    limits, told = waited(Script(370.0, 370.0, 300.0, 231.0), with_card, 230)
    assert told == [LimitWait(230, now_w, "set 0 230") for now_w in (370.0, 370.0, 300.0)]
    assert limits.restore_command == "set 0 370"


def test_without_a_limit_or_a_gpu_nothing_is_read(with_card: Machine) -> None:
    script = Script(370.0)
    script.power_limits(with_card).wait(spec_at(None), threading.Event())
    script.power_limits(with_card, gpu=None).wait(spec_at(230), threading.Event())
    assert script.left == [370.0]


def test_at_the_default_nothing_has_to_be_restored(with_card: Machine) -> None:
    limits, told = waited(Script(368.0, 230.0, 370.0), with_card, 370, 230, 370)
    assert told == []
    assert limits.restore_command is None


def test_a_sleeping_card_is_waited_for(with_card: Machine) -> None:
    _, told = waited(Script(None, 230.0), with_card, 230)
    assert [wait.now_w for wait in told] == [None]
    assert told[0].text != LimitWait(230, 370.0, None).text


def test_a_card_that_is_lost_ends_the_plan_and_a_cancelled_wait_does_not_raise(with_card: Machine) -> None:
    with pytest.raises(UsageError) as error:
        waited(Script(370.0), with_card, 230)
    assert error.value.message == message("run.limit_not_read")
    stopped = threading.Event()
    stopped.set()
    Script(370.0).power_limits(with_card).wait(spec_at(230), stopped)


@pytest.mark.parametrize(
    ("gpus", "limit_w", "expected"),
    [
        ((), 230, message("run.no_power_limit")),
        ((Gpu("NVIDIA GeForce RTX 3090", "nvidia"),), 230, message("run.no_power_limit")),
        ((CARD,), 90, message("run.limit_out_of_range", gpu=CARD.name, least_w=100.0, most_w=390.0, limit_w=90)),
        ((CARD,), 391, message("run.limit_out_of_range", gpu=CARD.name, least_w=100.0, most_w=390.0, limit_w=391)),
    ],
)
def test_a_limit_that_no_card_takes_is_refused(
    paths: Paths, machine: Machine, gpus: Sequence[Gpu], limit_w: int, expected: object
) -> None:
    runner = Runner(paths, replace(machine, gpus=tuple(gpus)))
    with pytest.raises(UsageError) as error:
        runner.check(spec_at(limit_w))
    assert error.value.message == expected


def test_only_plans_with_a_limit_wait(paths: Paths, with_card: Machine) -> None:
    runner = Runner(paths, with_card)
    runner.check(spec_at(230))
    assert power_limits_for(repeat_plan(spec_at(None), 2), runner) is None
    assert power_limits_for(repeat_plan(spec_at(230), 2), runner) is not None


@pytest.mark.slow
def test_a_plan_says_what_to_run_and_how_to_go_back(paths: Paths, with_card: Machine) -> None:
    told: list[tuple[int, str | None]] = []

    def listen(planned: PlannedRun, wait: Wait) -> None:
        told.append((planned.number, wait.command))

    script = Script(370.0, 230.0, 230.0)
    callbacks = PlanCallbacks(on_waiting=listen)
    runner = Runner(paths, with_card)
    limits = script.power_limits(with_card)
    session = run_plan(repeat_plan(spec_at(230), 2), runner, callbacks, power_limits=limits)
    assert session.wait(60)
    assert (session.status, told) == ("completed", [(1, "set 0 230")])
    assert sure(session.restore_command) == "set 0 370"
