"""Says whether a hardware test's result is normal for its device, by the range that other computers reached."""

from dataclasses import dataclass

from app.core.analysis.likeness import arithmetic, is_like_row
from app.core.analysis.power import changed_limit, limit_class_pct
from app.core.analysis.published import PublishedRow, comparable_rows, plain_device
from app.core.messages import Message, message
from app.core.metrics import format_value
from app.core.records import RunSummary

COMPUTERS_AT_LEAST = 3
# Three to six computers don't show the whole range: identical GPUs vary by 8 % on average (Sinha et al., Not All
# GPUs Are Created Equal, 2022).
NEAR_PCT = 5.0
# Reasons of a verdict that may explain why a GPU computes slowly, the likeliest first.
CAUSES = (
    *("throttled", "clock_falling", "on_battery", "power_saving", "gpu_busy", "gpu_busy_before"),
    *("memory_spilled", "shared_host", "engine_changed", "host_steal", "other_load"),
)
_SAME_CARD = "perhaps the same card"


@dataclass(frozen=True, slots=True)
class Band:
    """The range of a device's published results in one arithmetic."""

    device: str
    metric: str
    low: float
    high: float
    computers: int


def band(workload: str, device: str | None, precision: str) -> Band | None:
    """Return a device's range; None if fewer than COMPUTERS_AT_LEAST computers with it were published.

    Args:
        device: Name of a GPU, with or without its vendor; None for a CPU.
        precision: Precision of a run, or its arithmetic.
    """
    rows = [row for row in comparable_rows(workload) if _is_one(row, device or "", precision)]
    if len(rows) < COMPUTERS_AT_LEAST:
        return None
    values = [row.value for row in rows]
    return Band(rows[0].short_name, rows[0].metric, min(values), max(values), len(rows))


def _is_one(row: PublishedRow, device: str, precision: str) -> bool:
    """Return whether a row is of a computer of its own with a device, at a run's precision."""
    is_of_device = row.hardware_kind == "gpu" and plain_device(row.device) == plain_device(device)
    is_alone = not row.has_several and _SAME_CARD not in row.notes
    return is_of_device and is_alone and row.metric == "flop_per_s" and is_like_row(row, precision, 1)


def band_message(run: RunSummary) -> Message | None:
    """Say whether a run is normal for its device and, if it isn't, the likely cause that the run recorded.

    None without a range, without a valid value, or if several devices computed together.
    """
    if not run.value or run.metric != "flop_per_s" or run.device_count > 1 or run.verdict == "invalid":
        return None
    normal = band(run.workload, run.device_name, arithmetic(run))
    if normal is None:
        return None
    low, high = (format_value(run.metric, each) for each in (normal.low, normal.high))
    kind = message("band.in_float32" if run.precision == "float32" else "band.in_16_bits")
    kind = message("band.in_tf32") if arithmetic(run) == "tf32" else kind
    said = message("band.range", device=normal.device, kind=kind, low=low, high=high, count=normal.computers)
    side, outside_pct = "above", 100 * (run.value / normal.high - 1)
    if run.value < normal.low:
        side, outside_pct = "below", 100 * (1 - run.value / normal.low)
    if round(outside_pct) <= 0:
        return message("band.normal", said=said)
    if outside_pct <= NEAR_PCT:
        return message(f"band.near_{side}", said=said, outside_pct=outside_pct)
    said = message(f"band.{side}", said=said, outside_pct=outside_pct)
    if (cause := _cause(run, side)) is None:
        return message("band.unexplained", said=said)
    return message("band.cause", said=said, cause=cause)


def _cause(run: RunSummary, side: str) -> Message | None:
    """Return what may explain a result below or above the range; None if nothing was recorded."""
    limit, share_pct = changed_limit(run), limit_class_pct(run) or 100
    if limit is not None and (share_pct < 100) == (side == "below"):
        return message("band.power_limit", limit=limit)
    reasons = (run.reasons or "").split() if side == "below" else []
    return next((message(f"short.{code}") for code in CAUSES if code in reasons), None)
