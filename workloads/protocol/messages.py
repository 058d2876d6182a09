"""Texts of events and errors, each as a code with arguments. For display, they are converted to sentences."""

from collections.abc import Callable
from typing import Annotated, Any

import msgspec

Code = Annotated[str, msgspec.Meta(max_length=100, pattern=r"^[a-z0-9_]+(\.[a-z0-9_]+)*\Z")]


class Message(msgspec.Struct, frozen=True):
    """A message."""

    code: Code  # key of the sentence in the catalogue (see app.core.messages), such as "workload.batch_too_large"
    # Values with units in their names: numbers, strings, booleans, other messages, or lists of these.
    arguments: dict[str, Any] = {}


def message(code: str, /, **arguments: Any) -> Message:
    """Return a message. Arguments that are None are rendered as empty text."""
    return Message(code, arguments)


def with_texts(said: Message, change: Callable[[str], str]) -> Message:
    """Return a message with all texts in its arguments changed."""

    def changed(value: Any) -> Any:
        if isinstance(value, str):
            return change(value)
        if isinstance(value, Message):
            return with_texts(value, change)
        if isinstance(value, dict):
            return {name: changed(each) for name, each in value.items()}
        return [changed(each) for each in value] if isinstance(value, list | tuple) else value

    return Message(said.code, changed(said.arguments))


def quoted(text: str) -> str:
    """Quote text and escape invisible characters. Backslashes are kept as they are."""
    return repr(text).replace("\\\\", "\\")
