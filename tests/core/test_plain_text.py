"""Text that came from outside, made safe to show."""

import json
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.plain_text import one_line, safe_json, safe_text

# Everything that is taken apart below, with what each would do to a terminal or a reader.
NASTY = {
    "colour": "\x1b[31mred\x1b[0m",
    "clipboard": "\x1b]52;c;cm0gLXJmIH4=\x07",
    "title": "\x1b]0;owned\x1b\\",
    "device control": "\x1bP$q q\x1b\\",
    "C1 CSI": "\x9b2J",
    "C1 OSC": "\x9d52;c;eA==\x9c",
    "back": "ok\rno\x08\x7f",
    "null": "a\x00b",
    "right to left": "\u202egnp.exe\u202c",
    "isolate": "\u2066a\u2069\u200f\u061c",
    "nothing to see": "pay\u200b\u200d\ufeff\u00adpal",
    "tags": "a\U000e0041b",
    "lines": "a\u2028b\u2029c\x85d\x0be\x0cf",
    "half": "a\udc80b\ud83d",
}
any_text = st.text(st.characters(exclude_categories=())) | st.sampled_from(sorted(NASTY.values()))


def steering(text: str) -> list[str]:
    return [char for char in text if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"}]


@pytest.mark.parametrize("text", NASTY.values(), ids=NASTY.keys())
def test_what_steers_a_terminal_is_shown_as_an_escape(text: str) -> None:
    safe = safe_text(text)
    assert steering(safe) == []
    assert re.search(r"\\(x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})", safe)


@given(any_text)
def test_no_text_steers(text: str) -> None:
    safe = safe_text(text)
    assert set(steering(safe)) <= {"\n", "\t"}
    assert safe_text(safe) == safe
    safe.encode("utf-8")


@given(any_text, st.integers(1, 40))
def test_no_text_breaks_its_line_or_its_width(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert len(line) <= limit
    assert steering(line) == []
    assert len(line.splitlines()) <= 1


def test_lines_are_cut_with_a_mark_and_only_where_they_are_too_long() -> None:
    assert one_line("a\nb\tc\r\nd\x85e\u2028f", 20) == "a b c d e f"
    assert (one_line("abcde", 5), one_line("abcdef", 5)) == ("abcde", "abcd…")
    assert one_line("abcd\r\n", 5) == "abcd "
    assert one_line("x" * 10_000_000, 3) == "xx…"
    assert one_line("ab\x1b", 5) == "ab\\x…"


# Two halves side by side are one character in JSON, however they are written.
whole_text = st.text() | st.sampled_from(sorted(NASTY.values()))


@given(st.recursive(whole_text, st.lists, max_leaves=5))
def test_json_keeps_its_value_and_steers_nothing(value: object) -> None:
    for document in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=1)):
        safe = safe_json(document)
        assert json.loads(safe) == json.loads(document)
        assert set(steering(safe)) <= {"\n"}
