"""Addresses and files of hosts, as users write them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.cluster.addresses import address_text, read_address, read_hosts
from app.core.errors import UsageError
from app.core.messages import Message


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("node1", "node1", None),
        ("10.0.0.1:29711", "10.0.0.1", 29_711),
        ("[fe80::1]:80", "fe80::1", 80),
        ("fe80::1", "fe80::1", None),
        ("[::1]", "::1", None),
    ],
)
def test_addresses_are_read(text: str, host: str, port: int | None) -> None:
    assert read_address(text) == (host, port)
    if port is not None:
        assert address_text(host, port) == text


@pytest.mark.parametrize(
    "text", ["", ":80", "host:", "host:0", "host:65536", "host:x", "a b", "host:" + "9" * 5_000]
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        read_address(text)


@given(st.text(max_size=60))
def test_any_text_is_an_address_or_refused(text: str) -> None:
    try:
        host, port = read_address(text)
    except UsageError:
        return
    assert host
    assert port is None or 0 < port < 2**16


def test_a_file_of_hosts_may_have_comments(tmp_path: Path) -> None:
    path = tmp_path / "hosts"
    path.write_text("# ours\nnode1:80   # this one\n\nnode2\n", encoding="utf-8-sig")
    assert read_hosts(path) == [("node1", 80), ("node2", None)]


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"node1\n", "cluster.hosts_count"),
        (b"", "cluster.hosts_count"),
        (b"n\n" * 65, "cluster.hosts_count"),
        (b"\xff\xfe", "cluster.hosts_unreadable"),
        (b"a b\nc\n", "cluster.unreadable_address"),
        (None, "cluster.hosts_unreadable"),
    ],
)
def test_a_file_of_something_else_is_refused(content: bytes | None, code: str, tmp_path: Path) -> None:
    path = tmp_path / "hosts"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        read_hosts(path)
    assert isinstance(caught.value.message, Message)
    assert caught.value.message.code == code
