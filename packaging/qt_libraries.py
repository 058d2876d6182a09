"""Checks whether Linux has the libraries that Qt needs, and installs missing ones if permitted.

start.py runs this with .venv's Python: `qt_libraries.py offscreen --install` before the tests, `qt_libraries.py
xcb` (or `wayland`) before the first window. If libraries are missing, the script prints a sentence to stderr and
exits with code 1.
"""

import argparse
import ctypes
import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

APT = "libglib2.0-0 libgl1 libegl1 libxkbcommon0 libfreetype6 libfontconfig1 libdbus-1-3"
APT_WINDOW = (
    "libxcb-cursor0 libxcb-icccm4 libxcb-image0 libxcb-keysyms1 libxcb-randr0 libxcb-render0"
    " libxcb-render-util0 libxcb-shape0 libxcb-shm0 libxcb-sync1 libxcb-xfixes0 libxcb-xkb1 libxcb-util1"
    " libxkbcommon-x11-0 libx11-xcb1 libxcb-glx0 libwayland-client0 libwayland-cursor0 libwayland-egl1"
)
DNF = "glib2 libglvnd-glx libglvnd-egl libxkbcommon freetype fontconfig dbus-libs"
DNF_WINDOW = (
    "xcb-util-cursor xcb-util-wm xcb-util-image xcb-util-keysyms xcb-util-renderutil libxkbcommon-x11"
    " libwayland-client libwayland-cursor libwayland-egl"
)
PACMAN = "glib2 libglvnd libxkbcommon freetype2 fontconfig dbus"
PACMAN_WINDOW = (
    "xcb-util-cursor xcb-util-wm xcb-util-image xcb-util-keysyms xcb-util-renderutil libxkbcommon-x11 wayland"
)
MANAGERS = {
    "apt-get": (["apt-get", "install", "-y", "--no-install-recommends"], APT, APT_WINDOW),
    "dnf": (["dnf", "install", "-y"], DNF, DNF_WINDOW),
    "pacman": (["pacman", "-S", "--needed", "--noconfirm"], PACMAN, PACMAN_WINDOW),
}
APT_TIMEOUT_S = 600


def find_problem(platform: str) -> str:
    """Load Qt and its platform plug-in, and return the system's error message; "" if there is none."""
    try:
        for module in ("PySide6.QtWidgets", "PySide6.QtTest"):
            importlib.import_module(module)
        folder = Path(str(sys.modules["PySide6"].__file__)).parent / "Qt" / "plugins" / "platforms"
        ctypes.CDLL(str(folder / f"libq{platform}.so"))
    except (ImportError, OSError) as error:
        return str(error)
    return ""


def uses_new_glib_name() -> bool:
    """Return whether this is Debian 13, Ubuntu 24.04 or newer, in which GLib's package was renamed."""
    done = subprocess.run(["apt-cache", "show", "libglib2.0-0t64"], capture_output=True, check=False)
    return done.returncode == 0


def install_command(for_window: bool) -> list[str]:
    """Return the command that installs Qt's libraries on this system; [] if it is unknown."""
    for manager, (command, packages, window_packages) in MANAGERS.items():
        if shutil.which(manager):
            names = f"{packages} {window_packages}" if for_window else packages
            if manager == "apt-get" and uses_new_glib_name():
                names = names.replace("libglib2.0-0", "libglib2.0-0t64")
            return [*command, *names.split()]
    return []


def run_apt(command: list[str]) -> None:
    """Run apt-get without questions, and print its output only if it fails."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=APT_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        sys.stderr.write(f"{' '.join(command[:2])} did not end within {APT_TIMEOUT_S} s.\n")
        return
    if done.returncode:
        sys.stderr.write(done.stdout.decode("utf-8", "replace"))


def install_with_apt() -> None:
    """Install the libraries that Qt needs without a display. The next attempt to load Qt shows if this helped."""
    sys.stderr.write("Installing the system libraries that Qt needs, with apt-get ...\n")
    run_apt(["apt-get", "update"])
    run_apt(install_command(for_window=False))


def sentence(problem: str, for_window: bool) -> str:
    """Return a sentence that names a missing library and the command that installs it."""
    if "cannot open shared object file" not in problem:
        return f"Qt does not load ({problem}); type: python3 start.py --repair"
    library = problem.partition(":")[0]
    command = install_command(for_window)
    if not command:
        return f"Qt needs {library} and its like; install them with this system's package manager."
    words = command if os.geteuid() == 0 else ["sudo", *command]
    return f"Qt needs system libraries that are missing, first of all {library}; type: {' '.join(words)}"


def main() -> int:
    """Check the libraries, install missing ones if requested and permitted, and check again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("platform", choices=["offscreen", "wayland", "xcb"])
    parser.add_argument("--install", action="store_true", help="install them, as root with apt-get")
    arguments = parser.parse_args()
    problem = find_problem(arguments.platform)
    if problem and arguments.install and os.geteuid() == 0 and shutil.which("apt-get"):
        install_with_apt()
        # A new process is needed, because Qt is partly loaded in this one.
        return subprocess.run([sys.executable, __file__, arguments.platform], check=False).returncode
    if problem:
        sys.stderr.write(sentence(problem, for_window=arguments.platform != "offscreen") + "\n")
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main())
