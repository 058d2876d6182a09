"""Collects the evidence for the rules of the verdict: the telemetry and steps of a stored run."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from app.core.analysis.shared_host import Shared, shared_part
from app.core.analysis.timed_steps import StepTimes, step_times
from app.core.messages import Message, message, text
from app.core.records import Run
from workloads import CATALOGUE
from workloads.protocol import events
from workloads.protocol.telemetry import GpuTelemetry, Telemetry

Level = Literal["fact", "caution", "invalid"]
# Telemetry describes the second before it.
_INTERVAL_S = 1.0
# During this time, a worker only imports its engine.
_STARTS_S = 3.0
# Below this use of the CPU by other programs, closing them wouldn't help.
_IDLE_PCT = 5.0
# For an estimate from fewer steps, their number says more than their duration.
FEW_STEPS = 20
UNKNOWN_GPU = -1  # no GPU has this index


@dataclass(frozen=True, slots=True)
class TelemetryWindow:
    """The telemetry on which a verdict is based."""

    records: tuple[Telemetry, ...]  # records of telemetry in order
    times_s: tuple[float, ...]  # time of each record in seconds since the start of the measurement
    # Index of the GPU used by the run; None if it used none, UNKNOWN_GPU if unclear or if it used several.
    gpu: int | None = None
    # Whether the records were taken during the measurement. If none were, all records are used.
    is_within: bool = True
    earlier: tuple[Telemetry, ...] = ()  # records of the first seconds, before the run computed anything

    def values(self, name: str) -> list[float]:
        return [float(value) for record in self.records if (value := getattr(record, name)) is not None]

    def mean(self, name: str) -> float | None:
        return statistics.fmean(values) if (values := self.values(name)) else None

    def gpu_mean(self, name: str) -> float | None:
        return statistics.fmean(values) if (values := self.gpu_values(name)) else None

    def gpu_values(self, name: str) -> list[float]:
        return [float(value) for gpu in self.gpus() if (value := getattr(gpu, name)) is not None]

    def gpus(self) -> list[GpuTelemetry]:
        return [gpu for record in self.records if (gpu := record.gpu(self.gpu)) is not None]


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence to which the rules are applied."""

    run: Run  # record of the run
    # Telemetry from the first to the last measured step, or all telemetry if none was recorded in between.
    telemetry: TelemetryWindow
    steps_s: Sequence[float]  # durations of all measured steps
    # Durations of steps after the first epoch or the warm-up if all steps do the same work; otherwise empty.
    typical_s: Sequence[float]
    # Duration of the epochs, or of the steps on which an estimate is based, in seconds; None if unknown.
    measured_s: float | None
    timed_steps: StepTimes  # all steps, grouped by kind
    estimated_steps: int = 0  # number of steps on which an estimate is based; 0 for other results

    @property
    def is_alone(self) -> bool:
        others_pct = self.telemetry.mean("other_cpu_pct") if self.telemetry.is_within else None
        return others_pct is not None and others_pct < _IDLE_PCT


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule for a possible problem with a result, or for a fact about it."""

    code: str
    level: Level
    # Function that returns the finding with the measured value, or None.
    find: Callable[[Evidence], Message | None]
    advice: str = ""  # message code of the advice; "" if there is none
    at_end: bool = False  # whether the rule applies only to finished runs
    # Message codes of alternative advice, by the message code of the finding.
    instead: Mapping[str, str] = field(default_factory=dict)
    alone: str = ""  # message code of the advice if no other program was busy; "" for the same advice

    def reason(self, evidence: Evidence) -> events.Reason | None:
        """Return the reason if the rule applies to a run; otherwise None."""
        said = self.find(evidence)
        if said is None:
            return None
        advice = self.alone if self.alone and evidence.is_alone else self.advice
        return reason(self.code, self.level, said, self.instead.get(said.code, advice))


def reason(code: str, level: Level, said: Message, advice: str = "") -> events.Reason:
    """Return a reason with its English sentences. `advice` is a message code; "" for no advice."""
    advised = message(advice) if advice else None
    advice_text = text(advised)
    return events.Reason(code=code, level=level, text=text(said), advice=advice_text, said=said, advised=advised)


def evidence_of(run: Run) -> Evidence:
    """Collect the evidence for the rules."""
    steps = step_times(run.steps)
    epochs_s = [epoch.duration_s for epoch in run.epochs]
    estimation = steps.estimation() if run.summary.basis == "estimate" else None
    measured_s = sum(epochs_s) or sum(steps.durations_s)
    if estimation is not None:
        measured_s = estimation.steps * estimation.step_s
    return Evidence(
        run=run,
        telemetry=telemetry_window(run),
        steps_s=steps.durations_s,
        typical_s=_typical(run, steps),
        measured_s=measured_s or None,
        timed_steps=steps,
        estimated_steps=0 if estimation is None else estimation.steps,
    )


def gpu_index(device: str) -> int | None:
    """Return the GPU index of a device, such as 1 for "gpu:1"; None for the CPU."""
    name, _, index = device.partition(":")
    return int(index) if name == "gpu" and index.isascii() and index.isdigit() and len(index) < 10 else None


def used_gpu(run: Run) -> int | None:
    """Return the index of the GPU that a run used; None for the CPU, UNKNOWN_GPU if unclear or if it used several.

    If an environment variable hides GPUs, TensorFlow renumbers the others. The GPU is then identified by its name,
    if unique.
    """
    environment = run.environment
    index = gpu_index(environment.device) if environment is not None else None
    if index is not None and run.summary.device_count > 1:
        return UNKNOWN_GPU
    if environment is None or index is None or "CUDA_VISIBLE_DEVICES" not in (environment.variables or ()):
        return index
    places = [at for at, gpu in enumerate(run.machine.gpus) if gpu.name == environment.device_name]
    return places[0] if len(places) == 1 else UNKNOWN_GPU


def shared_part_of(evidence: Evidence) -> Shared | None:
    """Return the resource of a run's device that may be shared with other users; None if none is detected."""
    run, window = evidence.run, evidence.telemetry
    busy_pct = window.gpu_mean("utilization_pct") if window.is_within else None
    device, name = run.summary.device, run.summary.device_name
    return shared_part(run.machine, device, device_name=name, gpu_busy_pct=busy_pct)


