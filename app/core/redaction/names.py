"""Finds strings that identify this computer or a user and therefore must not appear in shared texts."""

import contextlib
import os
import platform
import re
from collections.abc import Iterable
from pathlib import Path

_LENGTH_AT_LEAST = 3
_NAME_VARIABLES = ("LOGNAME", "USER", "USERNAME")
_HOST_VARIABLES = ("HOSTNAME", "COMPUTERNAME")
# Generic names and words that occur in sentences: a host named "cpu" would garble every message. They are hidden
# only where they can't be anything but a name (name@host, paths).
_WORDS = """
about access account adam admin administrator after all amd and android any apple apps arch are arm art backup
batch bench benchmark bin bob book box build builder bus but cache can card cent centos chance char clang class
client cloud code code-server compute computer conda config container core cpu cuda cudnn data database debian
default demo desktop dev developer device disk docker driver drive early else end engine epoch epochmark error
event fail failed fan fedora file files fix folder for found frank free full gcc get gpu graphics grace green
guest hard has have home host hope info intel international job joy jupyter keras kernel kvm lab laptop
lib library limit line linux local localhost localdomain lock log long lost mac machine main mark may macbook
max mem memory mini model name network new node none normal not null nvidia off office old one onednn open
operator out owner path pat pip play port power process processor program python queue ram ray read real result
rob root rose run runner sales scratch script sea self server service session set shell shared slow smith space
stack start state station step stop storage studio sudo sue sum swap system table task temp tensorflow test
tester testing the thread time timeout tmp too tool torch total train training two type ubuntu unix usb use
user username users usr value var version video video0 virtual vm vms warning was web will windows with work
worker workstation write wsl xla you young zero
"""
_ORDINARY = frozenset(_WORDS.split())
_NAME = r"[^\s/\\:*?\"'`<>|,;()\[\]{}]+"
# A user name on Windows is matched including spaces if a separator follows, because the path then continues.
_WINDOWS_NAME = rf"(?:[^/\\:*?\"'`<>|,;\n]+(?=[\\/])|{_NAME})"


class Pattern(str):
    """A regular expression for text to hide, used instead of a literal string."""

    __slots__ = ()


def private_names() -> dict[str, str]:
    """Return patterns for names of this computer, its user and all home folders, with their replacements.

    A name is hidden wherever it occurs as a whole word, ignoring case. A host name is hidden together with its
    domain. Ordinary words, and names with fewer than three letters, are hidden only before or after "@".
    """
    users, hosts = set(_users()), set(_hosts())
    names: dict[str, str] = {}
    for host in sorted(hosts, key=len, reverse=True):
        domain = r"(?:\.[\w-]+)*"
        before = r"(?<![\w.-])" if _is_telling(host) else "(?<=@)"
        names[Pattern(rf"(?i:{before}{re.escape(host)}{domain}(?![\w-]))")] = "<host>"
    for user in sorted(users - hosts, key=len, reverse=True):
        after = r"(?!\w)" if _is_telling(user) else r"(?=@)"
        names[Pattern(rf"(?i:(?<!\w){re.escape(user)}{after})")] = "<user>"
    return homes() | names


def homes() -> dict[str, str]:
    """Return patterns that hide the user name in paths of home folders."""
    return {
        Pattern(rf"(?<=/home/){_NAME}"): "user",
        Pattern(rf"(?<!:/Users/)(?<=/Users/){_NAME}"): "user",
        Pattern(rf"(?<=/media/){_NAME}(?=/)"): "user",
        # In a repr, separators are doubled.
        Pattern(rf"(?i:(?<=[:\w]\\users\\)(?!\\){_WINDOWS_NAME})"): "user",
        Pattern(rf"(?i:(?<=\\\\users\\\\){_WINDOWS_NAME})"): "user",
        Pattern(rf"(?i:(?<=:/users/){_WINDOWS_NAME})"): "user",
    }


def _is_telling(name: str) -> bool:
    return len(name) >= _LENGTH_AT_LEAST and name.lower() not in _ORDINARY and not name.isdigit()


def _hosts() -> Iterable[str]:
    for name in (platform.node(), *(os.environ.get(variable, "") for variable in _HOST_VARIABLES)):
        yield from (part for part in (name, name.split(".")[0]) if part)


def _users() -> Iterable[str]:
    yield from filter(None, (os.environ.get(variable) for variable in _NAME_VARIABLES))
    with contextlib.suppress(RuntimeError):  # no passwd entry and no HOME
        yield from filter(None, (Path.home().name,))
    yield from account_names()


def account_names() -> Iterable[str]:
    """Yield this user's login name and full name according to the system; nothing on Windows."""
    with contextlib.suppress(
        ImportError, AttributeError, KeyError, OSError
    ):  # Windows, and users without a passwd entry
        import pwd

        entry = pwd.getpwuid(os.getuid())
        yield entry.pw_name
        full_name = entry.pw_gecos.split(",")[0].strip()
        if " " in full_name:
            yield full_name
