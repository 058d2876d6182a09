"""Whether an engine can be imported, and whether its card computes."""

from pathlib import Path

import pytest

from app.core.engines.proving import trial_failure, try_import
from app.core.paths import Paths
from tests.sure import sure


@pytest.mark.parametrize(
    ("output", "failure"),
    [
        ('{"type": "import", "error": null, "duration_s": 1}\nnoise\n{"type": "end", "good": true}', None),
        ('{"type": "step", "name": "matmul", "error": "hipError"}\n{"type": "end", "good": false}', "hip"),
        ('{"type": "import", "error": "ImportError: no rocm_sdk", "duration_s": null}', "ImportError"),
        ('{"type": "step", "name": "matmul", "error": null}\nSegmentation fault', ""),
        ('{"type": "end", "good": false}', ""),
        ("", ""),
    ],
)
def test_a_trial_counts_only_if_it_ended_well(output: str, failure: str | None) -> None:
    found = trial_failure(output)
    assert found is None if failure is None else sure(found).startswith(failure)
    assert bool(found) == bool(failure)


@pytest.mark.slow
def test_an_engine_whose_import_hangs_is_given_up(paths: Paths, tmp_path: Path) -> None:
    (tmp_path / "keras.py").write_text("import time; time.sleep(600)", encoding="utf-8")
    problem = sure(try_import("torch", tmp_path, paths, lambda: None, limit_s=1.0))
    assert problem.code == "engines.import_hangs"
