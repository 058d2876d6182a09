"""Verdicts on whole runs: quiet ones, real and simulated disturbances, and the same steps with each preset."""

import math
import multiprocessing
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from app.core.analysis.headline import half_interval_pct
from app.core.analysis.shared_host import BETWEEN_RUNS_HALF_PCT
from app.core.paths import Paths
from app.core.records import Run
from app.core.runs.runner import Runner
from app.core.storage.database import Database
from app.core.storage.recording import RunWriter, begin_run
from app.core.storage.runs import load_run
from app.core.verdict.rules import judge
from tests.build import in_database, measured, quiet_run, slower, telemetry_of, with_telemetry
from tests.core.runs.running import start_run
from tests.core.verdict.changes import DISTURBED, codes, quick, summarised
from tests.ordinary import KINDS
from tests.replay import MACHINE
from tests.sure import sure
from tests.tools.ordinary import epochs_codes, quick_codes
from workloads import CATALOGUE, STANDARD
from workloads.protocol import events
from workloads.protocol.machine import Machine
from workloads.protocol.spec import Preset, RunSpec

pytestmark = pytest.mark.long

DEMO = CATALOGUE["demo"]
FREEZE_S = 5.0


@pytest.fixture
def hogs() -> Iterator[list[multiprocessing.Process]]:
    """Busy processes, as many as there are processors; they begin when the test starts them."""
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=spin, daemon=True) for _ in range(os.cpu_count() or 1)]
    yield processes  # type: ignore[misc] # a spawned process is one too
    for process in processes:
        if process.pid is not None:
            process.kill()
            process.join()


def spin() -> None:
    while True:
        pass


def run_demo(paths: Paths, machine: Machine, listen: "Listener", **asked: Any) -> Run:
    spec = DEMO.default_spec(parameters={"step_s": 0.05}, **asked)
    session = start_run(Runner(paths, machine), spec, listen)
    assert session.wait(90)
    return in_database(paths.database, load_run, session.run_id)


class Listener:
    """Does something once, in a thread of its own, after a number of epochs."""

    def __init__(self, after_epochs: int) -> None:
        self.pid = 0
        self._left = after_epochs

    def __call__(self, event: events.Event) -> None:
        if isinstance(event, events.Hello):
            self.pid = event.pid
        if isinstance(event, events.Epoch):
            self._left -= 1
            if self._left == 0:
                threading.Thread(target=self.disturb).start()

    def disturb(self) -> None:
        raise NotImplementedError


def stored_codes(run: Run) -> set[str]:
    return set((run.summary.reasons or "").split())


def test_another_program_that_starts_during_a_run_is_flagged(
    paths: Paths, machine: Machine, hogs: list[multiprocessing.Process]
) -> None:
    class Hogs(Listener):
        def disturb(self) -> None:
            for process in hogs:
                process.start()

    run = run_demo(paths, machine, Hogs(2), epochs=12)
    assert "other_load" in stored_codes(run)
    busy = [sample.telemetry.other_cpu_pct for sample in run.telemetry]
    assert max(share for share in busy if share is not None) > 30


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot stop a process by a signal")
def test_a_worker_that_stands_still_is_marked_and_counted(paths: Paths, machine: Machine) -> None:
    class Freeze(Listener):
        def disturb(self) -> None:
            time.sleep(0.4)  # between two epochs nothing is timed: into the middle of one
            os.kill(self.pid, signal.SIGSTOP)
            time.sleep(FREEZE_S)
            os.kill(self.pid, signal.SIGCONT)

    run = run_demo(paths, machine, Freeze(2), epochs=6, batch_size=40)
    assert "interruptions" in stored_codes(run)
    assert sure(run.summary.interruptions) >= 1
    assert sure(run.summary.interruptions_s) > FREEZE_S - 1
    # It is in one epoch of five: the mean shows it, the median does not.
    assert run.summary.value == pytest.approx(25 * 0.05 + 0.05, rel=0.5)
    assert sure(run.summary.value_mean) > sure(run.summary.value) + 0.25


SEEDS = range(10)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_quiet_run_is_valid_without_a_caution(stored_run: Run, seed: int) -> None:
    for run in (quiet_run(stored_run, seed), quick(quiet_run(stored_run, seed))):
        judged = judge(run)
        assert (judged.level, codes(run)) == ("valid", [])
        assert {reason.level for reason in judged.reasons} == {"fact"}


@pytest.mark.parametrize("code", DISTURBED)
@pytest.mark.parametrize("seed", SEEDS)
def test_each_disturbance_is_flagged_in_every_run(stored_run: Run, seed: int, code: str) -> None:
    for run in (quiet_run(stored_run, seed), quick(quiet_run(stored_run, seed))):
        found = set(codes(DISTURBED[code](run)))
        assert found - {"drift", "interval_wide"} == {code}
        assert ("drift" in found) == (code == "clock_falling")


