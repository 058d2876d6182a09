"""Names of computers and users, taken out of messages that leave the computer."""

import platform
from collections.abc import Callable
from pathlib import Path

import pytest

from app.core.redaction.names import private_names
from app.core.redaction.private_texts import hide, private_texts
from app.core.redaction.scrubbing import scrub

SENTENCE = (
    "The worker on the cpu said: test failed on localhost; it will run on vm 2 at /job:localhost/device:CPU:0."
)
Named = Callable[[str, str], None]


@pytest.fixture
def named(monkeypatch: pytest.MonkeyPatch) -> Named:
    def name_them(host: str, user: str) -> None:
        monkeypatch.setattr(platform, "node", lambda: host)
        for name in ("HOSTNAME", "COMPUTERNAME", "LOGNAME", "USERNAME"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("USER", user)
        monkeypatch.setattr(Path, "home", lambda: Path("/home") / user)
        monkeypatch.setattr("app.core.redaction.names.account_names", list)

    return name_them


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("connect to anna-pc:22 failed", "connect to <host>:22 failed"),
        ("ANNA-PC, anna-pc.lan.example.org. Done", "<host>, <host>. Done"),
        ("user annika@anna-pc and Annika", "user <user>@<host> and <user>"),
        ("File '/home/annika/x.py'", "File '~/x.py'"),
        ("File '/home/bert/x.py' of '/home/bert'", "File '/home/user/x.py' of '/home/user'"),
        ("/Users/bert/nets and /media/bert/disk/x", "/Users/user/nets and /media/user/disk/x"),
        (r"C:\Users\Bert Meier\x.py, C:\Users\bert", r"C:\Users\user\x.py, C:\Users\user"),
        (repr(r"C:\Users\Bert\x.py"), repr(r"C:\Users\user\x.py")),
        ("d:/users/Bert Meier/x", "d:/users/user/x"),
        ("PosixPath('/home/bert')", "PosixPath('/home/user')"),
        ("annikas anna-pc2 xanna-pc", "annikas anna-pc2 xanna-pc"),
        ("in /tmp/annika/x", "in /tmp/user/x"),
    ],
)
def test_names_are_hidden_as_whole_words(named: Named, text: str, hidden: str) -> None:
    named("anna-pc", "annika")
    assert hide(text, private_texts()) == hidden


@pytest.mark.parametrize("host", ["cpu", "test", "localhost", "vm", "x", "worker", "2", ""])
@pytest.mark.parametrize("user", ["will", "root", "a", "run"])
def test_ordinary_words_stay_in_sentences_and_go_where_they_are_names(named: Named, host: str, user: str) -> None:
    named(host, user)
    assert hide(SENTENCE, private_texts()) == SENTENCE
    if host:
        assert hide(f"{user}@{host}.example.org failed", private_texts()) == "<user>@<host> failed"
    assert user not in (hide(f"in /home/{user}/x.txt", private_texts()) or "").replace("user", "")


def test_a_full_name_is_hidden(monkeypatch: pytest.MonkeyPatch, named: Named) -> None:
    named("anna-pc", "annika")
    monkeypatch.setattr("app.core.redaction.names.account_names", lambda: ["annika", "Annika Müller"])
    assert hide("owner: Annika Müller", private_names()) == "owner: <user>"


def test_the_doctors_texts_hide_them_too(named: Named) -> None:
    named("anna-pc.example.org", "annika")
    assert scrub("anna-pc said that annika, who is /home/bert/x") == "<host> said that <user>, who is <path>"
