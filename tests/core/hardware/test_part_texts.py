"""The machine part by part: each is shown in words, or with the reason why not."""

from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from app.cli.machine import reason_lines
from app.core.hardware.gpu.usable import usable_gpus
from app.core.hardware.part_texts import NOT_KNOWN, machine_parts
from app.core.hardware.telemetry.sensors import Power, Sensors, find_sensors
from app.core.hardware.telemetry.slowdowns import read_power_state
from app.core.hardware.unknown import gpu_reason, reason
from app.core.messages import sentence, text
from app.core.records import PowerState
from tests.core.hardware.made_up import write
from tests.saying import said
from workloads.protocol.machine import Disk, Gpu, Machine

CARD = Gpu(
    *("NVIDIA GeForce RTX 4070", "nvidia", 12_282 * 2**20, "580.65.06", "8.9", "nvml", "Ada"),
    *(200.0, 4, 16, None, True),
)
SYSTEMS = ("Linux 6.1 (Debian GNU/Linux 12)", "Windows 11", "macOS 15.1", "Plan 9")


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


def told(machine: Machine, power: Power | None = None) -> dict[str, str]:
    return {part.name: part.value for part in machine_parts(machine, power)}


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


@pytest.mark.parametrize("os_name", SYSTEMS)
@pytest.mark.parametrize("virtual", [True, False, None])
def test_everything_unknown_has_a_reason(os_name: str, virtual: bool | None) -> None:
    machine = Machine(None, None, None, None, os_name, "x86_64", "3.12.1", virtual, None, (Gpu("A GPU", "amd"),))
    unknown = [part for part in machine_parts(machine, Power()) if part.value == NOT_KNOWN]
    assert len(unknown) > 12
    for part in unknown:
        assert part.reason.endswith("."), part.name


def test_only_linux_speaks_of_udev(machine: Machine) -> None:
    texts = {
        os_name: text(reason("cpu_power", replace(machine, os_name=os_name), is_forbidden=os_name[:5] == "Linux"))
        for os_name in SYSTEMS
    }
    assert said("unknown.cpu_power_forbidden").is_in(texts[SYSTEMS[0]])
    assert sum("udev" in text for text in texts.values()) == 1


@pytest.mark.parametrize("forbidden", [True, False])
def test_sensors_that_cannot_be_read_have_their_reason(machine: Machine, forbidden: bool) -> None:
    machine = replace(machine, os_name=SYSTEMS[0], virtual_machine=False)
    power = Power(sensors=Sensors(power_forbidden=forbidden))
    parts = {part.name: part for part in machine_parts(machine, power)}
    assert parts[sentence("part.cpu_power")].value == NOT_KNOWN
    assert (said("unknown.cpu_power_forbidden").is_in(parts[sentence("part.cpu_power")].reason)) is forbidden
    assert said("unknown.driver").is_in(parts[sentence("part.cpu_temperature")].reason)


HWMON = "sys/class/hwmon/hwmon"
ZONE = "sys/class/thermal/thermal_zone0"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, False),
        ({f"{HWMON}0/name": "k10temp", f"{HWMON}0/temp1_input": "41000"}, True),
        ({f"{HWMON}0/name": "coretemp", f"{HWMON}0/device/temp2_input": "41000"}, True),
        ({f"{HWMON}0/name": "coretemp", f"{HWMON}0/temp1_input": "0"}, False),
        ({f"{HWMON}0/name": "nvme", f"{HWMON}0/temp1_input": "41000"}, False),
        ({f"{ZONE}/type": "x86_pkg_temp", f"{ZONE}/temp": "41000"}, True),
        ({f"{ZONE}/type": "x86_pkg_temp", f"{ZONE}/temp": "41000"} | {f"{HWMON}0/temp1_input": "1"}, True),
        ({f"{ZONE}/type": "acpitz", f"{ZONE}/temp": "41000"}, False),
    ],
)
def test_the_cpu_temperature(tmp_path: Path, files: dict[str, str], expected: bool) -> None:
    assert find_sensors(write(tmp_path, files)).temperature is expected


def test_windows_does_not_tell_of_all_instruction_sets(whole: Machine) -> None:
    def reasons(**changes: str) -> list[str]:
        parts = machine_parts(replace(whole, instruction_sets=("AVX2",), **changes))  # type: ignore[arg-type]
        return [part.reason for part in parts if said("part.instruction_sets").is_all_of(part.name)]

    assert reasons(os_name="Windows 11") == [sentence("unknown.other_instruction_sets")]
    assert reasons(os_name="Windows 11", architecture="arm64") == [sentence("unknown.other_instruction_sets_arm")]
    assert reasons(os_name="macOS 15.1") == [""]


