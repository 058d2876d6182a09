"""One computer, one verdict: the same steps are judged alike with every preset."""

import math
import random
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from app.core.analysis.headline import half_interval_pct
from app.core.analysis.shared_host import BETWEEN_RUNS_HALF_PCT
from app.core.records import Run
from app.core.storage.database import Database
from app.core.storage.recording import RunWriter, begin_run
from app.core.storage.runs import load_run
from app.core.verdict.rules import judge
from tests.build import quiet_run, telemetry_of
from tests.core.verdict import changes
from tests.ordinary import KINDS
from tests.replay import MACHINE
from tests.sure import sure
from tests.tools.ordinary import epochs_codes, quick_codes
from workloads import CATALOGUE, STANDARD
from workloads.protocol import events
from workloads.protocol.spec import Preset

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


def measured(preset: Preset, epochs: int, device: str) -> list[events.Event]:
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


@pytest.mark.parametrize("has_interval", [True, False])
@pytest.mark.parametrize("is_guest", [True, False])
def test_what_a_workload_reports_itself_is_judged_alike_too(
    database: Database, is_guest: bool, has_interval: bool
) -> None:
    workload = CATALOGUE["matmul"]
    machine = replace(MACHINE, **(GUEST if is_guest else OWN))
    run_id = begin_run(database, workload.default_spec(device="cpu"), workload, machine)
    writer = RunWriter(database, run_id)
    reported = {"flop_per_s": 1e11} | (
        {"flop_per_s_low": 0.999e11, "flop_per_s_high": 1.001e11} if has_interval else {}
    )
    told: list[events.Event] = [
        events.Environment(engine="tensorflow", device="cpu", precision="float32", jit=False),
        events.Steps(t_s=60.0, phase="measure", epoch=0, first_index=0, durations_s=(0.1,) * STEPS),
        *(events.Metric(t_s=60.0, key=key, value=value) for key, value in reported.items()),
        *(events.TelemetryEvent(t_s=float(second), telemetry=telemetry_of({})) for second in range(1, 60)),
    ]
    for seq, event in enumerate(told):
        writer.add(msgspec.structs.replace(event, seq=seq))
    writer.finish("completed", None)
    run = load_run(database, run_id)
    assert run.summary.value == 1e11
    assert (run.summary.value_low is None) == (not has_interval)
    codes = [reason.code for reason in judge(run).reasons if reason.level != "fact"]
    assert codes == (["shared_host"] if is_guest else [])


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
    run_id = begin_run(database, spec, workload, replace(MACHINE, **described))
    writer = RunWriter(database, run_id)
    for seq, event in enumerate(measured(preset, epochs, device)):
        writer.add(msgspec.structs.replace(event, seq=seq))
    writer.finish("completed", None)
    run = load_run(database, run_id)
    verdict = judge(run)
    codes = [reason.code for reason in verdict.reasons if reason.level != "fact"]
    assert (verdict.level, codes) == (("caution", ["shared_host"]) if is_shared else ("valid", []))
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
    codes = [quick_codes(kind, random.Random(f"{kind} {number}")) for kind in kinds for number in range(10)]
    assert sum(not each for each in codes) >= share * len(codes), codes
    assert {code for each in codes for code in each} <= {"interval_wide"}


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epochs", [3, 10])
def test_whole_epochs_are_valid_on_ordinary_computers(kind: str, epochs: int) -> None:
    codes = [epochs_codes(epochs)(kind, random.Random(number)) for number in range(3)]
    assert codes == [[]] * 3


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
    run = replace(changes.summarised(**summary)(quiet_run(stored_run, 0)), steps=steps, epochs=())
    assert ("interval_wide" in {reason.code for reason in judge(run).reasons}) == is_wide
