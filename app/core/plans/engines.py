"""Comparison of engines: its plan, and the table that shows the fastest engine for each workload."""

import contextlib
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from app.core.analysis.ab import PairResult, compare_pairs, is_usable
from app.core.analysis.student_t import CONFIDENCE
from app.core.errors import AppError, UsageError
from app.core.messages import Message, message, sentence, text
from app.core.metrics import amount_text, format_value, headline_kind
from app.core.plain_text import joined
from app.core.plans.fair_order import fair_seed
from app.core.plans.repeat import standing_for
from app.core.plans.report import Report, typical
from app.core.records import Group, Plan, PlannedRun, RunSummary
from app.core.report.card import Table
from app.core.report.run_texts import runs_note
from app.core.runs.runner import Runner, check_spec, known_workload
from app.core.titles import preset_title, workload_title
from workloads.engines.registry import ENGINES, compiles_always, engine_title
from workloads.protocol.spec import Preset, RunSpec

# With fewer rounds, there is no confidence interval.
ENOUGH_ROUNDS = 2


class EnginesReport(Report):
    """Which engine is fastest for each workload."""

    def start_line(self, spec: RunSpec, count: int) -> str:
        rounds = self.group.plan.rounds
        return sentence("cli.engines_title", preset=preset_title(spec.preset), rounds=rounds)

    def place(self, planned: PlannedRun) -> str:
        return f"{planned.spec.workload} · {engine_title(planned.spec.engine)}"

    @cached_property
    def engine_rows(self) -> "tuple[WorkloadRow, ...]":
        """The results by workload, in the order of the plan."""
        return engine_rows(self.group)

    @property
    def headline(self) -> str:
        """The fastest engine; for several workloads, the engine that is fastest on most of them."""
        rows = self.engine_rows
        if len(rows) == 1:
            return " = ".join(engine_title(cell.engine) for cell in rows[0].fastest) or "n/a"
        wins = Counter(cell.engine for row in rows for cell in row.fastest)
        if not wins:
            return "n/a"
        engine, times = wins.most_common(1)[0]
        return sentence("group.fastest_on", engine=engine_title(engine), times=times, workloads=len(rows))

    @property
    def sentence(self) -> str:
        return " ".join(row.sentence() for row in self.engine_rows)

    def limits(self, *, with_interval: bool) -> list[str]:
        """Return a note if there is only one round, and therefore no confidence interval."""
        return [sentence("engines_table.one_round")] if self.group.plan.rounds < ENOUGH_ROUNDS else []

    @property
    def summary(self) -> RunSummary | None:
        """The summary of the fastest engine; None for several workloads."""
        rows, engines = self.engine_rows, self._planned_engines
        fastest = [cell.engine for row in rows for cell in row.cells if cell.is_fastest]
        runs = [
            run for run in self.group.runs if is_usable(run) and len(rows) == 1 and engines.get(run.id) in fastest
        ]
        return standing_for(runs, self.worst_verdict()[0]) if runs else None

    def typical_ids(self) -> list[int]:
        """Return the id of each engine's representative run, the fastest engine first."""
        if (summary := self.summary) is None:
            return []
        engines, of_engines = self._planned_engines, dict[str, list[RunSummary]]()
        for run in filter(is_usable, self.group.runs):
            of_engines.setdefault(engines.get(run.id, ""), []).append(run)
        slower = [runs for engine, runs in of_engines.items() if engine != engines.get(summary.id, "")]
        return [summary.id, *(typical(runs).id for runs in slower)]

    def rank(self, summary: RunSummary) -> str:
        """Return a sentence that names the fastest engine, or the engines that are tied."""
        titles = [engine_title(cell.engine) for row in self.engine_rows for cell in row.fastest]
        if len(titles) > 1:
            return sentence("engine_page.are_level", engines=titles)
        return sentence("engine_page.is_fastest", engine=titles[0]) if titles else self.sentence

    def basis(self, summary: RunSummary) -> str:
        runs = [run for run in self.group.runs if is_usable(run) and run.engine == summary.engine]
        return joined((engine_title(summary.engine), runs_note(runs, summary)))

    def result_as_dict(self) -> dict[str, Any]:
        return {"table": [_row_as_dict(row) for row in self.engine_rows], "confidence_pct": 100 * CONFIDENCE}

    def table(self) -> Table:
        """Return a table of engines, fastest first, with the workload if there are several."""
        rows = self.engine_rows
        units = {headline_kind(row.metric).short_unit for row in rows}
        unit = next(iter(units)) if len(units) == 1 else ""
        names = ["label.workload"] if len(rows) > 1 else []
        headings = [sentence(code) for code in (*names, "setting.engine")]
        lines, is_best = [], []
        for row in rows:
            for place, cell in enumerate(_fastest_first(row)):
                name = [workload_title(row.workload) if place == 0 else ""] if names else []
                value = _median_text(row, cell, with_unit=not unit)
                lines.append((*name, engine_title(cell.engine), value, _factor(cell)))
                is_best.append(cell in row.fastest)
        headings += [unit or sentence("heading.median"), sentence("engine_page.factor")]
        return Table(tuple(headings), tuple(lines), len(names) + 1, tuple(is_best))

    @property
    def _planned_engines(self) -> dict[int, str]:
        """Each run's planned engine by run id. Demo runs don't record an engine."""
        engines = {planned.number: planned.spec.engine for planned in self.group.plan.runs()}
        return {run.id: engines.get(number, run.engine) for number, run in self.group.numbered}

    def _work_of(self, run: RunSummary) -> str:
        return f"{workload_title(run.workload)}, {run.engine}"


