"""Windows' registry, read only. Elsewhere it is empty."""

import sys
from typing import Any


def read_value(key: str, name: str) -> Any:
    """Give a value below the local machine's hive, as int, str, bytes or list; None where there is none."""
    if sys.platform != "win32":
        return None
    import winreg

    try:
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, key) as opened:
            return winreg.QueryValueEx(opened, name)[0]
    except OSError:
        return None


def read_text(key: str, name: str) -> str:
    """Give a value as text; "" where there is none."""
    value = read_value(key, name)
    return "" if value is None else str(value)


def list_subkeys(key: str) -> tuple[str, ...]:
    """List the names of the keys right below this one."""
    if sys.platform != "win32":
        return ()
    import winreg

    try:
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, key) as opened:
            return tuple(winreg.EnumKey(opened, index) for index in range(winreg.QueryInfoKey(opened)[0]))
    except OSError:
        return ()
