"""Packs a folder made by build.py for macOS as a disk image with Epochmark.app. Never run on a Mac yet.

    .venv/bin/python packaging/macos_package.py build/epochmark build/dist

If CODESIGN_IDENTITY names a certificate, everything is signed; NOTARY_PROFILE, a profile of notarytool, has Apple
check the image as well. An unsigned program is refused until its user allows it in System Settings > Privacy &
Security.
"""

import os
import plistlib
import shutil
import subprocess
import sys
from pathlib import Path

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
        "LSMinimumSystemVersion": "14.0",
        "LSRequiresNativeExecution": True,  # macOS would ask for Rosetta, because the program is a script
        "NSAppSleepDisabled": True,  # App Nap would slow down sampling
        "NSHighResolutionCapable": True,
    }
    (contents / "Info.plist").write_bytes(plistlib.dumps(description))
    return bundle


def add_icon(bundle: Path) -> None:
    """Convert the icon with macOS' own tools."""
    drawing, icons = ROOT / "resources" / "icons" / "epochmark.svg", bundle.parent / "epochmark.iconset"
    icons.mkdir(exist_ok=True)
    for size_px in (16, 32, 128, 256, 512):
        picture = icons / f"icon_{size_px}x{size_px}.png"
        run("sips", "-s", "format", "png", "-z", size_px, size_px, drawing, "--out", picture)
    run("iconutil", "-c", "icns", "-o", bundle / "Contents" / "Resources" / "epochmark.icns", icons)
    shutil.rmtree(icons)


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
    options = (
        "--force",
        "--timestamp",
        "--options",
        "runtime",
        "--entitlements",
        ENTITLEMENTS,
        "--sign",
        identity,
    )
    for path in (*programs_in(bundle), bundle):
        run("codesign", *options, path)


def run(*command: object) -> None:
    """Run a command, or raise CalledProcessError."""
    subprocess.run([str(word) for word in command], check=True)


def main(folder: Path, out: Path) -> None:
    """Build the image next to the bundle."""
    staged = out / "image"
    staged.mkdir(parents=True, exist_ok=True)
    bundle = make_app(folder, staged)
    add_icon(bundle)
    if identity := os.environ.get("CODESIGN_IDENTITY"):
        sign(bundle, identity)
    image = out / f"Epochmark-{app_version()}-arm64.dmg"
    run("hdiutil", "create", "-volname", "Epochmark", "-srcfolder", staged, "-format", "ULFO", "-ov", image)
    if profile := os.environ.get("NOTARY_PROFILE"):
        run("xcrun", "notarytool", "submit", image, "--keychain-profile", profile, "--wait")
        run("xcrun", "stapler", "staple", image)
    shutil.rmtree(staged)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
