"""The table of known log lines: resources/doctor/signals.toml, checked when it is read."""

import re
import tomllib
from functools import cache
from typing import Annotated, Literal, TypeAlias

import msgspec

from app.core.paths import RESOURCES

TABLE = RESOURCES / "doctor" / "signals.toml"
Severity: TypeAlias = Literal["fault", "caution", "harmless"]
System: TypeAlias = Literal["linux", "windows", "wsl", "macos"]
# Names at the start of titles that, unlike CUDA, have only one capital.
_NAMES = frozenset({"Docker", "Secure", "Windows"})
_Text: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=400)]


class Commands(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Commands by system; `any` applies to systems without their own."""

    any: tuple[_Text, ...] = ()
    linux: tuple[_Text, ...] = ()
    windows: tuple[_Text, ...] = ()
    wsl: tuple[_Text, ...] = ()
    macos: tuple[_Text, ...] = ()

    def on(self, system: str) -> tuple[str, ...]:
        """Return the commands for a system; both versions of WSL share theirs."""
        own: tuple[str, ...] = getattr(self, "wsl" if system.startswith("wsl") else system, ())
        return own or self.any


class Signal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One row: what the lines look like, what they mean and what to do.

    Attributes:
        seen: An example of the text, for readers.
        rank: Of several rows, the one with the lowest rank is the cause.
        together: Expressions that must all match, in any lines, if there are no `patterns`.
        unless: Expressions that make the row harmless wherever they match.
    """

    id: Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9_]{1,40}$")]
    seen: _Text
    severity: Severity
    rank: Annotated[int, msgspec.Meta(ge=0, le=1_000)]
    title: _Text
    meaning: _Text
    fix: _Text
    versions: _Text
    link: Annotated[str, msgspec.Meta(pattern=r"^https://\S{5,200}$")]
    patterns: tuple[str, ...] = ()
    together: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    commands: Commands = Commands()


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    signal: tuple[Signal, ...]


def read_table(text: str) -> tuple[Signal, ...]:
    """Read a table; raises ValueError that names the invalid row."""
    rows = msgspec.convert(tomllib.loads(text), type=_Table).signal
    seen: set[str] = set()
    for row in rows:
        if row.id in seen or bool(row.patterns) == bool(row.together):
            raise ValueError(f"{row.id}: it is there twice, or it has not exactly one of patterns and together")
        seen.add(row.id)
        for expression in (*row.patterns, *row.together, *row.unless):
            try:
                re.compile(expression)
            except re.error as error:
                raise ValueError(f"{row.id}: {expression!r} is no regular expression ({error})") from error
    return rows


@cache
def signals() -> tuple[Signal, ...]:
    """Return Epochmark's own table, in its order."""
    return read_table(TABLE.read_text(encoding="utf-8"))


def signal(signal_id: str) -> Signal:
    """Return one row by its id, which must exist."""
    return next(row for row in signals() if row.id == signal_id)


def inside(text: str) -> str:
    """Return a sentence's text for use inside another one; names keep their capitals."""
    word = text.split(" ", 1)[0]
    is_name = word[1:] != word[1:].lower() or word in _NAMES
    return text if is_name else text[:1].lower() + text[1:]
