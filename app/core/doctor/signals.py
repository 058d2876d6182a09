"""The table of what lines in logs mean: resources/doctor/signals.toml, checked when it is read."""

import re
import tomllib
from functools import cache
from typing import Annotated, Literal, TypeAlias

import msgspec

from app.core.paths import RESOURCES

TABLE = RESOURCES / "doctor" / "signals.toml"
Severity: TypeAlias = Literal["fault", "caution", "harmless"]
System: TypeAlias = Literal["linux", "windows", "wsl", "macos"]
# Names that begin titles and, unlike CUDA, have no capital but the first.
_NAMES = frozenset({"Docker", "Secure", "Windows"})
_Text: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=400)]


class Commands(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to type, by system; `any` holds where a system has none of its own."""

    any: tuple[_Text, ...] = ()
    linux: tuple[_Text, ...] = ()
    windows: tuple[_Text, ...] = ()
    wsl: tuple[_Text, ...] = ()
    macos: tuple[_Text, ...] = ()

    def on(self, system: str) -> tuple[str, ...]:
        """Return the commands for a system; those of both WSLs are the same."""
        own: tuple[str, ...] = getattr(self, "wsl" if system.startswith("wsl") else system, ())
        return own or self.any


class Signal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One row: what it looks like, what it means and what to do.

    Attributes:
        seen: A text that shows the row, for readers.
        rank: Of several, the lower one is the cause.
        together: Expressions that must all be found, in whatever lines, where there are no `patterns`.
        unless: Expressions that make the row harmless, wherever they are found.
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
    """Read a table; raises ValueError that says which row is wrong."""
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
    """Return the table that comes with Epochmark, in its own order."""
    return read_table(TABLE.read_text(encoding="utf-8"))


def signal(signal_id: str) -> Signal:
    """Return one row by its name, which must exist."""
    return next(row for row in signals() if row.id == signal_id)


def inside(text: str) -> str:
    """Return the text of a sentence as it stands in the middle of another; names keep their capitals."""
    word = text.split(" ", 1)[0]
    is_name = word[1:] != word[1:].lower() or word in _NAMES
    return text if is_name else text[:1].lower() + text[1:]
