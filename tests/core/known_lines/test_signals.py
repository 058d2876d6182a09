"""The table of known lines: what is refused, and what each row of it must have."""

import re

import pytest

from app.core.known_lines.logs import MAX_LINE_CHARS, compiled, diagnose_log
from app.core.known_lines.signals import TABLE, read_table, signal, signals

ROW = """
[[signal]]
id = "one"
seen = "x"
severity = "fault"
rank = 1
title = "t"
meaning = "m"
fix = "f"
versions = "v"
link = "https://example.org/1"
patterns = ['x']
"""


def test_a_table_is_refused_that_is_wrong() -> None:
    assert len(read_table(ROW)) == 1
    for wrong, says in (
        (ROW + ROW, "twice"),
        (ROW.replace("['x']", "['(']"), "no regular expression"),
        (ROW.replace("patterns = ['x']", ""), "patterns"),
        (ROW + "together = ['y']\n", "patterns"),
        (ROW.replace('"fault"', '"terrible"'), "terrible"),
        (ROW.replace("https", "http"), "link"),
        (ROW.replace("rank = 1", 'rank = "1"'), "rank"),
        (ROW + "colour = 'red'\n", "colour"),
        (ROW + "[signal.by_engine.theano]\nfix = 'f'\n", "theano"),
        (ROW.replace('title = "t"', 'title = ""'), "title"),
    ):
        with pytest.raises(ValueError, match=says):
            read_table(wrong)


def test_the_table_says_what_to_do() -> None:
    assert len(read_table(TABLE.read_text(encoding="utf-8"))) == len(signals())
    for row in signals():
        assert not row.title.endswith(".")
        assert row.meaning.endswith(".")
        assert row.fix.endswith("."), row.id
        assert (row.rank >= 100) == (row.severity == "harmless"), row.id
        found = diagnose_log(row.seen)
        assert row.id in [finding.signal.id for finding in (*found.findings, *found.harmless)], row.id


def test_commands_are_those_of_the_system() -> None:
    commands = signal("wsl1").commands
    assert commands.on("wsl2") == commands.on("wsl1") == commands.wsl
    assert commands.on("macos") == ()
    assert signal("tensorflow_missing").commands.on("windows") == signal("tensorflow_missing").commands.any


def _literal(expression: str) -> str:
    return re.sub(r"\\.|[\[\](){}?*+|^$]", "", expression)[:30] or "a"


@pytest.mark.timeout(60)
def test_no_expression_takes_long_on_what_nearly_matches() -> None:
    for row in signals():
        for expression in row.expressions:
            nearly = "\n".join([(_literal(expression) * 200)[:MAX_LINE_CHARS]] * 50)
            compiled(expression).search(nearly)


def test_no_expression_repeats_without_a_limit() -> None:
    # Two such repetitions in one expression would scan a long line millions of times.
    for row in signals():
        for expression in row.expressions:
            plain = re.sub(r"\\.|\[[^\]]*\]", lambda found: "a" * len(found[0]), expression)
            assert not re.search(r"[*+]|\{\d+,\}", plain), f"{row.id}: {expression}"
