import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.hardware import machine, registry
from app.core.hardware import machine as hardware
from tests.core.hardware.made_up import fake_windows, write
from tests.saying import said
from tests.sure import sure

KVM_CPUINFO = """processor\t: 0
model\t\t: 85
model name\t: Intel(R) Xeon(R) CPU @ 2.30GHz
flags\t\t: fpu vme hypervisor avx2

processor\t: 1
model name\t: another
"""
AMD_CPUINFO = "model name\t: AMD Ryzen 7 5800X 8-Core Processor\nflags\t\t: fpu vme avx2\n"
PI_CPUINFO = """processor\t: 0
BogoMIPS\t: 108.00
Features\t: fp asimd
CPU implementer\t: 0x41
CPU part\t: 0xd08

Hardware\t: BCM2835
Serial\t\t: 10000000deadbeef
Model\t\t: Raspberry Pi 4 Model B Rev 1.4
"""
GRAVITON_CPUINFO = "processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n"
DEBIAN = 'NAME="Debian GNU/Linux"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n'


CPUINFO, RELEASE, SYSTEM = "proc/cpuinfo", "proc/sys/kernel/osrelease", "etc/os-release"


def board(vendor: str, product: str) -> dict[str, str]:
    return {"sys/class/dmi/id/sys_vendor": vendor, "sys/class/dmi/id/product_name": product}


LINUX_COMPUTERS = {
    "KVM guest": (
        board("QEMU", "Standard PC (Q35 + ICH9, 2009)") | {"proc/1/cgroup": "0::/init.scope"},
        {CPUINFO: KVM_CPUINFO, RELEASE: "6.1.0-18-amd64", SYSTEM: DEBIAN},
        ("Linux 6.1.0 (Debian GNU/Linux 12)", "Intel Xeon", True, "kvm", "6.1.0"),
    ),
    "bare metal": (
        board("ASUS", "System Product Name") | {"proc/1/cgroup": "0::/init.scope"},
        {CPUINFO: AMD_CPUINFO, RELEASE: "6.8.4-built-by-jane", SYSTEM: "PRETTY_NAME='Fedora Linux 40'"},
        ("Linux 6.8.4 (Fedora Linux 40)", "AMD Ryzen 7 5800X 8-Core Processor", False, None, "6.8.4"),
    ),
    "Raspberry Pi": (
        {"proc/device-tree/model": "Raspberry Pi 4 Model B Rev 1.4\x00"},
        {CPUINFO: PI_CPUINFO, RELEASE: "6.6.31+rpt-rpi-v8"},
        ("Linux 6.6.31", "Raspberry Pi 4 Model B Rev 1.4", False, None, "6.6.31"),
    ),
    "Arm server in a cloud": (
        board("Amazon EC2", "m6g.large"),
        {CPUINFO: GRAVITON_CPUINFO},
        ("Linux", "AWS Graviton2", True, "Amazon EC2"),
    ),
    "unknown Arm machine": (
        {},
        {CPUINFO: "processor\t: 0\nCPU implementer\t: 0x99\nCPU part\t: 0x001"},
        ("Linux", "ARM 0x99 0x001"),
    ),
    "WSL 2": (
        {SYSTEM: 'PRETTY_NAME="Ubuntu 24.04 LTS"'},
        {CPUINFO: KVM_CPUINFO, RELEASE: "5.15.153.1-microsoft-standard-WSL2"},
        ("Linux 5.15.153.1 (Ubuntu 24.04 LTS)", "Intel Xeon", True, "wsl", "5.15.153.1"),
    ),
    "empty": ({}, {}, ("Linux",)),
}


