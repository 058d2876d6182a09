"""Messages about data that can't be used, by their codes and arguments."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from workloads.datasets.source import MessageError
from workloads.protocol.messages import Message


@contextmanager
def refusing(kind: type[MessageError], pattern: str) -> Iterator[pytest.ExceptionInfo[MessageError]]:
    """Expect an error whose message matches: "archive.reviews found=3 place=train", inner messages included."""
    with pytest.raises(kind) as caught:
        yield caught
    assert re.search(pattern, flat(caught.value.message)), flat(caught.value.message)


def flat(said: Message) -> str:
    parts = (
        f"{name}={flat(value) if isinstance(value, Message) else value}" for name, value in said.arguments.items()
    )
    return " ".join((said.code, *parts))
