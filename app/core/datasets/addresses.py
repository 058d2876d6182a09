"""Addresses on the web: what of one may be shown, and what is asked of a server."""

import re
from dataclasses import dataclass
from urllib.parse import unquote

from app.core.plain_text import one_line

_LIMIT = 200


@dataclass(frozen=True, slots=True)
class Address:
    """An address without its user, and the user.

    Attributes:
        url: To be asked for.
        login: "user:password"; None where there is none.
    """

    url: str
    login: str | None


def split_login(url: str) -> Address:
    """Take user and password out of an address, where no server and no log shall see them."""
    scheme, mark, rest = url.partition("://")
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    user, at, host = authority.rpartition("@")
    if not mark or not at:
        return Address(url, None)
    return Address(f"{scheme}://{host}{rest[len(authority) :]}", unquote(user))


def shown(url: str) -> str:
    """Return an address for a sentence: without user, password and query, any of which may be a secret."""
    scheme, mark, rest = url.partition("://")
    if not mark:
        scheme, rest = "", url
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    tail = rest[len(authority) :]
    _, at, host = authority.rpartition("@")
    path = re.split(r"[?#]", tail, maxsplit=1)[0]
    if "@" in tail and (at or ":" in authority):
        host, path = "…", ""  # perhaps a password with a slash in it, which nobody can tell from a path
    return one_line(f"{scheme}{mark}{host}{path}", _LIMIT)
