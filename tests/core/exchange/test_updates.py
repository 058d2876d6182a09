"""A newer version is found by what a server says, and by nothing that isn't a release."""

import json
from collections.abc import Iterator

import pytest

from app.core.errors import AppError
from app.core.exchange import updates
from app.core.exchange.updates import Release, newer_release
from tests.core.datasets.server import Server, serving
from tests.saying import said


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


def project(server: Server, **feed: object) -> str:
    server.content = json.dumps(feed).encode()
    return server.url.rpartition("/")[0]  # its server has one file, whatever the path


@pytest.mark.parametrize(
    ("released", "own", "is_newer"),
    [
        ("0.3.0", "0.2.0", True),
        ("0.10.0", "0.9.1", True),
        ("0.2.0", "0.2.0", False),
        ("0.2.0", "0.3.0.dev1", False),
    ],
)
def test_only_a_newer_version_counts(server: Server, released: str, own: str, is_newer: bool) -> None:
    address = project(
        server, version=released, notes=["Power\nlimits"], page="https://example.org/of-a-later-version"
    )
    expected = Release(released, ("Power limits",)) if is_newer else None
    assert newer_release(address, own) == expected
    assert server.asked == [updates.FEED.rpartition("/")[2]]


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"<html>", b'{"version": "1.0"}', b'{"version": "1.0.0\\n"}', b"x" * 200_001),
        *(b"[" * 90_000, b'{"notes": ' * 19_000, b'{"version": "\xff"}', b"\xff\xfe{", b"null", b"[]"),
    ],
    ids=lambda content: repr(content[:20]),
)
def test_what_is_no_release_is_refused_in_a_sentence(server: Server, content: bytes) -> None:
    server.content = content
    with pytest.raises(AppError, match=said("updates.unreadable").pattern):
        newer_release(server.url.rpartition("/")[0])
