"""Texts of events and errors, each as a code with arguments. For display, they are converted to sentences."""

from typing import Annotated, Any

import msgspec

Code = Annotated[str, msgspec.Meta(max_length=100, pattern=r"^[a-z0-9_]+(\.[a-z0-9_]+)*\Z")]


class Message(msgspec.Struct, frozen=True):
    """A message.

    Attributes:
        code: Key of the sentence in the catalogue (see app.core.messages), such as "workload.batch_too_large".
        arguments: Values to insert in the sentence, with units in their names: numbers, strings, booleans, other
            messages, or lists of these.
    """

    code: Code
    arguments: dict[str, Any] = {}


def message(code: str, /, **arguments: Any) -> Message:
    """Return a message. Arguments that are None are rendered as empty text."""
    return Message(code, arguments)


def quoted(text: str) -> str:
    """Quote text and escape invisible characters. Backslashes are kept as they are."""
    return repr(text).replace("\\\\", "\\")
