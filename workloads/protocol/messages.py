"""What happened, as a code with its arguments: it becomes a sentence where it is shown."""

from typing import Annotated, Any

import msgspec

Code = Annotated[str, msgspec.Meta(max_length=100, pattern=r"^[a-z0-9_]+(\.[a-z0-9_]+)*\Z")]


class Message(msgspec.Struct, frozen=True):
    """One thing to say.

    Attributes:
        code: Names its sentence in the catalogue, see app.core.messages: "run.batch_too_large".
        arguments: Plain values that the sentence needs, each with its unit in its name: numbers, texts, booleans,
            lists of them, or further messages.
    """

    code: Code
    arguments: dict[str, Any] = {}


def message(code: str, /, **arguments: Any) -> Message:
    """Return the message of this code; what is None counts as not said."""
    return Message(code, {name: value for name, value in arguments.items() if value is not None})
