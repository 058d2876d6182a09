"""Errors that end a run, each with a code."""

from workloads.protocol.events import ErrorCode
from workloads.protocol.messages import Message


class WorkloadError(Exception):
    """A run can't continue. The worker reports this as an `error` event.

    Args:
        code: Kind of error.
        message: Message for the user.
    """

    def __init__(self, code: ErrorCode, message: Message) -> None:
        super().__init__(f"{message.code} {message.arguments}")
        self.code = code
        self.message = message
