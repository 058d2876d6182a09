"""Makes external text safe to display, so that it can't control a terminal or hide content."""

import re
import unicodedata
from collections.abc import Iterable

# Control and formatting characters (directions, zero width), lone surrogates, and line breaks.
_STEERING = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_LINE_BREAKS = "\n\t\v\f\r\x1c\x1d\x1e\x85\u2028\u2029"


class _Shown(dict[int, str]):
    """Mapping of characters to replacements, filled on demand by str.translate."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        steers = unicodedata.category(character) in _STEERING
        self[code] = self.escape(code) if steers and character not in "\n\t" else character
        return self[code]

    @staticmethod
    def escape(code: int) -> str:
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


class _ShownInJson(_Shown):
    @staticmethod
    def escape(code: int) -> str:
        """Return the JSON escape of a character, which preserves the document's value."""
        units = chr(code).encode("utf-16-be", "surrogatepass")
        return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))


_SHOWN, _SHOWN_IN_JSON = _Shown(), _ShownInJson()
_SPACES = dict.fromkeys(map(ord, _LINE_BREAKS), " ")


def joined(parts: Iterable[str | None]) -> str:
    """Return the texts that aren't empty as one line, with dots between them."""
    return " · ".join(filter(None, parts))


def safe_text(text: str) -> str:
    r"""Return text with control characters other than newlines and tabs escaped: "\x1b" for ESC."""
    return text.replace("\r\n", "\n").translate(_SHOWN)


def one_line(text: str, limit: int) -> str:
    """Return safe text as one line, truncated with "…" to at most `limit` characters."""
    # Only the visible part is processed, however long the text is.
    line = text[: limit + 1].replace("\r\n", "\n").translate(_SPACES).translate(_SHOWN)
    return line if len(line) <= limit and len(text) <= limit + 1 else line[: limit - 1] + "…"


def short_words(text: str, limit: int) -> str:
    """Return text with words of more than `limit` characters truncated, such as endless numbers and paths."""
    return re.sub(rf"(\S{{{limit - 1}}})\S{{2,}}?([.,:;)\]'\"”]*)(?=\s|\Z)", r"\1…\2", text)


def safe_json(document: str) -> str:
    return document.translate(_SHOWN_IN_JSON)
