"""A number for this computer that is the same after each start and tells nothing else about it."""

import hashlib
import hmac
import re
import sys
from pathlib import Path

from app.core.hardware import registry
from app.core.hardware.reading import output_of, read_word

# Public, and only ours: other programs' numbers for the same computer are others, as machine-id(5) asks for.
_SALT = b"epochmark machine 1"
_DIGITS = 16


def read_machine_id(root: Path = Path("/")) -> str | None:
    """Return the number of this computer; None where its system has none."""
    return machine_id(_secret(root))


def machine_id(secret: str) -> str | None:
    """Return a keyed hash (HMAC-SHA256, 64 bits of it) of what a system keeps to itself.

    That is 122 random bits or more: nobody can find it by trying, and so nobody can turn the hash back.
    """
    digits = re.sub(r"[^0-9a-f]", "", secret.lower())
    if len(digits) < 32 or len(set(digits)) < 4:  # "uninitialized", or zeros of a system that has none
        return None
    return hmac.new(_SALT, digits.encode("ascii"), hashlib.sha256).hexdigest()[:_DIGITS]


def _secret(root: Path) -> str:
    if sys.platform == "win32":
        return registry.read_text(r"SOFTWARE\Microsoft\Cryptography", "MachineGuid")
    if sys.platform == "darwin":
        answer = output_of(["ioreg", "-rd1", "-c", "IOPlatformExpertDevice"]).decode("utf-8", errors="replace")
        match = re.search(r'"IOPlatformUUID" = "([^"]+)"', answer)
        return match[1] if match else ""
    paths = (root / "etc/machine-id", root / "var/lib/dbus/machine-id")
    return next((text for path in paths if (text := read_word(path))), "")
