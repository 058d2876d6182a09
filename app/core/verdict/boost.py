"""Detects devices that may become slower after a minute, because they are boosting or warming up."""

import re
import statistics
from collections.abc import Sequence
from pathlib import Path

from app.core.analysis.shared_host import shared_part
from app.core.hardware.system_files import read_text
from app.core.messages import Message, message
from app.core.verdict.context import Evidence, Rule, TelemetryWindow
from workloads.protocol.machine import Machine

# Limits for changes within ten seconds of a Quick run. In steady state, temperature varies by one degree and the
# clock by one percent.
WARMING_C = 2.0
BOOST_FALLS_PCT = 2.0
_THIRD_AT_LEAST = 5
# Product names of Amazon's burstable instances, whose CPUs are throttled when their credits are used up.
_BURSTABLE = re.compile(r"t[234][a-z]*\.")


def is_burstable_instance(root: Path = Path("/")) -> bool:
    """Return whether this computer is a burstable Amazon instance, such as a t3.micro.

    Other clouds don't report the instance type.
    """
    return _BURSTABLE.match(read_text(root / "sys/class/dmi/id/product_name").strip()) is not None


def may_slow_down(machine: Machine, window: TelemetryWindow, *, is_burstable: bool) -> bool:
    """Return whether the device may be boosting or warming up, in which case Quick should use its full minute.

    A CPU's power limit may slow it down after 56 s without warning, even at its base clock. On a shared host, this
    can't be seen, and no result is valid.
    """
    if is_burstable or any(record.on_battery is not None for record in window.records):  # a laptop
        return True
    return (window.gpu is None and shared_part(machine, "cpu") is None) or _under_way(window) is not None


def _burst(evidence: Evidence) -> Message | None:
    """Return a note if a Quick run ended while its device was warming up or the clock speed was falling."""
    window = evidence.telemetry
    is_quick = evidence.run.summary.preset == "quick" and window.is_within
    return _under_way(window) if is_quick else None


def _under_way(window: TelemetryWindow) -> Message | None:
    on_gpu = window.gpu is not None
    values = window.gpu_values if on_gpu else window.values
    device = "GPU" if on_gpu else "CPU"
    middle_c, last_c = _later_thirds(values("temperature_c" if on_gpu else "cpu_temperature_c"))
    if last_c - middle_c >= WARMING_C:
        return message("note.still_warming", device=device, from_c=middle_c, to_c=last_c)
    middle_mhz, last_mhz = _later_thirds(values("clock_mhz" if on_gpu else "cpu_clock_mhz"))
    if last_mhz < middle_mhz * (1 - BOOST_FALLS_PCT / 100):
        return message("note.boost_ending", device=device, from_mhz=middle_mhz, to_mhz=last_mhz)
    return None


def _later_thirds(values: Sequence[float]) -> tuple[float, float]:
    """Return the means of the middle and last thirds; (0, 0) if there are too few values."""
    third = len(values) // 3
    if third < _THIRD_AT_LEAST:
        return 0.0, 0.0
    return statistics.fmean(values[third:-third]), statistics.fmean(values[-third:])


BURST = Rule("burst", "fact", _burst, "advice.sustained", at_end=True)
