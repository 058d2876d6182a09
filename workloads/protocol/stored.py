"""Decodes records from files that another version may have written. Valid parts are used; the rest is unset."""

import dataclasses
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import Any, TypeVar, get_args, get_type_hints

import msgspec

from workloads.protocol import typed

Record = TypeVar("Record")


def decode_leniently(plain: object, kind: type[Record], **otherwise: Any) -> Record:
    """Build a record from a dictionary's valid values. Other fields are set from `otherwise` or to defaults.

    The same applies to records in lists.

    Raises:
        TypeError: `plain` isn't a dictionary, or a required value is invalid.
    """
    try:
        return typed.convert(plain, kind)
    except msgspec.ValidationError:
        pass
    if not isinstance(plain, Mapping):
        raise TypeError(f"{type(plain).__name__} in place of a {kind.__name__}")
    values = dict(otherwise)
    hints: dict[str, Any] = _hints(kind)  # type: ignore[arg-type] # classes are hashable
    for name, hint in hints.items():
        if name in plain and (value := _fitting(plain[name], hint)) is not _NOTHING:
            values[name] = value
    return kind(**values)


def unknown_fields(plain: Mapping[str, Any], kind: type[Any]) -> list[str]:
    """Return the names of the record fields that are invalid in a dictionary."""
    return [
        name
        for name, hint in _hints(kind).items()  # type: ignore[arg-type] # classes are hashable
        if name in plain and _fitting(plain[name], hint) is _NOTHING
    ]


_NOTHING = object()


def _fitting(value: object, hint: Any) -> object:
    try:
        return typed.convert(value, hint)
    except msgspec.ValidationError:
        pass
    inner: Any = next((part for part in get_args(hint) if _is_record(part)), None)
    if inner is None or not isinstance(value, list | tuple):
        return _NOTHING
    fitting = []
    for part in value:
        with suppress(TypeError):
            fitting.append(decode_leniently(part, inner))
    return tuple(fitting)


def _is_record(kind: Any) -> bool:
    return dataclasses.is_dataclass(kind) or (isinstance(kind, type) and issubclass(kind, msgspec.Struct))


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)
