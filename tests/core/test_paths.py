"""Folders: where they are, and one sentence when they cannot be used."""

import sys
from pathlib import Path

import pytest

from app.core.errors import UsageError
from app.core.paths import default_paths, make_folder
from tests.saying import said


def test_epochmark_home_moves_everything_below_one_folder(tmp_path: Path) -> None:
    found = default_paths({"EPOCHMARK_HOME": str(tmp_path / "here")})
    found.create()
    for path in (found.database, found.datasets, found.settings, found.downloads, found.logs, found.keras_home):
        assert path.is_relative_to(tmp_path / "here")
        assert path.parent.is_dir()


def test_epochmark_home_may_be_relative_or_have_a_tilde(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert default_paths({"EPOCHMARK_HOME": "here"}).data == tmp_path / "here" / "data"
    assert default_paths({"EPOCHMARK_HOME": "~/here"}).data == Path.home() / "here" / "data"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows guesses the folders of other users")
def test_a_home_of_nobody_is_refused() -> None:
    with pytest.raises(UsageError, match=said("folders.home_unknown").pattern):
        default_paths({"EPOCHMARK_HOME": "~no-such-user-here/x"})


@pytest.mark.parametrize("environment", [{}, {"EPOCHMARK_HOME": ""}])
def test_without_it_the_folders_are_the_users_own_and_told_apart(environment: dict[str, str]) -> None:
    found = default_paths(environment)
    for folder in (found.data, found.config, found.cache):
        assert folder.is_absolute()
        assert "epochmark" in str(folder).lower()
    assert found.data != found.cache


@pytest.mark.parametrize("name", ["home", "home/data"])
def test_a_home_or_a_data_folder_that_is_a_file_is_one_sentence(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("a file")
    with pytest.raises(UsageError, match=said("folders.file_in_place").pattern) as refused:
        default_paths({"EPOCHMARK_HOME": str(tmp_path / "home")}).create()
    assert str(tmp_path / name) in refused.value.message_text
    assert said("folders.move_away").is_in(refused.value.advice_text or "")
    assert (tmp_path / name).read_text() == "a file"


def test_a_folder_that_cannot_be_made_is_named_with_its_reason(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=said("folders.not_created").pattern) as refused:
        make_folder(tmp_path / ("long" * 100))
    assert "longlong" in refused.value.message_text
    assert isinstance(refused.value.__cause__, OSError)
    assert str(refused.value.__cause__.strerror) in refused.value.message_text
