"""A process of its own that imports Nietzsche, and stops before it gives the new file its final name."""

import os
import sys
from pathlib import Path
from typing import Any

from app.core.datasets.install import import_dataset
from app.core.paths import default_paths


def main(home: str, text: str) -> None:
    fsync = os.fsync

    def stop(fd: Any) -> None:
        fsync(fd)
        sys.stdout.write("written\n")
        sys.stdout.flush()
        sys.stdin.readline()

    os.fsync = stop
    paths = default_paths({"EPOCHMARK_HOME": home})
    paths.create()
    import_dataset(paths, "nietzsche", Path(text))


if __name__ == "__main__":
    main(*sys.argv[1:])
