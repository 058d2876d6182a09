"""In a virtual machine, the host changes the speed from one run to the next: a Quick's interval allows for it."""

import random
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.analysis.groups import worst_verdict
from app.core.analysis.series import estimates
from app.core.analysis.shared_host import includes_host, is_on_shared_host, with_host
from app.core.analysis.stats import DurationStatistics
from app.core.hardware.machine import FIRMWARE_KINDS
from app.core.hardware.part_texts import OWN_COMPUTER
from app.core.records import Group, Plan, Run, RunSummary
from app.core.storage.database import Database
from app.core.storage.runs import load_run
from app.core.verdict.rules import judge
from tests.conftest import ROOT
from tests.core.verdict.changes import QUICK, metrics, summarised
from tests.core.verdict.records import quiet_run, with_steps
from tests.recording import as_preset, recorded_events, store_recording
from tests.saying import said
from tests.sure import sure
from tests.telemetry import machine_of
from workloads.protocol import events
from workloads.protocol.machine import Machine
from workloads.protocol.spec import Preset

SHARED: dict[str, Any] = {"virtual_machine": True, "virtualization": "kvm"}
OWN: dict[str, Any] = {"virtual_machine": False, "virtualization": None}
ESTIMATE = DurationStatistics("estimate", 600, 100.0, 99.0, 101.0, 1.0, None, 98.0, 103.0, 95.0)


@pytest.mark.parametrize(
    ("virtual_machine", "virtualization", "device", "is_shared"),
    [
        (True, "kvm", "cpu", True),
        (True, "docker in kvm", "cpu", True),
        (True, None, "cpu", True),
        (False, "docker", "cpu", False),
        (None, None, "cpu", False),
        (True, "kvm", "gpu:0", False),
        (True, "kvm", None, False),
        (True, "wsl", "cpu", False),
        (True, "docker in wsl", "cpu", False),
        (True, "VirtualBox", "cpu", False),
    ],
)
def test_who_shares_the_cpus(
    machine: Machine, virtual_machine: bool | None, virtualization: str | None, device: str | None, is_shared: bool
) -> None:
    described = replace(machine, virtual_machine=virtual_machine, virtualization=virtualization)
    assert is_on_shared_host(described, device) is is_shared


def test_independent_errors_add_as_squares() -> None:
    wider = sure(with_host(ESTIMATE))
    assert wider.low_s == pytest.approx(100 - (2.0**2 + 8.82**2) ** 0.5, abs=0.01)
    assert wider.high_s == pytest.approx(100 + (3.0**2 + 8.82**2) ** 0.5, abs=0.01)
    assert replace(wider, low_s=98.0, high_s=103.0) == ESTIMATE, "nothing else changes"
    without = replace(ESTIMATE, low_s=None, high_s=None)
    assert with_host(without) == without
    assert with_host(None) is None


@pytest.mark.parametrize("page", ["docs/using.md", "docs/measurement.md", "CHANGELOG.md"])
def test_the_docs_say_how_much_it_is(page: str) -> None:
    wider = sure(with_host(replace(ESTIMATE, low_s=100.0, high_s=100.0)))
    assert f" {sure(wider.high_s) - 100:.1f} %" in (ROOT / page).read_text(encoding="utf-8")


@given(st.floats(0, 100), st.floats(0.001, 1e6))
def test_a_stored_interval_tells_whether_it_includes_the_host(own_pct: float, value_s: float) -> None:
    high_s = value_s * (1 + own_pct / 100)
    wider = sure(with_host(replace(ESTIMATE, low_s=value_s, high_s=high_s, median_s=value_s)))
    assert sure(wider.low_s) >= 0
    assert includes_host(100 * (sure(wider.high_s) / value_s - 1), own_pct)
    assert not includes_host(own_pct, own_pct)


def stored(database: Database, preset: Preset, **described: Any) -> Run:
    recorded = as_preset(recorded_events(), preset) if preset != "standard" else recorded_events()
    first = recorded[0]
    assert isinstance(first, events.Run)
    begun = msgspec.structs.replace(first, machine=replace(first.machine, **described))
    return load_run(database, store_recording(database, [begun, *recorded[1:]]))


@pytest.mark.slow
def test_it_is_in_the_record_and_in_the_estimate_as_it_narrows(database: Database) -> None:
    own, shared = (stored(database, "quick", **kind) for kind in (OWN, SHARED))
    assert own.summary.value == shared.summary.value
    inner, outer = ((run.summary.value_low, run.summary.value_high) for run in (own, shared))
    assert is_inside(inner, outer)
    inner, outer = ((last.low, last.high) for last in (list(estimates(run))[-1] for run in (own, shared)))
    assert is_inside(inner, outer)


