"""What tests of real engines share."""

from pathlib import Path

import pytest

from app.core.paths import Paths


@pytest.fixture(scope="module")
def engines_paths(engines_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Paths:
    home = tmp_path_factory.mktemp("home")
    (home / "data").mkdir()
    return Paths(home / "data", home / "config", home / "cache", engines_folder=engines_folder)
