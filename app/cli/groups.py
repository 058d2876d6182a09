"""Carries out groups of runs in the terminal, one run after another, and prints their results."""

import argparse
import json
import os
import queue
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from app.cli.interrupts import Interrupts
from app.cli.layout import Column, live_text
from app.cli.preflight import preflight_lines
from app.cli.result_files import write_after_run
from app.cli.terminal import Ink
from app.cli.text import complain, in_line, say, say_json, say_table
from app.cli.views import JsonView, TextualView, View
from app.core.errors import UsageError
from app.core.hardware.machine import detect_machine
from app.core.messages import format_time_left, message, sentence
from app.core.metrics import amount_text
from app.core.paths import Paths
from app.core.plans.experiments import load_report, report_of_plan
from app.core.plans.report import Report
from app.core.records import Group, Plan, PlannedRun
from app.core.report.card import Table
from app.core.report.run_texts import machine_line
from app.core.runs.plan_session import PlanCallbacks, PlanSession, Wait, resume_plan, run_plan
from app.core.runs.runner import Runner
from app.core.runs.state import RunState
from app.core.storage.database import Database
from workloads import CATALOGUE
from workloads.protocol import events
from workloads.protocol.machine import Machine

WORDS_CELLS = 16  # minimum width of text before it is wrapped


def carry_out(
    plan: Plan,
    options: argparse.Namespace,
    paths: Paths,
    *,
    resumed: tuple[Group, Sequence[PlannedRun]] | None = None,
    result_file: Path | None = None,
) -> int:
    """Run a plan and print its result. Return 0 if done, 1 if failed, 130 if cancelled.

    `resumed` is a stored group with its remaining runs. The results of all runs are written to `result_file`, if
    it is given.
    """
    for spec in plan.specs:
        workload = CATALOGUE[spec.workload]  # shortened epochs don't yield a comparable value
        cut = spec.steps is not None and spec.steps < workload.steps_per_epoch(spec)
        if cut and workload.metric == "seconds_per_epoch_s":
            raise UsageError(message("cli.epochs_cut_short", steps=spec.steps), message("cli.leave_steps_out"))
    machine = detect_machine(data_folder=paths.datasets)
    runs = plan.runs() if resumed is None else resumed[1]
    view = JsonView() if options.json else TextPlanView(plan, machine, runs, quiet=options.quiet)
    if isinstance(view, TextPlanView) and not options.quiet:
        view.preflight = preflight_lines(plan.specs[0], machine, paths)
    runner = Runner(paths, machine)
    session = follow(plan, runner, view, resumed)
    if session.trouble:
        return 1
    assert session.group_id is not None
    with Database(paths.database) as database:
        report = load_report(database, session.group_id).with_details(database, paths)
        ids = [run.id for run in report.group.runs]
        is_written = result_file is None or write_after_run(database, ids, result_file)
    if not view.is_lost:
        if options.json:
            end = {"type": "group", "status": session.status, **report.as_dict()}
            say_json(json.dumps(end, allow_nan=False))
        else:
            say_report(report, with_runs=False)
    return exit_code(session, is_written=is_written)


def follow(
    plan: Plan, runner: Runner, view: View, resumed: tuple[Group, Sequence[PlannedRun]] | None = None
) -> PlanSession:
    """Run a plan to completion, and report problems other than failed runs. Output errors are raised."""
    with Interrupts() as interrupts:
        callbacks = PlanCallbacks(
            on_event=view,
            on_run_started=view.begin,
            confirm=Hands(report_of_plan(plan), interrupts),
            on_waiting=view.wait,
        )
        if resumed is None:
            session = run_plan(plan, runner, callbacks)
        else:
            session = resume_plan(*resumed, runner, callbacks)
        view.may_cancel_by(session.cancel)
        interrupts.wait(session)
    if session.restore_command is not None:
        complain(sentence("run.restore_limit"))
        complain(f"    {in_line(session.restore_command)}")
    for refusal in session.refusals:
        complain(sentence("cli.note", note=in_line(str(refusal))))
    if session.trouble and plan.is_single and not session.run_id:  # nothing was started
        raise session.trouble
    if session.trouble:
        complain(f"epochmark: {in_line(str(session.trouble))}")
    elif view.error:
        raise view.error
    return session


def exit_code(session: PlanSession, *, is_written: bool) -> int:
    """Return 0 if done, 1 if failed (also if the result file can't be written), 130 if cancelled."""
    return {"completed": 0, "cancelled": 130}.get(session.status, 1) or (0 if is_written else 1)


def check_is_over(group: Group) -> None:
    """Raise UsageError if a run of a group is still in progress, so that no run is repeated."""
    running = next((run.id for run in group.runs if run.status == "running"), None)
    if running is not None:
        raise UsageError(message("cli.group_running", group_id=group.id, run_id=running))


def say_report(report: Report, *, with_runs: bool = True) -> None:
    """Print the report on a plan. `with_runs` includes the runs if there is no other table."""
    table = report.table()
    say("\n" + in_line(report.heading))
    if report.pairs():
        say("\n".join(_label_lines(report.group.labels)))
    if with_runs or table != report.run_table():
        say()
        say_table(_columns(table), table.rows)
    say("\n" + "\n".join(map(in_line, report.lines())))
    if report.can_resume:
        say("\n" + sentence("cli.plan_resume", kind=report.experiment.stored_kind, group_id=report.group.id))


def _columns(table: Table) -> list[Column]:
    """Return the columns of a plan's table. If it doesn't fit, all numbers except the first can be dropped."""
    left, last = table.left, len(table.headings) - 1
    words = Column("", least=WORDS_CELLS)
    others = (Column("", is_right=True, order=last - place) for place in range(left + 1, last))
    columns = (*[words] * left, replace(words, is_right=True), *others, words)
    return [replace(column, title=heading) for column, heading in zip(columns, table.headings, strict=True)]


