"""Verdicts of whole runs: quiet ones without a caution, disturbed ones with theirs."""

from dataclasses import replace
from typing import Any

import pytest

from app.core.records import Run
from app.core.verdict.rules import judge
from tests.build import measured, quiet_run, slower, with_telemetry
from tests.core.verdict.changes import DISTURBED, codes, quick, summarised

SEEDS = range(10)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_quiet_run_is_valid_without_a_caution(stored_run: Run, seed: int) -> None:
    for run in (quiet_run(stored_run, seed), quick(quiet_run(stored_run, seed))):
        judged = judge(run)
        assert (judged.level, codes(run)) == ("valid", [])
        assert {reason.level for reason in judged.reasons} == {"fact"}


@pytest.mark.parametrize("code", DISTURBED)
@pytest.mark.parametrize("seed", SEEDS)
def test_each_disturbance_is_flagged_in_every_run(stored_run: Run, seed: int, code: str) -> None:
    for run in (quiet_run(stored_run, seed), quick(quiet_run(stored_run, seed))):
        found = set(codes(DISTURBED[code](run)))
        assert found - {"drift", "interval_wide"} == {code}
        assert ("drift" in found) == (code == "clock_falling")


def test_what_happened_before_or_after_the_measurement_does_not_count(stored_run: Run) -> None:
    run = quiet_run(stored_run, 0)
    inside = measured(run)
    outside = [at for at in range(len(run.telemetry)) if at < inside[0] or at > inside[-1] + 1]
    assert outside
    loud: dict[str, Any] = {"suspended_s": 99.0, "on_battery": True, "throttle_count": 9, "steal_pct": 100.0}
    assert codes(with_telemetry(run, outside, **loud)) == []


def test_warming_up_is_not_drift(stored_run: Run) -> None:
    # One epoch of three, or what the estimate left out, is slower.
    run = slower(slower(quiet_run(stored_run, 0), 0, 1.1), 100, 1 / 1.1)
    assert codes(run) == []
    assert codes(summarised(warmup_steps=500)(quick(run))) == []
    assert codes(summarised(warmup_steps=5)(quick(run))) == ["drift"]


def test_a_clock_that_settles_does_not_fall(stored_run: Run) -> None:
    run = quiet_run(stored_run, 0)
    at = measured(run)[:16]
    cold = with_telemetry(run, at[:5], cpu_clock_mhz=4900.0)
    assert codes(replace(cold, telemetry=tuple(cold.telemetry[each] for each in at))) == []
    cold = with_telemetry(cold, at[5:10], cpu_clock_mhz=4900.0)
    assert codes(replace(cold, telemetry=tuple(cold.telemetry[each] for each in at))) == ["clock_falling"]
