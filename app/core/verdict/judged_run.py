"""A stored run with what is derived from it, each made once."""

from dataclasses import replace
from functools import cached_property

from app.core.analysis.compare import Bar, bars, position
from app.core.analysis.series import RunSeries, series_of
from app.core.records import Run, RunSummary
from app.core.verdict.bottleneck import bottleneck_text
from app.core.verdict.energy import epoch_energies
from app.core.verdict.rules import judge
from workloads.protocol import events


class JudgedRun:
    """A run for views, dialogs, pictures, texts and exports, which all show the same of it.

    A run may have a million steps, and what is derived from them takes up to a second: a window makes it where
    nobody waits, with `prepared`.

    Attributes:
        run: The record.
    """

    def __init__(self, run: Run) -> None:
        self.run = run

    @property
    def summary(self) -> RunSummary:
        """The run's row, with its headline."""
        return self.run.summary

    @cached_property
    def verdict(self) -> events.Judged:
        """How far the number can be trusted."""
        return judge(self.run)

    @cached_property
    def bars(self) -> tuple[Bar, ...]:
        """Its result among others, best first."""
        return tuple(bars(self.summary.workload, self.summary))

    @cached_property
    def position(self) -> str:
        """Its rank as a sentence; "" if there's nothing to compare with."""
        return position(self.summary, chart=self.bars) or ""

    @cached_property
    def series(self) -> RunSeries:
        """The data of its charts."""
        return series_of(self.run)

    @cached_property
    def bottleneck(self) -> str:
        """What limited it, in a sentence; "" if unknown or not applicable."""
        return bottleneck_text(self.run)

    @cached_property
    def energies(self) -> list[dict[str, float | None]]:
        """The energy of each epoch, by part."""
        return epoch_energies(self.run)

    def rename(self, comment: str) -> None:
        """Take another name, which nothing of what is derived depends on; "" for none."""
        self.run = replace(self.run, summary=replace(self.run.summary, comment=comment or None))

    def prepared(self) -> "JudgedRun":
        """Return itself after everything has been made."""
        _ = self.verdict, self.position, self.series, self.bottleneck, self.energies
        return self
