"""Converts messages to sentences for display. No other module does this.

A sentence in the catalogue is a format string with the message's arguments. In addition to Python's formats, it
can use those in FORMATS ("{need_bytes:memory}"). A list is joined by its format ("{names:, }"; by default, a
comma), and a message as an argument is converted to its own sentence. The placeholders in COMMANDS need no
argument; they are replaced by the command that started Epochmark. If a code has two sentences, the first is used
if the `count` argument is 1, otherwise the second. A translation is another catalogue with the same codes.
"""

import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from app.core.formats import (
    format_energy,
    format_file_size,
    format_gpu_memory,
    format_installed_memory,
    format_memory,
    format_rate,
    format_seconds,
    format_within,
)
from app.core.messages.english import ENGLISH
from app.core.messages.started_as import repair_command, start_py, started_as
from workloads.protocol import typed
from workloads.protocol.messages import Message, message

__all__ = ["COMMANDS", "ENGLISH", "FORMATS", "Message", "format_time_left", "message", "needs", "sentence", "text"]


# Longer durations are never known to seconds.
_WHOLE_MINUTES = 10
_WHOLE_HOURS = 48


def format_time_left(duration_s: float | None) -> str:
    """Format an expected duration with reasonable precision, such as "about 4 min 50 s"; "" for None."""
    if duration_s is None:
        return ""
    if duration_s < 60:
        return sentence("time_left.seconds", seconds=max(1, round(duration_s)))
    minutes, seconds = divmod(round(duration_s / 10) * 10, 60)
    hours, minutes = divmod(minutes, 60)
    if hours >= _WHOLE_HOURS:
        return sentence("time_left.whole_hours", hours=hours + (minutes >= 30))
    if hours:
        return sentence("time_left.hours", hours=hours, minutes=minutes)
    if minutes >= _WHOLE_MINUTES:
        return sentence("time_left.whole_minutes", minutes=minutes + (seconds >= 30))
    return sentence("time_left.minutes", minutes=minutes, seconds=seconds)


# Exceptions if a message from a file doesn't match its sentence.
_UNFIT = (KeyError, IndexError, ValueError, TypeError, AttributeError, OverflowError, RecursionError)
FORMATS: dict[str, Callable[[Any], str]] = {
    "file_size": format_file_size,
    "memory": format_memory,
    "installed_memory": format_installed_memory,
    "gpu_memory": format_gpu_memory,
    "energy": format_energy,
    "seconds": format_seconds,
    "rate": format_rate,
    "time_left": format_time_left,
    "within": format_within,
}

COMMANDS: dict[str, Callable[[], str]] = {"epochmark": started_as, "repair": repair_command, "start_py": start_py}


def sentence(code: str, /, **arguments: Any) -> str:
    return text(message(code, **arguments))


def text(said: Message | None) -> str:
    """Return the sentence for a message, or plain text if the message isn't in the catalogue; "" for None.

    Messages may be read from files, so this function never raises an exception or returns an empty string,
    whatever the files contain.
    """
    if said is None:
        return ""
    try:
        return _rendered(said) or said.code
    except RecursionError:
        return said.code
    except _UNFIT:
        arguments = ", ".join(f"{name} {value}" for name, value in said.arguments.items())
        return f"{said.code} ({arguments})" if arguments else said.code


def needs(code: str) -> set[str]:
    template = ENGLISH[code]
    both = template if isinstance(template, str) else "".join(template)
    return {name for _, name, _, _ in _FORMATTER.parse(both) if name is not None} - COMMANDS.keys()


def _rendered(said: Message) -> str:
    template = _template(said)
    # Fast path: most sentences have no placeholders, and a window that follows a run needs dozens per second.
    if "{" not in template and "}" not in template:
        return template
    return _FORMATTER.vformat(template, (), said.arguments)


def _template(said: Message) -> str:
    template = ENGLISH[said.code]
    if isinstance(template, str):
        return template
    return template[0] if said.arguments.get("count") == 1 else template[1]


class _Formatter(string.Formatter):
    """Formatter for our formats, lists and messages. Never accesses attributes of the untrusted arguments."""

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, str]:
        if not field_name.isidentifier():
            raise KeyError(field_name)
        # Commands take precedence over arguments, which may come from a file.
        return COMMANDS[field_name]() if field_name in COMMANDS else kwargs[field_name], field_name

    def format_field(self, value: Any, format_spec: str) -> Any:
        if isinstance(value, dict) and "code" in value:  # as read from a file
            value = typed.convert(value, Message)
        if isinstance(value, Message):
            return text(value)
        if isinstance(value, dict):
            msg = "a dictionary in place of a message"
            raise TypeError(msg)
        if isinstance(value, list | tuple):
            return (format_spec or ", ").join(self.format_field(each, "") for each in value)
        if value is None or value == "":
            return ""
        if format_spec in FORMATS:
            return FORMATS[format_spec](value)
        return super().format_field(value, format_spec)


_FORMATTER = _Formatter()
