"""Events with the app's own messages, added to the events of a run."""

import msgspec

from app.core.errors import AppError
from app.core.messages import Message, message, text
from workloads.protocol import events

SENTENCE_LIMIT = 20_000  # limit for the message of an event


def warn(code: str, said: Message) -> events.Warn:
    return events.Warn(code=code, said=said, message=_sentence(said))


def failure(code: events.ErrorCode, said: Message) -> events.Error:
    return events.Error(code=code, said=said, message=_sentence(said))


def problem(error: AppError) -> Message:
    """Return the message of an error, combined with its advice."""
    if error.advice is None:
        return (
            error.message if isinstance(error.message, Message) else message("run.problem", problem=error.message)
        )
    return message("run.problem_with_advice", problem=error.message, advice=error.advice)


def readable(event: events.AnyEvent) -> events.AnyEvent:
    """Return an event with the English sentence added if it has only a message."""
    if isinstance(event, events.Warn | events.Error) and event.said is not None and not event.message:
        return msgspec.structs.replace(event, message=_sentence(event.said))
    return event


def _sentence(said: Message) -> str:
    return text(said)[:SENTENCE_LIMIT]
