"""Pure functions for costs: hourly prices, the cost of an epoch or a run, and whether it pays to rent."""

import csv
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from app.core.analysis.power import is_gpu
from app.core.analysis.published import PublishedRow, comparable_rows
from app.core.messages import sentence
from app.core.paths import RESOURCES
from app.core.plans.study.points import Point, StudyResult
from app.core.titles import workload_title
from workloads import CATALOGUE

# Ids of study 000's rows, and the baseline of its charts.
WOOLF_IDS, BASELINE_ID, BASELINE = "mmx-cpu-", "mmx-cpu-gpu-", "Tesla K80"


@dataclass(frozen=True, slots=True)
class Price:
    """The hourly price of a device."""

    device: str
    usd_per_hour: float  # price in US dollars
    date: str  # date of publication, such as "2017" or "2020-05"
    source: str


@dataclass(frozen=True, slots=True)
class Costs:
    """The prices used in a study."""

    usd_per_hour: float | None = None  # price of an hour of training on this computer; None if it isn't set
    rented: tuple[Price, ...] = ()  # prices of rented devices


@dataclass(frozen=True, slots=True)
class RelativeRow:
    """Speed or cost of a workload relative to the baseline."""

    workload: str
    values: dict[str, float]  # speed or cost by device; the baseline's is 1
    own: frozenset[str]  # names of this computer's devices


@cache
def bundled_prices() -> tuple[Price, ...]:
    with (RESOURCES / "reference" / "prices.csv").open(encoding="utf-8", newline="") as file:
        return tuple(
            Price(row["device"], float(row["usd_per_hour"]), row["date"], row["source"])
            for row in csv.DictReader(file)
        )


def baseline_row(workload: str) -> PublishedRow | None:
    """Return the baseline row of a workload; None if there is none."""
    rows = comparable_rows(workload)
    return next((row for row in rows if row.id.startswith(BASELINE_ID)), None)


def relative_rows(result: StudyResult, costs: Costs, what: str) -> list[RelativeRow]:
    """Return each workload's speed or cost relative to the baseline, on this computer and published devices.

    Args:
        result: Study of workloads whose headline is in seconds per epoch.
        costs: The user's prices.
        what: "speed", or "cost" per epoch.
    """
    rows = []
    for workload in result.workloads:
        base = baseline_row(workload)
        own = _own_values(result, workload, costs, what)
        if base is None or not own:
            continue
        whole = _published_value(base, what)
        if whole is None:
            continue
        values = {name: value / whole for name, value in own.items()}
        for row in comparable_rows(workload):
            value = _published_value(row, what) if row.id.startswith(WOOLF_IDS) else None
            if value is not None:
                values[published_name(row)] = value / whole
        if what == "speed":
            values = {name: 1 / times for name, times in values.items()}
        rows.append(RelativeRow(workload, values, frozenset(own)))
    return rows


def published_name(row: PublishedRow) -> str:
    """Return the name of a published row's device in study 000, where compiled builds have separate names."""
    compiled = row.compiled or "(compiled" in row.software
    return sentence("studies.compiled_device", device=row.short_name) if compiled else row.short_name


def _own_values(result: StudyResult, workload: str, costs: Costs, what: str) -> dict[str, float]:
    values = {}
    for point in result.done:
        if point.spec.workload == workload and point.value and point.metric == "seconds_per_epoch_s":
            cost = epoch_cost(point.value, costs.usd_per_hour)
            value = point.value if what == "speed" else cost
            if value is not None:
                title = workload_title(point.spec.workload)
                rest = [part for part in point.place if part != title]
                values[
                    sentence("studies.this_computer_with", what=rest) if any(rest) else sentence("compare.you")
                ] = value
    return values


def _published_value(row: PublishedRow, what: str) -> float | None:
    if row.metric != "s_per_epoch":
        return None
    return row.value if what == "speed" else epoch_cost(row.value, row.price_usd_per_hour)


def epoch_cost(epoch_s: float, usd_per_hour: float | None) -> float | None:
    """Return the cost of an epoch in US dollars; None without a price."""
    return None if usd_per_hour is None else epoch_s / 3_600 * usd_per_hour


def own_device(point: Point) -> str:
    """Return the device on which a configuration was trained; "" if unknown."""
    run = point.best_run
    return "" if run is None else (run.device_name if is_gpu(run) else run.cpu_name) or ""


def cost_findings(result: StudyResult, costs: Costs, *, with_advice: bool = True) -> list[str]:
    """Return sentences about speeds and costs relative to the baseline, the cost of an epoch, and renting.

    Args:
        result: A study of costs.
        costs: The user's prices.
        with_advice: Whether to mention missing prices; False for shared texts.
    """
    done = [point for point in result.done if point.metric == "seconds_per_epoch_s" and point.value]
    if not done:
        return []
    lines = [*_against_baseline(result, costs, "speed"), *_against_baseline(result, costs, "cost")]
    devices = list(dict.fromkeys(map(own_device, done)))
    for device in devices:
        points = [point for point in done if own_device(point) == device]
        own = _device_findings(min(points, key=lambda point: point.value or 0.0), costs, with_advice=with_advice)
        # If there is only one device, it isn't named.
        named = len(devices) > 1
        lines += [sentence("studies.on_device", device=device, said=line) if named else line for line in own]
    return lines


def _device_findings(cheapest: Point, costs: Costs, *, with_advice: bool) -> list[str]:
    """Return sentences about the costs of a device's cheapest configuration, and about whether it pays to rent."""
    price = costs.usd_per_hour
    if price is None:
        return [sentence("studies.cost_no_price")] if with_advice else []
    lines = [sentence("studies.cost_per_hour", price=price)]
    epochs = CATALOGUE[cheapest.spec.workload].epochs
    per_epoch = epoch_cost(cheapest.value or 0.0, price) or 0.0
    lines.append(
        sentence(
            "studies.cost_of_epoch",
            workload=workload_title(cheapest.spec.workload),
            epoch=per_epoch,
            run=epochs * per_epoch,
            epochs=epochs,
        )
    )
    return [*lines, *_rent(cheapest, price, costs.rented)]


def _against_baseline(result: StudyResult, costs: Costs, what: str) -> list[str]:
    """Compare this computer's fastest or cheapest device with the baseline, across all workloads."""
    choose = max if what == "speed" else min
    best = [choose(row.values[name] for name in row.own) for row in relative_rows(result, costs, what)]
    if not best:
        return []
    mean = statistics.geometric_mean(best)
    arguments = {"times": mean, "low": min(best), "high": max(best), "count": len(best), "baseline": BASELINE}
    return [sentence(f"studies.against_{what}", **arguments)]


def _rent(point: Point, usd_per_hour: float, rented: Sequence[Price]) -> list[str]:
    """Return a sentence about whether it pays to rent the fastest published device that has a price."""
    rows = [
        row
        for row in comparable_rows(point.spec.workload)
        if row.price_usd_per_hour and row.metric == "s_per_epoch"
    ]
    if not rows or not point.value:
        return []
    row = min(rows, key=lambda each: each.value)
    price, date = row.price_usd_per_hour or 0.0, str(row.year or "?")
    current = next((each for each in rented if each.device == row.short_name), None)
    if current is not None:
        price, date = current.usd_per_hour, current.date or "?"
    workload = workload_title(point.spec.workload)
    arguments = {"workload": workload, "device": row.short_name, "price": price, "date": date}
    is_cheaper = row.value * price < point.value * usd_per_hour
    return [sentence("studies.rent_cheaper" if is_cheaper else "studies.rent_dearer", **arguments)]
