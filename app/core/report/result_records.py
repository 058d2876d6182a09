"""Converts stored runs to records of result files, without names of users, computers or folders."""

import itertools
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from app.core.analysis.facts import fact_values
from app.core.errors import UsageError
from app.core.messages import message
from app.core.plain_text import one_line
from app.core.records import FIELDS, Run, RunSummary
from app.core.redaction.private_texts import hide, private_texts, without_folders
from app.core.result_file.canonical import UnfitError, check, decode_problem, sealed, steps_hash
from app.core.result_file.record import EPOCHS_LIMIT, STEPS_LIMIT, Machine, Result, ResultSection, Spec, Statistics
from app.core.result_file.summary import NAMES
from app.core.verdict.rules import judge
from workloads.protocol import events, typed
from workloads.protocol.machine import UNKNOWN_MACHINE
from workloads.protocol.telemetry import Telemetry

_LINE, _COMMENT = 300, 2_000
# Fields of Telemetry in a telemetry summary; _GPU_FIGURES are those of the GPU used for training.
_FIGURES = (
    *("cpu_pct", "other_cpu_pct", "steal_pct", "cpu_clock_mhz", "cpu_temperature_c", "cpu_power_w"),
    *("memory_used_bytes", "memory_available_bytes", "swap_used_bytes"),
)
_GPU_FIGURES = ("utilization_pct", "memory_used_bytes", "temperature_c", "power_w", "clock_mhz")
_GPU_POWERS = ("power_limit_w", "power_default_w", "power_min_w", "power_max_w")


def result_of(run: Run, private: Mapping[str, str] | None = None) -> Result:
    """Return the result of a run with its digest, for a result file.

    Args:
        run: Run with a headline.
        private: Strings that must not be shared; None for the names and folders of this computer.

    Raises:
        UsageError: The run has no result, or its record is damaged.
    """
    if run.summary.value is None:
        raise UsageError(message("share.no_result", run_id=run.summary.id))
    try:
        result = sealed(typed.convert(_plain(run, private_texts() if private is None else private), Result))
        check(result, with_digest=False)
    except (msgspec.ValidationError, UnfitError) as error:
        problem = (error if isinstance(error, UnfitError) else decode_problem(error)).problem
        raise UsageError(message("result_file.unfit", run_id=run.summary.id, problem=problem)) from error
    return result


def _plain(run: Run, private: Mapping[str, str]) -> dict[str, Any]:
    summary = run.summary
    level, reasons = summary.verdict, (summary.reasons or "").split()
    if level is None:  # stored before verdicts were introduced
        verdict = judge(run)
        level, reasons = verdict.level, [each.code for each in verdict.reasons if each.level != "fact"]
    epochs = run.epochs if len(run.epochs) == summary.epochs_done <= EPOCHS_LIMIT else ()
    return {
        "uid": summary.uid,
        "plan_uid": run.plan_uid,
        "app_version": summary.app_version,
        "status": summary.status,
        "started_at": summary.started_at or None,  # "" if the date is excluded
        "finished_at": summary.finished_at,
        "spec": _spec(run, private),
        "environment": _environment(run),
        "machine": _machine(run),
        "dataset": _dataset(run),
        "epochs": [_epoch(epoch) for epoch in epochs] or None,
        "steps": _steps(run.steps),
        "statistics": _statistics(run),
        "verdict": {"level": level, "reasons": reasons},
        "telemetry": _telemetry(run) or None,
        "comment": _line(hide(summary.comment, private), _COMMENT),
    }


def _same(summary: RunSummary, section: type[ResultSection]) -> dict[str, Any]:
    return {name: getattr(summary, name) for name in section.__struct_fields__ if name in FIELDS}


def _spec(run: Run, private: Mapping[str, str]) -> dict[str, Any]:
    summary = run.summary
    plain = _same(summary, Spec)
    plain["variant"] = _line(hide(summary.variant, private))
    plain["settings"] = _line(hide(summary.settings, private))
    parameters = without_folders(run.spec)["parameters"]
    texts = {
        name: _line(hide(value, private)) if isinstance(value, str) else value
        for name, value in parameters.items()
    }
    plain["parameters"] = {name: value for name, value in texts.items() if value is not None} or None
    return plain


