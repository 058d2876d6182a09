"""The folder of an engine as users, systems and kills leave it."""

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.engines.folder import EngineFolder, State
from app.core.engines.install import install_engine, remove_engine
from app.core.engines.stamp import FORMAT, parse_stamp
from app.core.engines.variants import VARIANTS
from app.core.errors import UsageError
from app.core.messages import sentence, text
from app.core.paths import Paths
from tests.core.engines.conftest import put_engine
from tests.saying import said
from tests.sure import sure

STAMP = (
    b'{"format": 1, "engine": "torch", "variant": "cpu", "version": "1", "python": "3.11", "platform": "linux",'
    b'"packages": [{"name": "torch", "version": "1", "sha256": "%s", "is_locked": true}], "records_sha256": "%s",'
    b'"size_bytes": 5, "installed_at": "2026"}' % (b"0" * 64, b"1" * 64)
)


@pytest.fixture
def home(paths: Paths) -> Path:
    put_engine(paths.engines / "torch")
    return paths.engines / "torch"


def look(home: Path) -> tuple[State, str]:
    seen = EngineFolder(home.parent, "torch", "PyTorch").look()
    return seen.state, text(seen.problem) if seen.problem is not None else ""


def stamp_with(old: bytes, new: bytes) -> Callable[[Path], object]:
    return lambda home: (home / "engine.json").write_bytes((home / "engine.json").read_bytes().replace(old, new))


def folder_as_stamp(home: Path) -> None:
    (home / "engine.json").unlink()
    (home / "engine.json").mkdir()


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
    folder_as_stamp,
    stamp_with(b'"format": 1', b'"format": 2'),
    stamp_with(b'"engine": "torch"', b'"engine": "jax"'),
]


def test_a_whole_one_is_ready_and_none_is_absent(home: Path) -> None:
    assert look(home) == ("ready", "")
    assert look(home.parent / "none" / "torch") == ("absent", "")


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_one_says_so_and_is_removed(paths: Paths, home: Path, damage: Callable[[Path], object]) -> None:
    damage(home)
    assert look(home) == ("damaged", sentence("engines.damaged", title="PyTorch", folder=str(home)))
    assert remove_engine(paths, "torch").was_there
    assert not home.exists()


def test_one_of_another_python_says_so(paths: Paths) -> None:
    put_engine(paths.engines / "torch", python="3.4")
    state, problem = look(paths.engines / "torch")
    assert state == "other_python"
    assert said("engines.other_python", title="PyTorch", python="3.4").is_all_of(problem)


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


def test_the_sample_is_a_stamp() -> None:
    stamp = sure(parse_stamp(STAMP))
    assert stamp.format == FORMAT
    assert parse_stamp(msgspec.json.encode(stamp)) == stamp


@given(st.binary(max_size=300))
def test_no_bytes_break_the_reader_of_stamps(raw: bytes) -> None:
    assert parse_stamp(raw) is None


@given(st.integers(0, len(STAMP) - 1), st.binary(max_size=8))
def test_what_a_changed_stamp_is_read_as_is_a_valid_stamp(place: int, new: bytes) -> None:
    stamp = parse_stamp(STAMP[:place] + new + STAMP[place + len(new) + 1 :])
    assert stamp is None or (stamp.format == FORMAT and stamp.packages)
