"""Reads the published results that are included in Epochmark, with their sources."""

import csv
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Any

from app.core.analysis.claims import PUBLISHED_PCT, claimed_flop_per_s, limit_pct
from app.core.messages import sentence
from app.core.paths import RESOURCES
from workloads import CATALOGUE

# Study 004's seven computers have the best-known results of the standard workload.
FIRST_SOURCE_IDS = "s004-"
# Largest plausible speed ratio between single cores of CPUs from the same years.
CORE_FACTOR_MOST = 3.0
FILES = ("reference_hardware.csv", "reference_2026.csv", "reference_2026b.csv")
# Readable names of precisions that aren't self-explanatory.
_PRECISIONS = {
    "amp_fp16": "float16 autocast",
    "amp_bf16": "bfloat16 autocast",
    "bf16": "bfloat16",
    "bf16/fp16": "bfloat16 or float16",
    "bf16, nf4 base": "bfloat16, NF4 base",
    "fp16": "float16",
    "fp32": "float32",
    "tf32": "float32, TF32",
}
# Formats of matrix products in `peaks.csv` and in the rows; all others are 16-bit formats.
_FORMATS = {"tf32": "tf32", "fp32": "float32", "float32": "float32"}
# Speed of other arithmetic relative to 16-bit arithmetic, on cards that support it.
_TIMES_16_BIT = (("fp4", 4.0), ("fp8", 2.0))
_COMPILED = {"yes": True, "no": False}
# TensorFlow uses TF32 unless told otherwise, as do NVIDIA's builds of version 1.15, both with CUDA 11 or newer.
_TF32 = re.compile(r"TF32|TensorFlow .*\bCUDA 1[1-9]")
# GPUs before Ampere compute in float32 even where the setting allows TF32 (NVIDIA, A100 white paper, 2020).
WITHOUT_TF32 = re.compile(r"\b(?:GTX|MX|Titan|Quadro|RTX 20[5-8]0|[KMPTV]\d+)\b", re.IGNORECASE)
_VENDOR = re.compile(r"\A(?:NVIDIA |AMD |Intel |Apple )?(?:GeForce )?")
_PREFIXES = ("Intel Core ", "NVIDIA GeForce ", "NVIDIA ", "Google ", "Apple ", "AMD ", "Intel ")


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """One published measurement. Fields that the source doesn't state are None."""

    id: str
    workload: str
    hardware: str
    device: str
    hardware_kind: str  # cpu, gpu, tpu
    cores_or_units: str
    software: str
    year: int | None
    batch_size: int | None
    metric: str
    value: float  # measured value, in the unit of `metric`
    precision: str
    match: str  # "exact", "close" (one difference; see `notes`), "context" or "claim"
    source: str
    source_ref: str
    derivation: str
    notes: str
    first_epoch_s: float | None
    total_s: float | None
    epochs_or_samples: str
    price_usd_per_hour: float | None
    engine: str = ""  # name of the engine, such as "torch"; "" if only `software` contains it
    compiled: bool | None = None  # whether the step was compiled; None if the source doesn't state it
    variant: str = ""  # as in workloads.workload.Workload.variant

    @property
    def gpus(self) -> int | None:
        """The number of GPUs; None for other hardware or if not stated."""
        return (
            int(self.cores_or_units) if self.hardware_kind == "gpu" and self.cores_or_units.isdecimal() else None
        )

    @property
    def has_several(self) -> bool:
        return self.gpus not in (None, 1)

    @property
    def is_doubtful(self) -> bool:
        """Whether the value is implausible for the device, probably because the work ran on the host's CPU."""
        return "anomaly" in self.notes

    @property
    def kernels(self) -> str:
        """The software whose own kernels were measured, such as "Unsloth"; "" if an engine's were."""
        return self.notes.partition("own kernels of ")[2].partition(";")[0]

    @property
    def is_credible(self) -> bool:
        """Whether the device can compute that fast. True if its peak or the network's operations are unknown."""
        claimed = claimed_flop_per_s(self.workload, self.metric, self.value, self.batch_size, self.variant)
        peak = published_peak(self.device, self.precision) if self.hardware_kind == "gpu" else None
        if claimed is None or peak is None:
            return True
        most_pct = limit_pct(CATALOGUE.get(self.workload))
        return claimed <= (most_pct if most_pct > 100 else PUBLISHED_PCT) / 100 * peak * (self.gpus or 1)

    @property
    def cores(self) -> int | None:
        """The number of cores of a CPU ("4c/8t" has 4); None if not stated."""
        stated = re.match(r"([1-9]\d{0,3})(?:c/| vCPU$)", self.cores_or_units, re.ASCII)
        return int(stated[1]) if self.hardware_kind == "cpu" and stated else None

    @property
    def short_name(self) -> str:
        """The device without its vendor, such as "GTX 1080 Ti", "4 × Tesla P100" or "Xeon Skylake, 8 vCPU"."""
        name = short_name(self.device)
        if self.has_several:
            return f"{self.cores_or_units} × {name}"
        return f"{name}, {self.cores_or_units}" if self.cores_or_units.endswith(" vCPU") else name

    @property
    def precision_words(self) -> str:
        """The precision as text, including whether matrix products used TensorFloat-32."""
        words = _PRECISIONS.get(self.precision, self.precision)
        uses_tf32 = self.precision == "fp32" and self.hardware_kind == "gpu" and _TF32.search(self.software)
        return f"{words}, TF32" if uses_tf32 and not WITHOUT_TF32.search(self.hardware) else words

    @property
    def software_words(self) -> str:
        """The software with its version and, if known, whether the step was compiled, as short text."""
        if not self.engine:
            return short_software(self.software)
        return ", ".join(self.software_parts[:2])

    @property
    def software_parts(self) -> tuple[str, ...]:
        """The software, whether the step was compiled, and the memory layout of images if it isn't the default."""
        if not self.engine:
            return (short_software(self.software),)
        parts = [self.software.split(",")[0].split(" (")[0]]
        parts += [] if self.compiled is None else [compiled_word(self.compiled)]
        return (*parts, *(["NHWC"] if self.software.endswith(", NHWC") else []))


