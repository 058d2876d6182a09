"""A process of its own that installs Nietzsche: it stops in the middle until it is let go on, or ends itself."""

import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

from app.core.datasets.install import import_dataset
from app.core.paths import default_paths, with_datasets_folder
from workloads.datasets import nietzsche


def main(what: str, home: str, datasets: str, text: str) -> None:
    """Stop ("stop") while the new files are unpacked, or end ("end") when the old ones have been put aside."""
    install = nietzsche.install

    def stop(files: Mapping[str, Path], folder: Path) -> None:
        install(files, folder)
        sys.stdout.write("unpacking\n")
        sys.stdout.flush()
        sys.stdin.readline()

    rename = Path.rename

    def end(folder: Path, target: Path) -> Path:
        if target.name == "nietzsche":  # the new folder is about to get its final name
            os.kill(os.getpid(), signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
        return rename(folder, target)

    if what == "stop":
        nietzsche.install = stop
    else:
        setattr(Path, "rename", end)  # noqa: B010 - mypy knows that methods are not replaced
    paths = with_datasets_folder(default_paths({"EPOCHMARK_HOME": home}), datasets)
    paths.create()
    import_dataset(paths, "nietzsche", Path(text))


if __name__ == "__main__":
    main(*sys.argv[1:])
