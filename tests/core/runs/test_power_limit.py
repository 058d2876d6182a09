"""Waiting for a power limit that the user sets: what is waited for, and what is said."""

import threading
from collections.abc import Generator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from app.core.errors import UsageError
from app.core.hardware.device_limit import limit_command
from app.core.hardware.powercap import CpuLimits
from app.core.messages import message
from app.core.paths import Paths
from app.core.plans.repeat import repeat_plan
from app.core.plans.study.axes import with_values
from app.core.records import PlannedRun
from app.core.runs.plan_session import PlanCallbacks, Wait, run_plan
from app.core.runs.power_limit import LimitWait, PowerLimits, power_limits_for
from app.core.runs.runner import Runner
from tests.build import plan_preset
from tests.core.hardware.made_up import write
from tests.core.hardware.packages import package, run_command
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
ACCEPTED: dict[str, str | float] = {"device": CARD.name, "least_w": 100.0, "most_w": 390.0}


class Script:
    """A card whose limit follows a script, one value a reading; None while it sleeps."""

    def __init__(self, *limits_w: float | None) -> None:
        self.left = list(limits_w)

    def readings(self, stop: threading.Event) -> Generator[Telemetry, None, None]:
        while not stop.is_set() and self.left:
            yield Telemetry(gpus=(GpuTelemetry(0, power_limit_w=self.left.pop(0)),))

    def power_limits(self, machine: Machine, gpu: int | None = 0) -> PowerLimits:
        return PowerLimits(
            machine, lambda _: gpu, self.readings, lambda _, index, limit_w: f"set {index} {limit_w}"
        )


@pytest.fixture
def with_card(machine: Machine) -> Machine:
    return replace(machine, gpus=(CARD,))


def spec_at(limit_w: int | None) -> RunSpec:
    spec = CATALOGUE["demo"].default_spec(epochs=1, parameters={"step_s": 0.001})
    return with_values(spec, {"power_limit_w": limit_w})


def planned_at(limit_w: int | None) -> PlannedRun:
    return repeat_plan(spec_at(limit_w)).runs()[0]


def waited(script: Script, machine: Machine, *wanted_w: int | None) -> tuple[PowerLimits, list[LimitWait]]:
    told: list[LimitWait] = []
    limits = script.power_limits(machine)
    for limit_w in wanted_w:
        limits.wait(planned_at(limit_w), threading.Event(), told.append)
    return limits, told


@pytest.mark.parametrize(
    ("readings_w", "wanted_w", "waits_w", "restores"),
    [
        ((370.0, 370.0, 300.0, 231.0), (230,), [(230, 370.0), (230, 370.0), (230, 300.0)], True),
        # Without a limit it waits for the one found first, or the other side of an A/B would have another.
        ((300.0, 300.0, 230.0, 230.0, 300.0), (None, 230, None), [(230, 300.0), (300.0, 230.0)], True),
        ((None,), (None,), [], False),  # asleep
        ((368.0, 230.0, 370.0), (370, 230, 370), [], False),  # at its default
    ],
)
def test_it_waits_until_the_limit_is_in_force(
    with_card: Machine,
    readings_w: tuple[float | None, ...],
    wanted_w: tuple[int | None, ...],
    waits_w: list[tuple[float, float]],
    restores: bool,
) -> None:
    limits, told = waited(Script(*readings_w), with_card, *wanted_w)
    assert told == [LimitWait(limit_w, now_w, f"set 0 {limit_w}") for limit_w, now_w in waits_w]
    assert limits.restore_command == ("set 0 None" if restores else None)


