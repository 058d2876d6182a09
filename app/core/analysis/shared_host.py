"""What a short measurement in a virtual machine can't show: its host's speed changes from one run to the next.

The other guests of a host share its memory, caches and clock. Nothing inside a guest tells, and half a calm minute
says little about the next ones.
"""

import math
from dataclasses import replace
from statistics import NormalDist

from app.core.analysis.stats import DurationStatistics
from app.core.analysis.student_t import CONFIDENCE
from app.core.hardware.part_texts import OWN_COMPUTER, split_virtualization
from workloads.protocol.machine import Machine

# Standard deviation between Quick runs minutes apart, in percent, beyond what their own steps tell: the root mean
# square of eight series of ten runs, 1.4 to 8.2 each, on two cores of a shared host (docs/measurement.md).
BETWEEN_RUNS_PCT = 4.5
# Code of its caution in verdicts.
SHARED_HOST = "shared_host"
_HALF_PCT = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * BETWEEN_RUNS_PCT


def is_on_shared_host(machine: Machine, device: str | None) -> bool:
    """Return whether a run computes on CPUs that its computer may share with other guests of a host.

    A GPU is given to one guest as a whole.

    Args:
        machine: The run's computer.
        device: What the run computes on; None as long as it's unknown.
    """
    kind, _ = split_virtualization(machine.virtualization)
    return machine.virtual_machine is True and device == "cpu" and kind not in OWN_COMPUTER


def with_host(result: DurationStatistics | None) -> DurationStatistics | None:
    """Widen an estimate's interval by what the host may change until the next run.

    Independent errors add as squares. Whole epochs were measured as they are, and keep theirs.
    """
    if result is None or result.basis != "estimate" or result.low_s is None or result.high_s is None:
        return result
    host_s = result.median_s * _HALF_PCT / 100
    below_s = math.hypot(result.median_s - result.low_s, host_s)
    above_s = math.hypot(result.high_s - result.median_s, host_s)
    return replace(result, low_s=max(0.0, result.median_s - below_s), high_s=result.median_s + above_s)


def includes_host(half_pct: float, own_pct: float) -> bool:
    """Return whether a stored ± includes it, even as the 3 % of older versions; before them, none did.

    Args:
        half_pct: The ± of the headline, in percent.
        own_pct: What the run's steps alone tell.
    """
    return half_pct**2 >= own_pct**2 + _HALF_PCT**2 / 4
