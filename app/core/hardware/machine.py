"""Detects this computer: its components, its system, and whether it is a virtual machine.

Everything is read directly from the system, because libraries for this purpose take more than a second. Host and
user names, serial numbers and addresses are never read. Parsers are pure functions of text, so tests can run on
any system.
"""

import hashlib
import hmac
import logging
import os
import platform
import re
import sys
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TypeVar

import psutil

from app.core.hardware import registry
from app.core.hardware.blocking import call_in_thread
from app.core.hardware.gpu.gpus import list_gpus
from app.core.hardware.parts.arm_names import arm_name
from app.core.hardware.parts.cpu import read_cpu
from app.core.hardware.parts.disks import Storage, read_storage
from app.core.hardware.parts.memory_speed import read_memory_speed
from app.core.hardware.powercap import CpuLimits
from app.core.hardware.system_files import attempt, output_of, read_text, read_word, tidy_name, version_of
from app.core.messages import sentence
from app.core.plain_text import one_line
from workloads.protocol.machine import Machine

_BIOS_KEY, _BIOS_LIMIT = r"HARDWARE\DESCRIPTION\System\BIOS", 60
# Key for the machine ID. It is public and specific to Epochmark, so that other programs derive other IDs, as
# machine-id(5) recommends.
_SALT, _DIGITS = b"epochmark machine 1", 16
_Value = TypeVar("_Value")

_logger = logging.getLogger(__name__)

# Hypervisors by firmware name (vendor, then product, in lower case); the first match is used.
FIRMWARE_KINDS = (
    ("google compute engine", "Google Compute Engine"),
    ("amazon ec2", "Amazon EC2"),
    ("vmware", "VMware"),
    ("virtualbox", "VirtualBox"),
    ("microsoft corporation virtual machine", "Hyper-V"),
    ("parallels", "Parallels"),
    ("apple virtualization", "Apple Virtualization"),
    ("bhyve", "bhyve"),
    ("xen", "Xen"),
    ("hvm domu", "Xen"),
    ("qemu", "kvm"),
    ("kvm", "kvm"),
    ("bochs", "kvm"),
    ("openstack", "kvm"),
)

_CONTAINER_KINDS = (
    (r"kubepods", "kubernetes"),
    (r"/docker[-/]", "docker"),
    (r"libpod", "podman"),
    (r"/lxc[./]", "lxc"),
)


@dataclass(frozen=True, slots=True)
class DetectionLimits:
    """Time limits for calls that may hang."""

    gpus_s: float = 3.5  # NVIDIA's GPUs have a shorter limit, which leaves time to list the others
    # An unreachable server never responds. On macOS, up to three programs are run one after the other.
    storage_s: float = 4.0 if sys.platform == "darwin" else 1.0


@dataclass(frozen=True, slots=True)
class SystemFacts:
    """Facts that are obtained differently on each system. None means unknown."""

    os_name: str
    cpu_name: str | None = None
    virtual_machine: bool | None = None
    virtualization: str | None = None
    kernel: str | None = None


def detect_machine(
    root: Path = Path("/"), *, data_folder: Path | None = None, limits: DetectionLimits = DetectionLimits()
) -> Machine:
    """Describe this computer without anything that identifies its owner. Unknown values are None.

    Detection takes about ten milliseconds, or up to 5 s if a driver or a server hangs. The disks of the data set
    folder are described if there is one.
    """
    # In parallel, because most of the time is spent waiting for drivers and, on macOS, for system programs.
    gpus = call_in_thread(lambda: list_gpus(root), "gpus")
    storage = None if data_folder is None else call_in_thread(lambda: read_storage(data_folder, root), "storage")
    number = call_in_thread(lambda: read_machine_id(root), "machine id")
    if sys.platform == "win32":
        facts = read_windows()
    else:
        facts = read_macos() if sys.platform == "darwin" else read_linux(root)
    cpu, limits_of_cpu = read_cpu(root), CpuLimits(root)
    behind_data = Storage()
    if storage is not None:
        behind_data = _within(storage, limits.storage_s, Storage(), "hardware.storage_not_responding")
    # Since Python 3.12, platform.machine() queries WMI on Windows, which is slow.
    names = (os.environ.get("PROCESSOR_ARCHITEW6432"), os.environ.get("PROCESSOR_ARCHITECTURE"))
    machine = next((name for name in names if name), "") if sys.platform == "win32" else platform.machine()
    word = machine.lower()
    return Machine(
        cpu_name=facts.cpu_name,
        physical_cores=attempt(lambda: psutil.cpu_count(logical=False)) or None,
        logical_cores=attempt(lambda: psutil.cpu_count(logical=True)) or None,
        memory_bytes=attempt(lambda: int(psutil.virtual_memory().total)) or None,
        os_name=facts.os_name,
        architecture={"amd64": "x86_64", "x64": "x86_64", "aarch64": "arm64"}.get(word, word) or "unknown",
        python_version=platform.python_version(),
        virtual_machine=facts.virtual_machine,
        virtualization=facts.virtualization,
        gpus=_within(gpus, limits.gpus_s, (), "hardware.gpus_not_responding"),
        **asdict(cpu),
        memory_speed_mts=read_memory_speed(root),
        disks=behind_data.disks,
        file_system=behind_data.file_system,
        kernel=facts.kernel,
        bios_version=read_bios_version(root),
        machine_id=_within(number, limits.storage_s, None, "hardware.storage_not_responding"),
        cpu_power_limit_w=limits_of_cpu.read_w(),
        cpu_power_rated_w=limits_of_cpu.rated_w(),
    )


