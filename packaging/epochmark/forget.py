"""Deletes results, settings, data sets and engines. The uninstaller for Windows runs this script on request.

Only the default folders are deleted. Folders that the user chose and targets of links are kept.
"""

import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from app.core.paths import default_paths


def main() -> int:
    """Delete the folders, except one that contains this program."""
    paths = default_paths({})
    for folder in (paths.cache, paths.config, paths.data):
        if not Path(sys.prefix).is_relative_to(folder):
            shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