def test_what_happened_before_or_after_the_measurement_does_not_count(stored_run: Run) -> None:
    run = quiet_run(stored_run, 0)
    inside = measured(run)
    outside = [at for at in range(len(run.telemetry)) if at < inside[0] or at > inside[-1] + 1]
    assert outside
    loud: dict[str, Any] = {"suspended_s": 99.0, "on_battery": True, "throttle_count": 9, "steal_pct": 100.0}
    assert codes(with_telemetry(run, outside, **loud)) == []


def test_warming_up_is_not_drift(stored_run: Run) -> None:
    # One epoch of three, or what the estimate left out, is slower.
    run = slower(slower(quiet_run(stored_run, 0), 0, 1.1), 100, 1 / 1.1)
    assert codes(run) == []
    assert codes(summarised(warmup_steps=500)(quick(run))) == []
    assert codes(summarised(warmup_steps=5)(quick(run))) == ["drift"]


def test_a_clock_that_settles_does_not_fall(stored_run: Run) -> None:
    run = quiet_run(stored_run, 0)
    at = measured(run)[:16]
    cold = with_telemetry(run, at[:5], cpu_clock_mhz=4900.0)
    assert codes(replace(cold, telemetry=tuple(cold.telemetry[each] for each in at))) == []
    cold = with_telemetry(cold, at[5:10], cpu_clock_mhz=4900.0)
    assert codes(replace(cold, telemetry=tuple(cold.telemetry[each] for each in at))) == ["clock_falling"]


STEPS, STEP_S = 600, 0.1
GUEST = {"virtual_machine": True, "virtualization": "kvm"}
OWN: dict[str, Any] = {}
# Device, what it is called, how busy it is, the computer, and whether others change its speed.
DEVICES = {
    "own CPU": ("cpu", None, None, OWN, False),
    "guest's CPU": ("cpu", None, None, GUEST, True),
    "own GPU": ("gpu:0", "NVIDIA GeForce RTX 4090", 30.0, OWN, False),
    "guest's GPU, full": ("gpu:0", "NVIDIA A10G", 95.0, GUEST, False),
    "guest's GPU, waiting": ("gpu:0", "NVIDIA A10G", 30.0, GUEST, True),
    "slice": ("gpu:0", "NVIDIA A100-SXM4-40GB MIG 1g.5gb", 95.0, OWN, True),
}


def events_of(preset: Preset, epochs: int, device: str) -> list[events.Event]:
    """Return the events of a run of these epochs, whose steps differ by a thousandth."""
    chance, now_s, epoch_steps = random.Random(0), 2.0, STEPS // epochs
    name, device_name, busy_pct, _, _ = DEVICES[device]
    told: list[events.Event] = [
        events.Environment(
            engine="tensorflow", device=name, device_name=device_name, precision="float32", jit=False
        )
    ]
    for epoch in range(epochs):
        begin_s = now_s
        for first in range(0, epoch_steps, 5):
            steps_s = tuple(STEP_S * chance.gauss(1, 0.001) for _ in range(5))
            now_s += math.fsum(steps_s)
            told.append(
                events.Steps(t_s=now_s, phase="measure", epoch=epoch, first_index=first, durations_s=steps_s)
            )
        if preset != "quick":
            spent_s = now_s - begin_s
            told.append(events.Epoch(t_s=now_s, index=epoch, duration_s=spent_s, train_s=spent_s, loss=1.5))
    count = float(STEPS)
    reported = {"updates_done": count, "updates_asked": count, "weights_changed": 0.2, "epoch_rest_s": 0.0}
    told += [events.Metric(t_s=now_s, key=key, value=value) for key, value in reported.items()]
    gpu = {"gpus": [{"index": 0, "utilization_pct": busy_pct}]} if busy_pct is not None else {}
    told += [
        events.TelemetryEvent(t_s=float(second), telemetry=telemetry_of(gpu)) for second in range(3, int(now_s))
    ]
    return told


def stored(database: Database, spec: RunSpec, machine: Machine, told: list[events.Event]) -> Run:
    run_id = begin_run(database, spec, CATALOGUE[spec.workload], machine)
    writer = RunWriter(database, run_id)
    for seq, event in enumerate(told):
        writer.add(msgspec.structs.replace(event, seq=seq))
    writer.finish("completed", None)
    return load_run(database, run_id)


