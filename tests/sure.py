"""A value that may be missing or of another kind, in tests that need it."""

from typing import TypeVar

Value = TypeVar("Value")


def sure(value: Value | None) -> Value:
    assert value is not None
    return value


def only(kind: type[Value], value: object) -> Value:
    assert isinstance(value, kind)
    return value
