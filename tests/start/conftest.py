"""Projects that were set up by a real start, and start.py's parts as modules."""

import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from tests.conftest import ROOT
from tests.start.starting import DROPPED, load, make_project, run_start


@pytest.fixture(scope="session")
def first_start(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, "subprocess.CompletedProcess[str]"]:
    project = make_project(tmp_path_factory.mktemp("first") / "ü 测试")
    return project, run_start(project, "7", "--json")


@pytest.fixture
def project(first_start: tuple[Path, object], tmp_path: Path) -> Path:
    shutil.copytree(first_start[0], tmp_path / "project", symlinks=True)
    (tmp_path / "project" / ".venv" / "marker").touch()
    return tmp_path / "project"


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """start.py as a module, of a project that is not set up."""
    for name in DROPPED:
        monkeypatch.delenv(name, raising=False)
    module = load(make_project(tmp_path / "bare") / "start.py")
    module.OWN.mkdir()
    return module


@pytest.fixture
def qt_libraries() -> ModuleType:
    return load(ROOT / "packaging" / "qt_libraries.py")
