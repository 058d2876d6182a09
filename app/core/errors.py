"""Errors that carry the sentence shown to the user. Subclasses exist only where someone catches them."""


class AppError(Exception):
    """Something outside our control that the user can understand and act on.

    Args:
        message: One sentence: what happened, and where.
        advice: What to do next, one sentence, or None when there is nothing to advise.
    """

    def __init__(self, message: str, advice: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice

    def __str__(self) -> str:
        return f"{self.message} {self.advice}" if self.advice else self.message


class UsageError(AppError):
    """The request itself is wrong (unknown name, value out of range, unusable environment): exit code 2."""
