"""Sentences as tests see them: by their code, so that their words can change."""

import re
import string

from app.core.messages import ENGLISH


def said(code: str, /, **shown: object) -> re.Pattern[str]:
    """Return the pattern of a sentence.

    Args:
        code: Its name in the catalogue; KeyError if it has none.
        shown: Its arguments as they are shown: "1,001" rather than 1001. Those left out may be anything.
    """
    template = ENGLISH[code]
    both = (template,) if isinstance(template, str) else template
    unused = set(shown)
    patterns = []
    for each in both:
        parts = []
        for text, name, _, _ in string.Formatter().parse(each):
            parts.append(re.escape(text))
            if name in shown:
                parts.append(re.escape(str(shown[name])))
                unused.discard(name)
            elif name is not None:
                parts.append("(?s:.*?)")
        patterns.append("".join(parts))
    assert not unused, f"{code} has no {', '.join(sorted(unused))}"
    return re.compile("|".join(patterns))