def timed_span(run: Run) -> tuple[float, float] | None:
    """Return the times at which a run's first timed step began and its last one ended; None if there are none."""
    blocks = [block for block in run.steps if block.phase == "measure"]
    return (blocks[0].t_s - sum(blocks[0].durations_s), blocks[-1].t_s) if blocks else None


def telemetry_window(run: Run) -> TelemetryWindow:
    """Return the telemetry behind a run's result."""
    gpu = used_gpu(run)
    begin_s = end_s = 0.0
    if (span := timed_span(run)) is not None:
        begin_s, end_s = span[0], span[1] + _INTERVAL_S
    within = [event for event in run.telemetry if begin_s < event.t_s <= end_s]
    chosen = within or run.telemetry
    return TelemetryWindow(
        tuple(event.telemetry for event in chosen),
        tuple(event.t_s - begin_s for event in chosen),
        gpu,
        bool(within),
        tuple(event.telemetry for event in run.telemetry if event.t_s <= min(_STARTS_S, begin_s)),
    )


def _typical(run: Run, steps: StepTimes) -> Sequence[float]:
    workload = CATALOGUE.get(run.summary.workload)
    if run.summary.metric == "words_per_s" or (workload is not None and not workload.steps_alike):
        return ()
    if run.summary.preset == "quick":
        return steps.durations_s[run.summary.warmup_steps or 1 :]
    # The first epoch is warm-up if there is another one, otherwise only the first step, which traces and compiles.
    return steps.later_s or steps.durations_s[1:]
