"""Changes of a stored run, each of one thing that a verdict checks."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec

from app.core.records import Run
from app.core.verdict.rules import judge
from tests.build import environment_of, machine_of, measured, slower, with_telemetry
from workloads.protocol import events
from workloads.protocol.machine import Gpu

GPU_RUN: dict[str, Any] = {"engine": "tensorflow", "device": "gpu:1"}
Change = Callable[[Run], Run]


def codes(run: Run, *, is_over: bool = True) -> list[str]:
    return [reason.code for reason in judge(run, is_over=is_over).reasons if reason.level != "fact"]


def summarised(**changes: Any) -> Change:
    return lambda run: replace(run, summary=replace(run.summary, **changes))


def metrics(**values: float | None) -> Change:
    return lambda run: replace(run, metrics=run.metrics | values)


def environment(**values: Any) -> Change:
    return lambda run: replace(run, environment=environment_of(run, **values))


def held_up(count: int, times: float = 3.0) -> Change:
    """Hold up so many steps of the last epoch, one after the other; the record calls them one interruption."""

    def change(run: Run) -> Run:
        blocks, left = list(run.steps), count
        for at in range(len(blocks) - 60, len(blocks)):
            durations_s = blocks[at].durations_s
            longer = min(left, len(durations_s))
            left -= longer
            slow = tuple(times * step_s for step_s in durations_s[:longer]) + durations_s[longer:]
            blocks[at] = msgspec.structs.replace(blocks[at], durations_s=slow)
        return replace(run, steps=tuple(blocks), summary=replace(run.summary, interruptions=1))

    return change


def telemetry(**readings: Any) -> Change:
    return lambda run: with_telemetry(run, list(range(len(run.telemetry))), **readings)


def one_record(*values: float, **readings: Any) -> Change:
    name = next(iter(readings))

    def change(run: Run) -> Run:
        at = measured(run)[5]
        for number, value in enumerate(values or (readings[name],)):
            run = with_telemetry(run, [at + number], **{name: value})
        return run

    return change


def share_of_telemetry(count: int, of: int, **readings: Any) -> Change:
    """Set values in part of some consecutive telemetry, the only telemetry of the record."""

    def change(run: Run) -> Run:
        run = replace(run, telemetry=tuple(run.telemetry[at] for at in measured(run)[:of]))
        return with_telemetry(run, list(range(count)), **readings)

    return change


def on_gpu(**readings: Any) -> Change:
    other = {"index": 0, "clock_mhz": 300.0, "throttle_reasons": ["thermal"], "other_memory_bytes": 9 * 10**9}

    def change(run: Run) -> Run:
        run = replace(run, environment=environment_of(run, **GPU_RUN))
        return telemetry(gpus=[other, {"index": 1} | readings])(run)

    return change


def on_card(capacity_bytes: float, reserved_bytes: float | None = None, **readings: Any) -> Change:
    """Set readings of the GPU that the run used, whose memory has this size, and what the engine reserved."""

    def change(run: Run) -> Run:
        gpus = (Gpu("Small", "nvidia", 2**30), Gpu("A card", "nvidia", int(capacity_bytes), shares_memory=False))
        run = replace(run, machine=replace(run.machine, gpus=gpus))
        return metrics(peak_gpu_reserved_bytes=reserved_bytes)(on_gpu(**readings)(run))

    return change


def on_gpu_after(*before_pct: float, **readings: Any) -> Change:
    """Set how busy the GPU was in the first seconds, before the run used it."""

    def change(run: Run) -> Run:
        run = on_gpu(**readings)(run)
        for at, busy_pct in enumerate(before_pct * (3 // len(before_pct))):
            run = with_telemetry(run, [at], gpus=[{"index": 1, "utilization_pct": busy_pct}])
        return run

    return change


def at_clock(clock_mhz: float) -> Change:
    return lambda run: telemetry(cpu_clock_mhz=clock_mhz)(
        replace(run, machine=machine_of(run, cpu_base_mhz=2_400.0))
    )


def hot_before(run: Run) -> Run:
    return with_telemetry(run, [0], throttle_count=3)


def both(*changes: Change) -> Change:
    def change(run: Run) -> Run:
        for each in changes:
            run = each(run)
        return run

    return change


def gpu_throttled(count: int, word: str = "thermal") -> Change:
    hot = {"gpus": [{"index": 1, "throttle_reasons": [word, "power cap"]}]}
    return both(on_gpu(throttle_reasons=["power cap"]), share_of_telemetry(count, 20, **hot))


def clock_from(second: int, clock_mhz: float) -> Change:
    return lambda run: with_telemetry(run, measured(run)[second:], cpu_clock_mhz=clock_mhz)


def gpu_clock_from(second: int, clock_mhz: float) -> Change:
    return lambda run: with_telemetry(run, measured(run)[second:], gpus=[{"index": 1, "clock_mhz": clock_mhz}])


def blocks(count: int) -> Change:
    return lambda run: replace(run, steps=run.steps[:count])


def without_block(number: int) -> Change:
    return lambda run: replace(run, steps=run.steps[:number] + run.steps[number + 1 :])


def with_parts(run: Run) -> Run:
    """Take three of the steps from epochs of one step each, as Quick does at its end."""
    starts = [events.Steps(phase="start", epoch=number, first_index=0, durations_s=(0.05,)) for number in range(3)]
    validation = events.Steps(phase="validate", epoch=0, first_index=0, durations_s=(0.02, 0.01))
    changed = replace(run, steps=(*run.steps, starts[0], validation, *starts[1:]))
    return metrics(updates_done=1503.0, updates_asked=1503.0)(changed)


def loss(*losses: float | None) -> Change:
    def change(run: Run) -> Run:
        epochs = tuple(
            events.Epoch(index=index, duration_s=20.9, train_s=20.0, loss=value)
            for index, value in enumerate(losses)
        )
        return replace(run, epochs=epochs)

    return change


def epochs_of(duration_s: float) -> Change:
    return lambda run: replace(run, epochs=(events.Epoch(index=0, duration_s=duration_s, train_s=duration_s),))


def warned(code: str) -> Change:
    return lambda run: replace(run, warnings=(events.Warn(code=code, message="It is not as it should be."),))


def same(run: Run) -> Run:
    return run


QUICK: dict[str, Any] = {"preset": "quick", "basis": "estimate", "value": 100.0}


def quick(run: Run) -> Run:
    value = 66.3
    changes = summarised(**QUICK | {"value": value}, value_low=65.4, value_high=67.2, warmup_steps=7, epochs=1)
    return replace(changes(run), epochs=())


DISTURBED: dict[str, Change] = {
    "on_battery": lambda run: with_telemetry(run, measured(run)[30:], on_battery=True),
    "power_saving": telemetry(power_plan="powersave (intel_pstate), preference power, profile low-power"),
    "clock_falling": lambda run: slower(clock_from(35, 3000)(run), 180, 3900 / 3000),
    "swapping": lambda run: with_telemetry(run, measured(run)[20:40], swap_bytes_per_s=30e6),
    "suspended": one_record(suspended_s=47.0),
    "throttled": lambda run: with_telemetry(run, measured(run)[40:43], throttle_count=12),
    "other_load": lambda run: with_telemetry(run, measured(run)[10:40], other_cpu_pct=40.0),
    "host_steal": lambda run: with_telemetry(run, measured(run)[10:40], steal_pct=20.0),
}
