"""What the steps themselves show with real PyTorch and JAX: the same as with TensorFlow."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.core.paths import Paths
from app.core.records import Run
from app.core.storage.database import Database
from tests import real_engines
from tests.workloads.training.cheat_probe import CASES, cases_of
from tests.workloads.training.test_step_evidence import check, stored

pytestmark = [pytest.mark.engines, pytest.mark.timeout(real_engines.PATIENCE_S)]
ENGINES = ("torch", "jax")
Runs = dict[str, Run]


@pytest.fixture(scope="module")
def runs(engines_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Runs]:
    """The stored record of each case by engine; one process trains all that an engine has."""
    home = tmp_path_factory.mktemp("cheats")
    paths = Paths(home / "data", home / "config", home / "cache", engines_folder=engines_folder)
    with Database(home / "runs") as database:
        return {engine: dict(trained(engine, paths, database)) for engine in ENGINES}


def trained(engine: str, paths: Paths, database: Database) -> Iterator[tuple[str, Run]]:
    cases = [case for case in cases_of(engine) if engine != "torch" or can_compile(case)]
    for line in real_engines.probe("tests.workloads.training.cheat_probe", engine, paths, *cases):
        yield line["case"], stored(database, CASES[line["case"]].spec(engine), line["events"])


def can_compile(case: str) -> bool:
    """Return whether PyTorch can compile the steps of a case here, if they are to be compiled."""
    return "jit" not in CASES[case].asked or shutil.which("g++") is not None


@pytest.mark.parametrize(("engine", "case"), [(engine, case) for engine in ENGINES for case in cases_of(engine)])
def test_work_that_was_skipped_is_found_out_and_honest_work_is_not(
    engine: str, case: str, runs: dict[str, Runs]
) -> None:
    if engine == "torch" and not can_compile(case):
        pytest.skip("torch.compile needs a compiler")
    run = runs[engine][case]
    check(case, run)
    if not CASES[case].codes:
        assert run.metrics["examples_done"] == run.metrics["examples_asked"]
