"""The machine ID: a number that stays the same across restarts and reveals nothing else."""

import hashlib
import hmac
import re
import sys
from pathlib import Path

from app.core.hardware import registry
from app.core.hardware.reading import output_of, read_word

# Public, and specific to Epochmark: other programs derive other numbers, as machine-id(5) recommends.
_SALT = b"epochmark machine 1"
_DIGITS = 16


def read_machine_id(root: Path = Path("/")) -> str | None:
    """Return this computer's machine ID; None if its system has none."""
    return machine_id(_secret(root))


def machine_id(secret: str) -> str | None:
    """Return a keyed hash (64 bits of HMAC-SHA256) of the system's private ID.

    The input has at least 122 random bits, so that the hash cannot be reversed by guessing.
    """
    digits = re.sub(r"[^0-9a-f]", "", secret.lower())
    if len(digits) < 32 or len(set(digits)) < 4:  # "uninitialized", or zeros
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
