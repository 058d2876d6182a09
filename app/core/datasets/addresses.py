"""Splits web addresses into the parts that may be shown and those that may be secret."""

import re
from dataclasses import dataclass
from urllib.parse import unquote

from app.core.plain_text import one_line

_LIMIT = 200


@dataclass(frozen=True, slots=True)
class Address:
    """A web address and the login that was removed from it."""

    url: str  # the address to request
    login: str | None  # "user:password"; None if there is none


def split_login(url: str) -> Address:
    """Remove the user and password from an address, so that they don't appear in requests or logs."""
    scheme, mark, rest = url.partition("://")
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    user, at, host = authority.rpartition("@")
    if not mark or not at:
        return Address(url, None)
    return Address(f"{scheme}://{host}{rest[len(authority) :]}", unquote(user))


def shown(url: str) -> str:
    """Return an address for display, without the user, password or query, because these may be secret."""
    scheme, mark, rest = url.partition("://")
    if not mark:
        scheme, rest = "", url
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    tail = rest[len(authority) :]
    _, at, host = authority.rpartition("@")
    path = re.split(r"[?#]", tail, maxsplit=1)[0]
    if "@" in tail and (at or ":" in authority):
        host, path = "…", ""  # may be a password with a slash, which looks like a path
    return one_line(f"{scheme}{mark}{host}{path}", _LIMIT)