def is_inside(inner: tuple[float | None, float | None], outer: tuple[float | None, float | None]) -> bool:
    ends = [end for end in (outer[0], *inner, outer[1]) if end is not None]
    return len(ends) == 4 and ends == sorted(set(ends))


@pytest.mark.parametrize("preset", ["standard", "sustained"])
def test_longer_runs_keep_their_interval(database: Database, preset: Preset) -> None:
    own, shared = (stored(database, preset, **kind).summary for kind in (OWN, SHARED))
    assert (sure(own.value_low), own.value_high) == (shared.value_low, shared.value_high)


@pytest.mark.parametrize(
    ("kind", "noise", "half_pct", "code", "said"),
    [
        (OWN, 0.001, 2.0, None, ""),
        (OWN, 0.001, 6.2, "interval_wide", "The estimate is uncertain by ± 6.2 %."),
        (SHARED, 0.001, 2.0, None, ""),  # stored before intervals allowed for the host
        (
            SHARED,
            0.001,
            6.2,  # stored when they allowed for less
            "shared_host",
            "The estimate is uncertain by ± 6.2 %: in a virtual machine, the speed",
        ),
        (
            SHARED,
            0.001,
            9.0,
            "shared_host",
            "The estimate is uncertain by ± 9.0 %: in a virtual machine, the speed",
        ),
        (SHARED, 0.3, 12.0, "interval_wide", "The estimate is uncertain by ± 12.0 %."),  # so are its own steps
    ],
)
def test_the_verdict_says_whether_it_is_the_host(
    stored_run: Run, kind: dict[str, Any], noise: float, half_pct: float, code: str | None, said: str
) -> None:
    chance = random.Random(0)
    speeds = [1 + noise * chance.random() for _ in range(10)]
    steps_s = (1.0, *(0.1 * speeds[number // 60] for number in range(600)))
    judged = judge(measured(stored_run, kind, steps_s, (100 - half_pct, 100 + half_pct)))
    assert judged.level == ("valid" if code is None else "caution")
    wide = [reason for reason in judged.reasons if reason.code in ("interval_wide", "shared_host")]
    assert [reason.code for reason in wide] == ([] if code is None else [code])
    assert all(reason.text.startswith(said) for reason in wide)
    assert all(("Repeat" in reason.advice) == (code == "shared_host") for reason in wide)


def measured(
    run: Run, kind: dict[str, Any], steps_s: tuple[float, ...], ends: tuple[float, float], **changes: Any
) -> Run:
    """Return a Quick run with these steps and this interval, on such a computer."""
    count = float(len(steps_s))
    counted = metrics(updates_done=count, updates_asked=count)(with_steps(quiet_run(run, 0), steps_s))
    changes |= {"value_low": ends[0], "value_high": ends[1], "confidence_pct": 95.0, "device": "cpu"}
    changed = summarised(**QUICK | changes)(counted)
    return replace(changed, machine=machine_of(changed, **kind))


def test_a_short_run_that_knows_its_own_speed_is_not_called_too_short(stored_run: Run) -> None:
    for kind, codes in ((SHARED, ["shared_host"]), (OWN, ["short_run", "interval_wide"])):
        judged = judge(measured(stored_run, kind, (0.01,) * 400, (93.9, 106.1)))
        assert [each.code for each in judged.reasons if each.level == "caution"] == codes


def test_a_slow_start_is_still_named(stored_run: Run) -> None:
    steps_s = (1.0, *(0.6,) * 10, *(0.1, 0.101) * 300)
    run = measured(stored_run, SHARED, steps_s, (94.0, 112.0), warmup_steps=10)
    (wide,) = (reason for reason in judge(run).reasons if reason.code == "interval_wide")
    assert said("verdict.interval_wide_by_warmup").is_in(wide.text)


def test_several_runs_measure_what_the_host_changes(summary: RunSummary) -> None:
    shared = replace(summary, value=9.0, verdict="caution", reasons="shared_host")

    def worst(kind: str, *runs: RunSummary) -> tuple[str, int]:
        plan, ids = Plan(kind=kind, times=len(runs)), tuple(range(len(runs)))
        return worst_verdict(Group(id=1, created_at="", kind=kind, plan=plan, run_ids=ids, runs=runs))

    assert worst("repeat", shared, shared) == ("valid", 2)
    assert worst("repeat", shared, replace(shared, reasons="shared_host on_battery")) == ("caution", 1)
    assert worst("repeat", shared) == ("caution", 1), "one run measures nothing"
    assert worst("study", shared, shared) == ("caution", 2), "each is of other work"


def test_the_computers_of_ones_own_are_called_so_by_the_detection() -> None:
    assert set(OWN_COMPUTER) <= {"wsl", *(kind for _, kind in FIRMWARE_KINDS)}
