"""Records of unverified results from other computers: imported results and rows of the community table."""

from dataclasses import dataclass

from app.core.records import RunSummary

# Replaces the app version in results of epoch logs.
EPOCH_LOG = "epoch log"


@dataclass(frozen=True, slots=True)
class CommunityRow:
    """Other people's results for one device and configuration, from a community table.

    Attributes:
        name: Name of the device.
        summary: The median across the computers, as a row. Its id has no meaning.
        low, high: Range of the medians of the computers.
        machines, results, cautions: Numbers of computers, of results, and of results with the verdict "caution".
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
    """An imported, unverified result from another computer.

    Attributes:
        imported_at: Time of the import as ISO 8601 in UTC.
        digest: SHA-256 of the result's canonical form.
        label: Name of the computer.
        source: Name of the imported file.
        summary: The result as a row. Its id has no meaning.
    """

    id: int
    imported_at: str
    digest: str
    label: str
    source: str
    summary: RunSummary

    @property
    def is_log(self) -> bool:
        """Whether the result was read from an epoch log."""
        return self.summary.app_version == EPOCH_LOG
