"""A stored run as the rules of its verdict see it: the telemetry and the steps that its number rests on."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from app.core.analysis.timed_steps import Timed, timed
from app.core.messages import Message, message, text
from app.core.records import Run
from workloads import CATALOGUE
from workloads.protocol import events
from workloads.protocol.telemetry import GpuTelemetry, Telemetry

Level = Literal["fact", "caution", "invalid"]
# Telemetry tells of the time before it, and comes once a second.
_INTERVAL_S = 1.0
UNKNOWN_GPU = -1  # no telemetry has it


@dataclass(frozen=True, slots=True)
class TelemetryWindow:
    """Telemetry that a number rests on.

    Attributes:
        records: In their order.
        times_s: When each was taken, in seconds since the time that counts began.
        gpu: The index of the GPU that matters; None for none, UNKNOWN_GPU for one that cannot be told.
        is_within: Whether they were taken while it was measured; else none was, and these are all there are.
    """

    records: tuple[Telemetry, ...]
    times_s: tuple[float, ...]
    gpu: int | None = None
    is_within: bool = True

    def values(self, name: str) -> list[float]:
        """Return the values of this name that were available."""
        return [float(value) for record in self.records if (value := getattr(record, name)) is not None]

    def gpu_values(self, name: str) -> list[float]:
        """Return those of the GPU that matters."""
        return [float(value) for gpu in self.gpus() if (value := getattr(gpu, name)) is not None]

    def gpus(self) -> list[GpuTelemetry]:
        """Return what was read of the GPU that matters, in the order of the records."""
        return [gpu for record in self.records if (gpu := record.gpu(self.gpu)) is not None]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What rules judge.

    Attributes:
        run: The stored record.
        telemetry: From the first measured step to the last one; all of them before there is any.
        steps_s: Durations of all measured steps.
        typical_s: Of those that are neither of the first epoch nor warm-up, where all steps do the same; else
            empty.
        measured_s: How long was measured; None where that is not in the record.
    """

    run: Run
    telemetry: TelemetryWindow
    steps_s: Sequence[float]
    typical_s: Sequence[float]
    measured_s: float | None


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that may be wrong with a number, or is to be known about it.

    Attributes:
        find: Says what was found, with the measured figure; None for nothing.
        advice: The code of what to do about it; "" for nothing.
        instead: Another advice, by the code of what was found.
        at_end: Whether only a run that is over can break it.
    """

    code: str
    level: Level
    find: Callable[[Evidence], Message | None]
    advice: str = ""
    at_end: bool = False
    instead: Mapping[str, str] = field(default_factory=dict)

    def reason(self, evidence: Evidence) -> events.Reason | None:
        """Return the reason that a record gives; None if it keeps to the rule."""
        said = self.find(evidence)
        return (
            None if said is None else reason(self.code, self.level, said, self.instead.get(said.code, self.advice))
        )


def reason(code: str, level: Level, said: Message, advice: str = "") -> events.Reason:
    """Return a reason with its sentences in English; `advice` is the code of what to do, "" for nothing."""
    advised = message(advice) if advice else None
    advice_text = text(advised) if advised is not None else ""
    return events.Reason(code=code, level=level, text=text(said), advice=advice_text, said=said, advised=advised)


def evidence_of(run: Run) -> Evidence:
    """Gather what the rules judge."""
    steps = timed(run.steps)
    epochs_s = [epoch.duration_s for epoch in run.epochs]
    return Evidence(
        run=run,
        telemetry=_window(run),
        steps_s=steps.durations_s,
        typical_s=_typical(run, steps),
        measured_s=sum(epochs_s) or sum(steps.durations_s) or None,
    )


def gpu_index(device: str) -> int | None:
    """Return which GPU a device is: 1 for "gpu:1"; None for the processor."""
    name, _, index = device.partition(":")
    return int(index) if name == "gpu" and index.isascii() and index.isdigit() and len(index) < 10 else None


def used_gpu(run: Run) -> int | None:
    """Return which of the machine's GPUs a run used; None for the processor, UNKNOWN_GPU if it cannot be told.

    Where a variable hides GPUs, TensorFlow numbers them anew: then the name tells, if just one card has it.
    """
    environment = run.environment
    index = gpu_index(environment.device) if environment is not None else None
    if environment is None or index is None or "CUDA_VISIBLE_DEVICES" not in environment.variables:
        return index
    places = [at for at, gpu in enumerate(run.machine.gpus) if gpu.name == environment.device_name]
    return places[0] if len(places) == 1 else UNKNOWN_GPU


def _window(run: Run) -> TelemetryWindow:
    blocks = [block for block in run.steps if block.phase == "measure"]
    gpu = used_gpu(run)
    begin_s = end_s = 0.0
    if blocks:
        begin_s, end_s = blocks[0].t_s - sum(blocks[0].durations_s), blocks[-1].t_s + _INTERVAL_S
    within = [sample for sample in run.samples if begin_s < sample.t_s <= end_s]
    chosen = within or run.samples
    return TelemetryWindow(
        tuple(sample.telemetry for sample in chosen),
        tuple(sample.t_s - begin_s for sample in chosen),
        gpu,
        bool(within),
    )


def _typical(run: Run, steps: Timed) -> Sequence[float]:
    workload = CATALOGUE.get(run.summary.workload)
    if run.summary.metric == "words_per_s" or (workload is not None and not workload.steps_alike):
        return ()
    if run.summary.preset == "quick":
        return steps.durations_s[run.summary.warmup_steps or 1 :]
    # The first epoch warms up, as long as there is another; else its first step, which traces and compiles.
    return steps.later_s or steps.durations_s[1:]
