"""Variants of the installable engines: one for each system and kind of graphics card.

Sizes of fully locked variants, and of the CPU variants on Linux, are sums over the wheels for Python 3.11. Other
download sizes are from other sources; None means unknown. Sizes of variants for both architectures are for x86-64;
on arm64, downloads are up to 8 % larger. Requirements for NVIDIA cards are from PyTorch's support matrix of 2026
(pytorch/pytorch#172352) and JAX's installation page. Only the CPU variants on Linux have been run.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from app.core.paths import RESOURCES
from workloads.protocol.machine import Gpu

LOCKS = RESOURCES / "engines"
LINUX, WINDOWS, MACOS = "Linux", "Windows", "macOS"
_X86, _ARM = "x86_64", "arm64"
_PYTORCH = "https://download.pytorch.org/whl/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """The packages of an engine for one kind of computer."""

    engine: str  # name of the engine
    name: str  # name of the variant, such as "cpu" or "cuda"; it is the same on all systems
    system: str  # prefix of `Machine.os_name` on the supported system
    lock: str  # file in `LOCKS` with versions and hashes of packages from the default package index
    architectures: frozenset[str] = frozenset({_X86})  # supported processor architectures
    # Packages available only from another index, without locked hashes, such as "torch==2.13.0+cpu". A marker may
    # follow, as in a lock.
    pins: tuple[str, ...] = ()
    index: str | None = None  # address of that index
    asks_for_more: bool = False  # whether the dependencies of `pins` are also installed from that index
    is_alone: bool = False  # whether that index is the only source of `pins` and their dependencies
    # Packages that the index offers only as source code, which are built on this computer.
    sources: tuple[str, ...] = ()
    # Extras of the packages that contain code for certain cards: the name of each, and a pattern of card names.
    kernels: tuple[tuple[str, re.Pattern[str]], ...] = ()
    # Whether the variant is untested. If so, it is installed only if computations on its card succeed.
    is_untried: bool = False
    vendor: str | None = None  # vendor of the graphics cards that it uses; None if it uses only the processor
    cards: re.Pattern[str] | None = None  # pattern of supported card names; None for all
    oldest_driver: int | None = None  # major version of the oldest supported driver; None for any
    # Range of NVIDIA compute capabilities, excluding the end; None for all.
    capabilities: tuple[float, float] | None = None
    download_bytes: int | None = None  # size of the download; None if unknown
    disk_bytes: int | None = None  # size of the installation; None if unknown

    def kernels_for(self, gpu: Gpu) -> str | None:
        """Return the name of the kernels for a card; None if there are none.

        The architecture is used if it is known, because AMD cards with different architectures have similar names.
        """
        if gpu.architecture is not None:
            return next((name for name, _ in self.kernels if name == gpu.architecture), None)
        return next((name for name, cards in self.kernels if cards.search(gpu.name)), None)

    def has_build_for(self, python_version: str) -> bool:
        """Return whether there are packages for a version of Python, such as "3.14.1"."""
        python = tuple(int(part) for part in re.findall(r"\d+", python_version)[:2])
        return python < _NEW_PYTHON or not (self.pins or self.engine == "tensorflow")

    def supports(self, gpu: Gpu) -> bool:
        """Return whether the variant supports a graphics card, judging by vendor, name and architecture."""
        if gpu.vendor != self.vendor:
            return False
        if self.kernels:
            return self.kernels_for(gpu) is not None
        return self.cards is None or self.cards.search(gpu.name) is not None

    def made_for(self, cards: Sequence[Gpu]) -> "Variant":
        """Return the variant with only the kernels for these cards; with all kernels if there are no cards."""
        if not self.kernels:
            return self
        names = sorted({name for gpu in cards if (name := self.kernels_for(gpu)) is not None}) or ["all"]
        extras = ",".join(f"device-{name}" for name in names)
        return replace(self, pins=tuple(pin.replace("==", f"[{extras}]==", 1) for pin in self.pins))

    @property
    def index_options(self) -> tuple[str, ...]:
        """The pip options for using `index` in addition to the user's own index, or instead of it."""
        if self.index is None:
            return ()
        return ("--index-url" if self.is_alone else "--extra-index-url", self.index)

    @property
    def source(self) -> str | None:
        """Host of the index that provides an untested variant; None for other variants."""
        return urlsplit(self.index).hostname if self.index is not None and self.is_untried else None


