"""The verb `run`: starts a run and shows it while it happens, for people or as a stream of events."""

import argparse
import os
import signal
import sys
import time
from typing import Any

import msgspec

from app.cli.text import bar_chart
from app.cli.views import JsonView, TextView
from app.core.errors import UsageError
from app.core.judging.compare import bars, find_baseline, left_out, position
from app.core.judging.wording import derived_epoch, headline, peak_text
from app.core.keeping.database import Database
from app.core.keeping.export import chosen_folders
from app.core.keeping.runs import load_run
from app.core.machine.hardware import detect_machine
from app.core.metrics import headline_kind, metric_lines
from app.core.model import Run
from app.core.paths import Paths
from app.core.running.runner import Runner, checked_workload, known_workload
from app.core.running.session import Session
from app.core.settings import load_settings
from workloads import CATALOGUE
from workloads.spec import RunSpec
from workloads.workload import Workload, WorkloadError

STUCK_S = 3.0


def run(options: argparse.Namespace, paths: Paths) -> int:
    """Run a workload; returns 0 done, 1 failed, 130 cancelled."""
    spec = make_spec(options, paths)
    workload = checked_workload(spec)
    machine = detect_machine()
    runner = Runner(paths, machine)
    view = JsonView(sys.stdout) if options.json else TextView(workload, spec, machine, quiet=options.quiet)
    with _Interrupts() as interrupts:
        session = runner.start(spec, view)
        view.may_cancel_by(session.cancel)
        interrupts.wait(session)
    if session.trouble:
        print(f"epochmark: {session.trouble}", file=sys.stderr)
        return 1
    if view.error:
        raise view.error
    if not options.json:
        with Database(paths.database) as database:
            _print_result(load_run(database, session.run_id))
    return {"completed": 0, "cancelled": 130}.get(session.status, 1)


def make_spec(options: argparse.Namespace, paths: Paths) -> RunSpec:
    """Turn the options into a spec; raises UsageError for values that no run can have."""
    workload = known_workload(options.workload)
    settings = load_settings(paths.settings)
    # The wish for epochs or steps is a wish for the standard preset, whatever the settings prefer.
    preferred = "standard" if options.epochs or options.steps else settings.preset or "standard"
    spec = workload.default_spec(
        options.preset or preferred,
        epochs=options.epochs,
        steps=options.steps,
        batch_size=options.batch,
        device=options.device,
        precision=options.precision,
        jit=options.jit == "on",
        threads=options.threads,
        data=options.data or settings.data,
        seed=options.seed,
        parameters=_parameters(workload, options.settings),
    )
    checked_workload(spec)  # says it better than the schema below
    try:
        return msgspec.convert(msgspec.to_builtins(spec), RunSpec)
    except msgspec.ValidationError as error:
        raise UsageError(_schema_sentence(spec, str(error))) from error


def _schema_sentence(spec: RunSpec, message: str) -> str:
    if "device" in message:
        return f"The device must be auto, cpu or gpu:N (gpu:0 is the first), not {spec.device[:60]!r}."
    return f"A value is out of range: {message}."


def _parameters(workload: Workload, settings: list[str]) -> dict[str, Any]:
    declared = {parameter.name: parameter for parameter in workload.parameters}
    values = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise UsageError(f"--set takes NAME=VALUE, not {setting[:60]!r}.")
        if name not in declared:
            known = ", ".join(declared) or "none"
            raise UsageError(f"{workload.id} has no parameter {name[:60]!r}; it has: {known}.")
        try:
            values[name] = declared[name].parse(text)
        except WorkloadError as error:
            raise UsageError(str(error)) from error
    return values


class _Interrupts:
    """Ctrl-C, or a request to end: the first one cancels the run, the second one ends its worker at once."""

    def __init__(self) -> None:
        self._session: Session | None = None
        self._presses = 0
        self._killed_s: float | None = None

    def __enter__(self) -> "_Interrupts":
        self._before = {number: signal.signal(number, self._press) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *exception: object) -> None:
        for number, old in self._before.items():
            signal.signal(number, old)

    def wait(self, session: Session) -> None:
        """Wait for the end of the run, or leave it when it is stuck in an output that nobody reads."""
        self._session = session
        if self._presses:
            session.cancel()
        while not session.wait(0.2):
            if self._killed_s is not None and time.monotonic() - self._killed_s > STUCK_S:
                # The next start finds the run interrupted, with its epochs.
                os._exit(130)

    def _press(self, number: int, frame: object) -> None:
        self._presses += 1
        if self._presses == 1:
            if self._session is not None:
                self._session.cancel()
            print("\nCancelling; what was measured is kept (Ctrl-C again ends it at once).", file=sys.stderr)
        elif self._session is not None:
            self._killed_s = time.monotonic()
            self._session.kill()


def _print_result(stored: Run) -> None:
    summary = stored.summary
    if summary.status != "completed":
        ended = "failed" if summary.status == "failed" else f"was {summary.status}"
        print(f"\nThe run {ended} after {summary.epochs_done} of {summary.epochs} epochs.")
    if CATALOGUE[summary.workload].kind == "demo":
        print(f"Run {summary.id} is kept. The demo does not train: its times say nothing about this computer.")
        return
    print(f"\n{headline(summary)}")
    if CATALOGUE[summary.workload].metric != "seconds_per_epoch_s" and summary.value is not None:
        lines = [line for line in metric_lines(stored.metrics) if not line[0].startswith("Peak")]
        lines += [(f"Folder {number} is", path) for number, path in enumerate(chosen_folders(stored.spec), 1)]
        print("\n".join(f"  {label}: {text}" for label, text in lines))
    for told in (derived_epoch(summary), peak_text(stored.peak)):
        if told:
            print(told)
    if sentence := position(summary):
        chart = bars(summary.workload, summary)
        baseline = find_baseline(chart, None, summary.workload)
        label = headline_kind(summary.metric).label
        print(f"{sentence}\n\n{label}, logarithmic bars; published values keep their year")
        print(bar_chart(chart, baseline))
    for reason in left_out(summary) if summary.value else []:
        print(f"  not drawn: {reason}")
    print(f"\nRun {summary.id} is kept; see `results show {summary.id}`.")
