"""Columns of the tables of plans."""

from collections.abc import Sequence
from dataclasses import replace

from app.cli.layout import Column

WORDS_CELLS = 16  # minimum width of text before it is wrapped


def plan_columns(headings: Sequence[str], left: int) -> list[Column]:
    """Return the columns of a plan's table: `left` columns of text, columns of numbers, and a column of remarks.

    If the table doesn't fit, all columns of numbers except the first can be dropped.
    """
    last = len(headings) - 1
    words = Column("", least=WORDS_CELLS)
    others = (Column("", is_right=True, order=last - place) for place in range(left + 1, last))
    columns = (*[words] * left, replace(words, is_right=True), *others, words)
    return [replace(column, title=heading) for column, heading in zip(columns, headings, strict=True)]
