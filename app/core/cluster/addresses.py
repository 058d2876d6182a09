"""Parses addresses as written by users, and files that list hosts."""

import errno
from pathlib import Path

from app.core.cluster.wire import RANKS
from app.core.errors import UsageError
from app.core.messages import message

DEFAULT_PORT = 29_711
_HOSTS_LIMIT_BYTES = 100_000
_LENGTH = 255
_IN_USE = (errno.EADDRINUSE, 10048)  # Windows' WSAEADDRINUSE


def read_address(text: str) -> tuple[str, int | None]:
    """Split "HOST", "HOST:PORT" or "[IPV6]:PORT". The port is None if it is missing. Raises UsageError."""
    host, colon, port = text.rpartition(":")
    if not colon or (text.count(":") > 1 and not host.endswith("]")):
        host, port = text, ""
    host = host.removeprefix("[").removesuffix("]")
    is_port = port.isascii() and port.isdecimal() and len(port) <= 5 and 0 < int(port) < 2**16
    is_host = 0 < len(host) <= _LENGTH and host.isascii() and host.isprintable() and " " not in host
    if not is_host or (colon and port and not is_port) or text.endswith(":"):
        raise UsageError(message("cluster.unreadable_address", address=repr(text[:60])))
    return host, int(port) if port else None


def address_text(host: str, port: int) -> str:
    """Return an address in the form that `read_address` reads."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def read_hosts(path: Path) -> list[tuple[str, int | None]]:
    """Return the addresses in a file that lists hosts, one per line. The first one is this computer's.

    Empty lines and text after "#" are ignored. Raises UsageError if the file can't be used.
    """
    try:
        with path.open("rb") as file:
            content = file.read(_HOSTS_LIMIT_BYTES + 1)
        lines = content.decode("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(message("cluster.hosts_unreadable", path=str(path), reason=reason)) from error
    hosts = [read_address(host) for line in lines if (host := line.partition("#")[0].strip())]
    if not 2 <= len(hosts) <= RANKS or len(content) > _HOSTS_LIMIT_BYTES:
        raise UsageError(message("cluster.hosts_count", path=str(path), most=RANKS, given=len(hosts)))
    return hosts


def is_port_taken(error: Exception) -> bool:
    """Return whether a port can't be used because another program uses it."""
    return isinstance(error, OSError) and error.errno in _IN_USE
