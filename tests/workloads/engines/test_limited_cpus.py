"""Which CPUs a run that is kept to some of them gets."""

from pathlib import Path

import pytest

from workloads.engines.cpu_allowance import choose_cpus, linux_cores

# Four CPUs of two fast cores, then two slow cores with one each.
FAST, SLOW = 5_000, 3_800
HYBRID = {
    0: (FAST, "0 0"),
    1: (FAST, "0 0"),
    2: (FAST, "0 1"),
    3: (FAST, "0 1"),
    4: (SLOW, "0 2"),
    5: (SLOW, "0 3"),
}


@pytest.mark.parametrize(
    ("count", "chosen"),
    [(1, {0}), (2, {0, 2}), (3, {0, 2, 4}), (4, {0, 2, 4, 5}), (5, {0, 1, 2, 4, 5}), (9, {0, 1, 2, 3, 4, 5})],
)
def test_fast_cores_come_first_and_second_cpus_of_a_core_last(count: int, chosen: set[int]) -> None:
    assert choose_cpus(range(6), HYBRID, count) == chosen


def test_only_allowed_cpus_are_chosen_and_unknown_ones_are_cores_of_their_own() -> None:
    assert choose_cpus({1, 3, 4}, HYBRID, 2) == {1, 3}
    assert choose_cpus({6, 7}, {}, 1) == {6}


def test_cores_are_read_from_linux(tmp_path: Path) -> None:
    for cpu, (core, clock) in enumerate((("0", "5000000"), ("0", "5000000"), ("1", ""))):
        folder = tmp_path / f"sys/devices/system/cpu/cpu{cpu}"
        (folder / "topology").mkdir(parents=True)
        (folder / "topology/core_id").write_text(f"{core}\n")
        (folder / "topology/physical_package_id").write_text("0\n")
        if clock:
            (folder / "cpufreq").mkdir()
            (folder / "cpufreq/cpuinfo_max_freq").write_text(f"{clock}\n")
    (tmp_path / "sys/devices/system/cpu/cpu3").mkdir()
    assert linux_cores(tmp_path) == {0: (5_000_000, "0 0"), 1: (5_000_000, "0 0"), 2: (0, "0 1")}
