"""The notebook for rented machines does what it says: its cells run, and its result can be read here."""

import json
import os
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from app.core.exchange.file_import import read_results
from tests.child import python
from tests.conftest import ROOT

NOTEBOOK = ROOT / "resources" / "notebooks" / "epochmark.ipynb"
# Stands for start.py, which would install everything anew.
START = f"""import os, subprocess, sys
command = [{sys.executable!r}, "-P", "-m", "app", *sys.argv[1:]]
sys.exit(subprocess.call(command, env=os.environ | {{"PYTHONPATH": {str(ROOT)!r}}}))
"""


def cells(kind: str) -> list[str]:
    document: dict[str, Any] = json.loads(NOTEBOOK.read_text("utf-8"))
    assert (document["nbformat"], document["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in document["cells"]}) == len(document["cells"])
    return ["".join(cell["source"]) for cell in document["cells"] if cell["cell_type"] == kind]


@pytest.mark.long
def test_its_cells_measure_and_leave_a_result_that_can_be_imported(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "epochmark.zip", "w") as archive:
        archive.writestr("epochmark-main/start.py", START)
    program = "\n".join(cells("code")).replace('"cifar10_keras_cnn", "quick"', '"demo", "standard"')
    done = python("-c", program, cwd=tmp_path, env={**os.environ, "EPOCHMARK_HOME": str(tmp_path / "home")})
    assert done.returncode == 0, done.stderr
    assert "result.epochmark.json from the list of files" in done.stdout
    (result,) = read_results(tmp_path / "result.epochmark.json")
    assert result.spec.workload == "demo"


@pytest.mark.slow
def test_a_failure_stops_it(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "epochmark.zip", "w") as archive:
        archive.writestr("start.py", "import sys; print('no'); sys.exit(3)")
    done = python("-c", "\n".join(cells("code")), cwd=tmp_path)
    assert done.returncode != 0
    assert "Epochmark ended with 3." in done.stderr
