"""Downloads from a real server on this computer that answers as well or as badly as a test wants."""

import errno
import os
import socket
import ssl
import struct
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.datasets.addresses import shown, split_login
from app.core.datasets.downloads import DownloadError, RefusedError, WrongFileError, check_file, download
from app.core.errors import AppError, UsageError
from tests.conftest import ROOT
from tests.core.datasets.server import CONTENT, SHA256, Answer, Handler, Server, broken_after, resumable, serving
from tests.saying import Saying, said


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as found:
        yield found


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "file.tar.gz"


def part_of(target: Path) -> Path:
    return target.with_name("file.tar.gz.part")


def fetch(server: Server, target: Path) -> None:
    download(server.url, target, len(CONTENT), SHA256)


def test_a_file_comes_whole_and_its_progress_is_told(server: Server, target: Path) -> None:
    told: list[tuple[int, int]] = []

    def tell(*progress: int) -> None:
        assert not target.exists(), "it appears only when all has come"
        told.append(progress)  # type: ignore[arg-type]

    download(server.url, target, len(CONTENT), SHA256, tell)
    assert target.read_bytes() == CONTENT
    assert list(target.parent.iterdir()) == [target]
    assert told[-1] == (len(CONTENT), len(CONTENT))
    assert told == sorted(set(told))
    assert len(told) > 1


def reset(handler: Handler, start: int) -> None:
    """Close the connection as if it were reset."""
    handler.give(200, CONTENT[:300_000], Content_Length=str(len(CONTENT)))
    linger = struct.pack("hh" if sys.platform == "win32" else "ii", 1, 0)
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    for end in (handler.rfile, handler.wfile, handler.connection):
        end.close()


def giving(status: int, content: bytes = b"no", **headers: str) -> Answer:
    return lambda handler, start: handler.give(status, content, **headers)


INCOMPLETE = "dataset.download_incomplete"
WRONG_PART = giving(206, CONTENT[500_000:], Content_Range="bytes 500000-999999/1000000")


@pytest.mark.parametrize(
    ("part_bytes", "answer", "failure", "second_range"),
    [
        (0, broken_after(300_000), said(INCOMPLETE, done_bytes="300,000"), "bytes=300000-"),
        (0, giving(200, CONTENT[:-1]), said(INCOMPLETE, done_bytes="999,999"), "bytes=999999-"),
        (0, reset, said("dataset.download_interrupted"), ...),
        (300_000, WRONG_PART, said("dataset.server_sent_wrong_part"), None),
        (300_000, giving(416, b""), said("dataset.server_refused", status=416), None),
        *((10, giving(code), said("dataset.server_refused", status=code), "bytes=10-") for code in (403, 503)),
    ],
)
def test_what_fails_never_becomes_the_target_and_goes_on_where_it_can(
    server: Server, target: Path, part_bytes: int, answer: Answer, failure: Saying, second_range: object
) -> None:
    part_of(target).write_bytes(CONTENT[:part_bytes])
    server.answer = answer
    with pytest.raises(DownloadError, match=failure.pattern):
        fetch(server, target)
    assert not target.exists()
    server.answer = resumable
    fetch(server, target)
    assert second_range in (..., server.ranges[1])
    assert target.read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("part", "answer", "ranges"),
    [
        (b"x" * 300_000, lambda handler, _: handler.give(200, CONTENT), ["bytes=300000-"]),  # the range is ignored
        (CONTENT, resumable, []),  # complete: it needs no connection
        (CONTENT + b"more", resumable, [None]),  # too long
    ],
)
def test_what_is_left_of_a_download_is_used_only_as_its_beginning(
    server: Server, target: Path, part: bytes, answer: Answer, ranges: list[str | None]
) -> None:
    part_of(target).write_bytes(part)
    server.answer = answer
    fetch(server, target)
    assert server.ranges == ranges
    assert target.read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (CONTENT + b"more", said("dataset.server_sends_too_much", size_bytes="1,000,000").pattern),
        (CONTENT[::-1], "SHA-256"),
    ],
)
def test_another_file_is_refused_and_removed_and_an_earlier_target_stays(
    server: Server, target: Path, content: bytes, words: str
) -> None:
    server.answer = lambda handler, start: handler.give(200, content)
    with pytest.raises(WrongFileError, match=words):
        fetch(server, target)
    assert list(target.parent.iterdir()) == []
    target.write_bytes(b"old")
    with pytest.raises(WrongFileError):
        fetch(server, target)
    assert target.read_bytes() == b"old"


