"""Reads and validates the table of known log lines, resources/doctor/signals.toml."""

import re
import tomllib
from dataclasses import asdict
from functools import cache
from typing import Annotated, Literal, TypeAlias

import msgspec

from app.core.known_lines.which_engine import WORDS
from app.core.paths import RESOURCES
from workloads.engines.registry import DEFAULT_ENGINE, ENGINES
from workloads.protocol import typed

TABLE = RESOURCES / "doctor" / "signals.toml"
Severity: TypeAlias = Literal["fault", "caution", "harmless"]
System: TypeAlias = Literal["linux", "windows", "wsl", "macos"]
GpuUse: TypeAlias = Literal["used", "unused"]
_Text: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=400)]
# Doesn't start with a placeholder, which may stand for a word in lower case.
_Sentence: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=400, pattern=r"^[^{]")]


class Commands(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Commands by system. `any` is used for systems without their own commands."""

    any: tuple[_Text, ...] = ()
    linux: tuple[_Text, ...] = ()
    windows: tuple[_Text, ...] = ()
    wsl: tuple[_Text, ...] = ()
    macos: tuple[_Text, ...] = ()

    def filled(self, engine: str | None) -> "Commands":
        """Replace the {placeholders} with an engine's names; for an unknown one, omit commands that have any."""
        return Commands(
            **{
                system: tuple(_filled(command, engine) for command in commands if engine or "{" not in command)
                for system, commands in msgspec.structs.asdict(self).items()
            }
        )

    def on(self, system: str) -> tuple[str, ...]:
        """Return the commands for a system. WSL 1 and 2 use the same ones."""
        own: tuple[str, ...] = getattr(self, "wsl" if system.startswith("wsl") else system, ())
        return own or self.any


class Remedy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Engine-specific overrides of a row's text. A field that is None keeps the row's text."""

    title: _Sentence | None = None
    meaning: _Sentence | None = None
    fix: _Sentence | None = None
    link: str | None = None
    commands: Commands | None = None


class Signal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of the table: patterns of log lines, their meaning and the fix.

    The {placeholders} in its texts are fields of `which_engine.Words`.
    """

    id: Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9_]{1,40}$")]
    seen: _Text  # example of a matching text, for readers of the table
    severity: Severity
    # Rank of the row. Of all rows whose cause the log names, the one with the lowest rank is the cause.
    rank: Annotated[int, msgspec.Meta(ge=0, le=1_000)]
    title: _Sentence
    meaning: _Sentence
    fix: _Sentence
    versions: _Text
    link: Annotated[str, msgspec.Meta(pattern=r"^https://\S{5,200}$")]
    patterns: tuple[str, ...] = ()  # expressions for lines that name the cause
    # Expressions for lines that don't name a cause. A row found only by these comes after all causes.
    symptoms: tuple[str, ...] = ()
    together: tuple[str, ...] = ()  # expressions that must all match, on any lines; used instead of `patterns`
    unless: tuple[str, ...] = ()  # expressions that make the row harmless if they match anywhere in the log
    # Rows of symptoms that this row explains. If the log contains one, this row is a fault.
    explains: tuple[str, ...] = ()
    gpu: GpuUse | None = None  # what the lines show about the use of the GPU; None if nothing
    commands: Commands = Commands()
    by_engine: dict[str, Remedy] = {}  # overrides by engine name

    @property
    def expressions(self) -> tuple[str, ...]:
        return (*self.patterns, *self.symptoms, *self.together, *self.unless)

    def of(self, engine: str | None) -> "Signal":
        """Return the row with its texts for an engine. `engine` is None if it is unknown."""
        own = self.by_engine.get(engine or "", Remedy())
        return msgspec.structs.replace(
            self,
            title=_sentence(own.title or self.title, engine),
            meaning=_sentence(own.meaning or self.meaning, engine),
            fix=_sentence(own.fix or self.fix, engine),
            link=own.link or self.link,
            commands=(own.commands or self.commands).filled(engine),
            by_engine={},
        )


def _filled(text: str, engine: str | None) -> str:
    for name, word in asdict(WORDS[engine]).items() if engine in WORDS else ():
        text = text.replace(f"{{{name}}}", word)
    return text


def _sentence(text: str, engine: str | None) -> str:
    return _filled(text, engine).replace("{engine}", "the framework")


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    signal: tuple[Signal, ...]


def read_table(text: str) -> tuple[Signal, ...]:
    """Parse a table. Raises ValueError with the id of an invalid row."""
    rows = typed.convert(tomllib.loads(text), _Table).signal
    ids, seen = {row.id for row in rows}, set[str]()
    for row in rows:
        if row.id in seen or bool(row.patterns or row.symptoms) == bool(row.together):
            raise ValueError(f"{row.id}: it is there twice, or it has not exactly one of patterns and together")
        if unknown := set(row.explains) - ids:
            raise ValueError(f"{row.id}: explains names {sorted(unknown)}, which the table has not")
        if unknown := row.by_engine.keys() - ENGINES.keys():
            raise ValueError(f"{row.id}: by_engine names {sorted(unknown)}, which Epochmark has not")
        seen.add(row.id)
        for expression in row.expressions:
            try:
                re.compile(expression)
            except re.error as error:
                raise ValueError(f"{row.id}: {expression!r} is no regular expression ({error})") from error
    return rows


@cache
def signals() -> tuple[Signal, ...]:
    """Return the rows of the included table, in order."""
    return read_table(TABLE.read_text(encoding="utf-8"))


@cache
def signal(signal_id: str, engine: str = DEFAULT_ENGINE) -> Signal:
    """Return the row with this id, with its texts for an engine. The id must exist."""
    return next(row for row in signals() if row.id == signal_id).of(engine)