@pytest.mark.parametrize(("firmware", "files", "expected"), LINUX_COMPUTERS.values(), ids=LINUX_COMPUTERS)
def test_computers_with_linux(
    tmp_path: Path, firmware: dict[str, str], files: dict[str, str], expected: tuple[Any, ...]
) -> None:
    assert hardware.read_linux(write(tmp_path, firmware | files)) == hardware.SystemFacts(*expected)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({".dockerenv": ""}, (False, "docker")),
        ({"run/.containerenv": ""}, (False, "podman")),
        ({"proc/1/cgroup": "12:pids:/docker/0123\n"}, (False, "docker")),
        ({"proc/1/cgroup": "0::/kubepods/besteffort/pod1\n"}, (False, "kubernetes")),
        ({".dockerenv": "", CPUINFO: KVM_CPUINFO}, (True, "docker")),
        ({".dockerenv": "", CPUINFO: KVM_CPUINFO, "sys/hypervisor/type": "xen\n"}, (True, "docker in Xen")),
    ],
)
def test_container(tmp_path: Path, files: dict[str, str], expected: tuple[bool, str]) -> None:
    facts = hardware.read_linux(write(tmp_path, {CPUINFO: AMD_CPUINFO, **files}))
    assert (facts.virtual_machine, facts.virtualization) == expected


def test_folders_and_garbage_in_place_of_files(tmp_path: Path) -> None:
    for name in ("proc/cpuinfo", "etc/os-release"):
        (tmp_path / name).mkdir(parents=True)
    release = tmp_path / "proc/sys/kernel/osrelease"
    release.parent.mkdir(parents=True)
    release.write_bytes(b"\xff\xfe\x00\x80 \n")
    assert hardware.read_linux(tmp_path) == hardware.SystemFacts(os_name="Linux")


