"""Checks which of the system's libraries a folder made by build.py for Linux needs."""

import os
import re
import subprocess
import sys
from pathlib import Path

# Libraries that a folder for Linux may take from the system, by the Debian package that contains them.
SYSTEM_LIBRARIES = {
    "libc6 (>= 2.34)": "ld-linux-x86-64.so.2 libc.so.6 libdl.so.2 libm.so.6 libpthread.so.0 libresolv.so.2"
    " librt.so.1 libutil.so.1",
    "libgcc-s1": "libgcc_s.so.1",
    "libstdc++6": "libstdc++.so.6",
    # Python's modules
    "libbz2-1.0": "libbz2.so.1.0",
    "libcrypt1": "libcrypt.so.1",
    "libffi8": "libffi.so.8",
    "liblzma5": "liblzma.so.5",
    "libncursesw6": "libncursesw.so.6 libpanelw.so.6",
    "libsqlite3-0": "libsqlite3.so.0",
    "libssl3t64 | libssl3": "libcrypto.so.3 libssl.so.3",
    "libtinfo6": "libtinfo.so.6",
    "libuuid1": "libuuid.so.1",
    "zlib1g": "libz.so.1",
    # Qt. app/gui/shell/display.py names the packages that a Debian without a desktop may lack.
    "libdbus-1-3": "libdbus-1.so.3",
    "libegl1": "libEGL.so.1",
    "libfontconfig1": "libfontconfig.so.1",
    "libfreetype6": "libfreetype.so.6",
    "libgl1": "libGL.so.1",
    "libglib2.0-0t64 | libglib2.0-0": "libgio-2.0.so.0 libglib-2.0.so.0 libgobject-2.0.so.0 libgthread-2.0.so.0",
    "libwayland-client0": "libwayland-client.so.0",
    "libwayland-cursor0": "libwayland-cursor.so.0",
    "libwayland-egl1": "libwayland-egl.so.1",
    "libx11-6": "libX11.so.6",
    "libx11-xcb1": "libX11-xcb.so.1",
    "libxcb1": "libxcb.so.1",
    "libxcb-cursor0": "libxcb-cursor.so.0",
    "libxcb-glx0": "libxcb-glx.so.0",
    "libxcb-icccm4": "libxcb-icccm.so.4",
    "libxcb-image0": "libxcb-image.so.0",
    "libxcb-keysyms1": "libxcb-keysyms.so.1",
    "libxcb-randr0": "libxcb-randr.so.0",
    "libxcb-render0": "libxcb-render.so.0",
    "libxcb-render-util0": "libxcb-render-util.so.0",
    "libxcb-shape0": "libxcb-shape.so.0",
    "libxcb-shm0": "libxcb-shm.so.0",
    "libxcb-sync1": "libxcb-sync.so.1",
    "libxcb-util1": "libxcb-util.so.1",
    "libxcb-xfixes0": "libxcb-xfixes.so.0",
    "libxcb-xkb1": "libxcb-xkb.so.1",
    "libxkbcommon0": "libxkbcommon.so.0",
    "libxkbcommon-x11-0": "libxkbcommon-x11.so.0",
    "libzstd1": "libzstd.so.1",
}
OPTIONAL_FILES = ("libqgtk3.so",)  # Qt does without it if GTK is missing


def system_packages(folder: Path) -> list[str]:
    """Return Debian's packages with the libraries that a folder needs and doesn't contain.

    Ends the build if it isn't known which package contains a library.
    """
    package_of = {name: package for package, names in SYSTEM_LIBRARIES.items() for name in names.split()}
    files = [path for path in folder.rglob("*") if path.name not in OPTIONAL_FILES]
    package_of |= {path.name: "" for path in files}
    programs = [path for path in files if ".so" in path.name or path.parent.name == "bin"]
    shown = subprocess.run(
        ["readelf", "--dynamic", "--wide", *programs],
        env=os.environ | {"LC_ALL": "C"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
    user_of: dict[str, str] = {}
    for program, _, text in (part.partition("\n") for part in shown.split("\nFile: ")):
        user_of |= dict.fromkeys(re.findall(r"\(NEEDED\).*\[(.+)\]", text), program)
    if missing := sorted(user_of.keys() - package_of.keys()):
        uses = [f"{name}, needed by {user_of[name]}" for name in missing]
        sys.exit("Include these libraries, or add their packages to SYSTEM_LIBRARIES:\n" + "\n".join(uses))
    return sorted({package_of[name] for name in user_of} - {""})