@pytest.mark.parametrize("has_interval", [True, False])
@pytest.mark.parametrize("is_guest", [True, False])
def test_what_a_workload_reports_itself_is_judged_alike_too(
    database: Database, is_guest: bool, has_interval: bool
) -> None:
    machine = replace(MACHINE, **(GUEST if is_guest else OWN))
    reported = {"flop_per_s": 1e11} | (
        {"flop_per_s_low": 0.999e11, "flop_per_s_high": 1.001e11} if has_interval else {}
    )
    told: list[events.Event] = [
        events.Environment(engine="tensorflow", device="cpu", precision="float32", jit=False),
        events.Steps(t_s=60.0, phase="measure", epoch=0, first_index=0, durations_s=(0.1,) * STEPS),
        *(events.Metric(t_s=60.0, key=key, value=value) for key, value in reported.items()),
        *(events.TelemetryEvent(t_s=float(second), telemetry=telemetry_of({})) for second in range(1, 60)),
    ]
    run = stored(database, CATALOGUE["matmul"].default_spec(device="cpu"), machine, told)
    assert run.summary.value == 1e11
    assert (run.summary.value_low is None) == (not has_interval)
    assert codes(run) == (["shared_host"] if is_guest else [])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("preset", "epochs"),
    [("quick", 1), ("standard", 10), ("standard", 3), ("standard", 2), ("sustained", 1), ("sustained", 10)],
)
def test_the_same_steps_are_judged_alike(database: Database, preset: Preset, epochs: int, device: str) -> None:
    _, _, _, described, is_shared = DEVICES[device]
    workload = CATALOGUE[STANDARD]
    spec = workload.default_spec(
        preset,
        device="cpu" if device.endswith("CPU") else "gpu:0",
        data="real",
        epochs=epochs,
        batch_size=math.ceil(workload.samples_per_epoch / (STEPS // epochs)),
    )
    run = stored(database, spec, replace(MACHINE, **described), events_of(preset, epochs, device))
    verdict = judge(run)
    assert (verdict.level, codes(run)) == (("caution", ["shared_host"]) if is_shared else ("valid", []))
    ends = run.summary.value_low, run.summary.value_high
    half_pct = half_interval_pct(run.summary.metric, run.summary.value, *ends)
    if is_shared:
        (reason,) = (reason for reason in verdict.reasons if reason.code == "shared_host")
        assert sure(reason.said).arguments["half_pct"] == pytest.approx(BETWEEN_RUNS_HALF_PCT, rel=0.05)
    elif half_pct is not None:
        assert half_pct < 1


@pytest.mark.long
@pytest.mark.parametrize(
    ("kinds", "share"),
    # A laptop's clock wanders within its whole minute: the interval says so, and is sometimes too wide.
    [(("desktop", "workstation"), 0.9), (("laptop", "small laptop"), 0.7)],
)
def test_quick_is_valid_on_ordinary_computers(kinds: tuple[str, ...], share: float) -> None:
    found = [quick_codes(kind, random.Random(f"{kind} {number}")) for kind in kinds for number in range(10)]
    assert sum(not each for each in found) >= share * len(found), found
    assert {code for each in found for code in each} <= {"interval_wide"}


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epochs", [3, 10])
def test_whole_epochs_are_valid_on_ordinary_computers(kind: str, epochs: int) -> None:
    assert [epochs_codes(epochs)(kind, random.Random(number)) for number in range(3)] == [[]] * 3


@pytest.mark.parametrize(
    ("half_pct", "epochs", "is_wide"), [(2.0, 2, False), (2.0, 8, False), (6.0, 2, True), (6.0, 8, True)]
)
def test_the_same_precision_is_valid_with_any_preset(
    stored_run: Run, half_pct: float, epochs: int, is_wide: bool
) -> None:
    """With few epochs, by the interval of their steps."""
    noise = half_pct / 100 * 20 / 1.96
    chance = random.Random(1)
    steps = tuple(
        events.Steps(
            t_s=60.0 * epoch,
            phase="measure",
            epoch=epoch,
            first_index=0,
            durations_s=tuple(0.1 * chance.gauss(1, noise / epochs**0.5) for _ in range(400)),
        )
        for epoch in range(epochs)
    )
    summary = {"value": 40.0, "value_low": None, "value_high": None, "confidence_pct": None}
    if epochs == 8:
        ends = {"value_low": 40 * (1 - half_pct / 100), "value_high": 40 * (1 + half_pct / 100)}
        summary |= ends | {"confidence_pct": 95.0}
    run = replace(summarised(**summary)(quiet_run(stored_run, 0)), steps=steps, epochs=())
    assert ("interval_wide" in {reason.code for reason in judge(run).reasons}) == is_wide
