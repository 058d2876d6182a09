"""Why a run can't go on, with a code."""

from workloads.protocol.events import ErrorCode
from workloads.protocol.messages import Message


class WorkloadError(Exception):
    """A run can't go on; the worker turns this into the `error` event.

    Args:
        code: Kind of reason.
        message: For the user.
    """

    def __init__(self, code: ErrorCode, message: Message) -> None:
        super().__init__(f"{message.code} {message.arguments}")
        self.code = code
        self.message = message
