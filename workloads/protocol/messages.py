"""What happened, as a code with arguments; it becomes a sentence when it is shown."""

from typing import Annotated, Any

import msgspec

Code = Annotated[str, msgspec.Meta(max_length=100, pattern=r"^[a-z0-9_]+(\.[a-z0-9_]+)*\Z")]


class Message(msgspec.Struct, frozen=True):
    """A message.

    Attributes:
        code: Its sentence's name in the catalogue, see app.core.messages: "run.batch_too_large".
        arguments: Plain values for the sentence, each with its unit in its name: numbers, texts, booleans, lists
            of them, or further messages.
    """

    code: Code
    arguments: dict[str, Any] = {}


def message(code: str, /, **arguments: Any) -> Message:
    """Return the message with this code; an argument that is None is empty in its sentence."""
    return Message(code, arguments)


def quoted(text: str) -> str:
    """Return a text in quotes, with codes for what can't be seen; backslashes stay as they were typed."""
    return repr(text).replace("\\\\", "\\")