def short_name(device: str) -> str:
    """Return a device's name without its vendor and without remarks in brackets."""
    name = device.split(" (", maxsplit=1)[0]
    for prefix in _PREFIXES:
        if name.startswith(prefix):
            return name.removeprefix(prefix)
    return name


@cache
def reference_rows() -> tuple[PublishedRow, ...]:
    """Return all rows, in the order of the files."""
    return tuple(row for name in FILES for row in read_rows(RESOURCES / "reference" / name))


def published_peak(device: str | None, precision: str) -> float | None:
    """Return the fastest matrix product published for a device, in FLOP/s; None if there is none.

    Args:
        device: Name of a GPU, with or without its vendor; None for a CPU.
        precision: Precision of a run or of a published result. For float32, TensorFloat-32 counts too, or 16-bit
            arithmetic, which is faster, if no product with TensorFloat-32 was published.
    """
    speeds = _peaks().get(plain_device(device or ""), {})
    kinds = ("float32", "tf32" if "tf32" in speeds else "16") if "32" in precision else ("16",)
    peak = max((speeds[kind] for kind in kinds if kind in speeds), default=None)
    times = next((times for word, times in _TIMES_16_BIT if word in precision and "base" not in precision), 1.0)
    return None if peak is None else times * peak


def plain_device(device: str) -> str:
    """Return the name of a device as an engine, a system or a source writes it, for comparing it with others."""
    return _VENDOR.sub("", device).removesuffix(" GPU").casefold()


@cache
def _peaks() -> dict[str, dict[str, float]]:
    """Return the fastest products by device and format: those of the rows, and faster ones of other shapes."""
    rows = [(row.device, row.precision, row.value) for row in reference_rows() if row.workload == "matmul"]
    with (RESOURCES / "reference" / "peaks.csv").open(encoding="utf-8", newline="") as file:
        rows += [(row["device"], row["precision"], float(row["flop_per_s"])) for row in csv.DictReader(file)]
    peaks: dict[str, dict[str, float]] = defaultdict(dict)
    for device, precision, flop_per_s in rows:
        of_device, kind = peaks[plain_device(device)], _FORMATS.get(precision, "16")
        of_device[kind] = max(flop_per_s, of_device.get(kind, 0.0))
    return dict(peaks)


