"""The columns of what a plan found."""

from collections.abc import Sequence
from dataclasses import replace

from app.cli.layout import Column

WORDS_CELLS = 16  # that words get at least, before others go on in the next line


def plan_columns(headings: Sequence[str], left: int) -> list[Column]:
    """Return the columns of what a plan found: `left` of words, then numbers, and words about each row.

    Where there's no room for all, the first number stays longest.
    """
    last = len(headings) - 1
    words = Column("", least=WORDS_CELLS, wraps=True)
    others = (Column("", is_right=True, order=last - place) for place in range(left + 1, last))
    columns = (*[words] * left, replace(words, is_right=True), *others, words)
    return [replace(column, title=heading) for column, heading in zip(columns, headings, strict=True)]
