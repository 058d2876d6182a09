"""Settings: kept, and a file that cannot be read harms nothing and is not lost."""

import logging
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.errors import AppError
from app.core.messages import sentence
from app.core.settings import Settings, load_settings, save_settings
from tests.saying import said

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="links, pipes and permissions")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "settings.json"


def set_aside(folder: Path) -> list[bytes]:
    return sorted(path.read_bytes() for path in folder.glob("settings.damaged-*.json"))


def test_without_a_file_there_are_defaults_and_no_file_is_made(file: Path) -> None:
    assert load_settings(file) == Settings()
    assert not file.exists()


def test_what_was_saved_is_loaded_and_can_be_read_by_people(file: Path) -> None:
    chosen = Settings(preset="quick", theme="dark", save_folder="E:\\Daten ü", geometry="AdnQyw==")
    save_settings(file, chosen)
    assert load_settings(file) == chosen
    assert '  "theme": "dark",' in file.read_text(encoding="utf-8").splitlines()


def test_a_preset_that_was_never_chosen_is_distinguished(file: Path) -> None:
    save_settings(file, Settings())
    assert load_settings(file).preset is None
    save_settings(file, Settings(preset="standard"))
    assert load_settings(file).preset == "standard"


def test_fields_of_a_newer_version_are_ignored_and_missing_ones_have_defaults(file: Path) -> None:
    file.write_text('{"theme": "light", "hologram": {"on": true}}', encoding="utf-8")
    assert load_settings(file) == Settings(theme="light")
    assert file.exists()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"theme: dark",
        b'{"theme": "dark"',
        b"[]",
        b"null",
        b'{"theme": 5}',
        b'{"theme": "pink"}',
        b'{"preset": "slow"}',
        b'{"save_folder": "/a\\u0000b"}',
        b'{"theme": "\xff"}',
        b'{"theme": NaN}',
        b"\x00\x01\x02",
        b'{"a":' * 100_000,
        b" " * (1 << 20) + b"{}",
    ],
    ids=range(14),
)
def test_a_damaged_file_is_set_aside(file: Path, content: bytes, caplog: pytest.LogCaptureFixture) -> None:
    file.write_bytes(content)
    assert load_settings(file) == Settings()
    assert not file.exists()
    assert set_aside(file.parent) == [content]
    assert "settings.damaged-" in caplog.text


@given(st.binary(max_size=200))
def test_no_content_makes_loading_fail(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    file = tmp_path_factory.getbasetemp() / "fuzz" / "settings.json"
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(content)
    assert isinstance(load_settings(file), Settings)


def test_two_damaged_files_in_one_second_are_both_kept(file: Path) -> None:
    for content in (b"first", b"second"):
        file.write_bytes(content)
        load_settings(file)
    assert set_aside(file.parent) == [b"first", b"second"]


def test_a_folder_in_its_place_gives_defaults_and_stays(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    file.mkdir()
    with caplog.at_level(logging.WARNING):
        assert load_settings(file) == Settings()
    assert file.is_dir()
    assert said("settings.unreadable").is_in(caplog.text)


@pytest.mark.parametrize("folder", ["file", "missing", "folder"])
def test_saving_below_a_file_or_over_a_folder_or_into_nowhere_is_one_sentence(tmp_path: Path, folder: str) -> None:
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "folder" / "settings.json").mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(AppError, match=said("settings.not_written").pattern):
        save_settings(tmp_path / folder / "settings.json", Settings())
    assert sorted(tmp_path.rglob("*")) == before, "no half file is left"


def test_a_save_that_fails_halfway_leaves_the_old_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_settings(file, Settings(theme="dark"))

    def full_disk(descriptor: int, content: bytes) -> int:
        write(descriptor, content[:5])
        raise OSError(28, "No space left on device")

    write = os.write
    monkeypatch.setattr(os, "write", full_disk)
    with pytest.raises(AppError, match="No space left"):
        save_settings(file, Settings(theme="light"))
    monkeypatch.undo()
    assert load_settings(file).theme == "dark"
    assert list(file.parent.iterdir()) == [file]


@posix_only
@pytest.mark.parametrize(
    "make", [getattr(os, "mkfifo", None), Path.mkdir, lambda path: path.symlink_to("/dev/zero")]
)
def test_what_is_no_file_is_neither_waited_for_nor_written_to(
    file: Path, make: Callable[[Path], object], caplog: pytest.LogCaptureFixture
) -> None:
    make(file)
    assert load_settings(file) == Settings()
    assert said("settings.unreadable", reason="it is no regular file").is_in(caplog.text)
    with pytest.raises(AppError, match=said("settings.not_written", reason=sentence("files.not_regular")).pattern):
        save_settings(file, Settings())
    assert list(file.parent.iterdir()) == [file]


@posix_only
def test_a_link_stays_one_and_the_permissions_stay(file: Path, tmp_path: Path) -> None:
    dotfiles = tmp_path / "dotfiles"
    dotfiles.mkdir()
    file.symlink_to("dotfiles/epochmark.json")
    save_settings(file, Settings(theme="dark"))  # makes what the link names
    (dotfiles / "epochmark.json").chmod(0o600)
    save_settings(file, Settings(theme="light"))
    assert file.is_symlink()
    assert load_settings(file).theme == "light"
    assert (dotfiles / "epochmark.json").stat().st_mode & 0o777 == 0o600
    (dotfiles / "epochmark.json").write_text("damaged")
    assert load_settings(file) == Settings()
    assert file.is_symlink()
    assert [path.read_text() for path in dotfiles.glob("epochmark.damaged-*.json")] == ["damaged"]
    save_settings(file, Settings(theme="dark"))
    assert load_settings(file).theme == "dark"
    assert list(tmp_path.glob("*.part")) == list(dotfiles.glob("*.part")) == []


def test_many_who_save_at_once_leave_one_whole_file(file: Path) -> None:
    chosen = [Settings(theme=theme, geometry=theme * 5_000) for theme in ("light", "dark", "system")]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda settings: save_settings(file, settings), chosen * 20))
    assert load_settings(file) in chosen
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_a_folder_whose_name_is_not_text_cannot_be_saved_and_is_reported(file: Path) -> None:
    with pytest.raises(AppError, match=said("settings.folder_not_utf8").pattern):
        save_settings(file, Settings(save_folder=os.fsdecode(b"/caf\xe9")))
    assert not file.exists()
