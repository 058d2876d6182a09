"""A workload for testing the app. The demo needs no engine, sleeps instead of training, and ends as requested."""

import contextlib
import math
import os
import signal
import subprocess
import sys
import time

from workloads.engines.registry import NO_ENGINE
from workloads.protocol import events
from workloads.protocol.errors import WorkloadError
from workloads.protocol.messages import message
from workloads.protocol.parameters import Choice, Fraction, Parameter
from workloads.protocol.reporter import Reporter
from workloads.protocol.spec import Job, RunSpec
from workloads.workload import Workload

QUICK_S, SUSTAINED_S = 2.0, 3.0
# Windows' exit code for a crash. On Windows, os.kill can end a process with any exit code, given as a signed
# integer.
_ACCESS_VIOLATION = 0xC0000005 - 2**32
_OUTCOMES = ("ok", "fail", "out_of_memory", "non_finite", "hang", "crash", "exit", "noise", "slow")


class Demo(Workload):
    """Pretends to train. The measured times are unrelated to the computer's speed."""

    id = "demo"
    kind = "demo"
    is_demo = True
    trains = True
    source = "Epochmark"
    epochs = 3
    batch_size = 100
    samples_per_epoch = 1_000
    validation_samples = 100
    parameters = (
        Parameter("outcome", Choice(_OUTCOMES), "ok", message("parameter_help.outcome"), in_variant=False),
        Parameter("step_s", Fraction(0, 60, unit="s"), 0.01, message("parameter_help.step_s"), in_variant=False),
    )

    def run(self, job: Job, reporter: Reporter) -> None:
        """Report epochs whose steps only sleep. The requested outcome happens after the first epoch."""
        spec = job.spec
        outcome = str(spec.parameters.get("outcome", "ok"))
        step_s = float(spec.parameters.get("step_s", 0.01)) * (50 if outcome == "slow" else 1)
        steps = spec.steps or self.steps_per_epoch(spec)
        reporter.phase("import")
        environment = events.Environment(engine=NO_ENGINE, device="cpu", precision=spec.precision, jit=spec.jit)
        reporter.send(environment)
        reporter.phase("data")
        reporter.send(
            events.Dataset(
                name="demo",
                source="synthetic",
                samples=self.samples_per_epoch,
                validation_samples=self.validation_samples,
            )
        )
        reporter.phase("build")
        if spec.preset == "standard":
            reporter.phase("measure", epochs=spec.epochs, total_steps=steps * spec.epochs)
            for epoch in range(spec.epochs):
                _epoch(reporter, epoch, steps, step_s)
                if epoch == 0:
                    _end_with(outcome)
        else:
            self._run_for_a_time(spec, reporter, step_s)
            _end_with(outcome)
        reporter.phase("finish")

    def _run_for_a_time(self, spec: RunSpec, reporter: Reporter, step_s: float) -> None:
        """Imitate the Quick and Sustained presets in seconds instead of minutes."""
        steps = self.steps_per_epoch(spec)
        quick = spec.preset == "quick"
        duration_s = spec.duration_s or (QUICK_S if quick else SUSTAINED_S)
        end_s = time.perf_counter() + duration_s
        reporter.epoch_steps = 0 if quick else steps
        reporter.phase("measure", budget_s=duration_s)
        index = 0
        while time.perf_counter() < end_s and not reporter.enough.is_set():
            _epoch(reporter, index, steps, step_s, end_s)
            index += 1
        if quick:
            reporter.send(events.Metric(key="validation_batches", value=1.0))
            reporter.time_parts()
            for short in range(2):
                _epoch(reporter, short, 1, step_s)


def _epoch(reporter: Reporter, index: int, steps: int, step_s: float, end_s: float = math.inf) -> None:
    reporter.epoch_begin(index)
    loss = 2.0
    for step in range(steps):
        reporter.cancel_requested.wait(step_s)
        loss = 2.0 / (1 + index + step / steps)
        reporter.step_end(loss)
        if time.perf_counter() > end_s:
            break
    reporter.validation_begin()
    reporter.cancel_requested.wait(step_s)
    reporter.validation_batch_end()
    reporter.validation_end()
    reporter.epoch_end(loss=loss, accuracy=1 - loss / 3, val_loss=loss, val_accuracy=1 - loss / 3)


def _end_with(outcome: str) -> None:
    if outcome == "fail":
        msg = "the demo was told to fail"
        raise RuntimeError(msg)
    if outcome == "out_of_memory":
        raise MemoryError
    if outcome == "non_finite":
        raise WorkloadError("non_finite_loss", message("training.diverged", loss="nan", step=1))
    if outcome == "hang":
        while True:  # deliberately ignores cancellation requests
            time.sleep(3600)
    if outcome == "crash":
        os.kill(os.getpid(), _ACCESS_VIOLATION if os.name == "nt" else signal.SIGSEGV)
    if outcome == "exit":
        os._exit(3)
    if outcome == "noise":
        _make_noise()


def _make_noise() -> None:
    """Print as libraries do: from Python, to the file descriptor, from a child process, in invalid UTF-8."""
    for number in range(5_000):
        sys.stdout.write(f"noise {number} " + "." * 80 + "\n")
    sys.stdout.flush()
    os.write(1, b'\xff\xfe{"type": "end", "status": "completed"}\n' * 100)
    with contextlib.suppress(OSError):
        subprocess.run([sys.executable, "-c", "print('{' * 1000)"], check=False)
