"""Formats a study as a table with one row per configuration and units in the headings. Pure functions."""

from typing import Any

from app.core.messages import sentence
from app.core.metrics import amount_text
from app.core.plans.study.axes import CONFIGURATION, FOLDERS, axis_value
from app.core.plans.study.costs import Costs, cost_findings, epoch_cost
from app.core.plans.study.details import NO_DETAILS, Details
from app.core.plans.study.findings import close_to_best, findings
from app.core.plans.study.points import Point, StudyResult, definition_of
from app.core.plans.study.units import count_text, unit_of
from app.core.redaction.private_texts import chosen_texts, private_texts, without_folders
from app.core.report.card import Table
from app.core.report.formats.export_format import PlanTable
from app.core.titles import level_title


def study_table(result: StudyResult) -> Table:
    """Return the table shown next to a study's charts."""
    axes = tuple(result.experiment.axis_title(name) for name in result.axes)
    units = {unit_of([point]).text for point in result.done}
    speed = unit_of(result.done).title if len(units) == 1 else sentence("studies.chart_speed")
    headings = (
        *axes,
        speed,
        sentence("studies.column_interval"),
        sentence("heading.result"),
        sentence("studies.column_step"),
        sentence("part.memory"),
        sentence("heading.work_per_j"),
        sentence("heading.verdict"),
    )
    best = {
        id(point)
        for workload in result.workloads
        for point in close_to_best([each for each in result.done if each.spec.workload == workload])
    }
    rows = tuple(_row(point, several_units=len(units) > 1) for point in result.points)
    is_best = tuple(id(point) in best for point in result.points)  # within 5 % of the fastest
    return Table(headings, rows, len(axes), is_best, tuple(point.reason for point in result.points))


def _row(point: Point, *, several_units: bool) -> tuple[str, ...]:
    unit, rate = unit_of([point]), point.rate
    speed = interval = headline = step = memory = work = ""
    if rate is not None:
        speed = count_text(rate.value * unit.scale) + (f" {unit.text}" if several_units else "")
        if rate.low is not None and rate.high is not None and (level_pct := point.confidence_pct) is not None:
            low, high = count_text(rate.low * unit.scale), count_text(rate.high * unit.scale)
            interval = sentence("group.interval", low=low, high=high, confidence_pct=level_pct)
        headline = amount_text(point.metric, point.value, is_short=True)
    if point.step_s is not None:
        step = sentence("studies.step_ms", step_ms=1e3 * point.step_s)
    if point.memory_bytes is not None:
        memory = sentence("studies.memory", memory_bytes=point.memory_bytes)
    if point.work_per_j is not None:
        work = amount_text(point.work_metric, point.work_per_j, is_short=True)
    return (*point.place, speed, interval, headline, step, memory, work, state_text(point))


def state_text(point: Point) -> str:
    """Return a configuration's state in a word or two: its verdict, or the reason why it has no result."""
    if point.state == "done":
        verdicts = [run.verdict or "caution" for run in point.runs if run.status == "completed"]
        worst = next((word for word in ("invalid", "caution") if word in verdicts), "valid")
        return level_title(worst)
    return sentence(f"studies.state_{point.state}")


def study_as_dict(
    result: StudyResult, details: Details = NO_DETAILS, costs: Costs | None = None
) -> dict[str, Any]:
    """Return a study as plain JSON types, with the spec, rounds, interval and cost of each configuration."""
    group = result.group
    return {
        "id": group.id,
        "kind": group.kind,
        "created_at": group.created_at,
        "preset": definition_of(group.plan).preset,
        "title": result.experiment.title,
        "axes": list(result.axes),
        "workloads": list(result.workloads),
        "rounds": group.plan.rounds,
        "planned_runs": group.planned,
        "is_finished": not result.left,
        "points": [_point_as_dict(point, result, costs) for point in result.points],
        "findings": [
            *findings(result, details, has_costs=costs is not None),
            *(cost_findings(result, costs, with_advice=False) if costs is not None else ()),
        ],
    }


def study_export(result: StudyResult, details: Details = NO_DETAILS, costs: Costs | None = None) -> PlanTable:
    """Return the table of a study for export. `costs` are the prices; None if costs aren't compared."""
    return PlanTable(
        format_version=1,
        plain=study_as_dict(result, details, costs),
        rows="points",
        columns=COLUMNS,
        cells=study_cells(result, costs),
        private=chosen_texts(point.spec for point in result.points) | private_texts(),
    )


def _point_as_dict(point: Point, result: StudyResult, costs: Costs | None) -> dict[str, Any]:
    rate = point.rate
    price = costs.usd_per_hour if costs is not None else None
    per_epoch = point.value if point.metric == "seconds_per_epoch_s" else None
    return {
        "place": {
            name: text if name == FOLDERS else axis_value(name, point.spec)
            for name, text in zip(result.axes, point.place, strict=True)
            if name != CONFIGURATION
        },
        "name": point.name,
        "state": point.state,
        "reason": point.reason,
        "metric": point.metric,
        "value": point.value,
        "value_low": point.low,
        "value_high": point.high,
        "confidence_pct": point.confidence_pct,
        "per_s": rate.value if rate is not None else None,
        "per_s_low": rate.low if rate is not None else None,
        "per_s_high": rate.high if rate is not None else None,
        "per_s_unit": unit_of([point]).text,
        "step_median_s": point.step_s,
        "peak_memory_bytes": point.metrics.get("peak_memory_bytes"),
        "memory_growth_bytes": point.memory_growth_bytes,
        "energy_per_epoch_j": point.energy_per_epoch_j,
        "work_per_j": point.work_per_j,
        "usd_per_hour": price,
        "usd_per_epoch": epoch_cost(per_epoch, price) if per_epoch is not None else None,
        "rounds": list(point.rounds),
        "run_ids": [run.id for run in point.runs],
        "spec": without_folders(point.spec),
    }


COLUMNS = (
    *("place", "workload", "engine", "device", "batch_size", "precision", "threads", "state", "metric"),
    *("value", "value_low", "value_high", "per_s", "per_s_low", "per_s_high", "per_s_unit", "step_median_s"),
    *("peak_memory_bytes", "memory_growth_bytes", "energy_per_epoch_j", "usd_per_hour", "usd_per_epoch"),
    *("rounds", "run_ids", "reason", "work_per_j", "confidence_pct"),
)


def study_cells(result: StudyResult, costs: Costs | None = None) -> list[list[Any]]:
    """Return the rows of a CSV file, one per configuration, with values in the order of COLUMNS."""
    rows = []
    for point in result.points:
        plain = _point_as_dict(point, result, costs)
        plain |= {"place": plain["name"], "rounds": _joined(plain["rounds"]), "run_ids": _joined(plain["run_ids"])}
        plain |= {name: getattr(point.spec, name) for name in ("workload", "engine", "device", "batch_size")}
        plain |= {"precision": point.spec.precision, "threads": point.spec.threads}
        rows.append([plain[name] for name in COLUMNS])
    return rows


def _joined(values: list[Any]) -> str:
    return " ".join("n/a" if value is None else str(value) for value in values)