def _environment(run: Run) -> dict[str, Any]:
    summary = run.summary
    plain = {"engine": summary.engine, "engine_version": _line(summary.engine_version), "device": summary.device}
    if run.environment is not None:
        plain["keras_version"] = _line(run.environment.keras_version)
        for name in ("tf32", "onednn", "intra_op_threads", "visible_cpus"):
            plain[name] = getattr(run.environment, name)
    return plain


def _machine(run: Run) -> dict[str, Any]:
    summary = run.summary
    plain = _same(summary, Machine)
    for name in ("cpu_name", "os_name", "device_name"):
        plain[name] = _line(getattr(summary, name))
    architecture = run.machine.architecture
    plain["architecture"] = None if architecture == UNKNOWN_MACHINE.architecture else _line(architecture)
    plain["gpus"] = [
        {
            "name": _line(gpu.name),
            "vendor": gpu.vendor,
            "memory_bytes": gpu.memory_bytes,
            "driver": _line(gpu.driver),
            **{name: getattr(gpu, name) for name in _GPU_POWERS},
        }
        for gpu in run.machine.gpus
    ] or None
    # A result file requires at least one core, or None.
    return {name: None if value == 0 and name.endswith("cores") else value for name, value in plain.items()}


def _dataset(run: Run) -> dict[str, Any] | None:
    if run.summary.data_source not in ("real", "synthetic"):
        return None
    dataset = run.dataset
    name, checksum = (dataset.name, dataset.checksum) if dataset is not None else (None, None)
    return {"name": name, "source": run.summary.data_source, "checksum": _line(checksum)}


def _epoch(epoch: events.Epoch) -> dict[str, Any]:
    names = ("duration_s", "train_s", "validation_s", "loss", "accuracy", "val_loss", "val_accuracy")
    return {name: getattr(epoch, name) for name in names}


def _steps(blocks: Sequence[events.Steps]) -> dict[str, Any] | None:
    """Return the timed steps, with their durations unless there are too many; None without timed steps."""
    durations_s = tuple(itertools.chain.from_iterable(block.durations_s for block in blocks))
    if not durations_s:
        return None
    plain: dict[str, Any] = {"count": len(durations_s), "sha256": steps_hash(durations_s)}
    if len(durations_s) <= STEPS_LIMIT:
        plain |= {"blocks": list(_joined(blocks)), "durations_s": durations_s}
    return plain


def _joined(blocks: Sequence[events.Steps]) -> Iterator[dict[str, Any]]:
    latest: dict[str, Any] = {}
    for block in blocks:
        count = len(block.durations_s)
        follows = latest and (latest["phase"], latest["epoch"]) == (block.phase, block.epoch)
        if follows and latest["first_index"] + latest["count"] == block.first_index:
            latest["count"] += count
            continue
        if latest:
            yield latest
        latest = {"phase": block.phase, "epoch": block.epoch, "first_index": block.first_index, "count": count}
    if latest:
        yield latest


def _statistics(run: Run) -> dict[str, Any]:
    summary = run.summary
    plain = _same(summary, Statistics)
    plain |= {short: getattr(summary, name) for name, short in NAMES.items()}
    plain["facts"] = fact_values(summary) or None
    peak_bytes = run.metrics.get("peak_memory_bytes")
    return plain | {"peak_memory_bytes": None if peak_bytes is None else round(peak_bytes)}


def _telemetry(run: Run) -> dict[str, Any]:
    """Return the minimum, median and maximum of the main telemetry values, excluding GPUs that weren't used."""
    device = run.summary.device or ""
    index = int(device[4:]) if device.startswith("gpu:") and device[4:].isdecimal() else None
    values: dict[str, list[float]] = {}
    for event in run.telemetry:
        for name, value in _figures(event.telemetry, index):
            if value is not None:
                values.setdefault(name, []).append(float(value))
    return {
        name: {"low": min(each), "median": statistics.median(each), "high": max(each)}
        for name, each in values.items()
    }


def _figures(telemetry: Telemetry, index: int | None) -> Iterator[tuple[str, float | None]]:
    for name in _FIGURES:
        yield name, getattr(telemetry, name)
    gpu = telemetry.gpu(index) if index is not None else None
    if gpu is not None:
        for name in _GPU_FIGURES:
            yield f"gpu_{name}", getattr(gpu, name)


def _line(text: str | None, limit: int = _LINE) -> str | None:
    """Return external text as one safe line; None if it is empty."""
    return one_line(text, limit).strip() or None if text else None
