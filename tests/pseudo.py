"""A language made by code: every sentence accented, in ⟦ ⟧, and 40 % longer, as translations are."""

import re
import string

import pytest

from app.core.messages import ENGLISH

LONGER = 0.4
_ACCENTED = str.maketrans("aceinouyACEINOUY", "áčéíñóúýÁČÉÍÑÓÚÝ")
_FILLER = "éñá séñ "


def speak_pseudo(monkeypatch: pytest.MonkeyPatch, *, is_marked: bool = True) -> None:
    """Replace every sentence of the catalogue until the test ends; without marks, it is only longer."""
    for code, said in ENGLISH.items():
        both = (said,) if isinstance(said, str) else said
        others = tuple(pseudo(template, is_marked=is_marked) for template in both)
        monkeypatch.setitem(ENGLISH, code, others[0] if isinstance(said, str) else others)


def pseudo(template: str, *, is_marked: bool = True) -> str:
    """Return a template in the pseudo-language; its placeholders stay, and stand outside of the marks."""
    before, after = ("⟦", "⟧") if is_marked else ("", "")
    parts, length = [], 0
    for literal, name, spec, _ in string.Formatter().parse(template):
        length += len(literal)
        accented = literal.replace("{", "{{").replace("}", "}}").translate(_ACCENTED)
        parts.append(f"{before}{accented}{after}" if any(map(str.isalpha, literal)) else accented)
        if name is not None:
            parts.append("{" + name + (f":{spec}" if spec else "") + "}")
    filler = (_FILLER * (length // len(_FILLER) + 1))[: round(LONGER * length)].rstrip()
    return "".join(parts) + (f"{before}{filler}{after}" if filler else "")


def unmarked(text: str) -> str:
    """Return what of a text is outside of ⟦ ⟧."""
    depth, left = 0, []
    for letter in text:
        depth += (letter == "⟦") - (letter == "⟧")
        left.append(letter if depth == 0 and letter != "⟧" else " ")
    return re.sub(r"\s+", " ", "".join(left)).strip()
