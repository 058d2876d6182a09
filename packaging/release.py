"""Writes the files that a release publishes in addition to packages, from CHANGELOG.md's newest dated section.

    python packaging/release.py v0.3.0 [build/dist https://ADDRESS]

The notes (notes.md), the feed that "Check for updates" reads (release.json), winget's manifests for the installer
that can be downloaded from the address, and the checksums of all files. Without a folder, it only checks that tag,
version and changelog agree.
"""

import hashlib
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHECKSUMS = "SHA256SUMS"
WINGET = ROOT / "packaging" / "windows" / "winget"


def app_version(root: Path = ROOT) -> str:
    """Return the app's version."""
    return _constant("__version__", root)


def project_url() -> str:
    """Return the project's address; "" if it has none yet."""
    return _constant("PROJECT_URL", ROOT)


def _constant(name: str, root: Path) -> str:
    found = re.search(rf'{name} = "([^"]*)"', (root / "app" / "__init__.py").read_text(encoding="utf-8"))
    assert found
    return found[1]


def newest_section(changelog: str) -> tuple[str, str, str]:
    """Return version, date and text of the newest dated section. Ends if there is none."""
    found = re.search(
        r"^## \[(\d[^\]]*)\] - (\d{4}-\d\d-\d\d)\n(.*?)(?=^## \[|\Z)", changelog, re.MULTILINE | re.DOTALL
    )
    if found is None:
        sys.exit("CHANGELOG.md has no section with a version and a date.")
    return found[1], found[2], found[3].strip()


def points(section: str) -> list[str]:
    """Return the points of a section, each in one line and without Markdown."""
    items = re.findall(r"(?ms)^- (.*?)(?=^- |^$|^#|^\*\*|\Z)", section)
    return [re.sub(r"[*`]|\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(item.split())) for item in items]


def check_tag(tag: str, root: Path = ROOT) -> tuple[str, str]:
    """Return version and notes of the tagged release. Ends if tag, code and changelog differ."""
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    version, _, section = newest_section(changelog)
    if not tag == f"v{version}" == f"v{app_version(root)}":
        sys.exit(f"The tag is {tag}, the newest section of CHANGELOG.md {version}, the code {app_version(root)}.")
    unreleased = re.search(r"(?ms)^## \[Unreleased\]\n(.*?)(?=^## \[)", changelog)
    if unreleased is not None and unreleased[1].strip():
        sys.exit("CHANGELOG.md has unreleased points. Move them to the section of this version.")
    return version, section


def write_release(folder: Path, tag: str, root: Path = ROOT) -> None:
    """Write notes, feed and checksums into the folder of the packages."""
    version, section = check_tag(tag, root)
    notes = re.sub(r"\[([^\]]*)\]\((?!https:)[^)]*\)", r"\1", section)  # a release's page has no files next to it
    (folder / "notes.md").write_text(notes + "\n", encoding="utf-8")
    feed = {"version": version, "notes": points(section)}
    (folder / "release.json").write_text(json.dumps(feed, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    files = sorted(path for path in folder.iterdir() if path.name not in (CHECKSUMS, "notes.md"))
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (folder / CHECKSUMS).write_text("".join(sums), encoding="utf-8")


def write_winget(folder: Path, address: str) -> None:
    """Write winget's manifests for the installer in a folder."""
    (setup,) = folder.glob("*-setup.exe")
    checksum = hashlib.sha256(setup.read_bytes()).hexdigest().upper()
    for template in WINGET.iterdir():
        text = template.read_text(encoding="utf-8").replace("@VERSION@", app_version())
        text = text.replace("@URL@", f"{address}/{setup.name}").replace("@SHA256@", checksum)
        (folder / template.name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    match sys.argv[1:]:
        case [tag]:
            check_tag(tag)
        case [tag, folder, address]:
            write_winget(Path(folder), address)
            write_release(Path(folder), tag)
        case _:
            sys.exit(__doc__)
