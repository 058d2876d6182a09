"""Strings that identify this computer or a user and must not appear in shared messages."""

import contextlib
import os
import platform
import re
from collections.abc import Iterable
from pathlib import Path

_LENGTH_AT_LEAST = 3
_NAME_VARIABLES = ("LOGNAME", "USER", "USERNAME")
_HOST_VARIABLES = ("HOSTNAME", "COMPUTERNAME")
# Generic names, and words that sentences need: a host named "cpu" would garble every message. Where they are
# unmistakably names (name@host, paths), they are hidden too.
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
# A Windows user name is matched with its spaces if a separator follows, which shows that the path continues.
_WINDOWS_NAME = rf"(?:[^/\\:*?\"'`<>|,;\n]+(?=[\\/])|{_NAME})"


class Pattern(str):
    """A regular expression used in place of a string to hide."""

    __slots__ = ()


def private_names() -> dict[str, str]:
    """Return the names of this computer, its user and all home folders, with their replacements.

    A name is hidden wherever it is a whole word, ignoring case; a host name is hidden together with its domain. A
    name of fewer than three letters, or one that is an ordinary word, is hidden only before and after an "@".
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
    """Return patterns that hide user names in paths to any home folder."""
    return {
        Pattern(rf"(?<=/home/){_NAME}"): "user",
        Pattern(rf"(?<!:/Users/)(?<=/Users/){_NAME}"): "user",
        Pattern(rf"(?<=/media/){_NAME}(?=/)"): "user",
        # Separators are doubled in a repr.
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
    with contextlib.suppress(RuntimeError):  # a user without a passwd entry and without HOME
        yield from filter(None, (Path.home().name,))
    yield from account_names()


def account_names() -> Iterable[str]:
    """Yield this user's login and full name from the system; nothing on Windows."""
    with contextlib.suppress(
        ImportError, AttributeError, KeyError, OSError
    ):  # Windows, and users without a passwd entry
        import pwd

        entry = pwd.getpwuid(os.getuid())
        yield entry.pw_name
        full_name = entry.pw_gecos.split(",")[0].strip()
        if " " in full_name:
            yield full_name
