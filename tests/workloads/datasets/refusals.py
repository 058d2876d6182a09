"""Messages about data that cannot be used."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from app.core.messages import text
from workloads.datasets.source import SaidError


@contextmanager
def refusing(kind: type[SaidError], words: str) -> Iterator[pytest.ExceptionInfo[SaidError]]:
    """Expect an error whose clause has these words, a regular expression."""
    with pytest.raises(kind) as caught:
        yield caught
    assert re.search(words, text(caught.value.said)), text(caught.value.said)
