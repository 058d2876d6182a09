"""Plans as files: CSV with a row for each point or part, and JSON."""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.core.report.formats.csv_table import guarded
from app.core.report.private_texts import hide

FORMATS = ("csv", "json")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanTable:
    """What is written of a plan.

    Attributes:
        format_version: Of its columns and keys.
        plain: All of it as plain JSON types.
        rows: The key of its points or parts there, each with a `reason`.
        columns: Names of the cells.
        cells: A row of plain values for each point or part.
        private: Texts to replace, see `report.private_texts`.
    """

    format_version: int
    plain: dict[str, Any]
    rows: str
    columns: Sequence[str]
    cells: Sequence[Sequence[Any]]
    private: Mapping[str, str]

    def lines(self, form: str) -> Iterator[str]:
        """Yield the file piece by piece; `form` is one of FORMATS."""
        if form == "json":
            plain = {"format_version": self.format_version, **self.plain}
            if "sentences" in plain:
                plain["sentences"] = [hide(line, self.private) for line in plain["sentences"]]
            for row in plain[self.rows]:
                row["reason"] = hide(row["reason"], self.private)
            yield json.dumps(plain, indent=2, allow_nan=False) + "\n"
            return
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(("format_version", *self.columns))
        for cells in self.cells:
            texts = [guarded(hide(cell, self.private) or "") if isinstance(cell, str) else cell for cell in cells]
            writer.writerow((self.format_version, *texts))
        yield buffer.getvalue()