@pytest.mark.parametrize(
    ("cores", "firmware", "name"),
    [
        ([(0x41, 0xD87)] * 2 + [(0x41, 0xD85)] * 2, "", "Arm Cortex-A725 + Arm Cortex-X925"),
        ([(0x41, 0xD87)] * 2 + [(0x41, 0xD85)] * 2, "NVIDIA NVIDIA_DGX_Spark", "NVIDIA GB10"),
        ([(0x6D, 0xD49)], "Microsoft Corporation Virtual Machine", "Microsoft Azure Cobalt 100"),
        ([(0x41, 0xD49)], "Alibaba Cloud Alibaba Cloud ECS", "Alibaba Yitian 710"),
        ([(0x41, 0xD4F)], "Amazon EC2 m8g.large", "AWS Graviton4"),
        ([(0x41, 0xD4F)], "Google Google Compute Engine", "Google Axion"),
        ([(0x41, 0xD0C)], "WIWYNN Mt.Jade", "Arm Neoverse N1"),
        ([(0xC0, 0xAC4)], "", "Ampere-1a"),
        ([(0x51, 0x001)] * 12, "LENOVO 21N1", "Qualcomm Snapdragon X"),
        ([(0x70, 0x663)], "", "Phytium FTC663"),
        ([(0x48, 0xD01)], "Huawei TaiShan 200", "HiSilicon Kunpeng 920"),
        ([(0x61, 0x000)], "Apple Inc. Apple Virtualization Generic Platform", "Apple silicon"),
        ([(0x61, 0x032), (0x61, 0x033)], "", "Apple M2"),
        # Unheard-of parts have names that tell them apart.
        ([(0x41, 0xFFF)], "", "Arm 0x41 0xfff"),
        ([(0x41, 0xFFE)], "", "Arm 0x41 0xffe"),
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


@pytest.mark.parametrize(
    "line", ["uarch\t\t: sifive,u74-mc", "cpu\t\t: POWER10, altivec supported", "Model Name\t: A"]
)
def test_processors_of_other_kinds_have_a_name(line: str) -> None:
    assert hardware.cpu_name_from(f"processor\t: 0\n{line}\n") == line.partition(": ")[2]


def test_a_generic_arm_name_is_the_last_resort() -> None:
    generic = "model name\t: ARMv7 Processor rev 3 (v7l)\n"
    assert hardware.cpu_name_from(generic) == "ARMv7 Processor rev 3 (v7l)"
    assert hardware.cpu_name_from(generic + "Hardware\t: BCM2711\n") == "BCM2711"


def test_the_cpu_flag_outweighs_the_firmware() -> None:
    assert hardware.judge_linux("flags\t: fpu", "Amazon EC2 m5", "6.1") == (False, None)
    assert hardware.judge_linux("flags\t: fpu hypervisor", "Homebrew Board", "6.1") == (True, None)


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


def test_windows_without_registry_values(windows_11: None, monkeypatch: pytest.MonkeyPatch) -> None:
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


texts = st.text(max_size=300)
odd_lines = st.lists(
    st.tuples(st.sampled_from(["model name", "flags", "Model", "PRETTY_NAME", "", "CPU part"]), texts), max_size=6
).map(lambda pairs: "\n".join(f"{key}\t: {value}\n{key}={value}" for key, value in pairs))
anything = st.one_of(texts, odd_lines)


@given(anything, anything)
def test_any_text_gives_a_clean_name_or_none(cpuinfo: str, board: str) -> None:
    name = hardware.cpu_name_from(cpuinfo, board)
    assert name is None or (0 < len(name) <= 80 and name.isprintable() and name == " ".join(name.split()))


@given(anything, texts)
def test_any_text_gives_one_line_for_the_system(os_release: str, kernel_release: str) -> None:
    name = hardware.linux_name(os_release, kernel_release)
    assert name.startswith("Linux")
    assert name.isprintable()


@given(anything, texts, texts, texts)
def test_any_text_gives_a_judgement(cpuinfo: str, firmware: str, kernel_release: str, board: str) -> None:
    virtual, kind = hardware.judge_linux(cpuinfo, firmware, kernel_release, board)
    assert virtual in {True, False, None}
    assert kind is None or virtual or kind == "wsl"
    assert hardware.container_kind(cpuinfo) in {None, "docker", "podman", "kubernetes", "lxc"}


def test_this_machine() -> None:
    machine = hardware.detect_machine()
    assert machine.os_name.startswith(("Linux", "Windows", "macOS"))
    assert machine.memory_bytes == psutil.virtual_memory().total
    assert machine.logical_cores == psutil.cpu_count()
    assert machine.physical_cores is None or 1 <= machine.physical_cores <= (machine.logical_cores or 0)
    assert machine.python_version == ".".join(str(part) for part in sys.version_info[:3])
    assert machine.architecture in {"x86_64", "arm64"}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the tree stands in for Linux")
def test_detect_machine_reads_the_given_tree(tmp_path: Path) -> None:
    machine = hardware.detect_machine(write(tmp_path, {CPUINFO: AMD_CPUINFO, SYSTEM: DEBIAN}))
    assert machine.cpu_name == "AMD Ryzen 7 5800X 8-Core Processor"
    assert (machine.os_name, machine.virtual_machine) == ("Linux (Debian GNU/Linux 12)", False)


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


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("F12", "F12"),
        (" American  Megatrends 1.40\x00", "American Megatrends 1.40"),
        ("", None),
        ("\n", None),
        ("x" * 500, "x" * 57 + "..."),
    ],
)
def test_linux_tells_it_in_a_file(
    tmp_path: Path, text: str, version: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    read = machine.read_bios_version(write(tmp_path, {"sys/class/dmi/id/bios_version": text}))
    if version is None:
        assert read is None
    else:
        assert len(sure(read)) <= 60
        assert sure(read)[:20].replace("\u2400", "").startswith(version[:20])


def test_a_computer_without_one_has_none(tmp_path: Path) -> None:
    assert machine.read_bios_version(tmp_path) is None


def test_windows_has_it_in_the_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setattr(registry, "read_text", lambda _, name: "1.2.3" if name == "BIOSVersion" else "")
    assert machine.read_bios_version() == "1.2.3"
