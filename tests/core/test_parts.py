"""The machine part by part: each is told in words, or its reason is."""

from dataclasses import replace

import psutil
import pytest

from app.core.machine.conditions import read_power_state
from app.core.machine.parts import NOT_KNOWN, machine_parts
from app.core.machine.unknown import reason
from app.core.model import Disk, Gpu, Machine, PowerState

CARD = Gpu(
    name="NVIDIA GeForce RTX 4070",
    vendor="nvidia",
    memory_bytes=12_000_000_000,
    driver="580.65.06",
    compute_capability="8.9",
    architecture="Ada",
    power_limit_w=200.0,
    pcie_generation=4,
    pcie_lanes=16,
    drives_display=True,
)
SYSTEMS = ("Linux 6.1 (Debian GNU/Linux 12)", "Windows 11", "macOS 15.1", "Plan 9")


@pytest.fixture
def whole(machine: Machine) -> Machine:
    """A machine of which everything is known."""
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
        machine_id="9f3b6a0c1d2e4f57",
    )


def told(machine: Machine, power: PowerState | None = None) -> dict[str, str]:
    return {part.name: part.value for part in machine_parts(machine, power)}


def test_everything_that_is_known_is_told(whole: Machine) -> None:
    parts = machine_parts(whole, PowerState(True, 56.0, "powersave"))
    assert not [part for part in parts if part.value == NOT_KNOWN or part.reason]
    assert {part.name: part.value for part in parts} == {
        "processor": "Test CPU",
        "cores": "4 physical (2 performance, 2 efficiency), 8 logical",
        "base clock": "1.30 GHz",
        "boost clock": "4.40 GHz",
        "caches": "L1 data 96 KB, L2 2.5 MB, L3 12 MB",
        "instruction sets": "AVX2, VNNI",
        "memory": "16.0 GB",
        "memory speed": "3,200 MT/s",
        "GPU": "NVIDIA GeForce RTX 4070, 12.0 GB",
        "GPU architecture": "Ada, compute capability 8.9",
        "GPU driver": "580.65.06",
        "GPU power limit": "200 W",
        "GPU link": "PCIe 4.0 × 16",
        "GPU display": "attached",
        "disk": "NVMe SSD, Fast Disk, 1.0 TB, ext4",
        "system": "Test OS 1, x86_64",
        "kernel": "6.1.0",
        "virtual machine": "no",
        "Python": "3.11.7",
        "machine id": "9f3b6a0c1d2e4f57",
        "power source": "battery, charged to 56 %",
        "power plan": "powersave",
    }


@pytest.mark.parametrize("os_name", SYSTEMS)
@pytest.mark.parametrize("virtual", [True, False, None])
def test_whatever_is_not_known_has_its_reason(os_name: str, virtual: bool | None) -> None:
    machine = Machine(None, None, None, None, os_name, "x86_64", "3.12.1", virtual, None, (Gpu("A GPU", "amd"),))
    unknown = [part for part in machine_parts(machine, PowerState()) if part.value == NOT_KNOWN]
    assert len(unknown) > 12
    for part in unknown:
        assert part.reason.endswith("."), part.name


def test_only_linux_speaks_of_udev(machine: Machine) -> None:
    texts = {
        os_name: reason("processor power", replace(machine, os_name=os_name), is_forbidden=os_name[:5] == "Linux")
        for os_name in SYSTEMS
    }
    assert "60-rapl.rules" in texts[SYSTEMS[0]]
    assert sum("udev" in text for text in texts.values()) == 1


def test_a_computer_without_a_graphics_card_is_not_at_fault(machine: Machine) -> None:
    part = next(part for part in machine_parts(machine) if part.name == "GPU")
    assert part.value == "none found"
    assert "no fault" in part.reason


def test_several_cards_are_numbered_and_many_told_in_a_line_each(machine: Machine) -> None:
    two = told(replace(machine, gpus=(CARD, replace(CARD, shares_memory=True, name="Intel UHD"))))
    assert (two["GPU 0"], two["GPU 1"]) == (
        "NVIDIA GeForce RTX 4070, 12.0 GB",
        "Intel UHD, 12.0 GB of the computer's memory",
    )
    many = told(replace(machine, gpus=(CARD,) * 10))
    assert "GPU 7 driver" in many
    assert "GPU 9" in many
    assert "GPU 9 driver" not in many


def test_the_power_of_a_stored_machine_is_left_out(machine: Machine) -> None:
    assert "power plan" not in told(machine)


@pytest.mark.parametrize(("battery", "charge_pct"), [((56.4, False), 56.4), ((101.0, True), None), (None, None)])
def test_the_charge_of_a_battery(
    monkeypatch: pytest.MonkeyPatch, battery: tuple[float, bool] | None, charge_pct: float | None
) -> None:
    state = type("Battery", (), {"percent": battery[0], "power_plugged": battery[1]})() if battery else None
    monkeypatch.setattr(psutil, "sensors_battery", lambda: state, raising=False)
    monkeypatch.setattr("app.core.machine.conditions.read_on_battery", lambda _: battery and not battery[1])
    assert read_power_state().battery_pct == charge_pct


def test_tensorflow_counts_cards_with_nvidias_driver_on_linux_only(machine: Machine) -> None:
    cards = (CARD, Gpu("Intel UHD", "intel"), replace(CARD, source="sysfs", driver="nouveau"))
    assert replace(machine, gpus=cards).cuda_gpus == (CARD,)
    assert replace(machine, gpus=cards, os_name="Windows 11").cuda_gpus == ()
