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

from packing import DRAWING, draw_icon, read_arguments  # type: ignore[import-not-found] # next to this file
from release import app_version, newest_section, project_url  # type: ignore[import-not-found] # next to this file
from system_libraries import system_packages  # type: ignore[import-not-found] # next to this file

ROOT = Path(__file__).resolve().parent.parent
FILES = ROOT / "packaging" / "linux"
ICON_SIZES_PX = (16, 24, 32, 48, 64, 128, 256)
COMPLETIONS = {"bash": "bash-completion/completions/epochmark", "fish": "fish/vendor_completions.d/epochmark.fish"}
SCREENSHOTS = ("benchmark-finished-dark.png", "compare-light.png", "verdict-dark.png")  # in docs/images
METAINFO = "io.github.epochmark.Epochmark.metainfo.xml"
# As fast as gzip, and 20 % smaller. The default level takes several times as long. lintian refuses zstd.
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


def add_shared_files(folder: Path, share: Path) -> None:
    """Add the menu entry, icons, file type, manual and completion to a `share` folder."""
    files = {
        "applications/epochmark.desktop": FILES / "epochmark.desktop",
        "icons/hicolor/scalable/apps/epochmark.svg": DRAWING,
        "mime/packages/epochmark.xml": FILES / "mime.xml",
    }
    texts = {place: source.read_text(encoding="utf-8") for place, source in files.items()}
    texts[f"metainfo/{METAINFO}"] = metainfo(project_url())
    named = os.environ | {"EPOCHMARK_STARTED_AS": "epochmark"}
    for shell, place in COMPLETIONS.items():
        command = (str(folder / "epochmark"), "completion", shell)
        texts[place] = subprocess.run(command, env=named, stdout=subprocess.PIPE, text=True, check=True).stdout
    for place, text in texts.items():
        (share / place).parent.mkdir(parents=True, exist_ok=True)
        (share / place).write_text(text, encoding="utf-8")
    _write_packed(share / "man/man1/epochmark.1.gz", _filled("epochmark.1"))
    for icon in draw_icon(*ICON_SIZES_PX):
        apps = share / f"icons/hicolor/{icon.width}x{icon.height}/apps"
        apps.mkdir(parents=True)
        icon.save(apps / "epochmark.png")


def _filled(name: str) -> str:
    """Return a file with the version and the date of the newest release."""
    _, date, _ = newest_section((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    text = (FILES / name).read_text(encoding="utf-8")
    return text.replace("@VERSION@", app_version()).replace("@DATE@", date)


def metainfo(url: str) -> str:
    """Return the description for software centres, with the addresses of the project if it has one."""
    images = f"{url}/raw/v{app_version()}/docs/images"
    pictures = [
        f'<screenshot type="default"><image>{images}/{SCREENSHOTS[0]}</image></screenshot>',
        *(f"<screenshot><image>{images}/{name}</image></screenshot>" for name in SCREENSHOTS[1:]),
    ]
    addresses = f'<url type="homepage">{url}</url><url type="bugtracker">{url}/issues</url>'
    shown = f"{addresses}<screenshots>{''.join(pictures)}</screenshots>" if url else ""
    return _filled(METAINFO).replace("<!-- addresses -->", shown)


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
    add_shared_files(folder, usr / "share")
    documents = usr / "share" / "doc" / "epochmark"
    documents.mkdir(parents=True)
    shutil.copyfile(FILES / "copyright", documents / "copyright")
    (usr / "lib" / "epochmark" / "LICENSE").unlink()  # included in the copyright file
    _write_packed(documents / "changelog.gz", _changelog())
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


def _changelog() -> str:
    when = formatdate(int(os.environ.get("SOURCE_DATE_EPOCH", "0")) or None)
    return (
        f"epochmark ({app_version()}) stable; urgency=medium\n\n  * See CHANGELOG.md of the project.\n\n"
        f" -- The Epochmark authors <epochmark@users.noreply.github.com>  {when}\n"
    )


def _write_packed(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


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
    add_shared_files(folder, root / "usr" / "share")
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
