"""Records of runs that never happened: what a quiet computer would have measured, and what disturbs it."""

import random
from dataclasses import replace
from typing import Any

import msgspec

from app.core.records import Run
from tests.telemetry import telemetry_of
from workloads.protocol import events

EPOCHS, STEPS, STEP_S = 3, 500, 0.04
PLAN = "powersave (intel_pstate), preference balance_performance, profile balanced"


def quiet_run(run: Run, seed: int, **changes: Any) -> Run:
    chance = random.Random(seed)
    blocks, epochs, now_s = [], [], 12.0
    for epoch in range(EPOCHS):
        durations_s = tuple(
            STEP_S * chance.gauss(1, 0.01) + (0.8 if epoch + step == 0 else 0) for step in range(STEPS)
        )
        for first in range(0, STEPS, 5):
            part = durations_s[first : first + 5]
            now_s += sum(part)
            blocks.append(
                events.Steps(t_s=now_s, phase="measure", epoch=epoch, first_index=first, durations_s=part)
            )
        now_s += 0.9
        epochs.append(
            events.Epoch(
                t_s=now_s,
                index=epoch,
                duration_s=sum(durations_s) + 0.9,
                train_s=sum(durations_s),
                loss=2 - epoch / 9,
            )
        )
    samples = tuple(
        events.TelemetryEvent(t_s=float(second), telemetry=telemetry_of(quiet_look(chance)))
        for second in range(1, int(now_s) + 2)
    )
    later_s = [epoch.duration_s for epoch in epochs[1:]]
    summary = {
        "value": sum(later_s) / 2,
        "seconds_per_epoch_s": sum(later_s) / 2,
        "first_epoch_s": epochs[0].duration_s,
        "minimum_s": min(later_s),
        "maximum_s": max(later_s),
        "epochs": EPOCHS,
        "epochs_done": EPOCHS,
        "interruptions": 0,
        "interruptions_s": 0.0,
    }
    return replace(
        run,
        summary=replace(run.summary, **(summary | changes)),
        machine=replace(run.machine, virtual_machine=False),
        steps=tuple(blocks),
        epochs=tuple(epochs),
        telemetry=samples,
        metrics={"updates_done": 1500.0, "updates_asked": 1500.0, "weights_changed": 0.2},
    )


def quiet_look(chance: random.Random) -> dict[str, Any]:
    return {
        "cpu_pct": chance.uniform(90, 100),
        "cpu_clock_mhz": chance.gauss(3900, 40),
        "memory_used_bytes": 4_000_000_000,
        "swap_used_bytes": 10_000_000,
        "steal_pct": chance.uniform(0, 3),
        "other_cpu_pct": chance.uniform(0, 5),
        "swap_bytes_per_s": chance.choice([0.0, 0.0, 0.0, 40_000.0]),
        "throttle_count": 0,
        "on_battery": False,
        "power_plan": PLAN,
        "clock_step_s": 0.0,
        "suspended_s": 0.0,
        "gpus": (),
    }


def measured(run: Run) -> list[int]:
    begin_s = run.steps[0].t_s - sum(run.steps[0].durations_s)
    return [at for at, sample in enumerate(run.telemetry) if begin_s < sample.t_s <= run.steps[-1].t_s]


def with_telemetry(run: Run, numbers: list[int], **readings: Any) -> Run:
    samples = list(run.telemetry)
    for at in numbers:
        telemetry = msgspec.to_builtins(samples[at].telemetry) | readings
        samples[at] = events.TelemetryEvent(t_s=samples[at].t_s, telemetry=telemetry_of(telemetry))
    return replace(run, telemetry=tuple(samples))


def with_steps(run: Run, steps_s: tuple[float, ...]) -> Run:
    """Return the run with these steps, as one block, instead of its own."""
    at_s = run.steps[0].t_s + sum(steps_s)
    block = events.Steps(t_s=at_s, phase="measure", epoch=0, first_index=0, durations_s=steps_s)
    return replace(run, steps=(block,), epochs=())


def slower(run: Run, first_block: int, times: float) -> Run:
    blocks = [
        block
        if at < first_block
        else events.Steps(
            t_s=block.t_s,
            phase=block.phase,
            epoch=block.epoch,
            first_index=block.first_index,
            durations_s=tuple(step_s * times for step_s in block.durations_s),
        )
        for at, block in enumerate(run.steps)
    ]
    return replace(run, steps=tuple(blocks))
