"""What the tests of data sets share."""

from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder to install into; the folder above it is for what is installed from."""
    folder = tmp_path / "installed"
    folder.mkdir()
    return folder
