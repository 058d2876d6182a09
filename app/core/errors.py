"""Errors with a message for the user. Subclasses exist only for errors that are caught separately."""

from app.core.messages import Message, message, text
from app.core.plain_text import short_words
from workloads.protocol.errors import is_refused_thread

_WORD_LIMIT = 300


class AppError(Exception):
    """An error outside the app's control that the user can understand and act on.

    Args:
        message: What happened and where, in one sentence.
        advice: What to do next, in one sentence; None if there is no advice.
    """

    def __init__(self, message: Message | str, advice: Message | str | None = None) -> None:
        super().__init__(message)
        self.message, self.advice = message, advice

    @property
    def message_text(self) -> str:
        return short_words(self.message if isinstance(self.message, str) else text(self.message), _WORD_LIMIT)

    @property
    def advice_text(self) -> str | None:
        return self.advice if self.advice is None or isinstance(self.advice, str) else text(self.advice)

    def __str__(self) -> str:
        return f"{self.message_text} {self.advice_text}" if self.advice_text else self.message_text


class UsageError(AppError):
    """The request itself is invalid (unknown name, value out of range, unusable environment). Exit code 2."""


def refusal(error: Exception) -> AppError | None:
    """Return the error to show if the system refused a thread or a process; None for any other exception."""
    return AppError(message("worker.threads_refused")) if is_refused_thread(str(error)) else None
