"""Converts the text of a result to forum markup, with the first line in bold and the remaining lines as a list."""

import re
from collections.abc import Callable

# Special characters of Markdown as used by Reddit, GitHub and Discord; "#1" becomes a link.
_MARKED = re.compile(r"([\\`*_{}\[\]<>|~#@])")
FORMS: dict[str, Callable[[str], str]] = {}


def escaped_markdown(text: str) -> str:
    return _MARKED.sub(r"\\\1", text)


def in_form(text: str, form: str) -> str:
    return FORMS[form](text)


def _plain(text: str) -> str:
    return text


def _markdown(text: str) -> str:
    """Return Markdown for GitHub, with an empty line before the list, as GitHub requires."""
    first, rest = _escaped(text)
    return "\n".join((f"**{first}**", "", *(f"- {line}" for line in rest))) + "\n"


def _reddit(text: str) -> str:
    """Return Markdown for old and new Reddit, which both accept asterisks as bullets."""
    first, rest = _escaped(text)
    return "\n".join((f"**{first}**", "", *(f"* {line}" for line in rest))) + "\n"


def _discord(text: str) -> str:
    """Return bold text followed by a quote, because lists are indented twice on phones."""
    first, rest = _escaped(text)
    return "\n".join((f"**{first}**", *(f"> {line}" for line in rest))) + "\n"


def _bbcode(text: str) -> str:
    """Return BBCode, with parentheses in place of square brackets, because BBCode can't escape brackets."""
    first, *rest = text.replace("[", "(").replace("]", ")").splitlines() or [""]
    return "\n".join((f"[b]{first}[/b]", "[list]", *(f"[*]{line}" for line in rest), "[/list]")) + "\n"


def _escaped(text: str) -> tuple[str, list[str]]:
    lines = [escaped_markdown(line) for line in text.splitlines()] or [""]
    # These would start a list or heading at the beginning of a line.
    rest = [re.sub(r"^([+-]|\d+[.)])(?= )", r"\\\1", line) for line in lines[1:] if line.strip()]
    return lines[0], rest


FORMS |= {"plain": _plain, "markdown": _markdown, "reddit": _reddit, "discord": _discord, "bbcode": _bbcode}