def test_cancelling_keeps_what_arrived(server: Server, target: Path) -> None:
    def cancel(done_bytes: int, size_bytes: int) -> None:
        if done_bytes > 500_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        download(server.url, target, len(CONTENT), SHA256, cancel)
    kept = part_of(target).read_bytes()
    assert 500_000 < len(kept) < len(CONTENT)
    assert kept == CONTENT[: len(kept)]
    fetch(server, target)
    assert server.ranges == [None, f"bytes={len(kept)}-"]
    assert target.read_bytes() == CONTENT


def test_a_server_that_talks_nonsense_is_one_sentence(target: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def talk() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(10_000)
                connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")

        thread = threading.Thread(target=talk)
        thread.start()
        with pytest.raises(DownloadError, match=said("dataset.download_interrupted").pattern) as failed:
            download(f"http://127.0.0.1:{listener.getsockname()[1]}/file", target, 10, SHA256)
        assert said("dataset.try_again_to_resume").is_in(str(failed.value))
        thread.join()


@pytest.mark.parametrize(
    "url",
    [
        *(
            "file:///etc/passwd?hush",
            "ftp://127.0.0.1/x?hush",
            "x",
            "",
            "hush@x",
            "http://[::1/x",
            "http://a..b/x",
        ),
        *("http://user:hush@[::1/x", "http://user:hush@127.0.0.1:port/x", "http://127.0.0.1:1/ä b?hush\n"),
    ],
)
def test_only_web_addresses_are_asked_and_their_secrets_are_not_told(target: Path, url: str) -> None:
    with pytest.raises(UsageError, match=said("dataset.not_a_web_address").pattern) as refused:
        download(url, target, 10, SHA256)
    assert "hush" not in str(refused.value)
    assert list(target.parent.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="there are no limits of what a process may write")
def test_a_full_disk_is_told_as_one(server: Server, target: Path) -> None:
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, before[1]))
    try:
        with pytest.raises(
            AppError, match=said("dataset.download_not_saved", reason=os.strerror(errno.EFBIG)).pattern
        ) as failed:
            fetch(server, target)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not isinstance(failed.value, DownloadError)
    assert said("dataset.free_space_or_move_home").is_in(failed.value.advice_text or "")
    with pytest.raises(AppError, match=said("dataset.download_not_saved").pattern):
        fetch(server, target.parent / "missing" / "file.tar.gz")


def test_a_file_is_checked_by_size_and_by_content(target: Path) -> None:
    target.write_bytes(CONTENT)
    check_file(target, len(CONTENT), SHA256, "it")
    with pytest.raises(
        WrongFileError, match=said("dataset.wrong_size", expected_bytes="5", found_bytes="1,000,000").pattern
    ):
        check_file(target, 5, SHA256, "it")
    with pytest.raises(WrongFileError, match="SHA-256"):
        check_file(target, len(CONTENT), "0" * 64, "it")
    with pytest.raises(FileNotFoundError):
        check_file(target.with_name("missing"), 5, SHA256, "it")


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right of their own there")
def test_a_part_that_leads_to_a_file_of_the_users_is_not_written_through(server: Server, target: Path) -> None:
    own = target.with_name("own.txt")
    own.write_bytes(b"mine")
    for lead in (part_of(target).symlink_to, part_of(target).hardlink_to, target.symlink_to):
        lead(own)
        with pytest.raises(AppError, match=said("dataset.in_the_way_of_download").pattern):
            fetch(server, target)
        part_of(target).unlink(missing_ok=True)
    assert own.read_bytes() == b"mine"
    assert server.ranges == []


