"""A stored run with the data derived from it, which is computed only once."""

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
    """A run for views, dialogs, pictures, text and exports, which all show the same data.

    A run may have a million steps, and deriving data from them takes up to a second, so the window calls
    `prepared` in the background.

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
        """How trustworthy the result is."""
        return judge(self.run)

    @cached_property
    def bars(self) -> tuple[Bar, ...]:
        """Its bar among other results, best first."""
        return tuple(bars(self.summary.workload, self.summary))

    @cached_property
    def position(self) -> str:
        """Its rank as a sentence; "" if there is nothing to compare with."""
        return position(self.summary, chart=self.bars) or ""

    @cached_property
    def series(self) -> RunSeries:
        """The data of its charts."""
        return series_of(self.run)

    @cached_property
    def bottleneck(self) -> str:
        """What limited it, as a sentence; "" if unknown or not applicable."""
        return bottleneck_text(self.run)

    @cached_property
    def energies(self) -> list[dict[str, float | None]]:
        """The energy of each epoch, by component."""
        return epoch_energies(self.run)

    def rename(self, comment: str) -> None:
        """Change the comment ("" for none), which no derived data depends on."""
        self.run = replace(self.run, summary=replace(self.run.summary, comment=comment or None))

    def prepared(self) -> "JudgedRun":
        """Return itself after computing all derived data."""
        _ = self.verdict, self.position, self.series, self.bottleneck, self.energies
        return self
