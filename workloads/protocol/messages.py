"""Events and errors as a code with arguments, which becomes a sentence when it is shown."""

from typing import Annotated, Any

import msgspec

Code = Annotated[str, msgspec.Meta(max_length=100, pattern=r"^[a-z0-9_]+(\.[a-z0-9_]+)*\Z")]


class Message(msgspec.Struct, frozen=True):
    """A message.

    Attributes:
        code: Name of its sentence in the catalogue (see app.core.messages), such as "run.batch_too_large".
        arguments: Plain values for the sentence, with units in their names: numbers, strings, booleans, lists of
            these, or other messages.
    """

    code: Code
    arguments: dict[str, Any] = {}


def message(code: str, /, **arguments: Any) -> Message:
    """Return the message with this code. An argument that is None is empty in its sentence."""
    return Message(code, arguments)


def quoted(text: str) -> str:
    """Return text in quotes, with escapes for invisible characters. Backslashes are unchanged."""
    return repr(text).replace("\\\\", "\\")
