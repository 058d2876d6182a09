"""Sentences as tests see them: by their code and arguments, so that their words can change."""

import re
import string
from collections.abc import Iterable
from dataclasses import dataclass

from app.core.messages import ENGLISH, Message


@dataclass(frozen=True)
class Saying:
    """A sentence of the catalogue.

    Attributes:
        pattern: For pytest.raises(match=...) and the like.
    """

    pattern: re.Pattern[str]

    def is_in(self, shown: str | Iterable[str]) -> bool:
        """Return whether a text contains it, or it is one of several texts."""
        if isinstance(shown, str):
            return self.pattern.search(shown) is not None
        return any(map(self.is_all_of, shown))

    def begins(self, shown: str) -> bool:
        """Return whether a text begins with it."""
        return self.pattern.match(shown) is not None

    def is_all_of(self, shown: str | None) -> bool:
        """Return whether a text is this and nothing else."""
        return shown is not None and self.pattern.fullmatch(shown) is not None


def said(code: str, /, **shown: object) -> Saying:
    """Return a sentence by its code.

    Args:
        code: Its name in the catalogue; KeyError if it has none.
        shown: Its arguments as they are shown: "1,001" rather than 1001, or sayings themselves. Those left out
            may be anything.
    """
    template = ENGLISH[code]
    both = (template,) if isinstance(template, str) else template
    names: set[str] = set()
    patterns = []
    for each in both:
        parts = []
        for text, name, _, _ in string.Formatter().parse(each):
            parts.append(re.escape(text))
            if name is not None:
                names.add(name)
                value = shown.get(name)
                inner = value.pattern.pattern if isinstance(value, Saying) else re.escape(str(value))
                parts.append(f"(?:{inner})" if name in shown else "(?s:.*?)")
        patterns.append("".join(parts))
    assert shown.keys() <= names, f"{code} has no {', '.join(sorted(shown.keys() - names))}"
    return Saying(re.compile("|".join(patterns)))


def has_at_its_core(said: str | Message, wanted: Message) -> bool:
    """Return whether the innermost sentence of one that wraps others is the wanted one, with these arguments."""
    core = said
    while isinstance(core, Message) and (
        inner := [each for each in core.arguments.values() if isinstance(each, Message)]
    ):
        core = inner[0]
    if not isinstance(core, Message) or core.code != wanted.code:
        return False
    return all(core.arguments.get(name) == value for name, value in wanted.arguments.items())
