"""Waiting until a device has cooled down: what is waited for, for how long, and what is kept of it."""

import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.messages import sentence
from app.core.paths import Paths
from app.core.records import Plan, PlannedRun
from app.core.runs import plan_session
from app.core.runs.cool_down import (
    LIMIT_S,
    MARGIN_C,
    CoolDown,
    CooledStart,
    Cooling,
    cool_down_for,
    telemetry_until,
)
from app.core.runs.plan_session import PlanCallbacks, Wait, resume_plan, run_plan
from app.core.runs.runner import Runner
from app.core.storage.database import Database
from app.core.storage.groups import load_group
from app.core.storage.runs import load_run
from tests.benchmarks.cooling import FOLDER, pauses, read
from tests.sure import sure
from workloads import CATALOGUE, STANDARD
from workloads.protocol.machine import Machine
from workloads.protocol.spec import RunSpec
from workloads.protocol.telemetry import GpuTelemetry, Telemetry

SPEC = RunSpec(workload="demo")
EVERY_S = 10.0


class Device:
    """A thermometer and a clock: each read takes ten seconds and gives the next temperature."""

    def __init__(self, *temperatures_c: float | None, gpu: int | None = None) -> None:
        self.left = list(temperatures_c)
        self.gpu = gpu
        self.now_s = 0.0
        self.opened = self.closed = 0

    def readings(self, stop: threading.Event) -> Generator[Telemetry, None, None]:
        self.opened += 1
        try:
            while not stop.is_set() and self.left:
                self.now_s += EVERY_S
                yield self.telemetry(self.left.pop(0))
        finally:
            self.closed += 1

    def telemetry(self, temperature_c: float | None) -> Telemetry:
        if self.gpu is None:
            return Telemetry(cpu_temperature_c=temperature_c)
        gpus = (GpuTelemetry(0, temperature_c=20.0), GpuTelemetry(1, temperature_c=temperature_c))
        return Telemetry(cpu_temperature_c=20.0, gpus=gpus)

    def cool_down(self) -> CoolDown:
        return CoolDown(lambda _: self.gpu, self.readings, lambda: self.now_s)


@pytest.mark.parametrize("gpu", [None, 1])
def test_a_run_starts_when_its_device_is_as_cool_as_before_the_first(gpu: int | None) -> None:
    device, told = Device(50.0, 71.0, 60.0, 53.0, 53.1, 52.9, 40.0, gpu=gpu), list[Cooling]()
    cool_down, stop = device.cool_down(), threading.Event()
    assert cool_down.wait(SPEC, stop, told.append) == CooledStart(0.0, 50.0)
    assert told == []
    assert cool_down.wait(SPEC, stop, told.append) == CooledStart(2 * EVERY_S, 53.0)
    assert told == [Cooling(71.0, 53.0), Cooling(60.0, 53.0)]
    assert told[0].text == sentence("run.cooling_down", now_c=71, goal_c=53)
    assert cool_down.wait(SPEC, stop) == CooledStart(EVERY_S, 52.9)
    assert cool_down.wait(SPEC, stop) == CooledStart(0.0, 40.0)
    assert device.opened == device.closed == 4


def test_after_three_minutes_a_run_starts_anyway() -> None:
    device = Device(50.0, *[80.0] * 100)
    cool_down = device.cool_down()
    cool_down.wait(SPEC, threading.Event())
    assert cool_down.wait(SPEC, threading.Event()) == CooledStart(LIMIT_S, 80.0)
    assert len(device.left) == 100 - LIMIT_S / EVERY_S - 1


def test_without_a_temperature_nothing_is_waited_for() -> None:
    unknown = Device(None, 90.0)
    cool_down = unknown.cool_down()
    assert cool_down.wait(SPEC, threading.Event()) is None
    assert cool_down.wait(SPEC, threading.Event()) is None
    assert unknown.opened == 1, "it stays unknown"
    lost = Device(50.0, None, 90.0)
    cool_down = lost.cool_down()
    assert cool_down.wait(SPEC, threading.Event()) == CooledStart(0.0, 50.0)
    assert cool_down.wait(SPEC, threading.Event()) is None
    hanging = Device()
    assert hanging.cool_down().wait(SPEC, threading.Event()) is None


def test_each_run_waits_for_its_own_device() -> None:
    """A hot GPU doesn't hold up a run on the CPU, and the other way round."""
    hot, cold = (GpuTelemetry(0, temperature_c=value) for value in (80.0, 50.0))
    looks = [
        Telemetry(cpu_temperature_c=40.0, gpus=(cold,)),
        Telemetry(cpu_temperature_c=41.0, gpus=(hot,)),
        Telemetry(cpu_temperature_c=90.0, gpus=(cold,)),
    ]

    def readings(_: threading.Event) -> Generator[Telemetry, None, None]:
        yield looks.pop(0)

    gpus = iter((0, None, 0))
    cool_down = CoolDown(lambda _: next(gpus), readings, lambda: 0.0)
    starts = [sure(cool_down.wait(SPEC, threading.Event())).temperature_c for _ in range(3)]
    assert starts == [50.0, 41.0, 50.0]


