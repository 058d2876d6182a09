"""A release's notes, feed and checksums come from the changelog, and only if tag, code and changelog agree."""

import hashlib
import json
from pathlib import Path

import pytest

from app.core.exchange.updates import Release
from tests.conftest import ROOT
from tests.start.starting import load

CHANGELOG = """# Changelog

## [Unreleased]

## [0.3.0] - 2026-12-01

### Added

**Power**

- A *limit* of the
  graphics card, see [the docs](docs/using.md).
- `run --power-limit`

### Changed

- Nothing

## [0.2.0] - 2026-11-01

- Old
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__init__.py").write_text('__version__ = "0.3.0"\n')
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    return tmp_path


def test_what_a_release_publishes(project: Path) -> None:
    folder = project / "dist"
    folder.mkdir()
    (folder / "epochmark.deb").write_bytes(b"deb")
    load(ROOT / "packaging" / "release.py").write_release(folder, "v0.3.0", project)
    feed = json.loads((folder / "release.json").read_bytes())
    points = ["A limit of the graphics card, see the docs.", "run --power-limit", "Nothing"]
    assert feed == {"version": "0.3.0", "notes": points}
    assert set(feed) == set(Release.__struct_fields__)
    notes = (folder / "notes.md").read_text()
    assert notes.startswith("### Added")
    assert "](docs/" not in notes
    sums = (folder / "SHA256SUMS").read_text().splitlines()
    assert sums[0] == f"{hashlib.sha256(b'deb').hexdigest()}  epochmark.deb"
    assert [line.split()[1] for line in sums] == ["epochmark.deb", "release.json"]


@pytest.mark.parametrize(
    ("tag", "old", "new"),
    [
        ("v0.3.1", "", ""),
        ("v0.3.0", "[0.3.0]", "[0.4.0]"),
        ("v0.3.0", "## [Unreleased]\n", "## [Unreleased]\n\n- Something\n"),
        ("v0.3.0", " - 2026", " 2026"),
    ],
)
def test_nothing_is_released_that_differs(project: Path, tag: str, old: str, new: str) -> None:
    (project / "CHANGELOG.md").write_text(CHANGELOG.replace(old, new))
    with pytest.raises(SystemExit):
        load(ROOT / "packaging" / "release.py").check_tag(tag, project)


def test_the_repositorys_changelog_has_points() -> None:
    release = load(ROOT / "packaging" / "release.py")
    _, _, section = release.newest_section((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    points = release.points(section)
    assert len(points) == section.count("\n- ") + section.startswith("- ")
    assert all(point and not set("*`[]") & set(point) for point in points)
