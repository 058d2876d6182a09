"""Settings: kept, and a file that cannot be read harms nothing and is not lost."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.errors import AppError
from app.core.settings import Settings, load_settings, save_settings
from tests.saying import said


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


@pytest.mark.parametrize("folder", ["file", "missing", "folder"])
def test_saving_below_a_file_or_over_a_folder_or_into_nowhere_is_one_sentence(tmp_path: Path, folder: str) -> None:
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "folder" / "settings.json").mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(AppError, match=said("settings.not_written").pattern):
        save_settings(tmp_path / folder / "settings.json", Settings())
    assert sorted(tmp_path.rglob("*")) == before, "no half file is left"


def test_many_who_save_at_once_leave_one_whole_file(file: Path) -> None:
    chosen = [Settings(theme=theme, geometry=theme * 5_000) for theme in ("light", "dark", "system")]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda settings: save_settings(file, settings), chosen * 20))
    assert load_settings(file) in chosen
    assert list(file.parent.iterdir()) == [file]