class TextPlanView(TextualView):
    """Prints a line for each run and, on a terminal, a progress line."""

    def __init__(self, plan: Plan, machine: Machine, runs: Sequence[PlannedRun], *, quiet: bool) -> None:
        super().__init__(quiet=quiet)
        self._plan, self._report = plan, report_of_plan(plan)
        self._machine = machine
        self._planned = self._first = runs[0]
        self._count = len(runs)
        self._run_id = 0
        self._state = RunState(self._planned.spec)
        self._result: events.Result | None = None
        self._error: events.Error | None = None
        self._warned: set[str] = set()

    def begin(self, planned: PlannedRun, run_id: int) -> None:
        self._planned, self._run_id = planned, run_id
        self._state = RunState(planned.spec)
        self._result = self._error = None

    def show_waiting(self, planned: PlannedRun, wait: Wait) -> None:
        if self._live.is_live:
            self._live.draw(live_text((planned.number - 1) / planned.count, [wait.text], self._live.room))

    def show(self, event: events.Event) -> None:
        self._state.follow(event)
        match event:
            case events.Run() if self._planned.number == self._first.number:
                self._show_head()
            case events.Warn() if event.message not in self._warned:
                self._warned.add(event.message)  # once, not for every run
                self._line(sentence("cli.note", note=in_line(event.message)), always=True)
            case events.Result():
                self._result = event
            case events.Error():
                self._error = event
            case events.End():
                self._line(self._run_line(event), always=event.status == "failed")
            case events.Steps() | events.Phase() if self._live.is_live:
                self._draw()

    def _show_head(self) -> None:
        lines = [self._report.start_line(self._planned.spec, self._count)]
        lines.append(sentence("cli.run_machine", machine=in_line(machine_line(self._machine))))
        if self._planned.side is not None:
            lines += _label_lines((self._plan.label_a, self._plan.label_b))
        self._line("\n".join(lines))
        for caution in self.preflight:
            self._line(caution, lead=Ink.CAUTION)
        self._line("")

    def _run_line(self, end: events.End) -> str:
        if self._error is not None:
            outcome = sentence("cli.run_failed", reason=in_line(self._error.message))
        elif self._result is None or self._result.value is None or self._result.metric is None:
            outcome = sentence("cli.no_result") if end.status == "completed" else end.status
        else:
            outcome = _value(self._result.metric, self._result.value, self._result.spread_pct)
            outcome += "" if end.status == "completed" else f" ({end.status})"
        number = f"{self._planned.number}/{self._planned.count}"
        place = in_line(self._report.place(self._planned))
        side = f"  {place}" if place else ""
        return f"{number:>7}{side}  {outcome}   " + sentence("cli.run_number", run_id=self._run_id)

    def _draw(self) -> None:
        parts = [sentence("cli.run_of", number=self._planned.number, planned=self._planned.count)]
        parts += [sentence("cli.side", side=self._planned.side)] if self._planned.side else []
        progress = self._state.progress
        if progress.remaining_s is not None:
            parts.append(sentence("cli.time_left_of_run", time_left=format_time_left(progress.remaining_s)))
        if progress.steps_per_epoch and progress.phase in ("warmup", "measure"):
            epoch = min(progress.epoch + 1, progress.epochs)
            parts.append(sentence("cli.epoch_of", number=epoch, planned=progress.epochs))
            parts.append(sentence("cli.step_of", number=progress.step, planned=progress.steps_per_epoch))
        of_run = (progress.fraction or 0.0) if progress.phase == "measure" else 0.0
        of_run = 1.0 if progress.phase in ("evaluate", "finish") else of_run
        share = (self._planned.number - 1 + of_run) / self._planned.count
        self._live.draw(live_text(share, parts, self._live.room))


class Hands:
    """Asks the user in the terminal to set up the next side or configuration. Ctrl-C interrupts the wait."""

    def __init__(self, report: Report, interrupts: Interrupts) -> None:
        self._report, self._interrupts = report, interrupts
        self._answers: queue.Queue[str | None] = queue.Queue()
        self._reader: threading.Thread | None = None

    def __call__(self, planned: PlannedRun) -> bool:
        if self._reader is None:
            # input() can't be interrupted here, and would delay the exit.
            self._reader = threading.Thread(target=self._read, daemon=True, name="hands")
            self._reader.start()
        what = in_line(self._report.set_up(planned))
        complain(sentence("cli.set_up", number=planned.number, planned=planned.count, what=what))
        while not self._interrupts.is_pressed:
            try:
                answer = self._answers.get(timeout=0.1)
            except queue.Empty:
                continue
            if answer is None:
                complain(sentence("cli.input_ended"))
                return False
            return answer.strip().lower() != "q"
        return False

    def _read(self) -> None:
        rest = b""
        while True:
            try:
                block = os.read(0, 4096)
            except OSError:
                block = b""
            *lines, rest = (rest + block).split(b"\n")
            for line in lines:
                self._answers.put(line.decode("utf-8", "replace"))
            if not block:
                self._answers.put(None)
                return


def _label_lines(labels: tuple[str, str]) -> list[str]:
    return [f"{side}        {in_line(label)}" for side, label in zip("AB", labels, strict=True)]


def _value(metric: str, value: float, spread_pct: float | None) -> str:
    shown = amount_text(metric, value)
    return shown if spread_pct is None else sentence("cli.value_with_spread", value=shown, spread_pct=spread_pct)
