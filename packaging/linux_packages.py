"""Packs a folder made by build.py for Linux as a .deb, as an AppImage, or as an AppImage's folder.

    .venv/bin/python packaging/linux_packages.py deb build/epochmark build
    .venv/bin/python packaging/linux_packages.py appimage build/epochmark build [--runtime FILE]

An AppImage is a squashfs image appended to AppImage's own runtime. Without the runtime's file, only the folder is
made.
"""

import gzip
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from email.utils import formatdate
from pathlib import Path
from tempfile import TemporaryDirectory

from packing import read_arguments  # type: ignore[import-not-found] # next to this file
from release import app_version, newest_section  # type: ignore[import-not-found] # next to this file
from system_libraries import system_packages  # type: ignore[import-not-found] # next to this file

ROOT = Path(__file__).resolve().parent.parent
FILES = ROOT / "packaging" / "linux"
METAINFO = "io.github.epochmark.Epochmark.metainfo.xml"
# Level 1 took 32 s for 64 MB, gzip 38 s for 80 MB, level 3 62 s for 60 MB. lintian refuses zstd.
COMPRESSION = ("-Zxz", "-z1")
# Errors reported by lintian that aren't fixed, because wheels are shipped as their authors published them.
OVERRIDES = (
    "embedded-library",
    "unstripped-binary-or-object",
    "custom-library-search-path",
    "library-not-linked-against-libc",
    "package-installs-python-pycache-dir",
)
SUMMARY = "benchmark that trains neural networks and ranks this computer"
DESCRIPTION = """\
 Epochmark trains real networks, from a small CIFAR-10 CNN to GPTs, rates each
 result and ranks this computer among published results. It includes Python;
 TensorFlow, PyTorch and JAX are installed from within the program.
"""


def add_desktop_files(usr: Path) -> None:
    """Add the menu entry, the icon and the description for software centres to a `usr` folder."""
    for source, place in (
        (FILES / "epochmark.desktop", "share/applications/epochmark.desktop"),
        (ROOT / "resources" / "icons" / "epochmark.svg", "share/icons/hicolor/scalable/apps/epochmark.svg"),
        (FILES / METAINFO, f"share/metainfo/{METAINFO}"),
    ):
        target = usr / place
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    metainfo = usr / "share" / "metainfo" / METAINFO
    _, date, _ = newest_section((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    filled = metainfo.read_text(encoding="utf-8").replace("@VERSION@", app_version()).replace("@DATE@", date)
    metainfo.write_text(filled, encoding="utf-8")


def make_deb(folder: Path, out: Path) -> Path:
    """Build the .deb, and return its path."""
    deb = out / f"epochmark_{app_version()}_amd64.deb"
    with TemporaryDirectory() as scratch:
        root = Path(scratch, "deb")
        _fill_deb(folder, root)
        subprocess.run(["dpkg-deb", "--root-owner-group", *COMPRESSION, "--build", root, deb], check=True)
    return deb


def _fill_deb(folder: Path, root: Path) -> None:
    usr, control = root / "usr", root / "DEBIAN"
    shutil.copytree(folder, usr / "lib" / "epochmark", symlinks=True)
    (usr / "bin").mkdir()
    (usr / "bin" / "epochmark").symlink_to("../lib/epochmark/epochmark")
    add_desktop_files(usr)
    documents = usr / "share" / "doc" / "epochmark"
    documents.mkdir(parents=True)
    shutil.copyfile(FILES / "copyright", documents / "copyright")
    (usr / "lib" / "epochmark" / "LICENSE").unlink()  # included in the copyright file
    _write_changelog(documents / "changelog.gz")
    overrides = usr / "share" / "lintian" / "overrides" / "epochmark"
    overrides.parent.mkdir(parents=True)
    overrides.write_text("".join(f"epochmark: {tag}\n" for tag in OVERRIDES), encoding="ascii")
    control.mkdir()
    (control / "control").write_text(_control(_size_kib(usr), system_packages(folder)), encoding="utf-8")
    _set_modes(root)


def _control(size_kib: int, depends: Sequence[str]) -> str:
    return (
        f"Package: epochmark\nVersion: {app_version()}\nArchitecture: amd64\n"
        "Maintainer: The Epochmark authors <epochmark@users.noreply.github.com>\n"
        f"Installed-Size: {size_kib}\nSection: science\nPriority: optional\nDepends: {', '.join(depends)}\n"
        f"Description: {SUMMARY}\n{DESCRIPTION}"
    )


def _write_changelog(path: Path) -> None:
    when = formatdate(int(os.environ.get("SOURCE_DATE_EPOCH", "0")) or None)
    text = (
        f"epochmark ({app_version()}) stable; urgency=medium\n\n  * See CHANGELOG.md of the project.\n\n"
        f" -- The Epochmark authors <epochmark@users.noreply.github.com>  {when}\n"
    )
    with path.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(text.encode())


def _size_kib(folder: Path) -> int:
    sizes = (path.lstat().st_size for path in folder.rglob("*") if not path.is_dir())
    return sum(-(-size // 1024) for size in sizes)


def _set_modes(root: Path) -> None:
    """Set the usual modes of packages, regardless of the builder's umask. Only programs are executable."""
    programs = {root / "usr" / "lib" / "epochmark" / "epochmark"}
    for path in root.rglob("*"):
        if path.is_symlink():
            continue
        is_program = path in programs or path.parent == root / "usr/lib/epochmark/python/bin"
        path.chmod(0o755 if path.is_dir() or is_program else 0o644)


def make_appdir(folder: Path, out: Path) -> Path:
    """Build an AppImage's folder, and return its path."""
    root = out / "Epochmark.AppDir"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(folder, root / "usr" / "lib" / "epochmark", symlinks=True)
    add_desktop_files(root / "usr")
    (root / "AppRun").symlink_to("usr/lib/epochmark/epochmark")
    for place in ("share/applications/epochmark.desktop", "share/icons/hicolor/scalable/apps/epochmark.svg"):
        (root / Path(place).name).symlink_to(f"usr/{place}")
    return root


def make_appimage(folder: Path, out: Path, runtime: Path | None) -> Path:
    """Build the AppImage or, without a runtime, only its folder, and return the path."""
    if runtime is None:
        return make_appdir(folder, out)
    image = out / f"Epochmark-{app_version()}-x86_64.AppImage"
    with TemporaryDirectory() as scratch:
        root, packed = make_appdir(folder, Path(scratch)), Path(scratch, "squashfs")
        options = ("-quiet", "-root-owned", "-comp", "zstd")
        subprocess.run(["mksquashfs", root, packed, *options], check=True, stdout=sys.stderr)
        image.write_bytes(runtime.read_bytes() + packed.read_bytes())
    image.chmod(0o755)
    return image


def main() -> int:
    """Build the package that the arguments specify, and print its path."""
    given = read_arguments(__doc__, ("deb", "appimage"), {"--runtime": "AppImage's runtime for x86-64"})
    if given.kind == "deb":
        print(make_deb(given.folder, given.out))
    else:
        print(make_appimage(given.folder, given.out, given.runtime))
    return 0


if __name__ == "__main__":
    sys.exit(main())
