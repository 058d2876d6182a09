"""Carries out groups of runs in the terminal, one run after another, and prints their results."""

import argparse
import json
import os
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.cli.interrupts import Interrupts
from app.cli.layout import Column, live_text
from app.cli.preflight import preflight_lines
from app.cli.result_files import write_after_run
from app.cli.terminal import Ink
from app.cli.text import complain, in_line, say, say_json, say_table
from app.cli.views import JsonView, TextualView, View
from app.core.analysis.headline import result_amount
from app.core.errors import UsageError
from app.core.hardware.machine import detect_machine
from app.core.messages import format_time_left, message, sentence
from app.core.metrics import amount_text, format_value, headline_kind
from app.core.paths import Paths
from app.core.plain_text import one_line
from app.core.plans.engines import Cell, WorkloadRow
from app.core.plans.registry import kind_of
from app.core.records import Group, Plan, PlannedRun, RunSummary
from app.core.report.run_texts import machine_line
from app.core.runs.plan_session import PlanCallbacks, PlanSession, Wait, resume_plan, run_plan
from app.core.runs.runner import Runner
from app.core.runs.state import RunState
from app.core.storage.database import Database
from app.core.storage.groups import load_group
from app.core.titles import status_title
from workloads import CATALOGUE
from workloads.engines.registry import engine_title
from workloads.protocol import events
from workloads.protocol.machine import Machine

_COLUMNS = (
    Column("heading.run", is_right=True),
    Column("column.side"),
    Column("ab_page.pair_heading", is_right=True),
    Column("heading.result", is_right=True),
    Column("metric.spread_pct", is_right=True, order=1),
    Column("results_page.status"),
)


@dataclass(frozen=True, slots=True)
class Conclusion:
    """Prints the result of a finished group."""

    show: Callable[[Group], None]
    as_dict: Callable[[Group], dict[str, Any]]