def cpuinfo_fields(text: str) -> dict[str, str]:
    """Return the first value of each field in /proc/cpuinfo."""
    fields: dict[str, str] = {}
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if colon and key.strip():
            fields.setdefault(key.strip(), value.strip())
    return fields


def cpu_name_from(cpuinfo: str, board: str | None = None, firmware: str = "") -> str | None:
    """Return the CPU's name from /proc/cpuinfo, or for ARM chips from the board (/proc/device-tree/model).

    `firmware` is the vendor and product of the computer.
    """
    fields = cpuinfo_fields(cpuinfo)
    name = tidy_name(fields.get("model name"))
    if name and not name.startswith(("ARMv", "AArch64")):
        return name
    candidates = (
        tidy_name(board),
        tidy_name(fields.get("Model")),
        tidy_name(fields.get("Hardware")),
        arm_name(cpuinfo, firmware),
        name,
        # Of Loongson, MIPS, POWER and RISC-V.
        *(tidy_name(fields.get(key)) for key in ("Model Name", "cpu model", "cpu", "uarch")),
    )
    return next((candidate for candidate in candidates if candidate), None)


def linux_name(os_release: str, kernel_release: str) -> str:
    """Return a Linux system's name, such as "Linux 6.1.0 (Debian GNU/Linux 12)"."""
    version = version_of(kernel_release)
    words = f"Linux {version}" if version else "Linux"
    pretty = re.search(r"^PRETTY_NAME=(.*)$", os_release, re.MULTILINE)
    # The code name in brackets is redundant.
    distribution = tidy_name(re.sub(r"\s*\([^()]*\)$", "", pretty[1].strip(" \t\r\"'"))) if pretty else None
    return f"{words} ({distribution})" if distribution else words


def windows_name(build: int, *, server: bool) -> str:
    """Return a Windows system's name from its build number, because Windows 11 still reports version 10.0."""
    if server:
        return f"Windows Server (build {build})"
    if build >= 22_000:
        return "Windows 11"
    return "Windows 10" if build >= 10_240 else f"Windows (build {build})"


def firmware_kind(vendor_and_product: str) -> str | None:
    """Return the hypervisor that the vendor and product in the firmware indicate; None if there is none."""
    names = " ".join(vendor_and_product.lower().split())
    if names.startswith("amazon ec2") and names.endswith("metal"):
        return None
    return next((kind for needle, kind in FIRMWARE_KINDS if re.search(rf"\b{needle}\b", names)), None)


def container_kind(cgroup: str) -> str | None:
    """Return the kind of container that /proc/1/cgroup indicates; None if there is none."""
    return next((kind for pattern, kind in _CONTAINER_KINDS if re.search(pattern, cgroup)), None)


def wsl_version(kernel_release: str) -> Literal[1, 2] | None:
    """Return the WSL version of a kernel; None outside WSL."""
    release = kernel_release.lower()
    if "microsoft" not in release:
        return None
    return 2 if "wsl2" in release or "standard" in release else 1


def judge_linux(
    cpuinfo: str, firmware: str, kernel_release: str, board: str = ""
) -> tuple[bool | None, str | None]:
    """Detect whether a Linux system is running in a virtual machine and, if so, which kind; None if unknown."""
    flags = cpuinfo_fields(cpuinfo).get("flags")
    flagged = None if flags is None else "hypervisor" in flags.split()
    if (wsl := wsl_version(kernel_release)) is not None:  # WSL 2 is a virtual machine, WSL 1 isn't
        return wsl == 2 or flagged, "wsl"
    kind = firmware_kind(firmware)
    if flagged is not None:  # x86: reported by the CPU itself
        return flagged, kind if flagged else None
    if kind:
        return True, kind
    return (False if tidy_name(board) else None), None


