"""Errors that carry a message for the user. Subclasses exist only where someone catches them."""

from app.core.messages import Message, text


class AppError(Exception):
    """Something outside our control that the user can understand and act on.

    Args:
        message: What happened, and where, in one sentence.
        advice: What to do next, in one sentence; None if there is nothing to advise.
    """

    def __init__(self, message: Message | str, advice: Message | str | None = None) -> None:
        super().__init__(message)
        self.said, self.advised = message, advice

    @property
    def message(self) -> str:
        """The sentence that says what happened."""
        return self.said if isinstance(self.said, str) else text(self.said)

    @property
    def advice(self) -> str | None:
        """The sentence that says what to do; None for no advice."""
        return self.advised if self.advised is None or isinstance(self.advised, str) else text(self.advised)

    def __str__(self) -> str:
        return f"{self.message} {self.advice}" if self.advice else self.message


class UsageError(AppError):
    """The request itself is invalid (unknown name, value out of range, unusable environment): exit code 2."""
