"""A killed installation leaves the old engine or the new one, and whoever comes next cleans up."""

import subprocess
import sys
from pathlib import Path

import pytest

from app.core.engines.install import check_engine, install_engine, remove_engine
from app.core.engines.locations import engine_folder, put_back
from app.core.engines.variants import Variant
from app.core.errors import AppError
from app.core.paths import Paths
from tests.conftest import ROOT
from tests.core.engines.conftest import put_engine
from tests.saying import said
from tests.sure import sure

pytestmark = pytest.mark.long


def start(where: str, paths: Paths, variant: Variant) -> "subprocess.Popen[str]":
    arguments = ["-m", "tests.core.engines.engine_child", where, str(paths.data.parent), variant.lock]
    return subprocess.Popen(
        [sys.executable, *arguments], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def kill_in(where: str, paths: Paths, variant: Variant) -> None:
    with start(where, paths, variant) as process:
        if where != "rename":
            assert sure(process.stdout).readline() == "stopped\n"
            process.kill()
        assert process.wait() != 0


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


@pytest.mark.parametrize("where", ["download", "unpack", "try"])
def test_killed_while_it_is_made(paths: Paths, variant: Variant, where: str) -> None:
    stamp = put_engine(paths.engines / "torch")
    kill_in(where, paths, variant)
    assert len(names_in(paths.engines)) == 2
    assert engine_folder(paths, "torch").look().stamp == stamp
    assert check_engine(paths, "torch").state == "ready"
    assert names_in(paths.engines) == ["torch"]


def test_killed_between_the_renames_the_old_one_is_put_back(paths: Paths, variant: Variant) -> None:
    stamp = put_engine(paths.engines / "torch")
    kill_in("rename", paths, variant)
    assert engine_folder(paths, "torch").look().state == "absent"
    put_back(paths, "torch")
    assert engine_folder(paths, "torch").look().stamp == stamp
    install_engine(paths, variant)
    assert names_in(paths.engines) == ["torch"]


def test_a_removal_takes_what_a_killed_installation_left(paths: Paths, variant: Variant) -> None:
    kill_in("unpack", paths, variant)
    assert names_in(paths.engines) != []
    assert names_in(paths.downloads) != []
    assert remove_engine(paths, "torch").was_there
    assert not paths.engines.exists()
    assert names_in(paths.downloads) == []
    assert not remove_engine(paths, "torch").was_there


def test_a_second_process_is_refused_and_the_first_goes_on(paths: Paths, variant: Variant) -> None:
    with start("download", paths, variant) as process:
        assert sure(process.stdout).readline() == "stopped\n"
        with pytest.raises(AppError, match=said("engines.busy", title="PyTorch").pattern):
            install_engine(paths, variant)
        process.communicate("\n" * 1_000)
        assert process.returncode == 0
    assert engine_folder(paths, "torch").look().state == "ready"
