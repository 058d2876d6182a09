"""What makes programs wait, from Linux's files of several machines and containers."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.hardware.telemetry.pressure import Pressure, PressureReader, held_share_pct, periods, waited_us
from tests.core.hardware.made_up import write

SOME = "some avg10=0.85 avg60=0.96 avg300=7.53 total={some}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"
STAT = "usage_usec 9\nnr_periods {periods}\nnr_throttled {held}\nthrottled_usec 81\n"


def test_shares_count_from_the_previous_read(tmp_path: Path) -> None:
    cpu, memory = "proc/pressure/cpu", "proc/pressure/memory"
    write(tmp_path, {cpu: SOME.format(some=1_000_000), memory: SOME.format(some=5)})
    reader = PressureReader(tmp_path)
    assert reader.read(1.0) == Pressure(0.0, 0.0, None)
    write(tmp_path, {cpu: SOME.format(some=1_500_000), memory: SOME.format(some=100_005)})
    assert reader.read(2.0) == Pressure(25.0, 5.0, None)
    write(tmp_path, {cpu: SOME.format(some=9_500_000), memory: "some avg10=0.00\n"})
    assert reader.read(1.0) == Pressure(100.0, None, None)
    assert reader.read(0.0) == Pressure(None, None, None)


@pytest.mark.parametrize(
    ("group", "folder"),
    [
        ("0::/", "sys/fs/cgroup"),
        ("0::/a/b", "sys/fs/cgroup/a"),  # the quota of a group above applies too
        ("2:cpu,cpuacct:/docker/1f", "sys/fs/cgroup/cpu,cpuacct/docker/1f"),
    ],
)
def test_a_quota_is_found_in_all_groups(tmp_path: Path, group: str, folder: str) -> None:
    stat = f"{folder}/cpu.stat"
    write(tmp_path, {"proc/self/cgroup": group, stat: STAT.format(periods=100, held=3)})
    reader = PressureReader(tmp_path)
    assert reader.read(1.0).held_pct is None, "no period has passed"
    write(tmp_path, {stat: STAT.format(periods=110, held=8)})
    assert reader.read(1.0).held_pct == 50.0
    write(tmp_path, {stat: STAT.format(periods=120, held=8)})
    assert reader.read(1.0).held_pct == 0.0
    (tmp_path / stat).unlink()
    assert reader.read(1.0).held_pct is None


def test_a_system_without_these_files_reports_nothing(tmp_path: Path) -> None:
    assert PressureReader(tmp_path).read(1.0) == Pressure(None, None, None)


def test_counters_that_were_reset_are_unknown() -> None:
    assert held_share_pct((100, 50), (10, 5)) is None
    assert held_share_pct((100, 50), (110, 40)) is None
    assert held_share_pct(None, (110, 40)) is None


@given(st.text())
def test_any_text_is_accepted(text: str) -> None:
    assert waited_us(text) is None or "some" in text
    assert periods(text) is None or "nr_periods" in text