def test_a_reason_is_given_once_for_all_its_parts(machine: Machine) -> None:
    virtual = replace(machine, os_name=SYSTEMS[0], virtual_machine=True)
    lines = reason_lines(machine_parts(virtual, Power()))
    unknown = "base_clock", "boost_clock", "memory_speed", "power_plan", "cpu_power", "cpu_temperature"
    assert [line for line in lines if said("unknown.virtual").is_in(line)] == [
        f"  {', '.join(sentence(f'part.{name}') for name in unknown)}: {sentence('unknown.virtual')}"
    ]
    assert len({line.partition(": ")[2] for line in lines}) == len(lines)


def test_a_power_limit_comes_with_its_default_and_its_range(machine: Machine) -> None:
    card = replace(CARD, power_limit_w=230.0, power_default_w=370.0, power_min_w=100.0, power_max_w=390.0)
    values = {part.name: part.value for part in machine_parts(replace(machine, gpus=(card,)))}
    default = sentence("part.power_default", default_w=370.0)
    limits = sentence("part.power_range", least_w=100.0, most_w=390.0)
    name = sentence("part.gpu_power_limit", gpu=sentence("part.gpu"))
    assert values[name] == f"230 W, {default}, {limits}"


def test_what_is_not_known_of_a_card(machine: Machine) -> None:
    assert gpu_reason(Gpu("AMD Radeon", "amd", source="sysfs"), "power_limit").code == "unknown.driver_or_asleep"
    assert gpu_reason(Gpu("Apple M1", "apple", source="ioreg"), "driver").code == "unknown.driver"
    inside = Gpu("AMD Radeon 780M", "amd", source="sysfs", shares_memory=True)
    reasons = {part.name: part.reason for part in machine_parts(replace(machine, gpus=(inside,)))}
    assert said("unknown.gpu_in_cpu").is_in(reasons[sentence("part.gpu_power_limit", gpu=sentence("part.gpu"))])
    assert not said("unknown.gpu_in_cpu").is_in(reasons[sentence("part.gpu_driver", gpu=sentence("part.gpu"))])


def test_a_computer_without_a_graphics_card_is_not_at_fault(machine: Machine) -> None:
    part = next(part for part in machine_parts(machine) if part.name == "GPU")
    assert said("part.no_gpu").is_all_of(part.value)
    assert said("part.no_gpu_is_fine").is_in(part.reason)


def test_several_gpus_are_numbered_and_many_get_a_line_each(machine: Machine) -> None:
    two = told(replace(machine, gpus=(CARD, replace(CARD, shares_memory=True, name="Intel UHD"))))
    assert (two["GPU 0"], two["GPU 1"]) == (
        sentence("part.gpu_with_memory", name="NVIDIA GeForce RTX 4070", memory_bytes=12878610432),
        sentence("part.gpu_with_shared_memory", name="Intel UHD", memory_bytes=12878610432),
    )
    many = told(replace(machine, gpus=(CARD,) * 10))
    assert said("part.gpu_driver", gpu="GPU 7").is_in(many)
    assert "GPU 9" in many
    assert not said("part.gpu_driver", gpu="GPU 9").is_in(many)


def test_the_power_of_a_stored_machine_is_left_out(machine: Machine) -> None:
    assert "power plan" not in told(machine)


@pytest.mark.parametrize(("battery", "charge_pct"), [((56.4, False), 56.4), ((101.0, True), None), (None, None)])
def test_the_charge_of_a_battery(
    monkeypatch: pytest.MonkeyPatch, battery: tuple[float, bool] | None, charge_pct: float | None
) -> None:
    state = type("Battery", (), {"percent": battery[0], "power_plugged": battery[1]})() if battery else None
    monkeypatch.setattr(psutil, "sensors_battery", lambda: state, raising=False)
    monkeypatch.setattr(
        "app.core.hardware.telemetry.slowdowns.read_on_battery", lambda _: battery and not battery[1]
    )
    assert read_power_state().battery_pct == charge_pct


def test_tensorflow_counts_cards_with_nvidias_driver_on_linux_only(machine: Machine) -> None:
    cards = (CARD, Gpu("Intel UHD", "intel"), replace(CARD, source="sysfs", driver="nouveau"))
    assert usable_gpus(replace(machine, gpus=cards), "tensorflow") == (CARD,)
    assert usable_gpus(replace(machine, gpus=cards, os_name="Windows 11"), "tensorflow") == ()
