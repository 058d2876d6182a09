"""Derives the verdict of several runs from their individual verdicts."""

from typing import Literal

from app.core.analysis.ab import is_usable
from app.core.analysis.shared_host import SHARED_HOST
from app.core.records import Group, RunSummary

VerdictLevel = Literal["valid", "caution", "invalid"]
WORST_FIRST: tuple[VerdictLevel, ...] = ("invalid", "caution")


def worst_verdict(group: Group, *, is_same_work: bool = False) -> tuple[VerdictLevel, int]:
    """Return the worst verdict of a group's usable runs, and the number of runs that have it."""
    counted = [run for run in group.runs if is_usable(run)]
    is_repeated = is_same_work and len(counted) > 1
    levels = [level_among(run) if is_repeated else run.verdict or "caution" for run in counted]
    worst: VerdictLevel = next((level for level in WORST_FIRST if level in levels), "valid")
    return worst, levels.count(worst)


def level_among(run: RunSummary) -> str:
    """Return a run's verdict within a group of runs that do the same work.

    The caution about shared hosts is ignored, because the group's spread already includes variations caused by a
    shared host. A run without a verdict counts as a caution.
    """
    return "valid" if run.reasons == SHARED_HOST else run.verdict or "caution"