def carry_out(
    plan: Plan,
    options: argparse.Namespace,
    paths: Paths,
    *,
    conclusion: Conclusion | None = None,
    resumed: tuple[Group, Sequence[PlannedRun]] | None = None,
    result_file: Path | None = None,
) -> int:
    """Run a plan and print its result. Return 0 if done, 1 if failed, 130 if cancelled.

    `conclusion` prints the result in another way than that of groups. `resumed` is a stored group with its
    remaining runs. The results of all runs are written to `result_file`, if it is given.
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
        group = load_group(database, session.group_id)
        ids = [run.id for run in group.runs]
        is_written = result_file is None or write_after_run(database, ids, result_file)
    if not view.is_lost:
        _say_end(group, session.status, conclusion, as_json=options.json)
    return exit_code(session, is_written=is_written)


def follow(
    plan: Plan, runner: Runner, view: View, resumed: tuple[Group, Sequence[PlannedRun]] | None = None
) -> PlanSession:
    """Run a plan to completion, and report problems other than failed runs. Output errors are raised."""
    with Interrupts() as interrupts:
        callbacks = PlanCallbacks(
            on_event=view, on_run_started=view.begin, confirm_side=Hands(interrupts), on_waiting=view.wait
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


def _say_end(group: Group, status: str, conclusion: Conclusion | None, *, as_json: bool) -> None:
    end = conclusion or Conclusion(_print_outcome, group_as_dict)
    if as_json:
        say_json(json.dumps({"type": "group", "status": status, **end.as_dict(group)}, allow_nan=False))
    else:
        end.show(group)


class TextPlanView(TextualView):
    """Prints a line for each run and, on a terminal, a progress line."""

    def __init__(self, plan: Plan, machine: Machine, runs: Sequence[PlannedRun], *, quiet: bool) -> None:
        super().__init__(quiet=quiet)
        self._plan, self._kind = plan, kind_of(plan)
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
        lines = [self._kind.heading(self._plan, self._planned.spec, self._count)]
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
        place = in_line(self._kind.place(self._plan, self._planned))
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
    """Asks the user in the terminal to set up the next side, and waits. Ctrl-C interrupts the wait."""

    def __init__(self, interrupts: Interrupts) -> None:
        self._interrupts = interrupts
        self._answers: queue.Queue[str | None] = queue.Queue()
        self._reader: threading.Thread | None = None

    def __call__(self, planned: PlannedRun) -> bool:
        if self._reader is None:
            # input() can't be interrupted here, and would delay the exit.
            self._reader = threading.Thread(target=self._read, daemon=True, name="hands")
            self._reader.start()
        label, side = in_line(planned.label), planned.side or ""
        complain(sentence("cli.set_up_side", number=planned.number, planned=planned.count, side=side, label=label))
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


def group_as_dict(group: Group) -> dict[str, Any]:
    kind = kind_of(group)
    return {
        "id": group.id,
        "kind": group.kind,
        "created_at": group.created_at,
        "workload": group.workload,
        "labels": dict(zip("AB", group.labels, strict=True)) if kind.pairs(group) else None,
        "by_hand": group.plan.by_hand,
        "planned_runs": group.planned,
        "metric": group.runs[0].metric if group.runs else None,
        "runs": [
            {"id": run.id, "side": run.side, "pair": _pair(group, run), "status": run.status}
            | {"value": run.value, "spread_pct": run.spread_pct}
            for run in group.runs
        ],
        **kind.as_dict(group),
        "sentence": kind.sentence(group),
        "remarks": kind.remarks(group),
    }


def print_group(group: Group) -> None:
    kind, workload, at = kind_of(group), one_line(group.workload, 80), one_line(group.created_at, 40)
    has_pairs = bool(kind.pairs(group))
    say(sentence("cli.group_title", group_id=group.id, kind=kind.phrase(group), workload=workload, at=at))
    for line in _label_lines(group.labels) if has_pairs else ():
        say(line)
    rows = [
        [
            str(run.id),
            run.side or "",
            str(_pair(group, run) or ""),
            result_amount(run, is_short=True),
            "n/a" if run.spread_pct is None else f"{run.spread_pct:.1f} %",
            status_title(run.status),
        ]
        for run in group.runs
    ]
    kept = [number for number in range(len(_COLUMNS)) if has_pairs or number not in (1, 2)]
    say()
    say_table([_COLUMNS[number] for number in kept], [[row[number] for number in kept] for row in rows])
    _print_sentence(group)


def _print_outcome(group: Group) -> None:
    _print_sentence(group)
    say("\n" + sentence("cli.group_stored", group_id=group.id))


def _say_engines(rows: Sequence[WorkloadRow]) -> None:
    """Print the medians of workloads by engine. The fastest engine and those tied with it are marked."""
    engines = list(dict.fromkeys(cell.engine for row in rows for cell in row.cells))
    lines = []
    for row in rows:
        cells = {cell.engine: cell for cell in row.cells}
        unit = headline_kind(row.metric).short_unit
        lines.append([row.workload, unit, *(_cell(row, cells.get(engine)) for engine in engines)])
    titles = [Column("", title=engine_title(engine), is_right=True) for engine in engines]
    say_table([Column("studies.axis_workload"), Column("heading.unit"), *titles], lines)


def _cell(row: WorkloadRow, cell: Cell | None) -> str:
    if cell is None or cell.median is None:
        return "n/a"
    mark = "*" if cell.is_fastest else "=" if cell.is_level else ""
    return f"{mark}{format_value(row.metric, cell.median)}"


def _print_sentence(group: Group) -> None:
    kind = kind_of(group)
    if rows := kind.engine_table(group):
        say()
        _say_engines(rows)
        say(sentence("cli.engine_marks"))
    say("\n" + "\n".join(map(in_line, (kind.sentence(group), *kind.remarks(group)))))


def _label_lines(labels: tuple[str, str]) -> list[str]:
    return [f"{side}        {in_line(label)}" for side, label in zip("AB", labels, strict=True)]


def _pair(group: Group, run: RunSummary) -> int | None:
    """Return the number of a run's pair, starting at 1; None if it belongs to no pair."""
    pairs = enumerate(kind_of(group).pairs(group), 1)
    return next((number for number, pair in pairs if run in (pair.a, pair.b)), None)


def _value(metric: str, value: float, spread_pct: float | None) -> str:
    shown = amount_text(metric, value)
    return shown if spread_pct is None else sentence("cli.value_with_spread", value=shown, spread_pct=spread_pct)
