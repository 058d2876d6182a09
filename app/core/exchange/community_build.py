"""Builds a community table from result files, without a server, and decides which results count."""

import json
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec

from app.core.analysis.own_runs import run_name
from app.core.analysis.power import limit_class_pct
from app.core.errors import UsageError
from app.core.exchange.community_file import (
    CODES_LIMIT,
    FORMAT,
    FORMAT_VERSION,
    ROWS_LIMIT,
    SIZE_LIMIT_BYTES,
    check_row,
    rows_hash,
)
from app.core.exchange.file_import import read_results
from app.core.exchange.importing import files_of
from app.core.messages import Message, message
from app.core.metrics import headline_kind
from app.core.result_file.canonical import UnfitError, canonical, short_code
from app.core.result_file.record import Gpu, Result
from app.core.result_file.summary import summary_of
from workloads import CATALOGUE

# Cooling, memory and drivers change the results of a device by less than this ratio.
FACTOR_AT_MOST = 3.0
OTHERS_AT_LEAST = 3
# Durations may disagree by this factor, because clocks differ.
_TOLERANCE = 1.01


@dataclass(frozen=True, slots=True)
class TableEntry:
    """A result that was examined for a community table.

    Attributes:
        refusal: Reason why the result doesn't count; None if it does.
    """

    path: Path
    number: int
    result: Result
    refusal: Message | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """A file that can't be read or is invalid."""

    path: Path
    error: UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The results of one device, engine and workload with the same settings.

    Attributes:
        kind: "cpu" or "gpu".
        settings: Settings that differ from their defaults, as "name=value …".
        median, low, high: Median and range across computers, each represented by the median of its results.
        machines: Number of computers, as far as they can be distinguished without an ID.
        results: Number of results that count.
        cautions: Number of these results with the verdict "caution".
        codes: Short checksums of the results, in order.
        power_limit_w: Median of the device's power limits, which differ by a few percent at most, except those of
            CPUs at their rated power or above; None if unknown.
        power_default_w: Median of its default limits or rated powers; None if unknown.
    """

    device: str
    kind: str
    engine: str
    workload: str
    workload_version: int
    variant: str
    batch_size: int
    precision: str
    settings: str
    metric: str
    median: float
    low: float
    high: float
    machines: int
    results: int
    cautions: int
    codes: tuple[str, ...]
    power_limit_w: float | None = None
    power_default_w: float | None = None


def look_at(paths: Iterable[Path]) -> tuple[list[TableEntry], list[Refused]]:
    """Read results in files and folders. Return entries, with reasons for exclusions, and refused files."""
    entries, refused = list[TableEntry](), list[Refused]()
    seen: dict[str, Path] = {}
    for path in paths:
        try:
            files = list(files_of(path))
        except UsageError as error:
            refused.append(Refused(path, error))
            continue
        for file in files:
            try:
                results = read_results(file)
            except UsageError as error:
                refused.append(Refused(file, error))
                continue
            for number, result in enumerate(results, 1):
                entries.append(TableEntry(file, number, result, _refusal(result, seen)))
                seen.setdefault(result.digest or "", file)
    return _with_outliers(entries), refused


def table_rows(entries: Sequence[TableEntry]) -> list[Row]:
    """Return the rows of a table, sorted by workload and device. Only results that count are used."""
    groups: dict[tuple[object, ...], list[Result]] = defaultdict(list)
    for entry in entries:
        if entry.refusal is None:
            groups[_key(entry.result)].append(entry.result)
    rows = [_row(results) for _, results in sorted(groups.items(), key=lambda group: str(group[0]))]
    return sorted(rows, key=lambda row: (row.workload, row.device, row.engine, row.batch_size, row.precision))


def table_text(rows: Sequence[Row]) -> str:
    """Return a table as JSON, identical for identical rows. Raises UsageError if the table would be too large."""
    plain_rows = json.loads(json.dumps([asdict(row) for row in rows]))
    plain = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "rows": plain_rows,
        "sha256": rows_hash(plain_rows),
    }
    text = json.dumps(plain, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
    size_bytes = len(text.encode("utf-8"))
    if size_bytes > SIZE_LIMIT_BYTES or len(rows) > ROWS_LIMIT:
        limits = {"limit": ROWS_LIMIT, "limit_bytes": SIZE_LIMIT_BYTES}
        raise UsageError(message("table.too_large", count=len(rows), size_bytes=size_bytes, **limits))
    return text


def reason_not_taken(result: Result) -> Message | None:
    """Return the reason why a table would reject a result, regardless of other results; None if it wouldn't."""
    return _refusal(result, {})


def _refusal(result: Result, seen: dict[str, Path]) -> Message | None:
    """Return the reason why a result doesn't count, ignoring whether it is an outlier; None if it counts."""
    workload = CATALOGUE.get(result.spec.workload)
    if (result.digest or "") in seen:
        return message("table.twice", path=str(seen[result.digest or ""]))
    if workload is None or workload.is_demo:
        return message("table.no_workload", workload=result.spec.workload)
    if result.spec.workload_version != workload.version:
        version = result.spec.workload_version
        return message("table.other_version", version=version, newest=workload.version)
    verdict = result.verdict
    if verdict is None or verdict.level == "invalid":
        reasons = list(verdict.reasons) if verdict is not None else []
        return message("table.invalid", reasons=reasons) if verdict is not None else message("table.no_verdict")
    is_gpu = (result.environment.device or "cpu").partition(":")[0] != "cpu"
    if (result.machine.device_name if is_gpu else result.machine.cpu_name) is None:
        return message("table.no_device")
    return _without_row(result) or _implausible(result)