def read_linux(root: Path) -> SystemFacts:
    """Read facts from Linux's proc, sys and etc folders in `root`."""
    cpuinfo = read_text(root / "proc/cpuinfo")
    release = read_text(root / "proc/sys/kernel/osrelease")
    board = read_text(root / "proc/device-tree/model")
    dmi = root / "sys/class/dmi/id"
    sources = (dmi / "sys_vendor", dmi / "product_name", root / "sys/hypervisor/type")
    firmware = " ".join(read_text(path).strip() for path in sources)
    virtual, kind = judge_linux(cpuinfo, firmware, release, board)
    container = read_container(root)
    return SystemFacts(
        os_name=linux_name(read_text(root / "etc/os-release"), release),
        cpu_name=cpu_name_from(cpuinfo, board, firmware),
        virtual_machine=virtual,
        virtualization=" in ".join(part for part in (container, kind) if part) or None,
        kernel=version_of(release),
    )


def read_macos() -> SystemFacts:
    """Read facts from macOS."""
    names = ("machdep.cpu.brand_string", "kern.hv_vmm_present")
    fields = cpuinfo_fields(output_of(["sysctl", *names]).decode("utf-8", errors="replace"))
    virtual = {"0": False, "1": True}.get(fields.get("kern.hv_vmm_present", ""))
    version = platform.mac_ver()[0]
    return SystemFacts(
        os_name=f"macOS {version}" if version else "macOS",
        cpu_name=tidy_name(fields.get("machdep.cpu.brand_string")),
        virtual_machine=virtual,
        kernel=version_of(platform.release()),
    )


def read_windows() -> SystemFacts:
    """Read facts from Windows: its version and two registry keys."""
    if sys.platform != "win32":
        return SystemFacts(os_name="Windows")
    system, bios = r"HARDWARE\DESCRIPTION\System\CentralProcessor\0", r"HARDWARE\DESCRIPTION\System\BIOS"
    version = sys.getwindowsversion()
    firmware = (
        f"{registry.read_text(bios, 'SystemManufacturer')} {registry.read_text(bios, 'SystemProductName')}".strip()
    )
    kind = firmware_kind(firmware)
    return SystemFacts(
        os_name=windows_name(version.build, server=version.product_type != 1),
        cpu_name=tidy_name(registry.read_text(system, "ProcessorNameString")),
        # Without a driver, only a manufacturer's name in the firmware shows that a computer is physical.
        virtual_machine=bool(kind) if firmware else None,
        virtualization=kind,
        kernel=f"{version.major}.{version.minor}.{version.build}",
    )


def _within(asked: Future[_Value], limit_s: float, otherwise: _Value, warning: str) -> _Value:
    try:
        return asked.result(limit_s)
    except TimeoutError:
        _logger.warning("%s", sentence(warning))
        return otherwise


def read_container(root: Path) -> str | None:
    """Return the kind of container in which a Linux system runs; None outside containers."""
    for mark, kind in ((".dockerenv", "docker"), ("run/.containerenv", "podman")):
        if os.path.exists(root / mark):
            return kind
    return container_kind(read_text(root / "proc/1/cgroup"))


def read_bios_version(root: Path = Path("/")) -> str | None:
    """Return the BIOS or UEFI version as written by the manufacturer; None if it isn't reported.

    None on a Mac, where the firmware is part of macOS.
    """
    if sys.platform == "win32":
        text = registry.read_text(_BIOS_KEY, "BIOSVersion")
    else:
        text = read_text(root / "sys/class/dmi/id/bios_version")
    return one_line(" ".join(text.split()), _BIOS_LIMIT) or None


def read_machine_id(root: Path = Path("/")) -> str | None:
    return machine_id(_secret(root))


def machine_id(secret: str) -> str | None:
    """Return a keyed hash (64 bits of HMAC-SHA256) of the system's private ID; None if the ID is invalid.

    The ID has at least 122 random bits, so the hash can't be reversed by guessing.
    """
    digits = re.sub(r"[^0-9a-f]", "", secret.lower())
    if len(digits) < 32 or len(set(digits)) < 4:  # "uninitialized", or all zeros
        return None
    return hmac.new(_SALT, digits.encode("ascii"), hashlib.sha256).hexdigest()[:_DIGITS]


def _secret(root: Path) -> str:
    if sys.platform == "win32":
        return registry.read_text(r"SOFTWARE\Microsoft\Cryptography", "MachineGuid")
    if sys.platform == "darwin":
        answer = output_of(["ioreg", "-rd1", "-c", "IOPlatformExpertDevice"]).decode("utf-8", errors="replace")
        match = re.search(r'"IOPlatformUUID" = "([^"]+)"', answer)
        return match[1] if match else ""
    paths = (root / "etc/machine-id", root / "var/lib/dbus/machine-id")
    return next((text for path in paths if (text := read_word(path))), "")