def comparable_rows(workload: str) -> list[PublishedRow]:
    """Return a workload's credible exact and close rows in any metric, best-known devices first."""
    rows = [row for row in reference_rows() if row.workload == workload and row.match in ("exact", "close")]
    rows = [row for row in rows if row.is_credible]
    return sorted(rows, key=lambda row: (not row.id.startswith(FIRST_SOURCE_IDS), row.match != "exact"))


def rows_of_usual_batch(workload: str) -> list[PublishedRow]:
    """Return a workload's rows; if batch sizes are compared, only those with the default batch size."""
    rows = comparable_rows(workload)
    if not says_precision(workload) or "batch_size" in CATALOGUE[workload].published_differ:
        return rows
    return [row for row in rows if row.batch_size == CATALOGUE[workload].batch_size] or rows


def read_rows(path: Path) -> list[PublishedRow]:
    """Parse the rows of a file. Parsing must be fast, because the window waits for the rows when it opens."""
    with path.open(encoding="utf-8", newline="") as file:
        lines = csv.reader(file)
        head = next(lines)
        names = [name for name in PublishedRow.__dataclass_fields__ if name in head]
        chosen = itemgetter(*(head.index(name) for name in names))
        numbers = [(names.index(name), kind) for name, kind in _NUMBERS.items() if name in names]
        rows = []
        for line in lines:
            values: list[Any] = list(chosen(line))
            for index, kind in numbers:
                values[index] = kind(values[index]) if values[index] else None
            rows.append(PublishedRow(*values))
    return rows


_NUMBERS: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("value", "first_epoch_s", "total_s", "price_usd_per_hour"), float),
    **dict.fromkeys(("year", "batch_size"), int),
    "compiled": _COMPILED.get,
}


def compiled_word(is_compiled: bool) -> str:
    """Return "compiled" or "eager"."""
    return sentence("setting_value.jit_on" if is_compiled else "compare.eager")


def short_software(software: str) -> str:
    """Return the software's name up to the first bracket, cut at a comma if it is still long.

    A note that the software was compiled for the CPU is kept, because this can explain half of a difference.
    """
    short, _, remark = software.partition(" (")
    short += f", {compiled_word(True)}" if remark.startswith("compiled") else ""
    return short if len(short) <= 40 else short[:40].rpartition(",")[0] or f"{short[:37]}..."


def row_variant(row: PublishedRow) -> str:
    """Return a row's network in the form of workloads.workload.Workload.variant; "" for the default one.

    Study 000's scripts were also run with cuDNN's LSTM, the fused variant.
    """
    return row.variant or ("lstm=fused" if "CuDNNLSTM" in row.notes else "")


def row_remarks(row: PublishedRow, conversion: str = "") -> tuple[str, ...]:
    """Return the remarks to show next to a row, most important first. `conversion` describes a converted unit."""
    remarks = [str(row.year) if row.year else sentence("compare.year_not_stated")]
    is_limit = row.workload in CATALOGUE and CATALOGUE[row.workload].reports_headline
    # Results of a limit are all close in the same respect.
    remarks += [sentence("compare.close")] if row.match == "close" and not is_limit else []
    remarks += [row_variant(row)] if row_variant(row) else []
    remarks += [] if row.batch_size or is_limit else [sentence("compare.batch_not_stated")]
    remarks += [sentence("compare.likely_cpu")] if row.is_doubtful else []
    is_plain = row.precision in ("", "fp32") and row.precision_words in ("", "float32")
    remarks += [row.precision_words] if not is_plain or says_precision(row.workload) else []
    remarks += [conversion] if conversion else []
    return (*remarks, *row.software_parts)  # last, so that a narrow view cuts these first


