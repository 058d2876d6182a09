"""A stored run with derived data that is computed only once."""

from dataclasses import replace
from functools import cached_property

from app.core.analysis.bars import Bar, bars
from app.core.analysis.position import position
from app.core.analysis.series import RunSeries, series_of
from app.core.records import Run, RunSummary
from app.core.verdict.bottleneck import bottleneck_text
from app.core.verdict.rules import judge
from workloads.protocol import events


class JudgedRun:
    """A run for views, dialogs, pictures, texts and exports, all of which show the same data.

    Deriving the data of a run with a million steps takes up to a second, so the window calls `prepared` in the
    background.
    """

    def __init__(self, run: Run) -> None:
        self.run = run

    @property
    def summary(self) -> RunSummary:
        return self.run.summary

    @cached_property
    def verdict(self) -> events.Judged:
        return judge(self.run)

    @cached_property
    def bars(self) -> tuple[Bar, ...]:
        return tuple(bars(self.summary.workload, self.summary))

    @cached_property
    def position(self) -> str:
        """The run's rank as a sentence; "" if there is nothing to compare with."""
        return position(self.summary, chart=self.bars) or ""

    @cached_property
    def series(self) -> RunSeries:
        return series_of(self.run)

    @cached_property
    def bottleneck(self) -> str:
        """A sentence about what limited the run; "" if unknown or not applicable."""
        return bottleneck_text(self.run)

    def rename(self, comment: str) -> None:
        """Change the comment ("" removes it). Derived data isn't affected."""
        self.run = replace(self.run, summary=replace(self.run.summary, comment=comment or None))

    def prepared(self) -> "JudgedRun":
        _ = self.verdict, self.position, self.series.later_median_s, self.bottleneck
        return self
