"""A value that may be missing, in tests that need it."""

from typing import TypeVar

Value = TypeVar("Value")


def sure(value: Value | None) -> Value:
    """Return a value, which has to be there."""
    assert value is not None
    return value