class Cpu:
    """A CPU whose user runs each command that is shown; the kernel rounds down to an eighth of a watt."""

    def __init__(self, root: Path, *limits_uw: int) -> None:
        for number, limit_uw in enumerate(limits_uw):
            write(root, package(number, limit_uw))
        self.root, self.limits, self.told = root, CpuLimits(root), list[Wait]()
        self.command_of = partial(limit_command, root=root)
        self.drifts_to_uw: int | None = None

    def readings(self, stop: threading.Event) -> Generator[Telemetry, None, None]:
        if self.drifts_to_uw is not None:
            write(self.root, package(0, self.drifts_to_uw))
        while not stop.is_set():
            yield Telemetry(cpu_power_limit_w=self.limits.read_w())

    def on_waiting(self, _: PlannedRun, wait: Wait) -> None:
        self.told.append(wait)
        run_command(wait.command or "", step_uw=125_000)

    def machine(self, machine: Machine) -> Machine:
        return replace(machine, cpu_power_limit_w=self.limits.read_w(), cpu_power_rated_w=self.limits.rated_w())

    def power_limits(self, machine: Machine) -> PowerLimits:
        return PowerLimits(machine, lambda _: None, self.readings, self.command_of)


@pytest.mark.slow
def test_a_study_of_a_cpu_sets_all_packages_and_ends_with_the_way_back(
    paths: Paths, machine: Machine, tmp_path: Path
) -> None:
    cpu = Cpu(tmp_path, 45_250_000, 65_000_000)
    runner = Runner(paths, cpu.machine(machine))
    plan = plan_preset("power", runner, workloads=["demo"], preset="standard", choice={"epochs": 1})
    limits_w = [spec.settings["power_limit_w"] for spec in plan.specs]
    assert (limits_w, {spec.device for spec in plan.specs}) == ([110, 100, 90, 75, 65, 55], {"cpu"})
    limits = cpu.power_limits(runner.machine)
    session = run_plan(plan, runner, PlanCallbacks(on_waiting=cpu.on_waiting), conditions=[limits])
    assert session.wait(120)
    assert session.status == "completed"
    assert [wait.command for wait in cpu.told] == [cpu.command_of(machine, None, float(w)) for w in limits_w[1:]]
    assert cpu.limits.read_w() == 55.0
    run_command(sure(session.restore_command))
    assert list(cpu.limits.read_uw().values()) == [45_250_000, 65_000_000]


def test_a_cpu_takes_limits_up_to_its_own(paths: Paths, machine: Machine) -> None:
    cpu = replace(machine, cpu_name="Intel Core i7", cpu_power_limit_w=28.0, cpu_power_rated_w=15.0)
    runner = Runner(paths, cpu)
    runner.check(spec_at(28))
    with pytest.raises(UsageError) as error:
        runner.check(spec_at(29))
    about = {"device": "Intel Core i7", "least_w": 1.0, "most_w": 28.0, "limit_w": 29}
    assert error.value.message == message("run.limit_out_of_range", **about)


def test_a_card_that_is_lost_ends_the_plan_and_a_cancelled_wait_does_not_raise(with_card: Machine) -> None:
    unread = Script(370.0)
    unread.power_limits(with_card, gpu=None).wait(planned_at(230), threading.Event())
    assert unread.left == [370.0], "a device without limits isn't read"
    with pytest.raises(UsageError) as error:
        waited(Script(370.0), with_card, 230)
    assert error.value.message == message("run.limit_not_read")
    stopped = threading.Event()
    stopped.set()
    Script(370.0).power_limits(with_card).wait(planned_at(230), stopped)


@pytest.mark.parametrize(
    ("gpus", "limit_w", "expected"),
    [
        ((), 230, message("run.no_power_limit")),
        ((Gpu("NVIDIA GeForce RTX 3090", "nvidia"),), 230, message("run.no_power_limit")),
        ((CARD,), 90, message("run.limit_out_of_range", **ACCEPTED, limit_w=90)),
        ((CARD,), 391, message("run.limit_out_of_range", **ACCEPTED, limit_w=391)),
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
    session = run_plan(repeat_plan(spec_at(230), 2), runner, callbacks, conditions=[limits])
    assert session.wait(60)
    assert (session.status, told) == ("completed", [(1, "set 0 230")])
    assert sure(session.restore_command) == "set 0 None"
