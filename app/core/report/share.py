"""What stands on the picture of a result that people share: texts and bars; knows no drawing."""

import hashlib
import json
from dataclasses import dataclass
from typing import Literal

from app.core.analysis.compare import Bar, bars, engine_name, position
from app.core.analysis.published import short_name
from app.core.errors import UsageError
from app.core.metrics import format_bytes, format_value, headline_kind
from app.core.records import Run, RunSummary
from app.core.report.wording import workload_title
from app.core.verdict.rules import judge


@dataclass(frozen=True, slots=True)
class ShareCard:
    """The picture's texts, ready to be drawn.

    Attributes:
        machine: What computed, with its full name.
        details: At most two lines.
        badge: Facts about how it was measured.
        level: How far the number can be trusted.
    """

    title: str
    value: str
    unit: str
    spread: str
    machine: str
    details: tuple[str, ...]
    badge: str
    level: Literal["valid", "caution", "invalid"]
    bars: tuple[Bar, ...]
    axis: str
    footer: str


def share_card(run: Run) -> ShareCard:
    """Return what stands on the picture; raises UsageError if the run has no epoch time to show."""
    summary = run.summary
    if summary.value is None:
        raise UsageError(
            f"Run {summary.id} has no result, so there is nothing to put on a picture.",
            "Take a run that measured a whole epoch or estimated one.",
        )
    chart = tuple(bars(summary.workload, summary))
    kind = headline_kind(summary.metric)
    device = summary.device_name if _is_gpu(summary) else summary.cpu_name
    footer = (position(summary), summary.started_at[:10], f"result {result_code(run)}")
    return ShareCard(
        title=_title(run),
        value=format_value(summary.metric, summary.value),
        unit=kind.label.lower() if summary.metric.startswith("seconds_") else kind.unit,
        spread=_spread(summary),
        machine=device or summary.device or "unknown device",
        details=(_machine_details(summary), _engine_details(run)),
        badge=_badge(summary),
        level=judge(run).level,
        bars=chart,
        axis=_axis(chart, summary.metric),
        footer=" · ".join(part for part in footer if part),
    )


def result_code(run: Run) -> str:
    """Return a short checksum of what was asked, what ran and all raw durations: "7F3A-91C2"."""
    record = {
        "spec": run.spec,
        "environment": run.environment,
        "epochs": [(epoch.index, epoch.duration_s, epoch.train_s, epoch.validation_s) for epoch in run.epochs],
        "steps": [(block.phase, block.epoch, block.first_index, block.durations_s) for block in run.steps],
    }
    text = json.dumps(record, sort_keys=True, separators=(",", ":"))
    digits = hashlib.sha256(text.encode()).hexdigest()[:8].upper()
    return f"{digits[:4]}-{digits[4:]}"


def _title(run: Run) -> str:
    summary = run.summary
    keras = "Keras" if (run.environment or {}).get("keras_version") else ""
    batch = f"batch {summary.batch_size}" if summary.basis != "repetitions" else ""
    parts = (workload_title(summary), keras, batch, summary.variant, summary.precision)
    return " · ".join(part for part in parts if part)


def _spread(run: RunSummary) -> str:
    if run.basis == "first_epoch":
        return "first epoch only"
    spread = f"± {run.spread_pct:.1f} %" if run.spread_pct is not None else ""
    return f"estimate {spread}".strip() if run.basis == "estimate" else spread


def _is_gpu(run: RunSummary) -> bool:
    return run.device is not None and run.device.startswith("gpu")


def _machine_details(run: RunSummary) -> str:
    parts = (
        short_name(run.cpu_name) if _is_gpu(run) and run.cpu_name else "",
        _count(run.physical_cores, "core") if run.physical_cores else "",
        format_bytes(run.memory_bytes).replace(".0 ", " ") if run.memory_bytes else "",
        run.os_name or "",
        "GPU run" if _is_gpu(run) else "CPU run",
    )
    return " · ".join(part for part in parts if part)


def _engine_details(run: Run) -> str:
    summary = run.summary
    keras = (run.environment or {}).get("keras_version")
    parts = (
        engine_name(summary.engine, summary.engine_version),
        f"Keras {keras}" if keras else "",
        "XLA" if summary.jit else "no XLA",
        _count(summary.threads, "thread") if summary.threads else "",
    )
    return " · ".join(part for part in parts if part)


def _badge(run: RunSummary) -> str:
    parts = (
        "timed steps" if run.basis == "estimate" else _length(run),
        "" if run.status == "completed" else run.status,
        f"{run.data_source} data" if run.data_source else "",
        "virtual machine" if run.virtual_machine else "",
    )
    return " · ".join(part for part in parts if part)


def _length(run: RunSummary) -> str:
    """Return what was run: whole epochs, or cut ones with their steps; "" for what has neither."""
    if run.basis == "repetitions":
        return ""
    if run.steps is not None and (run.steps < run.steps_per_epoch or not run.samples_per_epoch):
        return f"{run.epochs_done} × {run.steps} steps"
    return _count(run.epochs_done, "epoch")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _axis(chart: tuple[Bar, ...], metric: str) -> str:
    """Name the scale, and from which years the published rows are."""
    rows = [bar.row for bar in chart if bar.row is not None]
    years = sorted({row.year for row in rows if row.year is not None})
    text = f"{headline_kind(metric).label.lower()}, log scale"
    if not rows:
        return text
    if not years:
        return f"{text} · reference rows: software of unknown year"
    told = f"{years[0]} to {years[-1]}" if len(years) > 3 else ", ".join(map(str, years))
    doubt = ", some of unknown year" if any(row.year is None for row in rows) else ""
    return f"{text} · reference rows: {told} software{doubt}"
