"""The folder of an engine as users, systems and kills leave it."""

import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from app.core.engines.folder import EngineFolder, State
from app.core.engines.install import install_engine, remove_engine
from app.core.engines.variants import VARIANTS
from app.core.errors import UsageError
from app.core.messages import sentence, text
from app.core.paths import Paths
from tests.core.engines.conftest import put_engine
from tests.saying import said


@pytest.fixture
def home(paths: Paths) -> Path:
    put_engine(paths.engines / "torch")
    return paths.engines / "torch"


def look(home: Path) -> tuple[State, str]:
    seen = EngineFolder(home.parent, "torch", "PyTorch").look()
    return seen.state, text(seen.problem) if seen.problem is not None else ""


def stamp_with(old: bytes, new: bytes) -> Callable[[Path], object]:
    return lambda home: (home / "engine.json").write_bytes((home / "engine.json").read_bytes().replace(old, new))


def link_home(home: Path) -> None:
    home.rename(home.parent / "elsewhere")
    home.symlink_to(home.parent / "elsewhere", target_is_directory=True)


def file_in_place(home: Path) -> None:
    home.rename(home.parent / "elsewhere")
    home.write_text("mine", encoding="utf-8")


DAMAGES: list[Callable[[Path], object]] = [
    lambda home: (home / "engine.json").unlink(),
    lambda home: (home / "engine.json").write_bytes(b"{"),
    lambda home: (home / "engine.json").write_bytes(b" " * (2 << 20)),
    lambda home: (home / "packages").rename(home.parent / "elsewhere"),
    stamp_with(b'"is_locked": true', b'"is_locked": 1'),
    stamp_with(b'"sha256": "', b'"sha256": "x'),
    stamp_with(b'"format": 1', b'"format": 2'),
    stamp_with(b'"engine": "torch"', b'"engine": "jax"'),
]


def test_a_whole_one_is_ready_and_none_is_absent(home: Path) -> None:
    assert look(home) == ("ready", "")
    assert look(home.parent / "none" / "torch") == ("absent", "")
    shutil.rmtree(home)
    put_engine(home, python="3.4")
    state, problem = look(home)
    assert state == "other_python"
    assert said("engines.other_python", title="PyTorch", python="3.4").is_all_of(problem)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_one_says_so_and_is_removed(paths: Paths, home: Path, damage: Callable[[Path], object]) -> None:
    damage(home)
    assert look(home) == ("damaged", sentence("engines.damaged", title="PyTorch", folder=str(home)))
    assert remove_engine(paths, "torch").was_there
    assert not home.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
@pytest.mark.parametrize("block", [link_home, file_in_place])
def test_a_link_or_a_file_in_the_place_is_kept(paths: Paths, home: Path, block: Callable[[Path], object]) -> None:
    block(home)
    assert look(home) == ("damaged", sentence("engines.in_the_way", title="PyTorch", folder=str(home)))
    for act in (lambda: remove_engine(paths, "torch"), lambda: install_engine(paths, VARIANTS[0])):
        with pytest.raises(UsageError, match=said("engines.in_the_way", title="PyTorch").pattern):
            act()
    assert os.path.lexists(home)
    assert (home.parent / "elsewhere" / "engine.json").is_file()


def test_files_of_others_are_kept(paths: Paths, home: Path) -> None:
    (home / "notes.txt").write_text("mine", encoding="utf-8")
    for act in (lambda: remove_engine(paths, "torch"), lambda: install_engine(paths, VARIANTS[0])):
        with pytest.raises(
            UsageError, match=said("engines.strangers", names="notes.txt", title="PyTorch").pattern
        ):
            act()
    assert look(home) == ("ready", "")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="everything can be read")
def test_one_that_cannot_be_read_is_unreachable(home: Path) -> None:
    home.chmod(0)
    try:
        assert look(home)[0] == "unreachable"
    finally:
        home.chmod(0o700)


def test_a_drive_that_is_gone_is_named_and_nothing_is_made_there(paths: Paths, tmp_path: Path) -> None:
    gone = replace(paths, engines_folder=tmp_path / "gone")
    for act in (lambda: remove_engine(gone, "torch"), lambda: install_engine(gone, VARIANTS[0])):
        with pytest.raises(UsageError, match=said("engines.folder_is_gone").pattern):
            act()
    assert not (tmp_path / "gone").exists()


def test_a_rename_that_fails_leaves_the_old_one(paths: Paths, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = EngineFolder(paths.engines, "torch", "PyTorch")
    fresh = place.fresh()
    rename = Path.rename

    def fail(folder: Path, target: Path) -> Path:
        if folder == fresh:
            raise PermissionError(13, "in use")
        return rename(folder, target)

    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(PermissionError):
        place.put_in_place(fresh)
    assert look(home) == ("ready", "")
