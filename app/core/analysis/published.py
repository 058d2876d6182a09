"""The published results included in Epochmark, with their provenance."""

import csv
from dataclasses import dataclass
from functools import cache
from typing import Any

from app.core.paths import RESOURCES

# The standard workload is known for study 004's seven machines.
FIRST_SOURCE_IDS = "s004-"
_PREFIXES = ("Intel Core ", "NVIDIA GeForce ", "NVIDIA ", "Google ", "Apple ", "AMD ", "Intel ")


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """One published measurement. None means that the source doesn't say.

    Attributes:
        match: exact, close (one difference, see notes), context or claim.
        value: In the unit of `metric`.
    """

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
    value: float
    precision: str
    match: str
    source: str
    source_ref: str
    derivation: str
    notes: str
    first_epoch_s: float | None
    total_s: float | None
    epochs_or_samples: str
    price_usd_per_hour: float | None

    @property
    def short_name(self) -> str:
        """The device without its vendor: "GTX 1080 Ti", "4 × Tesla P100", "Xeon Skylake, 8 vCPU"."""
        name = short_name(self.device)
        if self.hardware_kind == "gpu" and self.cores_or_units.isdecimal() and self.cores_or_units != "1":
            return f"{self.cores_or_units} × {name}"
        return f"{name}, {self.cores_or_units}" if self.cores_or_units.endswith(" vCPU") else name


def short_name(device: str) -> str:
    """Return a device's name without its vendor and without remarks in brackets."""
    name = device.split(" (", maxsplit=1)[0]
    for prefix in _PREFIXES:
        if name.startswith(prefix):
            return name.removeprefix(prefix)
    return name


@cache
def reference_rows() -> tuple[PublishedRow, ...]:
    """Return all rows, in the file's order."""
    path = RESOURCES / "reference" / "reference_hardware.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(_row(values) for values in csv.DictReader(file))


def comparable_rows(workload: str) -> list[PublishedRow]:
    """Return a workload's exact and close rows, in any metric, the best known first."""
    rows = [row for row in reference_rows() if row.workload == workload and row.match in ("exact", "close")]
    return sorted(rows, key=lambda row: (not row.id.startswith(FIRST_SOURCE_IDS), row.match != "exact"))


def _row(values: dict[str, str]) -> PublishedRow:
    fields: dict[str, Any] = {name: values[name] for name in PublishedRow.__dataclass_fields__}
    for name in ("first_epoch_s", "total_s", "price_usd_per_hour"):
        fields[name] = float(values[name]) if values[name] else None
    for name in ("year", "batch_size"):
        fields[name] = int(values[name]) if values[name] else None
    return PublishedRow(**(fields | {"value": float(values["value"])}))
