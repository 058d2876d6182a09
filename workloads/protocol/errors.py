"""Why a run cannot go on, with a code that everybody knows."""

from workloads.protocol.events import ErrorCode
from workloads.protocol.messages import Message


class WorkloadError(Exception):
    """A run cannot go on for a reason that has a code; the worker makes the `error` event of it.

    Args:
        code: What kind of reason it is.
        said: What the user is told.
    """

    def __init__(self, code: ErrorCode, said: Message) -> None:
        super().__init__(f"{said.code} {said.arguments}")
        self.code = code
        self.said = said
