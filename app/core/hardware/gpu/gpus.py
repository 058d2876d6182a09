"""GPUs of all vendors: their parts and telemetry.

NVIDIA's come first, in the order in which their driver and TensorFlow number them; then the others, in the
system's order. An NVIDIA GPU that NVIDIA's driver doesn't list (nouveau, no driver, a broken one) comes last, and
only if that driver lists none at all: nothing can be computed on it.
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
    """The GPUs that an operating system lists; a place is a GPU's number in the system's order."""

    vendors: tuple[str, ...]

    def gpus(self, places: Sequence[int]) -> tuple[Gpu, ...]:
        """Describe the GPUs in these places."""

    def telemetry(
        self, places: Sequence[int], own_pids: Collection[int] | None = None
    ) -> tuple[GpuTelemetry, ...]:
        """Read the GPUs in these places."""

    def close(self) -> None:
        """Release what was opened."""


def list_gpus(root: Path = Path("/")) -> tuple[Gpu, ...]:
    """List the GPUs; empty if there are none or nothing reports them.

    Takes milliseconds, or up to 3 s if NVIDIA's driver hangs. Wakes a sleeping NVIDIA GPU, unless all of them are
    asleep: then what NVML reported earlier in this process is used, or else only name and driver are known. Other
    GPUs are never woken; if one has been asleep all the time, its link, power limit and displays are missing.

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
    """Reads all GPUs repeatedly, from one thread. No driver is loaded before the first read.

    Args:
        root: Where Linux's proc and sys folders are found.
        clock: Monotonic time in seconds, for Linux's counters.
    """

    def __init__(self, root: Path = Path("/"), clock: Callable[[], float] = time.monotonic) -> None:
        self._root = root
        self._clock = clock
        self._sources: tuple[SystemGpus, NvidiaGpus] | None = None
        self._known = 0  # highest number of NVIDIA GPUs seen: the others keep their numbers if its driver fails

    def read(self, own_pids: Collection[int] | None = None) -> tuple[GpuTelemetry, ...]:
        """Read each GPU once, in the order of `list_gpus`. Sleeping and lost GPUs give None for every value.

        Args:
            own_pids: The run's own processes, whose memory is not counted as others', and whose share of a GPU
                stands in if nothing reports how busy it is; None if unknown.
        """
        system, nvidia = self._sources = self._sources or _sources(self._root, self._clock)
        nvidias = nvidia.telemetry(own_pids)
        self._known = max(self._known, len(nvidias))
        nvidias += tuple(GpuTelemetry(index) for index in range(len(nvidias), self._known))
        others = system.telemetry(_places(system, with_nvidia=not nvidias), own_pids)
        return (*nvidias, *(replace(gpu, index=index) for index, gpu in enumerate(others, len(nvidias))))

    def close(self) -> None:
        """Release the drivers. A later read opens them again."""
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
    """Return the places of the GPUs that the system itself must describe, in their order."""
    places = list(enumerate(system.vendors))
    others = [place for place, vendor in places if vendor != "nvidia"]
    return others + ([place for place, vendor in places if vendor == "nvidia"] if with_nvidia else [])