def _without_row(result: Result) -> Message | None:
    """Return the reason why a result can't be part of a table's row, or None."""
    try:
        check_row(asdict(_row([result])))
    except UnfitError as error:
        return message("table.no_row", problem=error.problem)
    return None


def _implausible(result: Result) -> Message | None:
    """Return a message if the durations in a result contradict each other, otherwise None."""
    for number, epoch in enumerate(result.epochs or (), 1):
        if epoch.train_s + (epoch.validation_s or 0.0) > epoch.duration_s * _TOLERANCE:
            return message("table.epoch_too_short", number=number, duration_s=epoch.duration_s)
    steps, numbers = result.steps, result.statistics
    if steps is None or steps.durations_s is None or steps.blocks is None or result.epochs is None:
        return None
    spent_s: dict[int, float] = defaultdict(float)
    first = 0
    for block in steps.blocks:
        if block.phase == "measure":
            spent_s[block.epoch] += sum(steps.durations_s[first : first + block.count])
        first += block.count
    for index, epoch in enumerate(result.epochs):
        if numbers.basis == "later_epochs" and spent_s[index] > epoch.duration_s * _TOLERANCE:
            return message("table.steps_too_long", number=index + 1, spent_s=spent_s[index])
    return None


def _with_outliers(entries: Sequence[TableEntry]) -> list[TableEntry]:
    """Return the entries, with a refusal for each result that is far from the others in its row."""
    values: dict[tuple[object, ...], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for entry in entries:
        if entry.refusal is None:
            values[_key(entry.result)][_machine(entry.result)].append(entry.result.statistics.value)
    return [
        entry
        if entry.refusal is not None or (far := _far(entry.result, values[_key(entry.result)])) is None
        else TableEntry(entry.path, entry.number, entry.result, far)
        for entry in entries
    ]


def _far(result: Result, values: dict[str, list[float]]) -> Message | None:
    others = [statistics.median(each) for machine, each in values.items() if machine != _machine(result)]
    if len(others) < OTHERS_AT_LEAST:
        return None
    median = statistics.median(others)
    ratio = headline_kind(result.statistics.metric).times_as_fast(result.statistics.value, median)
    if 1 / FACTOR_AT_MOST <= ratio <= FACTOR_AT_MOST:
        return None
    return message("table.far_from_others", ratio=ratio, count=len(others))


def _key(result: Result) -> tuple[object, ...]:
    """Return the values that all results of a row share."""
    summary, spec = summary_of(result), result.spec
    kind = (summary.device or "cpu").partition(":")[0]
    same = (spec.workload, spec.workload_version, spec.variant or "", spec.batch_size, spec.precision)
    limit_pct = limit_class_pct(summary)
    threads = "" if spec.threads is None else f"threads={spec.threads}"
    settings = " ".join(filter(None, ("jit=on" if spec.jit else "", threads, spec.settings or "")))
    return (*same, limit_pct, run_name(summary), kind, summary.engine, result.statistics.metric, settings)


def _machine(result: Result) -> str:
    """Return the properties of a computer that don't change for years; its system and drivers are excluded."""
    machine = result.machine
    gpus = tuple(Gpu(name=gpu.name, vendor=gpu.vendor) for gpu in machine.gpus or ())
    changing = {"os_name": None, "virtual_machine": None}
    return canonical(msgspec.structs.replace(machine, gpus=gpus or None, **changing)).decode("utf-8")


def _row(results: Sequence[Result]) -> Row:
    of_machines: dict[str, list[float]] = defaultdict(list)
    for result in results:
        of_machines[_machine(result)].append(result.statistics.value)
    medians = [statistics.median(values) for values in of_machines.values()]
    spec = results[0].spec
    *_, device, kind, engine, metric, settings = _key(results[0])
    return Row(
        device=str(device),
        kind=str(kind),
        engine=str(engine),
        workload=spec.workload,
        workload_version=spec.workload_version,
        variant=spec.variant or "",
        batch_size=spec.batch_size,
        precision=spec.precision,
        settings=str(settings),
        metric=str(metric),
        median=statistics.median(medians),
        low=min(medians),
        high=max(medians),
        machines=len(medians),
        results=len(results),
        cautions=sum(each.verdict is not None and each.verdict.level == "caution" for each in results),
        power_limit_w=_median([each.statistics.power_limit_w for each in results]),
        power_default_w=_median([each.statistics.power_default_w for each in results]),
        codes=tuple(sorted(short_code(each.digest or "") for each in results))[:CODES_LIMIT],
    )


def _median(values: Sequence[float | None]) -> float | None:
    stated = [value for value in values if value is not None]
    return statistics.median(stated) if stated else None
