"""Others change a shared device's speed from one run to the next: every interval allows for it."""

import random
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.analysis.series import estimates
from app.core.analysis.shared_host import BETWEEN_RUNS_HALF_PCT, SHARED_HOST, shared_part, with_host
from app.core.plans.experiments import report_of
from app.core.records import Group, Plan, Run, RunSummary
from app.core.storage.database import Database
from app.core.storage.runs import load_run
from app.core.verdict.rules import judge
from tests.build import machine_of, quiet_run, with_steps
from tests.conftest import ROOT
from tests.core.verdict.changes import QUICK, metrics, summarised
from tests.recording import as_preset, recorded_events, store_recording
from tests.sure import sure
from workloads.protocol import events
from workloads.protocol.machine import Machine
from workloads.protocol.spec import Preset

SHARED: dict[str, Any] = {"virtual_machine": True, "virtualization": "kvm"}
OWN: dict[str, Any] = {"virtual_machine": False, "virtualization": None}


@pytest.mark.parametrize(
    ("virtual_machine", "virtualization", "device", "shared"),
    [
        (True, "kvm", "cpu", "cpu"),
        (True, "docker in kvm", "cpu", "cpu"),
        (True, None, "cpu", "cpu"),
        (False, "docker", "cpu", None),
        (None, None, "cpu", None),
        (True, "kvm", "gpu:0", None),
        (True, "kvm", None, None),
        (True, "wsl", "cpu", None),
        (True, "docker in wsl", "cpu", None),
        (True, "VirtualBox", "cpu", None),
    ],
)
def test_who_shares_the_cpus(
    machine: Machine,
    virtual_machine: bool | None,
    virtualization: str | None,
    device: str | None,
    shared: str | None,
) -> None:
    described = replace(machine, virtual_machine=virtual_machine, virtualization=virtualization)
    assert shared_part(described, device) == shared


@pytest.mark.parametrize(
    ("name", "is_slice"),
    [
        ("NVIDIA A10-24Q", True),
        ("GRID V100D-8Q", True),
        ("NVIDIA A100-4-20C", True),
        ("NVIDIA RTX6000-Ada-12Q", True),
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", True),
        ("AMD Radeon Instinct MI25 MxGPU", True),
        ("NVIDIA A100-SXM4-80GB", False),
        ("NVIDIA H100 80GB HBM3", False),
        ("NVIDIA GeForce RTX 4090", False),
        ("NVIDIA RTX A2000 12GB", False),
        ("Tesla P100-PCIE-16GB", False),
        (None, False),
    ],
)
def test_slices_of_a_gpu_are_detected_by_name(machine: Machine, name: str | None, is_slice: bool) -> None:
    assert shared_part(machine, "gpu:0", device_name=name) == ("gpu_slice" if is_slice else None)


@given(st.floats(0.001, 1e6), st.floats(0, 0.8), st.floats(0, 2))
def test_a_rate_is_as_uncertain_as_the_time_it_takes(value_s: float, faster: float, slower: float) -> None:
    low_s, high_s = value_s * (1 - faster), value_s * (1 + slower)
    wide_s = with_host(value_s, low_s, high_s, is_rate=False)
    wide = with_host(1 / value_s, 1 / high_s, 1 / low_s, is_rate=True)
    assert [1 / sure(end) for end in reversed(wide)] == pytest.approx([sure(end) for end in wide_s])
    assert 0 < sure(wide_s[0]) < low_s <= high_s < sure(wide_s[1])


@pytest.mark.parametrize("page", ["docs/using.md", "docs/measurement.md", "CHANGELOG.md"])
def test_the_docs_say_how_much_it_is(page: str) -> None:
    assert f" {BETWEEN_RUNS_HALF_PCT:.1f} %" in (ROOT / page).read_text(encoding="utf-8")


def stored(database: Database, preset: Preset, **described: Any) -> Run:
    recorded = as_preset(recorded_events(), preset) if preset != "standard" else recorded_events()
    first = recorded[0]
    assert isinstance(first, events.Run)
    begun = msgspec.structs.replace(first, machine=replace(first.machine, **described))
    return load_run(database, store_recording(database, [begun, *recorded[1:]]))


