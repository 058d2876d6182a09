"""Pure functions for costs: hourly prices, the cost of an epoch or a run, and when it pays to rent."""

import csv
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from io import StringIO
from pathlib import Path

import msgspec

from app.core.analysis.power import is_gpu
from app.core.analysis.published import PublishedRow, comparable_rows
from app.core.errors import UsageError
from app.core.messages import message, sentence
from app.core.paths import RESOURCES, Paths
from app.core.plans.study.own_prices import prices_on
from app.core.plans.study.points import Point, StudyResult
from app.core.settings import OwnComputer, load_settings
from app.core.titles import workload_title
from workloads import CATALOGUE

# Ids of study 000's rows, and the baseline of its charts.
WOOLF_IDS, BASELINE_ID, BASELINE = "mmx-cpu-", "mmx-cpu-gpu-", "Tesla K80"
HOURS_PER_MONTH = 730.5
_PRICE_MOST = 1e6
_TEXT_LIMIT = 80


@dataclass(frozen=True, slots=True)
class Price:
    """The hourly price of a device.

    Attributes:
        usd_per_hour: Price in US dollars.
        date: Date of publication, such as "2017" or "2020-05".
    """

    device: str
    usd_per_hour: float
    date: str
    source: str


@dataclass(frozen=True, slots=True)
class Costs:
    """The prices used in a study.

    Attributes:
        own: Costs of the user's computer.
        rented: Prices of rented devices.
    """

    own: OwnComputer = field(default_factory=OwnComputer)
    rented: tuple[Price, ...] = ()


@dataclass(frozen=True, slots=True)
class RelativeRow:
    """Time or cost of a workload relative to the baseline.

    Attributes:
        values: Time or cost by device; the baseline's is 1.
        own: Names of this computer's devices.
    """

    workload: str
    values: dict[str, float]
    own: frozenset[str]


@cache
def bundled_prices() -> tuple[Price, ...]:
    path = RESOURCES / "reference" / "prices.csv"
    return read_prices(path.read_text(encoding="utf-8"))


def load_costs(paths: Paths) -> tuple[Costs, UsageError | None]:
    """Return the user's prices, and an error if an invalid table was replaced by the bundled prices."""
    own = load_settings(paths.settings).own_computer
    try:
        return Costs(own, load_prices(paths.prices)), None
    except UsageError as error:
        return Costs(own, bundled_prices()), error


def load_prices(path: Path) -> tuple[Price, ...]:
    """Return the prices in the user's table, or the bundled prices if the file doesn't exist.

    Raises:
        UsageError: The file can't be read, or a price is invalid; the message contains the line number.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return bundled_prices()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(message("studies.prices_unreadable", path=str(path), reason=reason)) from error
    return read_prices(text)


def read_prices(text: str) -> tuple[Price, ...]:
    """Parse a table with columns device, usd_per_hour, date and source. Raises UsageError with the line number."""
    rows = csv.DictReader(StringIO(text))
    try:
        columns, lines = set(rows.fieldnames or ()), [(rows.line_num, row) for row in rows]
    except csv.Error as error:
        reason = str(error).partition(" - ")[0]
        raise UsageError(message("studies.prices_no_table", line=rows.line_num + 1, reason=reason)) from error
    if not {"device", "usd_per_hour"} <= columns:
        raise UsageError(message("studies.prices_without_columns"))
    prices = []
    for line, row in lines:
        typed = (row["usd_per_hour"] or "").strip()
        device = " ".join((row["device"] or "").split())[:_TEXT_LIMIT]
        prices.append(
            Price(
                device=device,
                usd_per_hour=read_amount(typed, sentence("studies.price_in_line", line=line)),
                date=(row.get("date") or "").strip()[:_TEXT_LIMIT],
                source=(row.get("source") or "").strip()[: 4 * _TEXT_LIMIT],
            )
        )
    return tuple(prices)


def read_amount(typed: str, name: str) -> float:
    """Parse a non-negative amount. If it is invalid, raise UsageError with the amount's name."""
    try:
        value = float(typed)
    except ValueError:
        value = math.nan
    if not 0 <= value <= _PRICE_MOST:
        raise UsageError(message("studies.bad_amount", name=name, value=repr(typed[:40]), most=_PRICE_MOST))
    return value


def baseline_row(workload: str) -> PublishedRow | None:
    """Return the baseline row of a workload; None if there is none."""
    rows = comparable_rows(workload)
    return next((row for row in rows if row.id.startswith(BASELINE_ID)), None)


