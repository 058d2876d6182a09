"""Reads the Windows registry. On other systems, all keys are missing."""

import sys
from typing import Any


def read_value(key: str, name: str) -> Any:
    """Read a value under HKEY_LOCAL_MACHINE as int, str, bytes or list; None if it is missing."""
    if sys.platform != "win32":
        return None
    import winreg

    try:
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, key) as opened:
            return winreg.QueryValueEx(opened, name)[0]
    except OSError:
        return None


def read_text(key: str, name: str) -> str:
    value = read_value(key, name)
    return "" if value is None else str(value)


def list_subkeys(key: str) -> tuple[str, ...]:
    """Return the names of a key's direct subkeys; empty if the key is missing."""
    if sys.platform != "win32":
        return ()
    import winreg

    try:
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, key) as opened:
            return tuple(winreg.EnumKey(opened, index) for index in range(winreg.QueryInfoKey(opened)[0]))
    except OSError:
        return ()
