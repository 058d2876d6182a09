"""Records of imported, unverified results from other computers."""

from dataclasses import dataclass

from app.core.messages import sentence
from app.core.records import RunSummary


@dataclass(frozen=True, slots=True)
class ImportedResult:
    """An imported, unverified result from another computer."""

    id: int
    uid: str  # name of the run, the same in all its files and pictures
    plan_uid: str | None  # name of its plan; None if it is alone
    imported_at: str  # time of the import as ISO 8601 in UTC
    digest: str  # SHA-256 of the result's canonical form
    label: str  # name of the computer
    source: str  # name of the imported file
    summary: RunSummary  # The result as a row. Its id has no meaning.

    @property
    def name(self) -> str:
        """The computer, with the name of the run or file, which tells whose it is."""
        stem = self.source.rpartition(".")[0].removesuffix(".epochmark")
        owner = self.summary.comment or ("" if stem.casefold().startswith("epochmark") else stem)
        if not owner:
            return sentence("compare.imported_name", name=self.label)
        return sentence("compare.imported_from", name=self.label, owner=owner)