def engines_plan(specs: Sequence[RunSpec], rounds: int) -> Plan:
    """Return the plan that runs these specs, grouped by workload, in the given number of rounds."""
    engines = max(Counter(spec.workload for spec in specs).values(), default=0)
    return Plan(
        kind="engines",
        specs=tuple(specs),
        rounds=rounds,
        order="there_and_back",
        seed=fair_seed(engines, rounds),
        survives_failures=True,
    )


@dataclass(frozen=True, slots=True)
class Cell:
    """The results of one engine on one workload."""

    engine: str
    # Value of each round, in the unit of the row's metric; None without a usable result.
    values: tuple[float | None, ...]
    median: float | None
    against_fastest: PairResult  # speed relative to the fastest engine, paired by round
    is_fastest: bool  # whether the engine has the best median
    # Whether the engine is indistinguishable from the fastest one; False with fewer than two rounds.
    is_level: bool


@dataclass(frozen=True, slots=True)
class WorkloadRow:
    """The results of all engines on one workload."""

    workload: str
    metric: str
    cells: tuple[Cell, ...]

    @property
    def fastest(self) -> tuple[Cell, ...]:
        """The fastest engine and those that are indistinguishable from it; empty without results."""
        return tuple(cell for cell in self.cells if cell.is_fastest or cell.is_level)

    def sentence(self) -> str:
        """Return the result as a sentence."""
        titles = [engine_title(cell.engine) for cell in self.fastest]
        others = [cell for cell in self.cells if cell.median is not None and cell not in self.fastest]
        if not titles:
            return sentence("engines_table.no_result", workload=self.workload)
        if len(titles) > 1:
            return sentence("engines_table.level", workload=self.workload, engines=titles)
        if not others:
            return sentence("engines_table.only_one", workload=self.workload, engine=titles[0])
        parts = [
            message("engines_table.times", times=_times(cell), engine=engine_title(cell.engine)) for cell in others
        ]
        return text(message("engines_table.fastest", workload=self.workload, engine=titles[0], others=parts))


def engine_rows(group: Group) -> tuple[WorkloadRow, ...]:
    """Return the rows of an engine comparison, in the order of its plan."""
    runs = dict(group.numbered)
    values: dict[tuple[str, str], list[RunSummary | None]] = {}
    for spec in group.plan.specs:
        values[spec.workload, spec.engine] = []
    for planned in group.plan.runs():
        run = runs.get(planned.number)
        values[planned.spec.workload, planned.spec.engine].append(run if is_usable(run) else None)
    rows = []
    for workload in dict.fromkeys(name for name, _ in values):
        engines = {engine: several for (name, engine), several in values.items() if name == workload}
        rows.append(_row(workload, engines))
    return tuple(rows)


def _row(workload: str, engines: dict[str, list[RunSummary | None]]) -> WorkloadRow:
    runs = [run for several in engines.values() for run in several if run is not None]
    metric = runs[0].metric if runs else "seconds_per_epoch_s"
    is_rate = headline_kind(metric).is_rate
    values = {name: [None if run is None else run.value for run in several] for name, several in engines.items()}
    medians = {name: _median(several) for name, several in values.items()}
    measured = {name: median for name, median in medians.items() if median is not None}
    best = (max if is_rate else min)(measured, key=lambda name: measured[name], default=None)
    cells = []
    for name, column in values.items():
        against = compare_pairs(values[best or name], column, is_rate)
        is_level = name != best and against.low is not None and not against.is_shown
        cells.append(Cell(name, tuple(column), medians[name], against, name == best, is_level))
    return WorkloadRow(workload, metric, tuple(cells))


