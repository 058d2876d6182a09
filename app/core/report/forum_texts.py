"""Converts a result's text to forum markup: the first line bold, the others as a list."""

import re
from collections.abc import Callable

# Characters with a special meaning in Markdown and its variants on Reddit, GitHub and Discord; "#1" becomes a
# link.
_MARKED = re.compile(r"([\\`*_{}\[\]<>|~#@])")
FORMS: dict[str, Callable[[str], str]] = {}


def in_form(text: str, form: str) -> str:
    """Return several lines of text in one of FORMS, ready to paste."""
    return FORMS[form](text)


def _plain(text: str) -> str:
    return text


def _markdown(text: str) -> str:
    """Return GitHub's Markdown, where a list without an empty line before it belongs to the paragraph above."""
    first, rest = _escaped(text)
    return "\n".join((f"**{first}**", "", *(f"- {line}" for line in rest))) + "\n"


def _reddit(text: str) -> str:
    """Return Markdown for old and new Reddit, both of which accept asterisks as bullets."""
    first, rest = _escaped(text)
    return "\n".join((f"**{first}**", "", *(f"* {line}" for line in rest))) + "\n"


def _discord(text: str) -> str:
    """Return bold text with a quote below it, because a list would be indented twice on a phone."""
    first, rest = _escaped(text)
    return "\n".join((f"**{first}**", *(f"> {line}" for line in rest))) + "\n"


def _bbcode(text: str) -> str:
    """Return BBCode. It can't escape square brackets, so they are replaced by round ones."""
    first, *rest = text.replace("[", "(").replace("]", ")").splitlines() or [""]
    return "\n".join((f"[b]{first}[/b]", "[list]", *(f"[*]{line}" for line in rest), "[/list]")) + "\n"


def _escaped(text: str) -> tuple[str, list[str]]:
    lines = [_MARKED.sub(r"\\\1", line) for line in text.splitlines()] or [""]
    # At the beginning of a line, these would start a list or a heading.
    rest = [re.sub(r"^([+-]|\d+[.)])(?= )", r"\\\1", line) for line in lines[1:] if line.strip()]
    return lines[0], rest


FORMS |= {"plain": _plain, "markdown": _markdown, "reddit": _reddit, "discord": _discord, "bbcode": _bbcode}