# On PyPI, PyTorch and JAX have builds for it; other indexes have none of the pinned versions.
_NEW_PYTHON = (3, 15)
_BOTH = frozenset({_X86, _ARM})
_CUDA_13, _CUDA_12 = 580, 525  # oldest supported drivers of CUDA 13 and 12
_ARC = re.compile(r"\bArc\b")
# Radeon and Instinct cards that ROCm supports on Linux: RDNA 2 (some) and newer, without integrated graphics.
_ROCM = re.compile(r"\bRX (?:6[89]|7\d|9\d)\d\d|\bW(?:6800|7\d00)|\bAI PRO\b|\bInstinct\b|\bMI\d{2,3}\b")
# AMD's kernels for each architecture, and the cards by name where the system doesn't report it (Windows). AMD has
# more, but not for cards whose names are certain. An M or S at the end is another chip, in a laptop.
_KERNELS = (
    ("gfx1201", re.compile(r"\bRX 9070\b|\bR9700\b")),
    ("gfx1200", re.compile(r"\bRX 9060\b")),
    ("gfx1100", re.compile(r"\bRX 7900M?\b|\bW7[89]00\b")),
    ("gfx1101", re.compile(r"\bRX 7[78]00\b|\bW7700\b")),
    ("gfx1102", re.compile(r"\bRX 7600\b")),
    ("gfx1030", re.compile(r"\bRX 6[89][05]0\b|\bW6800\b")),
    ("gfx1031", re.compile(r"\bRX 67[05]0\b")),
    ("gfx1151", re.compile(r"\b80[56]0S\b")),
    ("gfx1150", re.compile(r"\b8[89]0M\b")),
    ("gfx1152", re.compile(r"\b8[46]0M\b")),
    ("gfx1153", re.compile("(?!)")),
)
_GB = 10**9
# PyTorch's version on its own index, by Python. The index couldn't be reached, but others report using each of the
# builds. PyTorch 2.15 has none for CUDA 12.6 (pytorch#190385), and no report shows its other ones.
_PYTORCH_VERSIONS = {"< '3.12'": "2.13.0", ">= '3.12'": "2.14.1"}


def _pytorch(base: Variant, build: str, **changes: Any) -> Variant:
    """Return a variant whose torch comes from PyTorch's own index."""
    pins = (f"torch=={torch}+{build} ; python_version {python}" for python, torch in _PYTORCH_VERSIONS.items())
    return replace(base, pins=tuple(pins), index=_PYTORCH + build, **changes)


