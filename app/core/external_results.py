"""Records of other people's computers, which nobody has verified: imported results, rows of a table."""

from dataclasses import dataclass

from app.core.records import RunSummary

# In the place of the version of the program that measured.
EPOCH_LOG = "epoch log"


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

    @property
    def is_log(self) -> bool:
        """Whether it was read from an epoch log."""
        return self.summary.app_version == EPOCH_LOG
