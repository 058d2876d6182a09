"""What only some systems or users can: marks for the tests that need it."""

import os
import tempfile
from pathlib import Path

import pytest


def _can_link() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        target, link = Path(folder, "target"), Path(folder, "link")
        target.write_text("there", encoding="utf-8")
        try:
            link.symlink_to(target)
            return link.is_symlink() and link.read_text(encoding="utf-8") == "there"
        except OSError:
            return False


needs_links = pytest.mark.skipif(not _can_link(), reason="this user can't make links here")
needs_scripts = pytest.mark.skipif(os.name == "nt", reason="programs are replaced by scripts of a shell")
linux_names = pytest.mark.skipif(os.name == "nt", reason="Linux's folders, with links, and colons in their names")
# How the last words of a process begin that touches memory that isn't its own.
_CRASHES = ("Windows fatal exception: access violation", "Fatal Python error: Segmentation fault")
FATAL = _CRASHES[os.name != "nt"]
