"""A result's text in the markup of the places where people post: the first line bold, the others as a list."""

import re
from collections.abc import Callable

# What Markdown, and what Reddit, GitHub and Discord add to it, take for more than a letter: "#1" becomes a link.
_MARKED = re.compile(r"([\\`*_{}\[\]<>|~#@])")
FORMS: dict[str, Callable[[str], str]] = {}


def in_form(text: str, form: str) -> str:
    """Return a text of several lines in one of FORMS, as it's pasted there."""
    return FORMS[form](text)


def _plain(text: str) -> str:
    return text


def _markdown(text: str) -> str:
    """Return Markdown as GitHub reads it; without an empty line, a list belongs to what is above."""
    first, rest = _escaped(text)
    return "\n".join((f"**{first}**", "", *(f"- {line}" for line in rest))) + "\n"


def _reddit(text: str) -> str:
    """Return Markdown as Reddit reads it, old and new: stars are bullets in both."""
    first, rest = _escaped(text)
    return "\n".join((f"**{first}**", "", *(f"* {line}" for line in rest))) + "\n"


def _discord(text: str) -> str:
    """Return bold text with a quote below it; a list would be indented twice on a phone."""
    first, rest = _escaped(text)
    return "\n".join((f"**{first}**", *(f"> {line}" for line in rest))) + "\n"


def _bbcode(text: str) -> str:
    """Return BBCode; as it has no way to escape brackets, they become round ones."""
    first, *rest = text.replace("[", "(").replace("]", ")").splitlines() or [""]
    return "\n".join((f"[b]{first}[/b]", "[list]", *(f"[*]{line}" for line in rest), "[/list]")) + "\n"


def _escaped(text: str) -> tuple[str, list[str]]:
    lines = [_MARKED.sub(r"\\\1", line) for line in text.splitlines()] or [""]
    # At the beginning of a line, these make a list or a heading of it.
    rest = [re.sub(r"^([+-]|\d+[.)])(?= )", r"\\\1", line) for line in lines[1:] if line.strip()]
    return lines[0], rest


FORMS |= {"plain": _plain, "markdown": _markdown, "reddit": _reddit, "discord": _discord, "bbcode": _bbcode}
