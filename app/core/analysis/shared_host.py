"""Widens intervals on shared hosts, where other users change a device's speed between runs.

The guests of a host share its memory, caches and clock; guests of a GPU share its power limit. The effect can't be
measured from inside a guest, and one calm minute doesn't predict the next, so the same allowance applies to all
presets.
"""

import math
import re
from statistics import NormalDist
from typing import Literal

from app.core.analysis.student_t import CONFIDENCE
from app.core.hardware.part_texts import OWN_COMPUTER, split_virtualization
from app.core.records import RunSummary
from workloads.protocol.machine import Machine

# Standard deviation between Quick runs minutes apart, in percent, beyond the variation between their own steps.
# This is the root mean square of eight series of ten runs (1.4 to 8.2 each) on two cores of a shared host
# (docs/measurement.md). Shared GPUs haven't been measured and are assumed to behave similarly.
BETWEEN_RUNS_PCT = 4.5
# The same, as half the width of a 95 % interval.
BETWEEN_RUNS_HALF_PCT = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * BETWEEN_RUNS_PCT
# Code of the corresponding caution of the verdict.
SHARED_HOST = "shared_host"
# NVML counts a GPU as busy while any kernel is running. If the GPU is busy for less than this share of the time,
# it waits for the CPU between kernels.
GPU_IDLES_PCT = 60.0
# NVIDIA's vGPUs ("GRID V100D-8Q", "NVIDIA A10-24Q", "NVIDIA A100-4-20C") and MIG slices, and AMD's MxGPU.
_SLICE = re.compile(r"\bGRID\b|\bMIG\b|\bMxGPU\b|-\d+[ABCQ]\Z")
Shared = Literal["cpu", "waiting_gpu", "gpu_slice"]


def shared_part(
    machine: Machine, device: str | None, *, device_name: str | None = None, gpu_busy_pct: float | None = None
) -> Shared | None:
    """Return the resource of a run's device that may be shared with other users; None if none is detected.

    Neither time slicing of a whole GPU among containers nor a GPU partitioned by Hyper-V can be detected.

    Args:
        device: Device of the run, such as "cpu" or "gpu:0"; None while unknown.
        device_name: Name of the GPU as reported by the engine; None if unknown.
        gpu_busy_pct: GPU utilisation during the run; None if unknown.
    """
    if device is None:
        return None
    kind, _ = split_virtualization(machine.virtualization)
    is_guest = machine.virtual_machine is True and kind not in OWN_COMPUTER
    if device == "cpu":
        return "cpu" if is_guest else None
    if device_name is not None and _SLICE.search(device_name):
        return "gpu_slice"
    return "waiting_gpu" if is_guest and gpu_busy_pct is not None and gpu_busy_pct < GPU_IDLES_PCT else None


def says_shared(run: RunSummary) -> bool:
    """Return whether a run's verdict includes the caution about shared hosts."""
    return SHARED_HOST in (run.reasons or "").split()


def with_host(
    value: float, low: float | None, high: float | None, *, is_rate: bool
) -> tuple[float | None, float | None]:
    """Widen an interval by the variation between runs on a shared host, adding the errors in quadrature.

    Args:
        low: Lower end of its interval; None if there is no interval.
        high: Upper end of its interval.
        is_rate: Whether higher values are faster. If so, the variation applies to the inverse, the duration.
    """
    if low is None or high is None or low <= 0 or value <= 0:
        return low, high
    faster, slower = (1 - value / high, value / low - 1) if is_rate else (1 - low / value, high / value - 1)
    host = BETWEEN_RUNS_HALF_PCT / 100
    fastest, slowest = max(0.0, 1 - math.hypot(faster, host)), 1 + math.hypot(slower, host)
    if not is_rate:
        return value * fastest, value * slowest
    return value / slowest, value / fastest if fastest else high
