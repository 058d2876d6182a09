import sys
import threading
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from app.core.hardware import machine as hardware
from tests.core.hardware.made_up import fake_windows, write
from tests.saying import said
from tests.sure import sure

LINUX = tomllib.loads((Path(__file__).parents[2] / "data/machines/linux.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("computer", LINUX.values(), ids=LINUX)
def test_computers_with_linux(tmp_path: Path, computer: dict[str, Any]) -> None:
    assert hardware.read_linux(write(tmp_path, computer.get("files", {}))) == hardware.SystemFacts(
        **computer["read"]
    )


@pytest.mark.parametrize(
    ("cores", "firmware", "name"),
    [
        ([(0x41, 0xD87)] * 2 + [(0x41, 0xD85)] * 2, "", "Arm Cortex-A725 + Arm Cortex-X925"),
        ([(0x41, 0xD87)] * 2 + [(0x41, 0xD85)] * 2, "NVIDIA NVIDIA_DGX_Spark", "NVIDIA GB10"),
        ([(0x41, 0xD4F)], "Amazon EC2 m8g.large", "AWS Graviton4"),
        ([(0x41, 0xD4F)], "Google Google Compute Engine", "Google Axion"),
        ([(0x41, 0xD0C)], "WIWYNN Mt.Jade", "Arm Neoverse N1"),
        ([(0xC0, 0xAC4)], "", "Ampere-1a"),
        ([(0x51, 0x001)] * 12, "LENOVO 21N1", "Qualcomm Snapdragon X"),
        ([(0x61, 0x000)], "Apple Inc. Apple Virtualization Generic Platform", "Apple silicon"),
        ([(0x61, 0x032), (0x61, 0x033)], "", "Apple M2"),
        # Unheard-of parts have names that tell them apart.
        ([(0x41, 0xFFF)], "", "Arm 0x41 0xfff"),
        ([(0x77, 0x1), (0x41, 0xD05)], "", "ARM 0x77 0x001 + Arm Cortex-A55"),
    ],
)
def test_arm_processors_are_named_by_their_cores(cores: list[tuple[int, int]], firmware: str, name: str) -> None:
    cpuinfo = "\n".join(
        f"processor\t: {number}\nFeatures\t: fp asimd\nCPU implementer\t: {maker:#x}\nCPU architecture: 8\n"
        f"CPU variant\t: 0x0\nCPU part\t: {part:#x}\nCPU revision\t: 1\n"
        for number, (maker, part) in enumerate(cores)
    )
    assert hardware.cpu_name_from(cpuinfo, "", firmware) == name


ARMV7 = "model name\t: ARMv7 Processor rev 3 (v7l)\n"


@pytest.mark.parametrize(
    ("lines", "name"),
    [
        ("uarch\t\t: sifive,u74-mc", "sifive,u74-mc"),
        ("cpu\t\t: POWER10, altivec supported", "POWER10, altivec supported"),
        ("Model Name\t: A", "A"),
        (ARMV7, "ARMv7 Processor rev 3 (v7l)"),
        (ARMV7 + "Hardware\t: BCM2711\n", "BCM2711"),  # a generic name is the last resort
    ],
)
def test_processors_of_other_kinds_have_a_name(lines: str, name: str) -> None:
    assert hardware.cpu_name_from(f"processor\t: 0\n{lines}\n") == name


def test_windows_names() -> None:
    assert hardware.windows_name(22_631, server=False) == "Windows 11"
    assert hardware.windows_name(19_045, server=False) == "Windows 10"
    assert hardware.windows_name(20_348, server=True) == "Windows Server (build 20348)"


CPU_KEY, BOARD_KEY = r"HARDWARE\DESCRIPTION\System\CentralProcessor\0", r"HARDWARE\DESCRIPTION\System\BIOS"


@pytest.fixture
def windows_11(monkeypatch: pytest.MonkeyPatch) -> None:
    version = SimpleNamespace(major=10, minor=0, build=26_100, product_type=1)
    monkeypatch.setattr(sys, "getwindowsversion", lambda: version, raising=False)


def test_windows_registry(windows_11: None, monkeypatch: pytest.MonkeyPatch) -> None:
    board = {"SystemManufacturer": "VMware, Inc.", "SystemProductName": "VMware7,1"}
    cpu = {"ProcessorNameString": "12th Gen Intel(R) Core(TM) i5-12400F   "}
    fake_windows(monkeypatch, {CPU_KEY: cpu, BOARD_KEY: board})
    facts = hardware.read_windows()
    known = hardware.SystemFacts("Windows 11", "12th Gen Intel Core i5-12400F", True, "VMware", "10.0.26100")
    assert facts == known
    board |= {"SystemManufacturer": "LENOVO", "SystemProductName": "82JU"}
    facts = hardware.read_windows()
    assert (facts.virtual_machine, facts.virtualization) == (False, None)
    fake_windows(monkeypatch, {})
    assert hardware.read_windows() == hardware.SystemFacts("Windows 11", kernel="10.0.26100")


@pytest.mark.skipif(sys.platform == "win32", reason="the made-up sysctl is a shell script")
def test_macos_sysctl(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = tmp_path / "sysctl"
    script.write_text("#!/bin/sh\necho 'machdep.cpu.brand_string: Apple M2'\necho 'kern.hv_vmm_present: 1'\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("platform.release", lambda: "24.1.0")
    monkeypatch.setattr("platform.mac_ver", lambda: ("15.1", ("", "", ""), "arm64"))
    assert hardware.read_macos() == hardware.SystemFacts("macOS 15.1", "Apple M2", True, None, "24.1.0")
    script.unlink()
    assert hardware.read_macos() == hardware.SystemFacts("macOS 15.1", kernel="24.1.0")


def test_this_machine(tmp_path: Path) -> None:
    machine = hardware.detect_machine()
    assert machine.os_name.startswith(("Linux", "Windows", "macOS"))
    assert machine.memory_bytes == psutil.virtual_memory().total
    assert machine.logical_cores == psutil.cpu_count()
    assert machine.physical_cores is None or 1 <= machine.physical_cores <= (machine.logical_cores or 0)
    assert machine.python_version == ".".join(str(part) for part in sys.version_info[:3])
    assert machine.architecture in {"x86_64", "arm64"}
    if sys.platform.startswith("linux"):
        machine = hardware.detect_machine(write(tmp_path, LINUX["bare metal"]["files"]))
        assert (machine.cpu_name, machine.virtual_machine) == ("AMD Ryzen 7 5800X 8-Core Processor", False)


def test_a_hanging_part_does_not_delay_the_rest(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    over = threading.Event()

    def hang(*_: object) -> None:
        over.wait(60)

    for name in ("read_storage", "list_gpus", "read_machine_id"):
        monkeypatch.setattr(hardware, name, hang)
    limits = hardware.DetectionLimits(gpus_s=0.05, storage_s=0.05)
    machine = hardware.detect_machine(data_folder=tmp_path, limits=limits)
    assert not over.is_set()
    assert (machine.disks, machine.gpus, machine.machine_id) == ((), (), None)
    assert machine.logical_cores
    for name in ("storage", "gpus"):
        assert said(f"hardware.{name}_not_responding").is_in(caplog.text)
    hanging = [thread for thread in threading.enumerate() if thread.name in ("storage", "gpus", "machine id")]
    assert len(hanging) == 3
    assert all(thread.daemon for thread in hanging), "the program can end"
    over.set()
    for thread in hanging:
        thread.join(20)


def test_a_fault_in_the_background_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(root: Path) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(hardware, "list_gpus", fail)
    with pytest.raises(ZeroDivisionError):
        hardware.detect_machine()


def test_machine_without_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise psutil.AccessDenied

    monkeypatch.setattr(psutil, "cpu_count", lambda logical: 0)
    monkeypatch.setattr(psutil, "virtual_memory", refuse)
    machine = hardware.detect_machine()
    assert (machine.physical_cores, machine.logical_cores, machine.memory_bytes) == (None, None, None)


BIOS = "sys/class/dmi/id/bios_version"


@pytest.mark.parametrize(
    ("system", "files", "version"),
    [
        ("linux", {}, None),
        ("linux", {BIOS: ""}, None),
        ("linux", {BIOS: "F12"}, "F12"),
        ("linux", {BIOS: " American  Megatrends 1.40"}, "American Megatrends 1.40"),
        ("linux", {BIOS: "x" * 500}, "x" * 59 + "…"),
        ("win32", {}, "1.2.3"),
    ],
)
def test_the_version_of_the_firmware(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str, files: dict[str, str], version: str | None
) -> None:
    fake_windows(monkeypatch, {BOARD_KEY: {"BIOSVersion": "1.2.3"}})
    monkeypatch.setattr("sys.platform", system)
    assert hardware.read_bios_version(write(tmp_path, files)) == version


SECRET = "0fd32f6d1a9b4f7e8c5d2b1a0f9e8d7c"
ID = "etc/machine-id"


def test_the_number_of_a_machine_stays_and_does_not_tell_its_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    assert hardware.read_machine_id(tmp_path) is None
    number = sure(hardware.read_machine_id(write(tmp_path, {"var/lib/dbus/machine-id": SECRET})))
    assert number == hardware.read_machine_id(write(tmp_path, {ID: SECRET}))
    assert len(number) == 16
    assert not any(number[at : at + 5] in SECRET for at in range(12))
    assert hardware.machine_id(f"{SECRET[:-1]}0") != number
    windows = hardware.machine_id("{0FD32F6D-1A9B-4F7E-8C5D-2B1A0F9E8D7C}")
    assert windows == number, "braces and capitals do not make another machine"
    for none in ("uninitialized\n", "0" * 32, "abc", "not a number at all, but long enough"):
        assert hardware.machine_id(none) is None
