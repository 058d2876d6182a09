"""Packs a folder made by build.py for macOS as a disk image with Epochmark.app. Not yet tested on a Mac.

    .venv/bin/python packaging/macos_package.py build/epochmark build/dist

If CODESIGN_IDENTITY names a certificate, everything is signed. If NOTARY_PROFILE names a profile of notarytool,
Apple also checks the image. macOS refuses to run an unsigned program until the user allows it in System Settings >
Privacy & Security.
"""

import os
import plistlib
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from build import OLDEST_MACOS  # type: ignore[import-not-found] # next to this file
from packing import draw_icon, read_arguments  # type: ignore[import-not-found] # next to this file
from release import app_version  # type: ignore[import-not-found] # next to this file

ROOT = Path(__file__).resolve().parent.parent
ENTITLEMENTS = ROOT / "packaging" / "macos" / "entitlements.plist"
MACHO = frozenset({b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe"})
LAUNCHER = """\
#!/bin/sh
EPOCHMARK_STARTED_AS=epochmark exec "$(dirname "$0")/../Resources/epochmark/epochmark" "$@"
"""


def make_app(folder: Path, out: Path) -> Path:
    """Build Epochmark.app, and return its path."""
    bundle = out / "Epochmark.app"
    shutil.rmtree(bundle, ignore_errors=True)
    contents = bundle / "Contents"
    shutil.copytree(folder, contents / "Resources" / "epochmark", symlinks=True)
    program = contents / "MacOS" / "Epochmark"
    program.parent.mkdir()
    program.write_text(LAUNCHER, encoding="ascii")
    program.chmod(0o755)
    description = {
        "CFBundleExecutable": program.name,
        "CFBundleIdentifier": "io.github.epochmark.Epochmark",
        "CFBundleIconFile": "epochmark",
        "CFBundleName": "Epochmark",
        "CFBundlePackageType": "APPL",
        "CFBundleShortVersionString": app_version(),
        "CFBundleVersion": app_version(),
        "LSMinimumSystemVersion": OLDEST_MACOS,
        "LSRequiresNativeExecution": True,  # macOS would ask for Rosetta, because the program is a script
        "NSAppSleepDisabled": True,  # App Nap would slow down sampling
        "NSHighResolutionCapable": True,
    }
    (contents / "Info.plist").write_bytes(plistlib.dumps(description))
    return bundle


def add_icon(bundle: Path) -> None:
    """Write the icon in the sizes that Finder shows."""
    largest, *smaller = draw_icon(1024, 512, 256, 128, 64, 32)
    largest.save(bundle / "Contents" / "Resources" / "epochmark.icns", append_images=smaller)


def programs_in(bundle: Path) -> list[Path]:
    """Return programs and libraries, which are signed before the bundle that contains them."""
    found = []
    for path in sorted(bundle.rglob("*")):
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                found += [path] if file.read(4) in MACHO else []
    return found


def sign(bundle: Path, identity: str) -> None:
    """Sign everything with the hardened runtime."""
    options = ("--force", "--timestamp", "--options=runtime", "--entitlements", ENTITLEMENTS, "--sign", identity)
    for path in (*programs_in(bundle), bundle):
        run("codesign", *options, path)


def run(*command: object) -> None:
    """Run a command, or raise CalledProcessError."""
    subprocess.run([str(word) for word in command], check=True)


def make_image(folder: Path, out: Path) -> Path:
    """Build the image, and return its path."""
    image = out / f"Epochmark-{app_version()}-arm64.dmg"
    with TemporaryDirectory() as staged:
        bundle = make_app(folder, Path(staged))
        add_icon(bundle)
        Path(staged, "Applications").symlink_to("/Applications")  # to drag the app to
        if identity := os.environ.get("CODESIGN_IDENTITY"):
            sign(bundle, identity)
        run("hdiutil", "create", "-volname", "Epochmark", "-srcfolder", staged, "-format", "ULFO", "-ov", image)
    if profile := os.environ.get("NOTARY_PROFILE"):
        run("xcrun", "notarytool", "submit", image, "--keychain-profile", profile, "--wait")
        run("xcrun", "stapler", "staple", image)
    return image


def main() -> int:
    """Build the package that the arguments specify, and print its path."""
    given = read_arguments(__doc__)
    print(make_image(given.folder, given.out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
