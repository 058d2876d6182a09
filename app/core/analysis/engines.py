"""Which engine is fastest on which network: the table of a stored comparison. Pure functions."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from app.core.analysis.ab import PairResult, compare_pairs, counts
from app.core.messages import message, sentence, text
from app.core.metrics import headline_kind
from app.core.records import Group, RunSummary
from workloads.engines.registry import engine_title


@dataclass(frozen=True, slots=True)
class Cell:
    """An engine on a workload.

    Attributes:
        values: Of its rounds, in the unit of the row's metric; None for a run without a result that counts.
        against_fastest: How many times as fast it is as the fastest one, round by round.
        is_fastest: Whether it has the best median.
        is_level: Whether it can't be told from the fastest; False with fewer than two rounds.
    """

    engine: str
    values: tuple[float | None, ...]
    median: float | None
    against_fastest: PairResult
    is_fastest: bool
    is_level: bool


@dataclass(frozen=True, slots=True)
class Row:
    """A workload on all engines."""

    workload: str
    metric: str
    cells: tuple[Cell, ...]

    @property
    def fastest(self) -> tuple[Cell, ...]:
        """The fastest engine and those that can't be told from it; empty without results."""
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


def engine_rows(group: Group) -> tuple[Row, ...]:
    """Return the table of a group of kind "engines", in the plan's order."""
    runs = dict(group.numbered)
    values: dict[tuple[str, str], list[RunSummary | None]] = {}
    for spec in group.plan.specs:
        values[spec.workload, spec.engine] = []
    for planned in group.plan.runs():
        run = runs.get(planned.number)
        values[planned.spec.workload, planned.spec.engine].append(run if counts(run) else None)
    rows = []
    for workload in dict.fromkeys(name for name, _ in values):
        engines = {engine: several for (name, engine), several in values.items() if name == workload}
        rows.append(_row(workload, engines))
    return tuple(rows)


def _row(workload: str, engines: dict[str, list[RunSummary | None]]) -> Row:
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
    return Row(workload, metric, tuple(cells))


def _median(values: Sequence[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return statistics.median(there) if there else None


def _times(cell: Cell) -> str:
    """Return how many times as long an engine takes as the fastest, with its interval if there is one."""
    against = cell.against_fastest
    if against.ratio is None:
        return "n/a"
    if against.low is None or against.high is None:
        return f"{1 / against.ratio:.2f}"
    return sentence("engines_table.interval", times=1 / against.ratio, low=1 / against.high, high=1 / against.low)
