"""A language made by code: every sentence accented, in ⟦ ⟧, and 40 % longer, as translations are."""

import re
import string

import pytest

from app.core.messages import ENGLISH

LONGER = 0.4
_ACCENTED = str.maketrans("aceinouyACEINOUY", "áčéíñóúýÁČÉÍÑÓÚÝ")
_FILLER = "ẍẍẍẍ ẍẍẍ "


def speak_pseudo(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace every sentence of the catalogue until the test ends."""
    for code, said in ENGLISH.items():
        other = pseudo(said) if isinstance(said, str) else tuple(map(pseudo, said))
        monkeypatch.setitem(ENGLISH, code, other)


def pseudo(template: str) -> str:
    """Return a template in the pseudo-language; its placeholders stay, and stand outside of the brackets."""
    parts, length = [], 0
    for literal, name, spec, _ in string.Formatter().parse(template):
        length += len(literal)
        accented = literal.replace("{", "{{").replace("}", "}}").translate(_ACCENTED)
        parts.append(f"⟦{accented}⟧" if any(map(str.isalpha, literal)) else accented)
        if name is not None:
            parts.append("{" + name + (f":{spec}" if spec else "") + "}")
    more = round(LONGER * length)
    filler = (_FILLER * (more // len(_FILLER) + 1))[:more].rstrip()
    return "".join(parts) + (f"⟦{filler}⟧" if filler else "")


def unmarked(text: str) -> str:
    """Return what of a text is outside of ⟦ ⟧."""
    depth, left = 0, []
    for letter in text:
        depth += (letter == "⟦") - (letter == "⟧")
        left.append(letter if depth == 0 and letter != "⟧" else " ")
    return re.sub(r"\s+", " ", "".join(left)).strip()
