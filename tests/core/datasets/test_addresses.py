"""Addresses: what a sentence shows of one never holds a secret."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.datasets.addresses import shown, split_login


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("https://host.example/a/b.tgz", "https://host.example/a/b.tgz"),
        ("http://127.0.0.1:8000/x", "http://127.0.0.1:8000/x"),
        ("http://[::1]:80/x", "http://[::1]:80/x"),
        ("http://user:secret@host/x", "http://host/x"),
        ("http://secret@host", "http://host"),
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
