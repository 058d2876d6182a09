"""Records of other people's computers, which nobody has verified: imported results and logs, rows of a table."""

from dataclasses import dataclass

from app.core.records import Amount, RunSummary


@dataclass(frozen=True, slots=True)
class CommunityRow:
    """What other people measured with one device in one way, from a table that was fetched.

    Attributes:
        name: The device.
        summary: The median of the machines as a row; its id stands for nothing.
        low, high: Of the machines' medians.
        machines, results, cautions: How many there are, with how many results, and how many of these with caution.
    """

    name: str
    summary: RunSummary
    low: float
    high: float
    machines: int
    results: int
    cautions: int


@dataclass(frozen=True, slots=True)
class ImportedResult:
    """One imported result of another computer, which nobody has verified.

    Attributes:
        imported_at: ISO 8601, UTC.
        digest: SHA-256 of its canonical form.
        label: Name of the computer.
        source: Name of the file that it came in.
        summary: It as a row; its id stands for nothing.
    """

    id: int
    imported_at: str
    digest: str
    label: str
    source: str
    summary: RunSummary


@dataclass(frozen=True, slots=True)
class ImportedLog:
    """One imported log: another computer's time for a workload with its study's settings."""

    id: int
    imported_at: str  # ISO 8601, UTC
    workload: str
    name: str
    durations_s: tuple[float, ...]
    seconds_per_epoch_s: Amount
