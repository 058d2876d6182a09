"""The complete examination, for the command line and the window. The examination doesn't use the network."""

import threading
from collections.abc import Callable
from dataclasses import replace

from app.core.doctor.checks import Check, checks
from app.core.doctor.diagnosis import Diagnosis
from app.core.doctor.engines import examine_engines
from app.core.doctor.facts import gather_facts
from app.core.doctor.rules import diagnose
from app.core.doctor.trial import Trial, run_trial
from app.core.hardware.machine import detect_machine
from app.core.messages import Message, message
from app.core.paths import Paths
from app.core.runs.worker_command import packages_of
from workloads.engines.registry import DEFAULT_ENGINE


def examine(
    paths: Paths,
    on_step: Callable[[Message], None] = lambda _: None,
    cancel: threading.Event | None = None,
    on_check: Callable[[Check], None] = lambda _: None,
) -> Diagnosis:
    """Check the system, list each engine's devices, and test each one. Takes seconds to minutes.

    `on_step` is called with a description of the next step, `on_check` with each check as soon as its result is
    known. `cancel` ends the examination within a second, with the results so far. Raises AppError if a trial can't
    be started.
    """
    cancel = cancel or threading.Event()
    announced: set[str] = set()

    def report_new() -> None:
        for check in checks(facts, trials):
            if check.id not in announced:
                announced.add(check.id)
                on_check(check)

    on_step(message("doctor.looking_at_system"))
    facts = gather_facts()
    trials: list[Trial] = []
    report_new()
    packages = packages_of(DEFAULT_ENGINE, paths)
    if packages is not None and not packages.is_dir():
        trials.append(Trial(target="list", status="absent"))
    else:
        on_step(message("doctor.starting_engine", engine="TensorFlow"))
        trials.append(run_trial("list", paths, cancel))
    report_new()
    for device in trials[0].devices:
        if cancel.is_set():
            break
        on_step(message("doctor.testing", device=f"{device.id} ({device.name})" if device.name else device.id))
        trials.append(run_trial(device.id, paths, cancel))
        report_new()
    engines = () if cancel.is_set() else examine_engines(paths, facts, detect_machine(), on_step, cancel)
    return replace(diagnose(facts, trials), engines=engines)
