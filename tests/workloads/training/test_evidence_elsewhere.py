"""What the steps themselves show with real PyTorch and JAX: the same as with TensorFlow."""

from pathlib import Path

import pytest

from app.core.paths import Paths
from app.core.records import Run
from app.core.storage.database import Database
from tests import real_engines
from tests.workloads.training.cheat_probe import CASES, ELSEWHERE
from tests.workloads.training.test_step_evidence import check, stored

pytestmark = [pytest.mark.engines, pytest.mark.timeout(real_engines.PATIENCE_S)]
Runs = dict[str, Run]


@pytest.fixture(scope="module", params=["torch", "jax"])
def runs(request: pytest.FixtureRequest, engines_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """The stored record of each case; one process trains them all."""
    home = tmp_path_factory.mktemp("cheats")
    paths = Paths(home / "data", home / "config", home / "cache", engines_folder=engines_folder)
    engine = request.param
    lines = real_engines.probe("tests.workloads.training.cheat_probe", engine, paths, *ELSEWHERE)
    with Database(home / "runs") as database:
        return {line["case"]: stored(database, line["case"], line["events"], engine) for line in lines}


@pytest.mark.parametrize("case", ELSEWHERE)
def test_work_that_was_skipped_is_found_out_and_honest_work_is_not(case: str, runs: Runs) -> None:
    check(case, runs[case])
    if not CASES[case].codes:
        assert runs[case].metrics["examples_done"] == runs[case].metrics["examples_asked"]
