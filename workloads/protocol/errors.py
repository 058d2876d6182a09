"""Errors that end a run, each with a code."""

import re
from typing import Any

from workloads.protocol.events import ErrorCode
from workloads.protocol.messages import Message, message

# Texts of Python, Linux and libraries. Python has no exception of its own for this.
_REFUSED = re.compile(
    r"start new thread|Resource temporarily unavailable|pthread_create|(?i:thread creation failed)"
)


def is_refused_thread(text: str) -> bool:
    """Return whether an error's text says that the system refused a thread or a process."""
    return _REFUSED.search(text) is not None


class WorkloadError(Exception):
    """A run can't continue. The worker reports this as an `error` event."""

    def __init__(self, code: ErrorCode, message: Message) -> None:
        super().__init__(f"{message.code} {message.arguments}")
        self.code = code
        self.message = message


def bad_parameters(code: str, **arguments: Any) -> WorkloadError:
    """Return the error for a spec that can't be run, with the message for the user."""
    return WorkloadError("bad_parameters", message(code, **arguments))