# Variants with the fields that several others share.
_TORCH = Variant(engine="torch", name="cpu", system=LINUX, lock="torch-base.txt")
_CUDA = replace(_TORCH, name="cuda", vendor="nvidia", oldest_driver=_CUDA_13, capabilities=(7.5, 99))
_CUDA_LEGACY = replace(_CUDA, name="cuda-legacy", oldest_driver=_CUDA_12, capabilities=(5.0, 10.0))
_ROCM_7 = replace(_TORCH, name="rocm", vendor="amd", cards=_ROCM, asks_for_more=True)
_XPU = replace(_TORCH, name="xpu", vendor="intel", cards=_ARC, asks_for_more=True)
# ROCm 10 from AMD's own index, for Windows and for integrated graphics, which PyTorch's builds don't support. It
# hasn't been tested for Epochmark. Index, version and extras are from AMD's instructions as quoted by others
# (ROCm/TheRock's release tests, Comfy-Org/ComfyUI#16217, amd/playbooks); the index states no checksums, and has
# `rocm`, which torch imports, only as source code. The size is what users report for one kind of card.
_ROCM_10 = replace(
    _TORCH,
    name="rocm10",
    pins=("torch==2.13.0+rocm10.0.0",),
    index="https://stable.repo.amd.com/rocm/whl-next/",
    asks_for_more=True,
    is_alone=True,
    sources=("rocm==10.0.0",),
    kernels=_KERNELS,
    is_untried=True,
    vendor="amd",
    download_bytes=1_100_000_000,
)
_JAX = replace(_TORCH, engine="jax", lock="jax-cpu.txt", download_bytes=_GB // 5)
_JAX_CUDA = replace(_CUDA, engine="jax", architectures=_BOTH)
_TENSORFLOW = Variant(engine="tensorflow", name="cpu", system=LINUX, lock="tensorflow-cpu.txt")
_ON_WINDOWS: dict[str, Any] = {"system": WINDOWS, "lock": "torch-cuda-windows.txt"}
_ON_MACOS: dict[str, Any] = {"system": MACOS, "architectures": frozenset({_ARM})}

# Variants for each engine and system, best first.
VARIANTS: tuple[Variant, ...] = (
    replace(
        _CUDA, architectures=_BOTH, lock="torch-cuda.txt", download_bytes=3_034_000_000, disk_bytes=5_572_000_000
    ),
    _pytorch(_CUDA_LEGACY, "cu126", asks_for_more=True),
    _pytorch(_ROCM_7, "rocm7.2"),
    _ROCM_10,
    _pytorch(_XPU, "xpu"),
    _pytorch(_TORCH, "cpu", architectures=_BOTH, download_bytes=236_000_000, disk_bytes=855_000_000),
    _pytorch(_CUDA, "cu130", **_ON_WINDOWS, download_bytes=2 * _GB),
    _pytorch(_CUDA_LEGACY, "cu126", **_ON_WINDOWS, download_bytes=2_600_000_000),
    replace(_ROCM_10, system=WINDOWS),
    _pytorch(_XPU, "xpu", system=WINDOWS),
    replace(_TORCH, system=WINDOWS, lock="torch-cpu.txt", download_bytes=_GB // 5),
    replace(_TORCH, name="mps", **_ON_MACOS, lock="torch-mps.txt", vendor="apple", download_bytes=_GB // 5),
    replace(
        _JAX_CUDA, name="cuda13", lock="jax-cuda13.txt", download_bytes=2_640_000_000, disk_bytes=4_655_000_000
    ),
    replace(
        _JAX_CUDA,
        name="cuda12",
        lock="jax-cuda12.txt",
        oldest_driver=_CUDA_12,
        capabilities=(5.2, 99),
        download_bytes=3_364_000_000,
        disk_bytes=5_797_000_000,
    ),
    replace(_JAX, architectures=_BOTH, download_bytes=158_000_000, disk_bytes=599_000_000),
    replace(_JAX, system=WINDOWS),
    replace(_JAX, **_ON_MACOS),
    # For packages of Epochmark without an engine; start.py includes TensorFlow in one of these variants.
    replace(
        _TENSORFLOW,
        name="cuda",
        lock="tensorflow-cuda.txt",
        vendor="nvidia",
        oldest_driver=_CUDA_12,
        capabilities=(7.5, 10.0),
        download_bytes=3_448_000_000,
        disk_bytes=6_510_000_000,
    ),
    replace(
        _TENSORFLOW,
        name="cuda-legacy",
        lock="tensorflow-cuda-legacy.txt",
        vendor="nvidia",
        oldest_driver=_CUDA_12,
        capabilities=(6.0, 10.0),
        download_bytes=3_439_000_000,
    ),
    replace(_TENSORFLOW, architectures=_BOTH, download_bytes=641_000_000, disk_bytes=2_078_000_000),
    replace(_TENSORFLOW, system=WINDOWS, download_bytes=406_000_000),
    replace(_TENSORFLOW, **_ON_MACOS),
)
