"""Variants of the installable engines: one for each system and kind of graphics card.

Sizes of fully locked variants, and of the CPU variants on Linux, are sums over the wheels for Python 3.11. Other
download sizes are from other sources; None means unknown. Sizes of variants for both architectures are for x86-64;
on arm64, downloads are up to 8 % larger. Requirements for NVIDIA cards are from PyTorch's support matrix of 2026
(pytorch/pytorch#172352) and JAX's installation page. Only the CPU variants on Linux have been run.
"""

import re
from dataclasses import dataclass

from app.core.paths import RESOURCES

LOCKS = RESOURCES / "engines"
LINUX, WINDOWS, MACOS = "Linux", "Windows", "macOS"
_X86, _ARM = "x86_64", "arm64"
_PYTORCH = "https://download.pytorch.org/whl/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """The packages of an engine for one kind of computer.

    Attributes:
        engine: Name of the engine.
        name: Name of the variant, the same on all systems, such as "cpu" or "cuda".
        system: Prefix of `Machine.os_name` on the supported system.
        architectures: Supported processor architectures.
        lock: File in `LOCKS` with versions and hashes of the packages from the default package index.
        pins: Packages from another index, without locked hashes, such as "torch==2.13.0+cpu".
        index: Address of the other index; None if there is none.
        asks_for_more: Whether dependencies of `pins` are also installed from the other index.
        vendor: Vendor of the graphics cards it uses; None if it uses none.
        cards: Pattern of supported card names; None for all.
        oldest_driver: Major version of the oldest supported driver; None for any.
        capabilities: Range of NVIDIA compute capabilities, excluding the end; None for all.
        download_bytes: Size of the download; None if unknown.
        disk_bytes: Size of the installation; None if unknown.
    """

    engine: str
    name: str
    system: str
    lock: str
    architectures: frozenset[str] = frozenset({_X86})
    pins: tuple[str, ...] = ()
    index: str | None = None
    asks_for_more: bool = False
    vendor: str | None = None
    cards: re.Pattern[str] | None = None
    oldest_driver: int | None = None
    capabilities: tuple[float, float] | None = None
    download_bytes: int | None = None
    disk_bytes: int | None = None


_BOTH = frozenset({_X86, _ARM})
_CUDA_13, _CUDA_12 = 580, 525  # oldest supported drivers of CUDA 13 and 12
_ARC = re.compile(r"\bArc\b")
# Radeon and Instinct cards that ROCm supports on Linux: RDNA 2 (some) and newer, without integrated graphics.
_ROCM = re.compile(r"\bRX (?:6[89]|7\d|9\d)\d\d|\bW(?:6800|7\d00)|\bAI PRO\b|\bInstinct\b|\bMI\d{2,3}\b")
_GB = 10**9

# Variants by engine and system, best first.
VARIANTS: tuple[Variant, ...] = (
    Variant(
        engine="torch",
        name="cuda",
        system=LINUX,
        architectures=_BOTH,
        lock="torch-cuda.txt",
        vendor="nvidia",
        oldest_driver=_CUDA_13,
        capabilities=(7.5, 99),
        download_bytes=2_775_000_000,
        disk_bytes=4_879_000_000,
    ),
    Variant(
        engine="torch",
        name="cuda-legacy",
        system=LINUX,
        lock="torch-base.txt",
        pins=("torch==2.13.0+cu126",),
        index=_PYTORCH + "cu126",
        asks_for_more=True,
        vendor="nvidia",
        oldest_driver=_CUDA_12,
        capabilities=(5.0, 10.0),
    ),
    Variant(
        engine="torch",
        name="rocm",
        system=LINUX,
        lock="torch-base.txt",
        pins=("torch==2.13.0+rocm7.2",),
        index=_PYTORCH + "rocm7.2",
        asks_for_more=True,
        vendor="amd",
        cards=_ROCM,
    ),
    Variant(
        engine="torch",
        name="xpu",
        system=LINUX,
        lock="torch-base.txt",
        pins=("torch==2.13.0+xpu",),
        index=_PYTORCH + "xpu",
        asks_for_more=True,
        vendor="intel",
        cards=_ARC,
    ),
    Variant(
        engine="torch",
        name="cpu",
        system=LINUX,
        architectures=_BOTH,
        lock="torch-base.txt",
        pins=("torch==2.13.0+cpu",),
        index=_PYTORCH + "cpu",
        download_bytes=236_000_000,
        disk_bytes=855_000_000,
    ),
    Variant(
        engine="torch",
        name="cuda",
        system=WINDOWS,
        lock="torch-cuda-windows.txt",
        pins=("torch==2.13.0+cu130",),
        index=_PYTORCH + "cu130",
        vendor="nvidia",
        oldest_driver=_CUDA_13,
        capabilities=(7.5, 99),
        download_bytes=2 * _GB,
    ),
    Variant(
        engine="torch",
        name="cuda-legacy",
        system=WINDOWS,
        lock="torch-cuda-windows.txt",
        pins=("torch==2.13.0+cu126",),
        index=_PYTORCH + "cu126",
        vendor="nvidia",
        oldest_driver=_CUDA_12,
        capabilities=(5.0, 10.0),
        download_bytes=2_600_000_000,
    ),
    Variant(
        engine="torch",
        name="xpu",
        system=WINDOWS,
        lock="torch-base.txt",
        pins=("torch==2.13.0+xpu",),
        index=_PYTORCH + "xpu",
        asks_for_more=True,
        vendor="intel",
        cards=_ARC,
    ),
    Variant(engine="torch", name="cpu", system=WINDOWS, lock="torch-cpu.txt", download_bytes=_GB // 5),
    Variant(
        engine="torch",
        name="mps",
        system=MACOS,
        architectures=frozenset({_ARM}),
        lock="torch-mps.txt",
        vendor="apple",
        download_bytes=_GB // 5,
    ),
    Variant(
        engine="jax",
        name="cuda13",
        system=LINUX,
        architectures=_BOTH,
        lock="jax-cuda13.txt",
        vendor="nvidia",
        oldest_driver=_CUDA_13,
        capabilities=(7.5, 99),
        download_bytes=2_640_000_000,
        disk_bytes=4_655_000_000,
    ),
    Variant(
        engine="jax",
        name="cuda12",
        system=LINUX,
        architectures=_BOTH,
        lock="jax-cuda12.txt",
        vendor="nvidia",
        oldest_driver=_CUDA_12,
        capabilities=(5.2, 99),
        download_bytes=3_364_000_000,
        disk_bytes=5_797_000_000,
    ),
    Variant(
        engine="jax",
        name="cpu",
        system=LINUX,
        architectures=_BOTH,
        lock="jax-cpu.txt",
        download_bytes=158_000_000,
        disk_bytes=599_000_000,
    ),
    Variant(engine="jax", name="cpu", system=WINDOWS, lock="jax-cpu.txt", download_bytes=_GB // 5),
    Variant(
        engine="jax",
        name="cpu",
        system=MACOS,
        architectures=frozenset({_ARM}),
        lock="jax-cpu.txt",
        download_bytes=_GB // 5,
    ),
)
