"""Kinds of cores, clocks, caches and instruction sets, from what real computers of three systems say."""

import struct
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from app.core.hardware.parts.cpu import Cpu, linux_cpu, macos_cpu, read_cpu, windows_cpu
from tests.core.hardware.gpu.gpu_trees import plant
from tests.core.hardware.made_up import write

DATA = Path(__file__).parents[3] / "data/machines/cpus"
RECORDED = tomllib.loads((DATA / "expected.toml").read_text(encoding="utf-8"))
CPUS = "sys/devices/system/cpu/cpu"


def thread(number: int, core: int, **files: str) -> dict[str, str]:
    files |= {"topology__core_id": str(core), "topology__physical_package_id": "0"}
    return {f"{CPUS}{number}/{name.replace('__', '/')}": text for name, text in files.items()}


@pytest.mark.parametrize(("name", "expected"), RECORDED.items(), ids=RECORDED)
def test_a_recorded_processor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, expected: dict[str, Any]
) -> None:
    text = (DATA / f"{name}.txt").read_text(encoding="utf-8")
    is_mac = text.startswith("hw.")
    monkeypatch.setattr(sys, "platform", "darwin" if is_mac else "linux")
    monkeypatch.setattr("app.core.hardware.parts.cpu.output_of", lambda _: text.encode())
    cpu = read_cpu(tmp_path if is_mac else plant(tmp_path, f"../cpus/{name}", ids=False))
    sets = tuple(expected["instruction_sets"])
    assert cpu == Cpu(**expected | {"instruction_sets": sets})


def test_what_tells_nothing_is_unknown(tmp_path: Path) -> None:
    assert linux_cpu(tmp_path) == macos_cpu("") == windows_cpu(b"", None, None) == Cpu()
    assert windows_cpu(core(0) * 4, {}, 0.0) == Cpu(instruction_sets=())
    assert macos_cpu("hw.perflevel0.physicalcpu: 8\n").performance_cores is None, "all of one kind"


@pytest.mark.parametrize(
    ("capacities", "kinds"),
    [
        ([446, 446, 446, 446, 1024, 1024], (2, 4)),
        # GB10, and a telephone's chip with three kinds.
        ([718] * 10 + [1024] * 10, (10, 10)),
        ([280] * 2 + [866] * 5 + [1024], (6, 2)),
        # Equal cores of one chip, with favoured ones, and with clocks that decrease in small steps.
        ([1024, 1023, 1022, 1024, 1023, 1022, 1024, 1023], (None, None)),
        ([1024, 1024, 946, 946, 931, 931], (None, None)),
        ([1024, 930, 850, 770, 700, 640], (None, None)),
        ([1024, 0, 1024, 0], (None, None)),
    ],
)
def test_kinds_of_cores_differ_by_a_third(
    tmp_path: Path, capacities: list[int], kinds: tuple[int | None, int | None]
) -> None:
    tree: dict[str, str] = {}
    for number, capacity in enumerate(capacities):
        tree |= thread(number, number, cpu_capacity=str(capacity))
    cpu = linux_cpu(write(tmp_path, tree))
    assert (cpu.performance_cores, cpu.efficiency_cores) == kinds


ACPI, AMD = "acpi-cpufreq", "amd-pstate-epp"


@pytest.mark.parametrize(
    ("driver", "highest_khz", "nominal_mhz", "expected"),
    [
        (ACPI, "3700000", "", (3700.0, None)),  # a Ryzen 9 5900X before Linux 5.11, which boosts to 4.8 GHz
        (ACPI, "3700000", "3701", (3701.0, None)),
        (ACPI, "2401000", "2400", (2400.0, None)),  # Intel's way to ask for any boost
        (ACPI, "4950000", "3701", (3701.0, 4950.0)),
        # An impossible clock is not believed.
        (AMD, "7253000", "3801", (3801.0, None)),
        (AMD, "6600001", "3801", (3801.0, None)),
        (AMD, "6200000", "3801", (3801.0, 6200.0)),
    ],
)
def test_the_base_clock_is_not_the_highest(
    tmp_path: Path, driver: str, highest_khz: str, nominal_mhz: str, expected: tuple[float, float | None]
) -> None:
    tree = thread(0, 0, cpufreq__scaling_driver=driver, cpufreq__cpuinfo_max_freq=highest_khz)
    tree |= thread(0, 0, acpi_cppc__nominal_freq=nominal_mhz)
    cpu = linux_cpu(write(tmp_path, tree))
    assert (cpu.cpu_base_mhz, cpu.cpu_boost_mhz) == expected


def core(efficiency_class: int) -> bytes:
    return struct.pack("<IIBB20xH16x", 0, 48, 0, efficiency_class, 1)


def cache(level: int, kind: int, size_bytes: int) -> bytes:
    return struct.pack("<IIBBHII20x16x", 2, 56, level, 8, 64, size_bytes, kind)


def test_windows_topology() -> None:
    group = struct.pack("<II24x", 4, 32)  # a relation that says nothing of cores
    caches = cache(1, 2, 49_152) + cache(1, 1, 32_768) + cache(2, 0, 1_310_720) + cache(3, 0, 12 * 2**20)
    table = core(1) + group + core(1) + core(0) * 4 + caches
    assert windows_cpu(table, {"AVX2": True, "AVX-512": False}, 1300.0) == Cpu(
        performance_cores=2,
        efficiency_cores=4,
        cpu_base_mhz=1300.0,
        l1_data_bytes=49_152,
        l2_bytes=1_310_720,
        l3_bytes=12 * 2**20,
        instruction_sets=("AVX2",),
    )
