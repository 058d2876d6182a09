"""Which CPUs a run that is kept to some of them gets."""

import struct
import sys
from pathlib import Path

import pytest

from tests.child import python
from workloads.engines.cpu_allowance import choose_cpus, cpus_in_masks, linux_cores, windows_cores

# Four CPUs of two fast cores, then two slow cores with one each.
FAST, SLOW = 5_000, 3_800
CORES = (FAST, "0 0"), (FAST, "0 0"), (FAST, "0 1"), (FAST, "0 1"), (SLOW, "0 2"), (SLOW, "0 3")
HYBRID = dict(enumerate(CORES))


@pytest.mark.parametrize(
    ("count", "chosen"),
    [(1, {0}), (2, {0, 2}), (3, {0, 2, 4}), (4, {0, 2, 4, 5}), (5, {0, 1, 2, 4, 5}), (9, {0, 1, 2, 3, 4, 5})],
)
def test_fast_cores_come_first_and_second_cpus_of_a_core_last(count: int, chosen: set[int]) -> None:
    assert choose_cpus(range(6), HYBRID, count) == chosen


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


def windows_core(efficiency_class: int, mask: int, group: int = 0) -> bytes:
    return struct.pack("<IIBB20xHQH6x", 0, 48, mask.bit_count() > 1, efficiency_class, 1, mask, group)


def test_cores_are_read_from_windows() -> None:
    cache = struct.pack("<II40x", 2, 48)
    # Two fast cores with two CPUs each, then slow ones with one each, as Intel's hybrid processors have them.
    fast = windows_core(1, 0b11) + cache + windows_core(1, 0b1100)
    cores = windows_cores(fast + windows_core(0, 0b10000) + windows_core(0, 0b100000))
    assert [speed for speed, _ in cores.values()] == [1, 1, 1, 1, 0, 0]
    assert choose_cpus(range(6), cores, 3) == {0, 2, 4}
    assert choose_cpus(range(6), cores, 4) == {0, 2, 4, 5}
    alike = windows_cores(b"".join(windows_core(0, 1 << cpu) for cpu in range(4)))  # one CPU a core
    assert choose_cpus(range(4), alike, 2) == {0, 1}
    assert windows_cores(windows_core(0, 0b1, group=1)) == {}


ALL_64 = 2**64 - 1


@pytest.mark.parametrize(
    ("process_mask", "group_mask", "cpus", "is_spread", "visible"),
    [
        (0b11, 0xFF, 8, True, 2),
        (0xFF, 0xFF, 8, True, 8),
        (0b11, ALL_64, 96, True, 2),
        (ALL_64, ALL_64, 96, True, 96),
        (ALL_64, ALL_64, 96, False, 64),
        (0, 0, 96, False, 96),
        (0, 0, None, True, None),
    ],
)
def test_a_process_counts_the_cpus_of_its_mask_and_of_all_groups_if_it_has_them(
    process_mask: int, group_mask: int, cpus: int | None, is_spread: bool, visible: int | None
) -> None:
    assert cpus_in_masks(process_mask, group_mask, cpus, is_spread) == visible


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "darwin", reason="macOS has no call for it")
def test_a_process_is_kept_to_its_cpus_and_knows_it() -> None:
    """In a process of its own, as it can't be taken back on every system."""
    program = "import workloads.engines.cpu_allowance as each; print(each.limit_cpus(1), each.visible_cpus())"
    assert python("-c", program).stdout.split() == ["True", "1"]
