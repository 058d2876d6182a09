import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.sure import sure
from workloads.protocol.folders import remove_leftovers, temporary_folder

CODE = """
from workloads.protocol.folders import temporary_folder
with temporary_folder() as folder:
    (folder / "store").touch()
    print(folder, flush=True)
    input()
"""


@pytest.mark.slow
def test_the_temporary_folder_of_a_killed_process_is_removed_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("TEMP", str(tmp_path))
    strangers = tmp_path / "epochmark-of_a_user"
    strangers.mkdir()
    command = [sys.executable, "-c", CODE]
    with subprocess.Popen(command, cwd=ROOT, stdin=-1, stdout=-1, text=True) as other, temporary_folder() as own:
        left = Path(sure(other.stdout).readline().strip())
        remove_leftovers()
        assert sorted(tmp_path.iterdir()) == sorted([left, own, strangers])
        other.kill()
        other.wait()
        remove_leftovers()
        assert sorted(tmp_path.iterdir()) == sorted([own, strangers])
    assert list(tmp_path.iterdir()) == [strangers]
