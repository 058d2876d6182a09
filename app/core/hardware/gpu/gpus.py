"""Graphics processors of all vendors: which there are, and how they are doing.

NVIDIA's come first, in the order in which their driver and TensorFlow number them; then the others in the
system's order. A card of NVIDIA's that no driver of NVIDIA's gives (nouveau, none, a broken one) comes last, and
only if that driver gives none at all: nothing can be computed on it.
"""

import sys
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from app.core.hardware.gpu.apple import AppleGpus
from app.core.hardware.gpu.linux_reader import LinuxGpus
from app.core.hardware.gpu.nvidia import NvidiaGpus
from app.core.hardware.gpu.windows import WindowsGpus
from workloads.protocol.machine import Gpu
from workloads.protocol.telemetry import GpuTelemetry


class SystemGpus(Protocol):
    """What an operating system tells of its GPUs; a place is one's number in the system's order."""

    vendors: tuple[str, ...]

    def gpus(self, places: Sequence[int]) -> tuple[Gpu, ...]:
        """Describe the GPUs in these places."""

    def readings(self, places: Sequence[int], own_pids: Collection[int] | None = None) -> tuple[GpuTelemetry, ...]:
        """Look at the GPUs in these places."""

    def close(self) -> None:
        """Let go of what was opened."""


def list_gpus(root: Path = Path("/")) -> tuple[Gpu, ...]:
    """List the GPUs; empty when there are none or nothing tells of them.

    Takes milliseconds, up to 3 s where NVIDIA's driver hangs. Wakes a sleeping GPU of NVIDIA's, unless all of them
    sleep: then what NVML said earlier in this process stands, else name and driver are all that is known. Other
    cards are never woken; of one that has slept all the time, link, power limit and displays are missing.

    Args:
        root: Where Linux's proc, sys and usr folders are found.
    """
    system, nvidia = _sources(root)
    try:
        nvidias = nvidia.gpus()
        return (*nvidias, *system.gpus(_places(system, with_nvidia=not nvidias)))
    finally:
        nvidia.close()
        system.close()


class GpuReader:
    """Read all GPUs repeatedly, from one thread. No driver is loaded before the first read.

    Args:
        root: Where Linux's proc and sys folders are found.
        clock: Tells the seconds since some moment, for what Linux counts.
    """

    def __init__(self, root: Path = Path("/"), clock: Callable[[], float] = time.monotonic) -> None:
        self._root = root
        self._clock = clock
        self._sources: tuple[SystemGpus, NvidiaGpus] | None = None
        self._known = 0  # NVIDIA's, at most: the others keep their numbers when its driver fails

    def read(self, own_pids: Collection[int] | None = None) -> tuple[GpuTelemetry, ...]:
        """Look at each GPU once, in the order of `list_gpus`. Sleeping and lost GPUs give None throughout.

        Args:
            own_pids: The run's own processes, whose memory is not others', and whose share of a GPU is told where
                nothing tells how busy it is; None if they are not known.
        """
        system, nvidia = self._sources = self._sources or _sources(self._root, self._clock)
        nvidias = nvidia.readings(own_pids)
        self._known = max(self._known, len(nvidias))
        nvidias += tuple(GpuTelemetry(index) for index in range(len(nvidias), self._known))
        others = system.readings(_places(system, with_nvidia=not nvidias), own_pids)
        return (*nvidias, *(replace(reading, index=index) for index, reading in enumerate(others, len(nvidias))))

    def close(self) -> None:
        """Let go of the drivers. A later read opens them again."""
        if self._sources is not None:
            system, nvidia = self._sources
            nvidia.close()
            system.close()


def _sources(root: Path, clock: Callable[[], float] = time.monotonic) -> tuple[SystemGpus, NvidiaGpus]:
    if sys.platform == "win32":
        return WindowsGpus(), NvidiaGpus(root)
    if sys.platform == "darwin":
        return AppleGpus(), NvidiaGpus(root)
    linux = LinuxGpus(root, clock)
    return linux, NvidiaGpus(root, tuple(card for card in linux.cards if card.vendor == "nvidia"))


def _places(system: SystemGpus, *, with_nvidia: bool) -> list[int]:
    """Choose the GPUs that the system itself must tell of, in their order."""
    places = list(enumerate(system.vendors))
    others = [place for place, vendor in places if vendor != "nvidia"]
    return others + ([place for place, vendor in places if vendor == "nvidia"] if with_nvidia else [])
