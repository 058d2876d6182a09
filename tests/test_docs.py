"""README and docs: every link leads somewhere, and architecture.md draws the folders as they are."""

import ast
import re
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.our_code import trees

README_LIMIT_BYTES = 8_000
IMAGE_LIMIT_BYTES = 300_000
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "resources").rglob("*.md")),
]
LINK = re.compile(r"\]\(([^)\s]+)\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert [link for link in LINK.findall(text) if not leads_somewhere(page, link)] == []


def test_the_readme_stays_short_and_its_pictures_small() -> None:
    assert (ROOT / "README.md").stat().st_size <= README_LIMIT_BYTES
    pictures = {path.name: path.stat().st_size for path in (ROOT / "docs" / "images").iterdir()}
    assert {name: size for name, size in pictures.items() if size > IMAGE_LIMIT_BYTES} == {}


def test_every_page_and_picture_of_the_docs_is_linked() -> None:
    linked = {
        (page.parent / link.partition("#")[0]).resolve()
        for page in PAGES
        for link in LINK.findall(page.read_text(encoding="utf-8"))
    }
    docs = [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "images").iterdir()]
    assert [path.name for path in docs if path.resolve() not in linked] == []


def leads_somewhere(page: Path, link: str) -> bool:
    if "://" in link or link.startswith("mailto:"):
        return True
    path, _, anchor = link.partition("#")
    target = page.parent / path if path else page
    if not target.exists():
        return False
    return not anchor or anchor in headings(target)


def headings(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


ARCHITECTURE = ROOT / "docs" / "architecture.md"


def folders_of_code() -> set[str]:
    found = {path.parent for top in ("app", "workloads") for path in (ROOT / top).rglob("*.py")}
    return {f"{folder.relative_to(ROOT).as_posix()}/" for folder in found}


def folders_drawn(page: str) -> set[str]:
    found: set[str] = set()
    above: list[str] = []
    tree = page.partition("## Folders\n\n```\n")[2].partition("```")[0]
    for line in tree.splitlines():
        indent, name = re.fullmatch(r"( *)(\S+) *.*", line).groups()  # type: ignore[union-attr]
        above = [*above[: len(indent) // 4], name]
        found.add("".join(above))
    return found


def test_the_drawn_folders_are_those_on_disk() -> None:
    drawn = folders_drawn(ARCHITECTURE.read_text(encoding="utf-8"))
    assert [name for name in sorted(drawn) if not (ROOT / name).exists()] == []
    # Pages are in the list only, so that a new one is named once.
    assert {name for name in folders_of_code() - drawn if not name.startswith("app/gui/pages/")} == set()


def files_listed(page: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    listing = page.partition("## Folders\n")[2].partition("\n## ")[0]
    for folder, files in re.findall(r"^- `([\w/]+/)`\n((?:  .+\n)+)", listing, re.MULTILINE):
        found[folder] = re.findall(r"`(\w+)`", files)
    return found


def test_every_file_that_the_page_lists_exists() -> None:
    listed = files_listed(ARCHITECTURE.read_text(encoding="utf-8"))
    missing = [
        f"{folder}{name}"
        for folder, names in listed.items()
        for name in names
        if not (ROOT / folder / f"{name}.py").is_file() and not (ROOT / folder / name).is_dir()
    ]
    assert missing == []
    without_files = {"app/", "app/gui/", "app/gui/pages/", "app/core/messages/english/"}
    assert folders_of_code() - listed.keys() == without_files


_MODULE = re.compile(r"\b((?:app|workloads|tests)(?:\.(?!md\b|yml\b)[a-z_0-9]+)+)(?:\.([A-Z]\w+))?")


def test_modules_and_classes_named_in_docstrings_and_pages_exist() -> None:
    named = {
        f"{path}: {match[0]}": match
        for path, tree in trees("app/", "workloads/").items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        for match in _MODULE.finditer(ast.get_docstring(node) or "")
    }
    named |= {
        f"{page.name}: {match[0]}": match
        for page in PAGES
        for match in _MODULE.finditer(page.read_text(encoding="utf-8"))
    }
    assert named
    assert [where for where, match in named.items() if not exists(match[1], match[2])] == []


def exists(module: str, name: str | None) -> bool:
    *above, last = module.split(".")
    place = ROOT.joinpath(*above, last)
    files = [file for file in (place.with_suffix(".py"), place / "__init__.py") if file.exists()]
    if place.is_dir() and name is None:
        return True
    if not files:  # a function or constant of a module
        files = [file for file in (ROOT.joinpath(*above).with_suffix(".py"),) if file.exists()]
        name = last
    return bool(files) and (
        name is None or re.search(rf"\b{name}\b", files[0].read_text(encoding="utf-8")) is not None
    )