@pytest.mark.parametrize(
    "to", ["ftp://127.0.0.1:1/x?token=hush", "file:///etc/passwd?hush", "data:,hush", "/loop?hush"]
)
def test_only_web_servers_are_followed_to(server: Server, target: Path, to: str) -> None:
    def lead(handler: Handler, start: int) -> None:
        handler.send_response(302)
        handler.send_header("Location", to)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    server.answer = lead
    with pytest.raises(DownloadError, match=f"{server.url} ") as failed:
        fetch(server, target)
    assert "hush" not in str(failed.value)
    assert "\n" not in str(failed.value)
    assert list(target.parent.iterdir()) == []


def test_a_servers_message_is_shortened_to_one_line(server: Server, target: Path) -> None:
    def refuse(handler: Handler, start: int) -> None:
        handler.send_response(403, "\x1b]0;owned\x07\x9b" + "x" * 5_000)
        handler.end_headers()

    server.answer = refuse
    with pytest.raises(DownloadError, match=r"403 .{100}\)\.") as failed:
        fetch(server, target)
    assert str(failed.value).isprintable()


def test_only_a_server_that_the_system_trusts_is_asked(
    server: Server, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tls = ROOT / "tests" / "data" / "tls"  # of nobody
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tls / "certificate.pem", tls / "key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    address = server.url.replace("http:", "https:")
    with pytest.raises(RefusedError, match=said("dataset.server_not_trusted").pattern) as refused:
        download(address, target, len(CONTENT), SHA256)
    assert "('" not in str(refused.value)  # as Python writes an error that isn't from OpenSSL
    assert server.asked == []
    if sys.platform.startswith("linux"):  # elsewhere, only the system's own store counts
        monkeypatch.setenv("SSL_CERT_FILE", str(tls / "certificate.pem"))
        download(address, target, len(CONTENT), SHA256)
        assert target.read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("https://host.example/a/b.tgz", "https://host.example/a/b.tgz"),
        ("http://[::1]:80/x", "http://[::1]:80/x"),
        ("http://user:secret@host/x", "http://host/x"),
        ("http://user:sec@ret@host/x", "http://host/x"),
        ("http://user:sec/ret@host/x", "http://…"),
        ("http://user:12?secret@host/x", "http://…"),
        ("http://host/x?token=secret", "http://host/x"),
        ("http://host/x#secret", "http://host/x"),
        ("http://host/pkg@1.0/x?mail=a@b", "http://host/pkg@1.0/x"),
        ("http://host/?secret=http://a:b@c", "http://host/"),
        ("user:secret@host/x", "host/x"),
        ("http:/user:secret@host/x", "…"),
        ("ftp://user:secret@host/x", "ftp://host/x"),
        ("http://host/\x1b[31m\nx", "http://host/\\x1b[31m x"),
        ("", ""),
    ],
)
def test_only_host_and_path_are_shown(url: str, text: str) -> None:
    assert shown(url) == text


@given(st.text(), st.text("abc:@/?#[]% \n\x00é", max_size=20), st.text())
def test_no_password_is_shown_whatever_is_around_it(before: str, between: str, after: str) -> None:
    assert "s3cr3t" not in shown(f"http://user:{between}s3cr3t@host/{after}")
    assert "s3cr3t" not in shown(f"http://host/?{before}s3cr3t{after}")
    assert len(shown(before + "://" + after * 100)) <= 200


@pytest.mark.parametrize(
    ("url", "asked", "login"),
    [
        ("http://host/x?a=b@c", "http://host/x?a=b@c", None),
        ("http://user:p%40ss@host:80/x?y#z", "http://host:80/x?y#z", "user:p@ss"),
        ("http://user@host", "http://host", "user"),
        ("nonsense@x", "nonsense@x", None),
    ],
)
def test_the_login_is_removed_from_the_request(url: str, asked: str, login: str | None) -> None:
    assert (split_login(url).url, split_login(url).login) == (asked, login)