def distinguishing_remarks(rows: Sequence[PublishedRow]) -> dict[str, tuple[tuple[str, ...], int]]:
    """Return, by row id, the fewest remarks that distinguish a row from others of the same device, and its number.

    Computers that were described in the same way are numbered from 1; the number of others is 0.
    """
    of_devices: dict[str, dict[str, tuple[str, ...]]] = defaultdict(dict)
    for row in rows:
        of_devices[row.short_name][row.id] = _said(row)
    telling: dict[str, tuple[tuple[str, ...], int]] = {}
    for said in of_devices.values():
        kinds: list[int] = []
        for kind in range(len(next(iter(said.values())))):
            if _distinct(said, [*kinds, kind]) > _distinct(said, kinds):
                kinds.append(kind)
        chosen = {row_id: tuple(parts[kind] for kind in kinds) for row_id, parts in said.items()}
        alike: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for row_id, parts in chosen.items():
            alike[parts].append(row_id)
        for parts, ids in alike.items():
            for number, row_id in enumerate(ids, start=1):
                telling[row_id] = parts, number if len(ids) > 1 else 0
    return telling


def _distinct(said: Mapping[str, Sequence[str]], kinds: Sequence[int]) -> int:
    return len({tuple(parts[kind] for kind in kinds) for parts in said.values()})


def _said(row: PublishedRow) -> tuple[str, ...]:
    """Return the candidate remarks for a row, most distinctive kind first; "" for details that aren't stated."""
    batch = sentence("share.batch", batch_size=row.batch_size) if row.batch_size else ""
    compiled = "" if row.compiled is None else compiled_word(row.compiled)
    order = "NHWC" if "NHWC" in row.software_parts else ""
    match = sentence("compare.close") if row.match == "close" else ""
    software, host = row.software_parts[0], re.search(r"\(([^()]*)\)", row.hardware)
    usual = (batch, row.precision_words, compiled, order, match, software, str(row.year or ""))
    # Only for rows that are otherwise equal: the server, the data, and the whole software.
    data = row.epochs_or_samples.partition(";")[0].removeprefix("training, ")
    return *usual, host[1] if host else row.hardware, data, row.notes.partition(";")[0], row.software


def says_precision(workload: str) -> bool:
    """Return whether a workload's bars show their precision because it may differ from the run's."""
    return workload in CATALOGUE and "precision" in CATALOGUE[workload].published_differ


def ranks_float32(workload: str) -> bool:
    """Return whether runs in float32, as on CPUs, can be ranked with a workload's published results."""
    return not says_precision(workload) or any(row.precision in ("", "fp32") for row in comparable_rows(workload))


def disagreement(row: PublishedRow) -> str:
    """Describe by how much the CPUs in a row's table differ; "" if their core counts can explain the difference.

    If they can't, nominally identical software was built or configured differently, so the table is unsuitable for
    comparing CPUs.
    """
    workload = CATALOGUE.get(row.workload)
    operations = workload.operations_per_example if workload is not None else None
    if workload is None or operations is None or row.cores is None or row.metric != "s_per_epoch":
        return ""
    like = ("workload", "source", "software", "year", "batch_size", "metric", "precision")
    table = [
        other
        for other in reference_rows()
        if all(getattr(other, name) == getattr(row, name) for name in like) and other.cores is not None
    ]
    slow, fast = (choose(table, key=lambda other: other.value) for choose in (max, min))
    assert slow.cores is not None
    assert fast.cores is not None
    times, cores_times = slow.value / fast.value, fast.cores / slow.cores
    if times <= CORE_FACTOR_MOST * max(1.0, cores_times):
        return ""
    epoch_operations = operations * workload.samples_per_epoch
    return sentence(
        "compare.table_disagrees",
        slow=slow.short_name,
        fast=fast.short_name,
        slow_gflop_per_s=epoch_operations / slow.value / 1e9,
        fast_gflop_per_s=epoch_operations / fast.value / 1e9,
        times=times,
        cores_times=cores_times,
    )
