"""The machine part by part: each is shown in words, or with the reason why not."""

from dataclasses import replace
from typing import Any

import pytest

from app.cli.machine import reason_lines
from app.core.hardware.part_texts import NOT_KNOWN, machine_parts
from app.core.hardware.telemetry.sensors import Power, Sensors
from app.core.messages import sentence
from app.core.records import PowerState
from tests.saying import said
from workloads.protocol.machine import Disk, Gpu, Machine

CARD = Gpu(
    *("NVIDIA GeForce RTX 4070", "nvidia", 12_282 * 2**20, "580.65.06", "8.9", "nvml", "Ada"),
    *(200.0, 4, 16, None, True),
)
LINUX = "Linux 6.1 (Debian GNU/Linux 12)"
ON_ARM = {"instruction_sets": (), "architecture": "arm64"}
INSIDE = Gpu("AMD Radeon 780M", "amd", source="sysfs", shares_memory=True)


@pytest.fixture
def whole(machine: Machine) -> Machine:
    return replace(
        machine,
        gpus=(CARD,),
        performance_cores=2,
        efficiency_cores=2,
        cpu_base_mhz=1300.0,
        cpu_boost_mhz=4400.0,
        l1_data_bytes=96 * 1024,
        l2_bytes=int(2.5 * 2**20),
        l3_bytes=12 * 2**20,
        instruction_sets=("AVX2", "VNNI"),
        memory_speed_mts=3200,
        disks=(Disk("NVMe SSD", "Fast Disk", 10**12),),
        file_system="ext4",
        kernel="6.1.0",
        bios_version="F12",
        machine_id="9f3b6a0c1d2e4f57",
    )


def test_everything_known_is_shown(whole: Machine) -> None:
    parts = machine_parts(whole, Power(PowerState(True, 56.0, "powersave"), Sensors(power=True, temperature=True)))
    assert not [part for part in parts if part.value == NOT_KNOWN or part.reason]
    assert {part.name: part.value for part in parts} == {
        "CPU": "Test CPU",
        sentence("part.cores"): sentence(
            "part.cores_of_two_kinds", performance=2, efficiency=2, physical=4, logical=8
        ),
        sentence("part.base_clock"): "1.30 GHz",
        sentence("part.boost_clock"): "4.40 GHz",
        sentence("part.caches"): f"{sentence('part.l1_data')} 96 KB, L2 2.5 MB, L3 12 MB",
        sentence("part.instruction_sets"): "AVX2, VNNI",
        sentence("part.memory"): "15 GB",
        sentence("part.memory_speed"): "3,200 MT/s",
        "GPU": sentence("part.gpu_with_memory", name="NVIDIA GeForce RTX 4070", memory_bytes=12878610432),
        sentence(
            "part.gpu_architecture", gpu=sentence("part.gpu")
        ): f"Ada, {sentence('part.compute_capability', version='8.9')}",
        sentence("part.gpu_driver", gpu=sentence("part.gpu")): "580.65.06",
        sentence("part.gpu_power_limit", gpu=sentence("part.gpu")): "200 W",
        sentence("part.gpu_link", gpu=sentence("part.gpu")): "PCIe 4.0 × 16",
        sentence("part.gpu_display", gpu=sentence("part.gpu")): sentence("part.display_attached"),
        sentence("part.disk"): "NVMe SSD, Fast Disk, 1.0 TB, ext4",
        sentence("part.system"): "Test OS 1, x86_64",
        "BIOS": "F12",
        sentence("part.virtual_machine"): sentence("part.virtual_no"),
        sentence("part.python"): "3.11.7",
        sentence("part.power_source"): sentence("part.on_battery_charged", charge_pct=56.0),
        sentence("part.power_plan"): "powersave",
        sentence("part.cpu_power"): sentence("part.readable"),
        sentence("part.cpu_temperature"): sentence("part.readable"),
    }


@pytest.mark.parametrize("os_name", [LINUX, "Windows 11", "macOS 15.1", "Plan 9"])
@pytest.mark.parametrize("virtual", [True, None])
def test_everything_unknown_has_a_reason(os_name: str, virtual: bool | None) -> None:
    machine = Machine(None, None, None, None, os_name, "x86_64", "3.12.1", virtual, None, (Gpu("A GPU", "amd"),))
    unknown = [part for part in machine_parts(machine, Power()) if part.value == NOT_KNOWN]
    assert len(unknown) > 12
    assert [part.id for part in unknown if not part.reason.endswith(".")] == []


