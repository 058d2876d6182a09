"""Epochmark on Windows, without Windows: builds a rig on a Debian machine, and runs the program in it. Needs root.

    python -m tests.tools.wine build             wine, Python for Windows, Epochmark with its packages
    python -m tests.tools.wine start ARGS ...    start.py ARGS: `test --fast`, `run demo`, `check` ...
    python -m tests.tools.wine job               the standard network, Quick, and its result
    python -m tests.tools.wine screenshots DIR   pictures of all pages, then of the real window in wine's desktop
    python -m tests.tools.wine all DIR           the three above, and the fast tests
    python -m tests.tools.wine remove            unmounts and deletes it

Each works on a copy of the working tree. WINDOWS_RIG names another folder than .windows.
"""

import shutil
import subprocess
import sys
import time
from pathlib import Path

from tests.tools.wine.rig import DISPLAY, Rig, this_rig

OPENING_S = 20


def run_job(rig: Rig) -> int:
    """Run the main job as from the button; return the exit code."""
    code = rig.start("run", "cifar10_keras_cnn", "--preset", "quick", EPOCHMARK_HOME=r"C:\home")
    return code or rig.start("results", "list", EPOCHMARK_HOME=r"C:\home")


def take_screenshots(rig: Rig, folder: Path) -> int:
    """Take pictures of all pages without a screen, and one of the real window; return the exit code."""
    folder.mkdir(parents=True, exist_ok=True)
    rig.copy_project()
    python, taken = r"C:\epochmark\.venv\Scripts\python.exe", rig.drive / "screenshots"
    path = r"C:\epochmark"
    code = rig.wine(
        python, "-m", "tests.tools.screenshots", r"C:\screenshots", QT_QPA_PLATFORM="offscreen", PYTHONPATH=path
    )
    shutil.copytree(taken, folder, dirs_exist_ok=True)
    pythonw = r"C:\epochmark\.venv\Scripts\pythonw.exe"  # as after a double click: no console, no standard files
    window = rig.begin(pythonw, "-P", "-m", "app", EPOCHMARK_HOME=r"C:\home")
    time.sleep(OPENING_S)
    command = ["import", "-display", DISPLAY, "-window", "root", str(folder / "window.png")]
    subprocess.run(command, check=True)
    rig.end_all()
    window.wait()
    return code


def main(arguments: list[str]) -> int:
    """Do what the command line says; return the exit code."""
    rig = this_rig()
    if not rig.may_be_used():
        sys.exit("Only root can build and use the rig: it mounts folders and changes the root.")
    if arguments[:1] not in (["build"], ["remove"]) and not rig.project.is_dir():
        sys.exit("There's no rig yet; build it first: python -m tests.tools.wine build")
    if arguments[:1] != ["remove"] and rig.root.is_dir():
        rig.mount()
    match arguments:
        case ["build"]:
            rig.build()
            return 0
        case ["remove"]:
            rig.remove()
            return 0
        case ["start", *rest]:
            return rig.start(*rest, QT_QPA_PLATFORM="offscreen")
        case ["job"]:
            return run_job(rig)
        case ["screenshots", folder]:
            return take_screenshots(rig, Path(folder))
        case ["all", folder]:
            tests = rig.start("test", "--fast", QT_QPA_PLATFORM="offscreen")
            return tests or run_job(rig) or take_screenshots(rig, Path(folder))
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
