"""A process of its own that installs an engine: it stops in a phase, or ends itself between the two renames."""

import os
import signal
import sys
from pathlib import Path

from app.core.engines.install import Phase, install_engine
from app.core.engines.variants import LINUX, Variant
from app.core.paths import default_paths


def main(where: str, home: str, lock: str) -> None:
    """Stop in the phase `where`, or end when the old engine has been put aside ("rename")."""
    rename = Path.rename

    def end(folder: Path, target: Path) -> Path:
        if target.name == "torch":  # the new folder is about to get its final name
            os.kill(os.getpid(), signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
        return rename(folder, target)

    def stop(phase: Phase, *_: int) -> None:
        if phase == where:
            sys.stdout.write("stopped\n")
            sys.stdout.flush()
            sys.stdin.readline()

    if where == "rename":
        setattr(Path, "rename", end)  # noqa: B010 - mypy knows that methods are not replaced
    paths = default_paths({"EPOCHMARK_HOME": home})
    paths.create()
    install_engine(paths, Variant(engine="torch", name="cpu", system=LINUX, lock=lock), progress=stop)


if __name__ == "__main__":
    main(*sys.argv[1:])