def test_a_reason_is_given_once_for_all_its_parts(machine: Machine) -> None:
    virtual = replace(machine, os_name=LINUX, virtual_machine=True)
    lines = reason_lines(machine_parts(virtual, Power()))
    unknown = "base_clock", "boost_clock", "memory_speed", "power_plan", "cpu_power", "cpu_temperature"
    assert [line for line in lines if said("unknown.virtual").is_in(line)] == [
        f"  {', '.join(sentence(f'part.{name}') for name in unknown)}: {sentence('unknown.virtual')}"
    ]
    assert len({line.partition(": ")[2] for line in lines}) == len(lines)


@pytest.mark.parametrize(
    ("os_name", "changes", "part", "code"),
    [
        (LINUX, {}, "cpu_power", "unknown.cpu_power_linux"),
        (LINUX, {}, "cpu_power", "unknown.cpu_power_forbidden"),
        ("Windows 11", {}, "cpu_power", "unknown.cpu_power_windows"),
        ("macOS 15.1", {}, "cpu_power", "unknown.cpu_power_macos"),
        (LINUX, {}, "cpu_temperature", "unknown.driver"),
        (LINUX, {"virtual_machine": True}, "cpu_temperature", "unknown.virtual"),
        ("Plan 9", {}, "power_source", "unknown.power_source"),
        ("Plan 9", {}, "cpu_temperature", "unknown.not_reported"),
        ("Windows 11", {"instruction_sets": ("AVX2",)}, "instruction_sets", "unknown.other_instruction_sets"),
        ("Windows 11", ON_ARM, "instruction_sets", "unknown.other_instruction_sets_arm"),
        ("macOS 15.1", {"instruction_sets": ("AVX2",)}, "instruction_sets", None),
        (LINUX, {}, "gpu", "part.no_gpu_is_fine"),
        (LINUX, {"gpus": (Gpu("AMD Radeon", "amd", source="sysfs"),)}, "gpu_link", "unknown.driver_or_asleep"),
        (LINUX, {"gpus": (Gpu("A GPU", "nvidia", source="sysfs"),)}, "gpu_link", "unknown.gpu_without_driver"),
        (LINUX, {"gpus": (Gpu("Apple M1", "apple", source="ioreg"),)}, "gpu_driver", "unknown.driver"),
        (LINUX, {"gpus": (INSIDE,)}, "gpu_power_limit", "unknown.gpu_in_cpu"),
        (LINUX, {"gpus": (INSIDE,)}, "gpu_driver", "unknown.driver_or_asleep"),
    ],
)
def test_what_is_unknown_has_its_reason(
    machine: Machine, os_name: str, changes: dict[str, Any], part: str, code: str | None
) -> None:
    power = Power(sensors=Sensors(power_forbidden=code == "unknown.cpu_power_forbidden"))
    parts = machine_parts(replace(machine, os_name=os_name, **changes), power)
    (reason,) = (each.reason for each in parts if each.id == part)
    assert said(code).is_in(reason) if code else not reason


def test_gpus_are_numbered_and_many_get_a_line_each(machine: Machine) -> None:
    limits = {"power_limit_w": 230.0, "power_default_w": 370.0, "power_min_w": 100.0, "power_max_w": 390.0}
    gpus = (replace(CARD, **limits), replace(CARD, shares_memory=True, name="Intel UHD"), *(CARD,) * 8)  # type: ignore[arg-type]
    shown = {part.name: part.value for part in machine_parts(replace(machine, gpus=gpus))}
    default = sentence("part.power_default", default_w=370.0)
    name = sentence("part.gpu_power_limit", gpu="GPU 0")
    assert shown[name] == f"230 W, {default}, {sentence('part.power_range', least_w=100.0, most_w=390.0)}"
    assert [shown["GPU 0"], shown["GPU 1"]] == [
        sentence("part.gpu_with_memory", name="NVIDIA GeForce RTX 4070", memory_bytes=12878610432),
        sentence("part.gpu_with_shared_memory", name="Intel UHD", memory_bytes=12878610432),
    ]
    assert said("part.gpu_driver", gpu="GPU 7").is_in(shown)
    assert "GPU 9" in shown
    assert not said("part.gpu_driver", gpu="GPU 9").is_in(shown)
    assert not said("part.power_plan").is_in(shown), "of a stored machine, it is left out"