def relative_rows(result: StudyResult, costs: Costs, what: str) -> list[RelativeRow]:
    """Return each workload's time or cost relative to the baseline, on this computer and published devices.

    Args:
        result: Study of workloads whose headline is in seconds per epoch.
        costs: The user's prices.
        what: "time" or "cost", both per epoch.
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
            cost = epoch_cost(point.value, own_usd_per_hour(point, costs.own))
            value = point.value if what == "time" else cost
            if value is not None:
                values[_device_name(point)] = value
    return values


def _device_name(point: Point) -> str:
    title = workload_title(point.spec.workload)
    rest = [part for part in point.place if part != title]
    return sentence("studies.this_computer_with", what=rest) if any(rest) else sentence("studies.this_computer")


def _published_value(row: PublishedRow, what: str) -> float | None:
    if row.metric != "s_per_epoch":
        return None
    return row.value if what == "time" else epoch_cost(row.value, row.price_usd_per_hour)


def epoch_cost(epoch_s: float, usd_per_hour: float | None) -> float | None:
    """Return the cost of an epoch in US dollars; None without a price."""
    return None if usd_per_hour is None else epoch_s / 3_600 * usd_per_hour


def own_usd_per_hour(point: Point, own: OwnComputer) -> float | None:
    """Return the hourly cost of a configuration on the user's computer; None without prices.

    If the user hasn't set the power draw, the measured power of the CPU and GPU is used.
    """
    own = prices_on(own, own_device(point))
    power_w = _power_for_price(point, own)
    return (own if power_w is None else msgspec.structs.replace(own, power_w=power_w)).usd_per_hour


def own_device(point: Point) -> str:
    """Return the device on which a configuration was trained; "" if unknown."""
    run = point.best_run
    return "" if run is None else (run.device_name if is_gpu(run) else run.cpu_name) or ""


def _power_for_price(point: Point, own: OwnComputer) -> float | None:
    """Return a configuration's measured power in watts if the cost is based on it; None otherwise."""
    energy_j = point.energy_per_epoch_j
    is_wanted = own.power_w is None and own.electricity_usd_per_kwh is not None
    if not is_wanted or energy_j is None or point.metric != "seconds_per_epoch_s" or not point.value:
        return None
    return energy_j / point.value


def break_even_hours(own: OwnComputer, rented_usd_per_hour: float, times_as_fast: float = 1.0) -> float | None:
    """Return the hours per month below which renting is cheaper than buying and using this computer.

    Training for h hours on this computer costs the monthly share of the purchase price plus the electricity for h
    hours. The rented device does the same work in h / `times_as_fast` hours. The result is infinite if renting
    costs less than the electricity, and None without prices.

    Args:
        own: Costs of this computer, including its purchase price.
        rented_usd_per_hour: Hourly price of the rented device.
        times_as_fast: Speed of the rented device relative to this computer.
    """
    month, hour = own.purchase_usd_per_month, own.electricity_usd_per_hour
    if month is None:
        return None
    saved = rented_usd_per_hour / times_as_fast - (hour or 0.0)
    return month / saved if saved > 0 else math.inf


def cost_findings(result: StudyResult, costs: Costs, *, with_advice: bool = True) -> list[str]:
    """Return sentences about times and costs relative to the baseline, the cost of an epoch, and renting.

    Args:
        result: A study of costs.
        costs: The user's prices.
        with_advice: Whether to mention missing prices; False for shared texts.
    """
    done = [point for point in result.done if point.metric == "seconds_per_epoch_s" and point.value]
    if not done:
        return []
    lines = [*_against_baseline(result, costs, "time"), *_against_baseline(result, costs, "cost")]
    devices = list(dict.fromkeys(map(own_device, done)))
    for device in devices:
        points = [point for point in done if own_device(point) == device]
        own = _device_findings(min(points, key=lambda point: point.value or 0.0), costs, with_advice=with_advice)
        # If there is only one device, it isn't named.
        named = len(devices) > 1
        lines += [sentence("studies.on_device", device=device, said=line) if named else line for line in own]
    return lines


def _device_findings(cheapest: Point, costs: Costs, *, with_advice: bool) -> list[str]:
    """Return sentences about a device's costs with its cheapest configuration, and about when it pays to rent."""
    own = prices_on(costs.own, own_device(cheapest))
    price = own_usd_per_hour(cheapest, costs.own)
    if price is None:
        return [sentence("studies.cost_no_price")] if with_advice else []
    lines = [sentence("studies.cost_per_hour", price=price)]
    if (power_w := _power_for_price(cheapest, own)) is not None:
        lines.append(sentence("studies.cost_measured_power", power_w=power_w))
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
    return [*lines, *_rent(cheapest, own, costs.rented)]


def _against_baseline(result: StudyResult, costs: Costs, what: str) -> list[str]:
    """Compare this computer's fastest or cheapest device with the baseline, across all workloads."""
    best = [min(row.values[name] for name in row.own) for row in relative_rows(result, costs, what)]
    if not best:
        return []
    mean = statistics.geometric_mean(best)
    arguments = {"times": mean, "low": min(best), "high": max(best), "count": len(best), "baseline": BASELINE}
    return [sentence(f"studies.against_{what}", **arguments)]


def _rent(point: Point, own: OwnComputer, rented: Sequence[Price]) -> list[str]:
    """Return a sentence about when it pays to rent the fastest published device that has a price."""
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
    hours = break_even_hours(own, price, point.value / row.value)
    if hours is None:
        return []
    workload = workload_title(point.spec.workload)
    arguments = {"workload": workload, "device": row.short_name, "price": price, "date": date}
    if hours >= HOURS_PER_MONTH:
        return [sentence("studies.rent_always", **arguments)]
    return [sentence("studies.rent_below", hours=hours, **arguments)]