def _median(values: Sequence[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return statistics.median(there) if there else None


def _times(cell: Cell) -> str:
    """Return the engine's time relative to the fastest engine's, with the interval if there is one."""
    against = cell.against_fastest
    if against.ratio is None:
        return "n/a"
    if against.low is None or against.high is None:
        return f"{1 / against.ratio:.2f}"
    return sentence("engines_table.interval", times=1 / against.ratio, low=1 / against.high, high=1 / against.low)


def engine_specs(
    workloads: Sequence[str], preset: Preset, choice: Mapping[str, str | None], runner: Runner
) -> tuple[tuple[RunSpec, ...], tuple[Message, ...]]:
    """Return the specs, grouped by workload, and the reasons why engines were excluded.

    Args:
        workloads: Ids of the workloads.
        preset: Preset for all runs.
        choice: Other settings for all runs, as for `Workload.default_spec`.
        runner: Runner that checks the specs.

    Raises:
        UsageError: A workload is unknown, or no workload is supported by at least two engines.
    """
    specs: list[RunSpec] = []
    refusals: list[Message] = []
    for name in dict.fromkeys(workloads):
        workload, able = known_workload(name), []
        for engine in ENGINES:
            spec = workload.default_spec(preset, engine=engine, **choice)
            try:
                runner.check(spec)
            except AppError as error:
                if runner.is_there(engine):
                    refusals.append(message("engines_table.left_out", workload=name, reason=error.message))
            else:
                able.append(spec)
        if len(able) > 1:
            specs += able
        elif able:
            only = engine_title(able[0].engine)
            refusals.append(message("engines_table.only_engine", workload=name, engine=only))
    if not specs:
        raise UsageError(message("engines_table.nothing_to_compare"), message("engines_table.install_one"))
    return tuple(specs), tuple(refusals)


def specs_with(spec: RunSpec, engines: Iterable[str]) -> tuple[RunSpec, ...]:
    """Return a version of the spec for each named engine that can run it.

    If the CPU was chosen, all runs use it; otherwise, each engine uses its best device. Settings that an engine
    doesn't support are reset to their defaults.
    """
    specs = []
    for name in engines:
        engine = ENGINES[name]
        changed = msgspec.structs.replace(
            spec,
            engine=name,
            device="cpu" if spec.device == "cpu" else "auto",
            settings={key: value for key, value in spec.settings.items() if key != "gpus"},
            jit=engine.compiles_always or (spec.jit and not compiles_always(spec.engine)),
            onednn=spec.onednn if "onednn" in engine.settings else None,
        )
        with contextlib.suppress(UsageError):
            check_spec(changed)
            specs.append(changed)
    return tuple(specs)


def _fastest_first(row: WorkloadRow) -> list[Cell]:
    sign = -1 if headline_kind(row.metric).is_rate else 1
    return sorted(row.cells, key=lambda cell: (cell.median is None, sign * (cell.median or 0.0)))


def _median_text(row: WorkloadRow, cell: Cell, *, with_unit: bool) -> str:
    if cell.median is None:
        return sentence("cli.no_result")
    if with_unit:
        return amount_text(row.metric, cell.median, is_short=True)
    return format_value(row.metric, cell.median)


def _factor(cell: Cell) -> str:
    """Describe an engine's time as a multiple of the fastest engine's, with the interval if there is one."""
    against = cell.against_fastest
    if cell.is_fastest:
        return sentence("engine_page.fastest")
    if cell.median is None or against.ratio is None:
        return ""
    arguments = {"times": 1 / against.ratio}
    if against.low is None or against.high is None:
        return sentence("studies.times", **arguments)
    arguments |= {"low": 1 / against.high, "high": 1 / against.low}
    return sentence("engine_page.level" if cell.is_level else "engine_page.times_within", **arguments)


def _row_as_dict(row: WorkloadRow) -> dict[str, Any]:
    cells = [
        {"engine": cell.engine, "values": list(cell.values), "median": cell.median}
        | {"is_fastest": cell.is_fastest, "is_level": cell.is_level}
        | {"ratio": cell.against_fastest.ratio, "low": cell.against_fastest.low, "high": cell.against_fastest.high}
        for cell in row.cells
    ]
    return {"workload": row.workload, "metric": row.metric, "engines": cells}
