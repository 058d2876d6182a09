"""What can be known about GPUs without starting an engine: driver, devices, libraries, packages, surroundings.

Each look has a limit of time, and what does not show is None. No path, name, serial number or address is kept.
"""

import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar

from app.core.doctor.nvml import NO_NVML, NvidiaGpu, Nvml, ask_nvml
from app.core.hardware.gpu.gpus import list_gpus
from app.core.hardware.gpu.linux import pci_vendors
from app.core.hardware.machine import read_container, wsl_version
from workloads.protocol.machine import Gpu

if TYPE_CHECKING:
    from importlib.metadata import Distribution

_Value = TypeVar("_Value")

LOOKS_LIMIT_S = 2.8
OLDEST_CAPABILITY = (6, 0)  # compute capability of TensorFlow 2.21's oldest code
NAMELESS = "NVIDIA GPU"
_MAX_READ_BYTES = 65_536
_MAX_CACHE_BYTES = 4 << 20
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
    """What is known of this computer. None means unknown.

    Attributes:
        gpus: All GPUs that the system knows by name, of any vendor; see `Machine.gpus`.
        pci: Vendor of each GPU on the PCI bus, also of those without a driver; None but on Linux.
        libcuda: Which libcuda.so.1 the loader would take; None when it finds none.
        visible_devices: Value of CUDA_VISIBLE_DEVICES: numbers, or "other"; None when it is not set.
        library_path_cuda: Whether LD_LIBRARY_PATH leads to CUDA; None when it is not set.
        packages: Versions of the installed packages that matter, by their names.
        avx: Whether the processor has AVX.
    """

    system: SystemName
    container: bool = False
    python: str = ""
    nvml: Nvml = NO_NVML
    gpus: tuple[Gpu, ...] = ()
    pci: tuple[str, ...] | None = None
    kernel_driver: str | None = None
    device_nodes: int | None = None
    dxg: bool | None = None
    wsl_libcuda: bool | None = None
    libcuda: LibraryKind | None = None
    nouveau: bool | None = None
    secure_boot: bool | None = None
    visible_devices: str | None = None
    library_path_cuda: bool | None = None
    packages: tuple[tuple[str, str], ...] = ()
    avx: bool | None = None

    def package(self, name: str) -> str | None:
        """Return the version of a package, None if it is not installed."""
        return dict(self.packages).get(name)

    @property
    def nvidia_cards(self) -> tuple[NvidiaGpu, ...]:
        """All NVIDIA cards, also those that no driver speaks for: by whoever knows the most of them."""
        named = tuple(
            NvidiaGpu(gpu.name, gpu.compute_capability, gpu.memory_bytes)
            for gpu in self.gpus
            if gpu.vendor == "nvidia"
        )
        longest = max((self.nvml.gpus, named), key=len)
        # Windows puts the driver's library there only where it has an NVIDIA card; and only a card can be lost.
        certain = bool(self.wsl_libcuda) or self.nvml.state in ("gpu_lost", "version_mismatch", "blocked")
        count = max((self.pci or ()).count("nvidia"), int(certain))
        return longest + (NvidiaGpu(NAMELESS),) * (count - len(longest))

    @property
    def is_wsl(self) -> bool:
        """Whether this is Linux inside Windows, of either version."""
        return self.system.startswith("wsl")


def numbers(text: str | None) -> tuple[int, ...] | None:
    """Read a version: "9.28.0.42" is (9, 28, 0, 42)."""
    return tuple(map(int, re.findall(r"\d+", text or "")[:4])) or None


def is_too_old(capability: str | None) -> bool:
    """Say whether a card is known to be older than any that TensorFlow has code for."""
    capability_numbers = numbers(capability)
    return capability_numbers is not None and capability_numbers < OLDEST_CAPABILITY


def gather_facts(
    root: Path = Path("/"), environment: Mapping[str, str] = os.environ, limit_s: float = LOOKS_LIMIT_S
) -> Facts:
    """Look at everything once.

    Args:
        root: Where Linux's proc, sys, dev and usr folders are found.
        environment: The variables that engines would see.
        limit_s: How long a driver that may hang is waited for.
    """
    from importlib.metadata import distributions  # half as long to import as all else here

    end_s = time.monotonic() + limit_s
    nvml, gpus = _Look(ask_nvml), _Look(list_gpus)
    packages = installed(distributions())
    visible = environment.get("CUDA_VISIBLE_DEVICES")
    linux = _linux_facts(root, environment) if sys.platform.startswith("linux") else {}
    return Facts(
        **linux,
        system=system_name(root),
        python=".".join(map(str, sys.version_info[:3])),
        nvml=nvml.result(end_s) or Nvml("no_answer"),
        gpus=gpus.result(end_s) or (),
        visible_devices=None if visible is None else _plain_devices(visible),
        packages=packages,
    )


