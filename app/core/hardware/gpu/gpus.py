"""Lists and reads GPUs from all vendors.

NVIDIA's GPUs come first, in the order of their driver and TensorFlow, followed by others in the system's order. If
NVIDIA's driver lists no GPU (because it is missing or broken, or nouveau is used), the NVIDIA GPUs listed by the
system come last. These GPUs can't be used for computing.
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
    """The GPUs listed by an operating system. `places` are indices in the system's order."""

    vendors: tuple[str, ...]  # vendor of each GPU
    counts_shared: bool  # whether the system counts the computer's memory that a process uses through a GPU

    def gpus(self, places: Sequence[int]) -> tuple[Gpu, ...]:
        """Describe the GPUs at these positions."""

    def telemetry(
        self, places: Sequence[int], own_pids: Collection[int] | None = None
    ) -> tuple[GpuTelemetry, ...]:
        """Read telemetry from the GPUs at these positions; each result has index 0."""

    def close(self) -> None:
        """Release all resources."""


def list_gpus(root: Path = Path("/")) -> tuple[Gpu, ...]:
    """List the GPUs; empty if none are found.

    Listing takes milliseconds, or up to 3 s if NVIDIA's driver hangs. Sleeping NVIDIA GPUs are woken unless all of
    them are asleep. If all are asleep, the values that NVML reported earlier in this process are returned, or else
    only name and driver. Other GPUs are never woken; for a GPU that hasn't been seen awake, link, power limit and
    displays are missing.
    """
    system, nvidia = _sources(root)
    try:
        nvidias = nvidia.gpus()
        return (*nvidias, *system.gpus(_places(system, with_nvidia=not nvidias)))
    finally:
        nvidia.close()
        system.close()


class GpuReader:
    """Reads all GPUs repeatedly from one thread. Drivers are loaded on the first read."""

    def __init__(self, root: Path = Path("/"), clock: Callable[[], float] = time.monotonic) -> None:
        self._root = root
        self._clock = clock
        self._sources: tuple[SystemGpus, NvidiaGpus] | None = None
        self._known = 0  # most NVIDIA GPUs seen; keeps the other GPUs' numbers if the driver fails

    def read(self, own_pids: Collection[int] | None = None) -> tuple[GpuTelemetry, ...]:
        """Read each GPU once, in the order of `list_gpus`. The values of sleeping and lost GPUs are None.

        Memory of the run's own processes doesn't count as used by other programs, and their GPU time is used if
        the GPU's utilisation isn't reported.
        """
        system, nvidia = self._sources = self._sources or _sources(self._root, self._clock)
        nvidias = nvidia.telemetry(own_pids)
        self._known = max(self._known, len(nvidias))
        nvidias += tuple(GpuTelemetry(index) for index in range(len(nvidias), self._known))
        places = _places(system, with_nvidia=not nvidias)
        # NVIDIA's driver doesn't count shared memory, but the system may.
        also = [place for place in _places(system, with_nvidia=True) if place not in places]
        if not system.counts_shared or own_pids is None:
            also = []
        seen = system.telemetry([*places, *also], own_pids)
        others, nvidias = seen[: len(places)], _with_shared(nvidias, seen[len(places) :])
        return (*nvidias, *(replace(gpu, index=index) for index, gpu in enumerate(others, len(nvidias))))

    def close(self) -> None:
        """Release the drivers. The next read opens them again."""
        if self._sources is not None:
            system, nvidia = self._sources
            nvidia.close()
            system.close()


def _with_shared(nvidias: Sequence[GpuTelemetry], seen: Sequence[GpuTelemetry]) -> tuple[GpuTelemetry, ...]:
    """Return telemetry from NVIDIA's driver, combined with the shared memory that the system reports."""
    # The driver and the system may list cards in different orders. If there are several cards, each is therefore
    # given the highest value, because a run uses only one card.
    most = max((gpu.own_shared_bytes for gpu in seen if gpu.own_shared_bytes is not None), default=None)
    return tuple(replace(gpu, own_shared_bytes=most) for gpu in nvidias)


def _sources(root: Path, clock: Callable[[], float] = time.monotonic) -> tuple[SystemGpus, NvidiaGpus]:
    if sys.platform == "win32":
        return WindowsGpus(), NvidiaGpus(root)
    if sys.platform == "darwin":
        return AppleGpus(), NvidiaGpus(root)
    linux = LinuxGpus(root, clock)
    return linux, NvidiaGpus(root, tuple(card for card in linux.cards if card.vendor == "nvidia"))


def _places(system: SystemGpus, *, with_nvidia: bool) -> list[int]:
    """Return the positions of the GPUs that the system must describe, in order."""
    places = list(enumerate(system.vendors))
    others = [place for place, vendor in places if vendor != "nvidia"]
    return others + ([place for place, vendor in places if vendor == "nvidia"] if with_nvidia else [])