def is_inside(inner: tuple[float | None, float | None], outer: tuple[float | None, float | None]) -> bool:
    ends = [end for end in (outer[0], *inner, outer[1]) if end is not None]
    return len(ends) == 4 and ends == sorted(set(ends))


@pytest.mark.parametrize("preset", [pytest.param("quick", marks=pytest.mark.slow), "standard", "sustained"])
def test_every_preset_allows_for_it(database: Database, preset: Preset) -> None:
    own, shared = (stored(database, preset, **kind) for kind in (OWN, SHARED))
    inner, outer = ((run.summary.value_low, run.summary.value_high) for run in (own, shared))
    assert own.summary.value == shared.summary.value
    assert is_inside(inner, outer)
    if preset == "quick":  # as it narrows
        last_own, last_shared = (list(estimates(run))[-1] for run in (own, shared))
        assert is_inside((last_own.low, last_own.high), (last_shared.low, last_shared.high))
    wide = {SHARED_HOST} if preset != "quick" else {"interval_wide"}  # its own steps are as uncertain
    assert wide <= set((shared.summary.reasons or "").split())
    assert SHARED_HOST not in (own.summary.reasons or "").split()


@pytest.mark.parametrize(
    ("kind", "noise", "half_pct", "code", "said"),
    [
        (OWN, 0.001, 2.0, None, ""),
        (OWN, 0.001, 6.2, "interval_wide", "verdict.interval_wide"),
        (SHARED, 0.001, 2.0, None, ""),  # stored before intervals allowed for the host
        (SHARED, 0.001, 6.2, "shared_host", "verdict.shared_cpu"),  # stored when they allowed for less
        (SHARED, 0.001, 9.0, "shared_host", "verdict.shared_cpu"),
        (SHARED, 0.1, 9.6, "shared_host", "verdict.shared_cpu"),  # its own steps are less uncertain than the host
        (SHARED, 0.3, 12.0, "interval_wide", "verdict.interval_wide"),  # so are its own steps
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
    for reason in wide:
        assert sure(reason.said).code == said
        assert sure(reason.said).arguments["half_pct"] == pytest.approx(half_pct)
        assert sure(reason.advised).code == "advice.varies"


def measured(
    run: Run, kind: dict[str, Any], steps_s: tuple[float, ...], ends: tuple[float, float], **changes: Any
) -> Run:
    count = float(len(steps_s))
    counted = metrics(updates_done=count, updates_asked=count, epoch_rest_s=0.0)(
        with_steps(quiet_run(run, 0), steps_s)
    )
    changes |= {"value_low": ends[0], "value_high": ends[1], "confidence_pct": 95.0, "device": "cpu"}
    changed = summarised(**QUICK | changes)(counted)
    return replace(changed, machine=machine_of(changed, **kind))


def test_a_short_run_that_knows_its_own_speed_is_not_called_too_short(stored_run: Run) -> None:
    for kind, codes in ((SHARED, ["shared_host"]), (OWN, ["short_run", "interval_wide"])):
        judged = judge(measured(stored_run, kind, (0.01,) * 400, (93.9, 106.1)))
        assert [each.code for each in judged.reasons if each.level == "caution"] == codes


def test_several_runs_measure_what_the_host_changes(summary: RunSummary) -> None:
    shared = replace(summary, value=9.0, verdict="caution", reasons="shared_host")

    def worst(kind: str, *runs: RunSummary) -> tuple[str, int]:
        plan = Plan(kind=kind, rounds=len(runs))
        group = Group(id=1, created_at="", plan=plan, runs=runs)
        return report_of(group).worst_verdict()

    assert worst("repeat", shared, shared) == ("valid", 2)
    assert worst("repeat", shared, replace(shared, reasons="shared_host on_battery")) == ("caution", 1)
    assert worst("repeat", shared) == ("caution", 1), "one run measures nothing"
    assert worst("study", shared, shared) == ("caution", 2), "each is of other work"
