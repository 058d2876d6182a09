"""Power limits, power draw and work per joule of a run's device.

A device's speed depends on its power limit, so results at different limits are kept apart.
"""

from app.core.messages import Message, message, text
from app.core.metrics import HEADLINES, headline_kind
from app.core.records import RunSummary
from workloads import CATALOGUE

# Limits within half of this step, as a percentage of the default, count as equal: drivers round them.
STEP_PCT = 5


def is_gpu(run: RunSummary) -> bool:
    return run.device is not None and run.device.startswith("gpu")


def limit_class_pct(run: RunSummary) -> int | None:
    """Return a run's power limit as a percentage of the default, rounded to STEP_PCT; None if either is unknown.

    The result is also None for a CPU at or above its rated power, because many computers allow more.
    """
    if not run.power_limit_w or not run.power_default_w:
        return None
    share_pct = STEP_PCT * round(100 * run.power_limit_w / run.power_default_w / STEP_PCT)
    return share_pct if is_gpu(run) or share_pct < 100 else None


def changed_limit(run: RunSummary) -> Message | None:
    """Return "at 230 of 370 W" for a changed power limit; None if it is the default or unknown."""
    if limit_class_pct(run) in (None, 100):
        return None
    return message("power.at_limit_of", limit_w=run.power_limit_w, default_w=run.power_default_w)


def limit_text(run: RunSummary) -> str:
    """Return "at 230 of 370 W" as text; "" if the limit is the default or unknown."""
    return text(changed_limit(run))


def device_at_limit(run: RunSummary, name: str) -> str:
    """Return a device's name with the number of devices, followed by a changed power limit."""
    return " ".join(filter(None, (counted(run, name), limit_text(run))))


def counted(run: RunSummary, name: str) -> str:
    """Return a device's name, as "4 × RTX 4090" if a run used several. Parts of a CPU don't count."""
    count = run.machine_count if run.divides_cpu else run.device_count
    return name if count == 1 else text(message("compare.several_devices", count=count, name=name))


def other_limit(run: RunSummary, other: RunSummary) -> str:
    """Return the power limit of `other` as text if it differs from `run`'s; "" if they are equal or unknown."""
    mine_w, theirs_w = run.power_limit_w, other.power_limit_w
    if mine_w is None or theirs_w is None or not differs(mine_w, theirs_w, run.power_default_w):
        return ""
    return limit_text(other) or text(message("power.at_limit", limit_w=theirs_w))


def differs(limit_w: float, other_w: float, default_w: float | None) -> bool:
    """Return whether two power limits differ by more than rounding can explain.

    Args:
        default_w: The default limit; None to compare with the larger of the two.
    """
    return 100 * abs(limit_w - other_w) > STEP_PCT / 2 * (default_w or max(limit_w, other_w))


def work_per_s(run: RunSummary) -> float | None:
    """Return the speed, in units of work per second, for a run's headline; None if the headline isn't usable.

    The units are examples for epochs and batches, otherwise the metric's own: images, words or tokens. A headline
    isn't usable if it is from the first epoch, which includes startup, or if the workload reports it itself,
    because such workloads measure several things.
    """
    workload = CATALOGUE.get(run.workload)
    if not run.value or run.basis == "first_epoch" or (workload is not None and workload.reports_headline):
        return None
    if run.metric == "seconds_per_epoch_s":
        return run.samples_per_epoch / run.value if run.samples_per_epoch else None
    if run.metric == "seconds_per_batch_s":
        return run.batch_size / run.value
    return run.value if headline_kind(run.metric).is_rate else None


def work_metric(metric: str) -> str:
    """Return the metric for work per joule (a key of HEADLINES) of runs with this headline metric."""
    of_work = metric.removesuffix("_s") + "_j"
    return of_work if headline_kind(metric).is_rate and of_work in HEADLINES else "examples_per_j"


def work_per_joule(run: RunSummary) -> Message | None:
    """Return the work per joule of a run's device as "21.4 images per joule (GPU only)"; None if unknown."""
    if run.work_per_j is None:
        return None
    unit = headline_kind(work_metric(run.metric)).unit
    device = "GPU" if is_gpu(run) else "CPU"
    return message("power.work_per_joule", amount=run.work_per_j, unit=unit, device=device)