def system_name(root: Path = Path("/")) -> SystemName:
    """Name the system as the table does; Linux inside Windows is a system of its own."""
    if not sys.platform.startswith("linux"):
        return "windows" if sys.platform == "win32" else "macos"
    wsl = wsl_version(_read(root / "proc/sys/kernel/osrelease"))
    return "linux" if wsl is None else "wsl2" if wsl == 2 else "wsl1"


def find_libcuda(root: Path, environment: Mapping[str, str]) -> LibraryKind | None:
    """Tell which libcuda.so.1 the loader takes: LD_LIBRARY_PATH first, then its cache, then the usual folders."""
    named = [folder for folder in environment.get("LD_LIBRARY_PATH", "").split(":") if folder]
    cached = re.findall(rb"(/[^\x00\n]{1,300}/)libcuda\.so\.1\x00", _read_bytes(root / "etc/ld.so.cache"))
    usual = ("/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu", "/usr/lib64", "/lib64", "/usr/lib", "/lib")
    for folder in (*named, *(path.decode("utf-8", "replace") for path in cached), *usual):
        # In the cache there are also the 32-bit libraries.
        if not re.search(r"i386|lib32", folder) and _exists(root / folder.lstrip("/") / "libcuda.so.1"):
            return _library_kind(folder)
    return None


def cuda_majors(facts: Facts) -> set[str]:
    """Return the generations of CUDA that installed packages belong to: {"12"}."""
    return {match[1] for name, _ in facts.packages if (match := re.search(r"-cu(\d\d)$", name))}


def _linux_facts(root: Path, environment: Mapping[str, str]) -> dict[str, Any]:
    wsl = system_name(root).startswith("wsl")
    modules = {line.split(" ")[0] for line in _read(root / "proc/modules").splitlines()}
    flags = re.search(r"^flags\s*:(.*)$", _read(root / "proc/cpuinfo"), re.MULTILINE)
    version = re.search(r"\b(\d{3}(?:\.\d{1,4}){1,2})\b", _read(root / "proc/driver/nvidia/version"))
    secure = _read_bytes(root / _SECURE_BOOT)
    library_path = environment.get("LD_LIBRARY_PATH")
    return {
        "container": read_container(root) is not None,
        "pci": pci_vendors(root) or (() if _exists(root / "sys/bus/pci/devices") else None),
        "kernel_driver": version[1] if version else None,
        "device_nodes": len([node for node in root.glob("dev/nvidia*") if node.name[6:].isdigit()]),
        "dxg": _exists(root / "dev/dxg") if wsl else None,
        "wsl_libcuda": _exists(root / "usr/lib/wsl/lib/libcuda.so.1") if wsl else None,
        "libcuda": find_libcuda(root, environment),
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
    """Keep numbers; what names a card by its serial is only said to be there."""
    text = value.strip()
    return text[:40] if re.fullmatch(r"[-0-9, ]*", text) else "other"


def installed(distributions: "Iterable[Distribution]") -> tuple[tuple[str, str], ...]:
    """Name the packages that matter to an engine, with their versions."""
    versions: dict[str, str] = {}
    for distribution in distributions:
        # A half-removed package has no metadata.
        name = distribution.metadata["Name"] if distribution.metadata else ""
        if name and _PACKAGES.fullmatch(name):
            versions.setdefault(name.lower().replace("_", "-"), str(distribution.version)[:40])
    return tuple(sorted(versions.items()))


class _Look(Generic[_Value]):
    """A call in a thread of its own, because a driver may hang; then the thread is left to itself."""

    def __init__(self, call: Callable[[], _Value]) -> None:
        self._answers: list[_Value] = []
        self._thread = threading.Thread(target=self._ask, args=(call,), daemon=True, name="doctor-look")
        self._thread.start()

    def result(self, end_s: float) -> _Value | None:
        """Wait for the answer until a time of the monotonic clock; None when it takes longer."""
        self._thread.join(max(end_s - time.monotonic(), 0))
        return self._answers[0] if self._answers else None

    def _ask(self, call: Callable[[], _Value]) -> None:
        self._answers.append(call())


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False


def _read(path: Path) -> str:
    return _read_bytes(path)[:_MAX_READ_BYTES].decode("utf-8", errors="replace").replace("\x00", "").strip()


def _read_bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_MAX_CACHE_BYTES)
    except OSError:
        return b""
