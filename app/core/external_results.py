"""Unverified results from other people's computers: imported results and rows of the community table."""

from dataclasses import dataclass

from app.core.records import RunSummary

# Used in place of the version of the program that measured.
EPOCH_LOG = "epoch log"


@dataclass(frozen=True, slots=True)
class CommunityRow:
    """Other people's results for one device and configuration, from a downloaded community table.

    Attributes:
        name: The device.
        summary: The median across the computers as a row; its id has no meaning.
        low, high: Range of the computers' medians.
        machines, results, cautions: Counts of computers, their results, and results with the verdict "caution".
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
    """One imported, unverified result from another computer.

    Attributes:
        imported_at: ISO 8601, UTC.
        digest: SHA-256 of its canonical form.
        label: Name of the computer.
        source: Name of the imported file.
        summary: The result as a row; its id has no meaning.
    """

    id: int
    imported_at: str
    digest: str
    label: str
    source: str
    summary: RunSummary

    @property
    def is_log(self) -> bool:
        """Whether it was read from an epoch log."""
        return self.summary.app_version == EPOCH_LOG
