"""Estimates the duration of a run by running a few steps in a real worker. Nothing is stored."""

from collections.abc import Callable

import msgspec

from app.core.analysis.stats import trimmed_mean
from app.core.errors import AppError
from app.core.messages import Message, message
from app.core.paths import Paths
from app.core.runs.runner import Runner
from app.core.runs.session import Session
from workloads import CATALOGUE
from workloads.protocol import events
from workloads.protocol.folders import temporary_folder
from workloads.protocol.machine import Machine
from workloads.protocol.spec import RunSpec

PROBE_S = 2.0
# Time for validating an example, relative to training it: validation is only a forward pass.
VALIDATION_SHARE = 1 / 3


class ProbeError(AppError):
    """The probe ended without a result. The message states the reason."""


def probe_duration_s(
    spec: RunSpec, paths: Paths, machine: Machine, on_start: Callable[[Session], None] = lambda _: None
) -> float:
    """Return the approximate duration of a run in seconds, based on two seconds of timed steps.

    Args:
        spec: Spec of the run; its preset is ignored.
        paths: The app's folders, for data sets and engines; nothing is written to them.
        machine: This computer.
        on_start: Called with the session, so that it can be cancelled.

    Raises:
        UsageError: The run can't be started.
        ProbeError: The worker failed or was cancelled.
    """
    workload = CATALOGUE[spec.workload]
    if workload.fixed_duration_s is not None:
        return workload.fixed_duration_s
    steps_s: list[float] = []
    errors: list[Message | str] = []

    def listen(event: events.Event) -> None:
        if isinstance(event, events.Steps) and event.phase == "measure":
            steps_s.extend(event.durations_s)
        if isinstance(event, events.Error):
            errors.append(event.said or event.message)

    quick = msgspec.structs.replace(spec, preset="quick", epochs=1, steps=None, measure_s=PROBE_S)
    with temporary_folder() as home:
        aside = Paths(home / "data", home / "config", home / "cache", paths.datasets, paths.engines)
        aside.create()
        session = Runner(aside, machine).start(quick, listen)
        on_start(session)
        session.wait()
    if not steps_s or session.status != "completed":
        raise ProbeError(errors[0] if errors else message("run.probe_stopped"))
    typical_s = trimmed_mean(steps_s[1:] or steps_s)
    steps = spec.steps or workload.steps_per_epoch(spec)
    validation_s = VALIDATION_SHARE * typical_s * workload.validation_samples / spec.batch_size
    after_s = workload.after_steps_s(typical_s / spec.batch_size)
    return spec.epochs * (steps * typical_s + validation_s) + after_s
