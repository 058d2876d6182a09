"""Decides by its uid whether a result is one that is known, and whether it still says the same."""

import math
from collections.abc import Sequence
from typing import Any

from msgspec import to_builtins

from app.core.records import RunSummary
from app.core.result_file.record import Result
from app.core.uids import derived_uid

# What may change between two exports of a run: the user's name for it, and what later runs reveal about it.
_MAY_CHANGE = frozenset({"comment", "digest", "verdict"})
_IN_CODES = ("workload", "workload_version", "batch_size", "precision", "metric", "engine")
_MEASURED = (*_IN_CODES, "started_at", "epochs_done", "value", "value_low", "value_high", "seconds_per_epoch_s")


def uid_of(result: Result) -> str:
    """Return a result's uid. For those of earlier versions, it follows from the digits that QR codes contain."""
    return result.uid or derived_uid((result.digest or "")[:8].upper())


def plan_uids(results: Sequence[Result]) -> list[str | None]:
    """Return the uid of the plan of each of a file's results; None for a result that is alone.

    In files of earlier versions, the results of a computer count as a plan.
    """
    if len(results) < 2 or any(result.uid for result in results):
        return [result.plan_uid for result in results]
    digests = [result.digest for result in results]
    return [derived_uid(*digests, result.machine, result.environment) for result in results]


def code_difference(one: RunSummary, other: RunSummary, rounded_by: float) -> str | None:
    """Return the field in which a result and a QR code differ beyond the code's digits; None if they agree."""
    is_same = math.isclose(one.value or 0, other.value or 0, rel_tol=rounded_by)
    places = (name for name in _IN_CODES if getattr(one, name) != getattr(other, name))
    return next(places, None if is_same else "value")


def run_difference(run: RunSummary, other: RunSummary) -> str | None:
    """Return the field in which a result differs from the user's own run; None if they agree."""
    pairs = ((name, getattr(run, name), getattr(other, name)) for name in _MEASURED)
    return next((name for name, one, two in pairs if one and two and one != two), None)


def result_difference(one: Result, other: Result) -> str | None:
    """Return the first place where both results say something else; None if they agree. Either may lack fields."""
    return None if one.digest == other.digest else _difference(to_builtins(one), to_builtins(other), "")


def _difference(one: Any, other: Any, place: str) -> str | None:
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return None if one == other else place
    for name in one.keys() & other.keys():
        inner = f"{place}.{name}" if place else name
        if inner not in _MAY_CHANGE and (difference := _difference(one[name], other[name], inner)) is not None:
            return difference
    return None