@given(st.lists(st.floats(20, 100), min_size=1, max_size=40))
def test_no_run_waits_longer_or_starts_hotter_than_allowed(temperatures_c: list[float]) -> None:
    device = Device(*temperatures_c)
    cool_down = device.cool_down()
    while device.left:
        start = cool_down.wait(SPEC, threading.Event())
        if start is not None:
            assert start.waited_s <= LIMIT_S
            assert start.waited_s == LIMIT_S or start.temperature_c <= temperatures_c[0] + MARGIN_C


def test_telemetry_of_this_computer_arrives_until_it_is_stopped() -> None:
    stop = threading.Event()
    readings = telemetry_until(stop)
    next(readings)
    stop.set()
    assert list(readings) == []


def plan(spec: RunSpec, rounds: int = 2) -> Plan:
    return Plan(kind="repeat", specs=(spec,), rounds=rounds)


def test_quick_runs_single_runs_and_the_demo_never_wait(paths: Paths, machine: Machine) -> None:
    runner, workload = Runner(paths, machine), CATALOGUE[STANDARD]
    assert cool_down_for(plan(workload.default_spec("standard")), runner) is not None
    assert cool_down_for(plan(workload.default_spec("quick")), runner) is None
    assert cool_down_for(plan(workload.default_spec("standard"), 1), runner) is None
    assert cool_down_for(plan(CATALOGUE["demo"].default_spec("standard")), runner) is None


def demo() -> RunSpec:
    return CATALOGUE["demo"].default_spec(epochs=2, parameters={"step_s": 0.001})


@pytest.mark.slow
def test_a_plan_waits_between_its_runs_and_keeps_how_long(paths: Paths, machine: Machine) -> None:
    device, told = Device(50.0, 71.0, 52.0), list[tuple[int, Wait]]()

    def listen(planned: PlannedRun, waiting: Wait) -> None:
        told.append((planned.number, waiting))

    callbacks = PlanCallbacks(on_waiting=listen)
    session = run_plan(plan(demo()), Runner(paths, machine), callbacks, device.cool_down())
    assert session.wait(60)
    assert told == [(2, Cooling(71.0, 53.0))]
    with Database(paths.database) as database:
        group = load_group(database, sure(session.group_id))
        kept = [load_run(database, run.id).metrics for run in group.runs]
    assert [(each["cooled_s"], each["start_temperature_c"]) for each in kept] == [(0.0, 50.0), (EVERY_S, 52.0)]
    again = resume_plan(group, plan(demo()).runs()[:1], Runner(paths, machine), None, Device(45.0).cool_down())
    assert again.wait(60)
    with Database(paths.database) as database:
        assert load_run(database, again.run_id).metrics["start_temperature_c"] == 45.0


@pytest.mark.slow
def test_the_computer_stays_awake_during_a_wait(
    paths: Paths, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    awake = list[bool]()

    @contextmanager
    def stay_awake() -> Iterator[None]:
        awake.append(True)
        yield
        awake.append(False)

    def readings(_: threading.Event) -> Generator[Telemetry, None, None]:
        assert awake[-1:] == [True]
        yield Telemetry(cpu_temperature_c=50.0)

    monkeypatch.setattr(plan_session, "stay_awake", stay_awake)
    cool_down = CoolDown(lambda _: None, readings, lambda: 0.0)
    session = run_plan(plan(demo()), Runner(paths, machine), None, cool_down)
    assert session.wait(60)
    assert (session.status, awake) == ("completed", [True, False] * 2)


@pytest.mark.slow
@pytest.mark.parametrize("end", ["cancel", "kill"])
def test_a_wait_can_be_cancelled(paths: Paths, machine: Machine, end: str) -> None:
    waits, begun = threading.Event(), list[int]()

    def readings(stop: threading.Event) -> Generator[Telemetry, None, None]:
        yield Telemetry(cpu_temperature_c=50.0 if not begun else 90.0)
        assert stop.wait(60)

    def wait(*_: object) -> None:
        waits.set()

    callbacks = PlanCallbacks(on_run_started=lambda planned, run_id: begun.append(run_id), on_waiting=wait)
    cool_down = CoolDown(lambda _: None, readings, lambda: 0.0)
    session = run_plan(plan(demo()), Runner(paths, machine), callbacks, cool_down)
    assert waits.wait(60)
    act: Callable[[], Any] = getattr(session, end)
    act()
    assert session.wait(60)
    assert (session.status, len(begun)) == ("cancelled", 1)


def test_recorded_devices_cool_down_in_time_or_reach_the_limit() -> None:
    waits = {
        path.stem: [(sure(pause.start).waited_s, sure(pause.start).temperature_c) for pause in pauses(read(path))]
        for path in sorted(FOLDER.glob("*.csv"))
    }
    card = [(0.0, 31.0), (5.0, 31.0), (5.0, 31.0), (5.0, 31.0), (75.0, 31.0), (86.0, 31.0), (80.0, 31.0)]
    assert waits == {"cm5": [(181.0, 48.0)], "plato": card}
