"""Reads NVIDIA's GPUs through nvidia-smi and GPUtil if NVML can't be loaded.

Each read starts a program, and power and clocks aren't reported.
"""

import logging
import shutil
import threading
import warnings
from concurrent.futures import wait
from functools import partial
from types import ModuleType
from typing import Any

import psutil

from app.core.hardware.blocking import call_in_thread
from app.core.hardware.gpu.values import MAX_MEMORY_BYTES, clean_text, whole, within
from app.core.hardware.system_files import attempt
from app.core.messages import sentence
from workloads.protocol.machine import Gpu
from workloads.protocol.telemetry import GpuTelemetry

_logger = logging.getLogger(__name__)

_MIB_BYTES = 2**20
_LIMIT_S = 2.5
_KILL_LIMIT_S = 0.3
# Set permanently after nvidia-smi has hung, because it would hang again.
HUNG = threading.Event()


class GputilSource:
    """Runs nvidia-smi through GPUtil for each read."""

    def __init__(self, gputil: ModuleType) -> None:
        self._gputil = gputil

    def gpus(self) -> tuple[Gpu, ...]:
        return tuple(
            Gpu(
                name=clean_text(gpu.name) or "NVIDIA GPU",
                vendor="nvidia",
                memory_bytes=whole(gpu.memoryTotal * _MIB_BYTES, 1, MAX_MEMORY_BYTES),
                driver=clean_text(gpu.driver),
                source="gputil",
            )
            for gpu in _ask(self._gputil)
        )

    def telemetry(self, asleep: tuple[bool, ...], _own_pids: object = None) -> tuple[GpuTelemetry, ...]:
        """Read each GPU. If any GPU is asleep, all values are None, because nvidia-smi would wake it."""
        if any(asleep):
            return tuple(GpuTelemetry(index) for index in range(len(asleep)))
        return tuple(
            GpuTelemetry(
                index=index,
                utilization_pct=within(gpu.load * 100, 0, 100),
                memory_used_bytes=whole(gpu.memoryUsed * _MIB_BYTES, 1, MAX_MEMORY_BYTES),
                temperature_c=within(gpu.temperature, 1, 150),
            )
            for index, gpu in enumerate(_ask(self._gputil))
        )

    def close(self) -> None:
        """Do nothing; each read runs nvidia-smi again."""


def open_gputil() -> GputilSource | None:
    """Load GPUtil; return None if it or nvidia-smi is missing."""
    if shutil.which("nvidia-smi") is None:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # distutils is deprecated
            import GPUtil
    except ImportError:
        return None
    return GputilSource(GPUtil)


def _ask(gputil: ModuleType) -> list[Any]:
    """Run nvidia-smi from a separate thread, because it may hang; return [] if it fails or takes too long."""
    if HUNG.is_set():
        return []
    others = {process.pid for process in _children()}
    answer = call_in_thread(gputil.getGPUs, "gputil")
    if not wait([answer], _LIMIT_S).not_done:
        try:
            return list(answer.result())
        except (ValueError, ZeroDivisionError, LookupError, OSError) as error:  # GPUtil's, for unexpected output
            _logger.info("nvidia-smi gave no usable answer: %s", error)
            return []
    HUNG.set()
    _logger.warning("%s", sentence("hardware.gpus_not_responding"))
    _kill_trees([process for process in _children() if process.pid not in others])
    wait([answer], _KILL_LIMIT_S)  # reaps the killed process if it ends at all
    return []


def _children() -> list[Any]:
    children = attempt(lambda: psutil.Process().children()) or []
    names = [attempt(child.name) or "" for child in children]
    return [child for child, name in zip(children, names, strict=True) if name.lower().startswith("nvidia-smi")]


def _kill_trees(processes: list[Any]) -> None:
    for process in processes:
        for member in (*(attempt(partial(process.children, recursive=True)) or ()), process):
            attempt(member.kill)
