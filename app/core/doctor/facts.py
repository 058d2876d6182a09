"""Facts about GPUs that can be collected without an engine: driver, devices, libraries, packages and environment.

Each query has a time limit; values that can't be determined are None. No path, user name, serial number or
address is kept.
"""

import os
import re
import sys
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from app.core.doctor.nvml import NO_NVML, NvidiaGpu, Nvml, ask_nvml
from app.core.hardware.blocking import call_in_thread
from app.core.hardware.gpu.gpus import list_gpus
from app.core.hardware.gpu.libraries import find_library
from app.core.hardware.gpu.linux import pci_vendors
from app.core.hardware.machine import read_container, wsl_version
from app.core.hardware.system_files import read_bytes, read_word
from workloads.protocol.machine import Gpu

if TYPE_CHECKING:
    from importlib.metadata import Distribution

_Value = TypeVar("_Value")

LOOKS_LIMIT_S = 2.8
OLDEST_CAPABILITY = (6, 0)  # lowest compute capability for which TensorFlow 2.21 has code
NAMELESS = "NVIDIA GPU"
_PACKAGES = re.compile(
    r"tensorflow|tensorflow[-_](?:cpu|gpu|intel|metal|macos|directml(?:[-_]plugin)?|rocm|metal[-_]plugin)"
    r"|tf[-_]nightly|intel[-_]extension[-_]for[-_]tensorflow|keras|numpy|protobuf|torch|jax|jaxlib"
    r"|nvidia[-_][a-z0-9_-]{1,40}",
    re.IGNORECASE,
)
_SECURE_BOOT = "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
SystemName: TypeAlias = Literal["linux", "windows", "macos", "wsl1", "wsl2"]
LibraryKind: TypeAlias = Literal["wsl", "stub", "conda", "system"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Facts about this computer. None means unknown."""

    system: SystemName
    container: bool = False
    python: str = ""
    nvml: Nvml = NO_NVML
    gpus: tuple[Gpu, ...] = ()  # all GPUs that the system lists, from any vendor; see `Machine.gpus`
    # Vendor of each GPU on the PCI bus, even without a driver; None if not on Linux.
    pci: tuple[str, ...] | None = None
    kernel_driver: str | None = None
    device_nodes: int | None = None
    dxg: bool | None = None
    wsl_libcuda: bool | None = None
    libcuda: LibraryKind | None = None  # kind of the libcuda.so.1 that the loader uses; None if there is none
    nouveau: bool | None = None
    secure_boot: bool | None = None
    # Value of CUDA_VISIBLE_DEVICES: device numbers, or "other"; None if not set.
    visible_devices: str | None = None
    library_path_cuda: bool | None = None  # whether LD_LIBRARY_PATH contains a CUDA folder; None if not set
    packages: tuple[tuple[str, str], ...] = ()  # names and versions of the relevant installed packages
    avx: bool | None = None  # whether the CPU supports AVX

    def package(self, name: str) -> str | None:
        return dict(self.packages).get(name)

    @property
    def nvidia_cards(self) -> tuple[NvidiaGpu, ...]:
        """All NVIDIA GPUs, even without a working driver, from the most detailed source."""
        named = tuple(
            NvidiaGpu(gpu.name, gpu.compute_capability, gpu.memory_bytes)
            for gpu in self.gpus
            if gpu.vendor == "nvidia"
        )
        longest = max((self.nvml.gpus, named), key=len)
        # Windows installs the driver's library only with an NVIDIA GPU, and only an existing GPU can be lost.
        certain = bool(self.wsl_libcuda) or self.nvml.state in ("gpu_lost", "version_mismatch", "blocked")
        count = max((self.pci or ()).count("nvidia"), int(certain))
        return longest + (NvidiaGpu(NAMELESS),) * (count - len(longest))

    @property
    def is_wsl(self) -> bool:
        return self.system.startswith("wsl")


def numbers(text: str | None) -> tuple[int, ...] | None:
    """Parse a version, such as "9.28.0.42", into a tuple of up to four numbers."""
    return tuple(map(int, re.findall(r"\d+", text or "")[:4])) or None


def is_too_old(capability: str | None) -> bool:
    capability_numbers = numbers(capability)
    return capability_numbers is not None and capability_numbers < OLDEST_CAPABILITY


def gather_facts(
    root: Path = Path("/"), environment: Mapping[str, str] = os.environ, limit_s: float = LOOKS_LIMIT_S
) -> Facts:
    """Collect all facts once, for engines with this environment. The driver has `limit_s` to respond."""
    from importlib.metadata import distributions  # takes half of this function's time

    end_s = time.monotonic() + limit_s
    nvml, gpus = call_in_thread(ask_nvml, "doctor-nvml"), call_in_thread(list_gpus, "doctor-gpus")
    packages = installed(distributions())
    visible = environment.get("CUDA_VISIBLE_DEVICES")
    linux = _linux_facts(root, environment) if sys.platform.startswith("linux") else {}
    return Facts(
        **linux,
        system=system_name(root),
        python=".".join(map(str, sys.version_info[:3])),
        nvml=_result(nvml, end_s, Nvml("no_answer")),
        gpus=_result(gpus, end_s, ()),
        visible_devices=None if visible is None else _plain_devices(visible),
        packages=packages,
    )


def system_name(root: Path = Path("/")) -> SystemName:
    """Return the system's name as in the table of log lines. WSL counts as a separate system."""
    if not sys.platform.startswith("linux"):
        return "windows" if sys.platform == "win32" else "macos"
    wsl = wsl_version(read_word(root / "proc/sys/kernel/osrelease"))
    return "linux" if wsl is None else "wsl2" if wsl == 2 else "wsl1"


def cuda_majors(facts: Facts) -> set[str]:
    """Return the major CUDA versions of the installed packages, such as {"12"}."""
    return {match[1] for name, _ in facts.packages if (match := re.search(r"-cu(\d\d)$", name))}


def _linux_facts(root: Path, environment: Mapping[str, str]) -> dict[str, Any]:
    wsl = system_name(root).startswith("wsl")
    modules = {line.split(" ")[0] for line in read_word(root / "proc/modules").splitlines()}
    flags = re.search(r"^flags\s*:(.*)$", read_word(root / "proc/cpuinfo"), re.MULTILINE)
    version = re.search(r"\b(\d{3}(?:\.\d{1,4}){1,2})\b", read_word(root / "proc/driver/nvidia/version"))
    secure = read_bytes(root / _SECURE_BOOT)
    library_path = environment.get("LD_LIBRARY_PATH")
    folder = find_library("libcuda.so.1", root, environment)
    return {
        "container": read_container(root) is not None,
        "pci": pci_vendors(root) or (() if os.path.exists(root / "sys/bus/pci/devices") else None),
        "kernel_driver": version[1] if version else None,
        "device_nodes": len([node for node in root.glob("dev/nvidia*") if node.name[6:].isdigit()]),
        "dxg": os.path.exists(root / "dev/dxg") if wsl else None,
        "wsl_libcuda": os.path.exists(root / "usr/lib/wsl/lib/libcuda.so.1") if wsl else None,
        "libcuda": None if folder is None else _library_kind(folder),
        "nouveau": bool(modules & {"nouveau", "nova_core"}) if modules else None,
        "secure_boot": bool(secure[-1]) if len(secure) == 5 else None,
        "library_path_cuda": None
        if not library_path
        else bool(re.search(r"cuda|cudnn|nvidia", library_path, re.IGNORECASE)),
        "avx": "avx" in flags[1].split() if flags else None,
    }


def _library_kind(folder: str) -> LibraryKind:
    if "/wsl/" in folder:
        return "wsl"
    if "stubs" in folder:
        return "stub"
    return "conda" if "conda" in folder or "mamba" in folder else "system"


def _plain_devices(value: str) -> str:
    """Return the device numbers, or "other" if the value may contain a GPU's serial number."""
    text = value.strip()
    return text[:40] if re.fullmatch(r"[-0-9, ]*", text) else "other"


def installed(distributions: "Iterable[Distribution]") -> tuple[tuple[str, str], ...]:
    """Return the names and versions of the relevant packages."""
    versions: dict[str, str] = {}
    for distribution in distributions:
        # A partly removed package has no metadata.
        name = distribution.metadata["Name"] if distribution.metadata else ""
        if name and _PACKAGES.fullmatch(name):
            versions.setdefault(name.lower().replace("_", "-"), str(distribution.version)[:40])
    return tuple(sorted(versions.items()))


def _result(answer: Future[_Value], end_s: float, otherwise: _Value) -> _Value:
    """Wait for an answer until a time on the monotonic clock. A driver may hang."""
    try:
        return answer.result(max(end_s - time.monotonic(), 0))
    except TimeoutError:
        return otherwise
