"""Tables as text to paste: tab-separated for spreadsheets, Markdown, or BBCode."""

from collections.abc import Callable, Iterable, Sequence

from app.core.report.forum_texts import escaped_markdown


def _tabs(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    return ("\t".join(row) for row in rows)


def _markdown(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    lines = [f"| {' | '.join(map(escaped_markdown, row))} |" for row in rows]
    return lines[0], f"|{' --- |' * len(rows[0])}", *lines[1:]


def _bbcode(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    """Return BBCode, with parentheses in place of square brackets, because BBCode can't escape brackets."""
    yield "[table]"
    for number, row in enumerate(rows):
        tag = "td" if number else "th"
        cells = (cell.replace("[", "(").replace("]", ")") for cell in row)
        yield f"[tr]{''.join(f'[{tag}]{cell}[/{tag}]' for cell in cells)}[/tr]"
    yield "[/table]"


TABLE_FORMS: dict[str, Callable[[Sequence[Sequence[str]]], Iterable[str]]] = {
    "spreadsheet": _tabs,
    "markdown": _markdown,
    "bbcode": _bbcode,
}


def table_text(heads: Sequence[str], rows: Iterable[Sequence[str]], form: str) -> str:
    """Return a table as text, one line per row, in one of TABLE_FORMS."""
    cells = [[" ".join(cell.split()) for cell in row] for row in (heads, *rows)]
    return "".join(f"{line}\n" for line in TABLE_FORMS[form](cells))
