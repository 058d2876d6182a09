"""Finds the library that Linux's loader would use, without loading it."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from app.core.hardware.system_files import read_bytes

_MAX_CACHE_BYTES = 4 << 20
_USUAL = ("/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu", "/usr/lib64", "/lib64", "/usr/lib", "/lib")


def find_library(name: str, root: Path = Path("/"), environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the folder of a library in LD_LIBRARY_PATH, the loader's cache or the default folders, or None."""
    named = [folder for folder in environment.get("LD_LIBRARY_PATH", "").split(":") if folder]
    pattern = rb"(/[^\x00\n]{1,300}/)" + re.escape(name.encode()) + rb"\x00"
    folders: list[bytes] = re.findall(pattern, read_bytes(root / "etc/ld.so.cache", _MAX_CACHE_BYTES))
    cached = [path.decode("utf-8", "replace") for path in folders]
    for folder in (*named, *cached, *_USUAL):
        # The cache also lists 32-bit libraries.
        if not re.search(r"i386|lib32", folder) and os.path.exists(root / folder.lstrip("/") / name):
            return folder
    return None
