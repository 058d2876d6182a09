"""What the steps themselves show, with real TensorFlow: it finds out those that skip work, and no honest ones."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.core.messages import message, sentence
from app.core.paths import Paths
from app.core.records import Run
from app.core.storage.database import Database
from app.core.storage.recording import RunWriter, begin_run
from app.core.storage.runs import load_run
from app.core.verdict.rules import judge
from app.core.verdict.training_proof import proof_lines
from tests import real_engines
from tests.child import told_by
from tests.conftest import MACHINE
from tests.workloads.training.cheat_probe import CASES, FIRST, cases_of
from workloads import CATALOGUE
from workloads.protocol import events
from workloads.protocol.spec import RunSpec

pytestmark = pytest.mark.timeout(900)
LATER = [case for case in cases_of("tensorflow") if case not in FIRST]


# Takes its time: TensorFlow is loaded, and a network compiled for each cheat, in one process for all.
@pytest.fixture(scope="module")
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """The stored record of each case that is asked for; one process trains them all."""
    tests = [test for test in request.session.items if test.path == request.path]
    names = [*FIRST, *LATER] if any(test.get_closest_marker("long") for test in tests) else FIRST
    said = told_by("-m", "tests.workloads.training.cheat_probe", "tensorflow", *names)
    lines = [(line["case"], line["events"]) for line in map(json.loads, said.splitlines())]
    with Database(tmp_path_factory.mktemp("cheats") / "runs") as database:
        return {name: stored(database, CASES[name].spec("tensorflow"), seen) for name, seen in lines}


def stored(database: Database, spec: RunSpec, lines: str) -> Run:
    run_id = begin_run(database, spec, CATALOGUE[spec.workload], MACHINE)
    writer = RunWriter(database, run_id)
    for line in lines.splitlines():
        event = events.decode(line.encode())
        assert event is not None
        writer.add(event)
    writer.finish("completed", None)
    return load_run(database, run_id)


@pytest.mark.engine
@pytest.mark.parametrize("case", [*FIRST, *(pytest.param(case, marks=pytest.mark.long) for case in LATER)])
def test_work_that_was_skipped_is_found_out_and_honest_work_is_not(case: str, runs: dict[str, Run]) -> None:
    check(case, runs[case])
    assert not CASES[case].real or runs[case].summary.data_source == "real"


def check(case: str, run: Run) -> None:
    codes = CASES[case].codes
    reasons = {reason.code: reason.level for reason in judge(run).reasons}
    assert codes <= reasons.keys()
    if not codes:
        assert "invalid" not in reasons.values()


@pytest.mark.engine
def test_the_evidence_is_shown(runs: dict[str, Run]) -> None:
    honest = dict(proof_lines(runs["honest"]))
    assert sentence("proof.examples_done", done=512, asked=512) in honest.values()
    learned = dict(proof_lines(runs["honest_real"]))
    assert sentence("proof.updates_of_steps", done=100, asked=100) in learned.values()
    assert "first 100" in learned["Loss"]
    (said,) = (reason.said for reason in judge(runs["half_batch"]).reasons if reason.code == "examples_missing")
    assert said == message("verdict.examples_missing", done=256, asked=512)


@pytest.mark.long
def test_what_a_last_batch_and_a_loss_scale_leave_out_is_counted_as_it_is(runs: dict[str, Run]) -> None:
    metrics = runs["honest_last_batch"].metrics
    assert metrics["examples_done"] == metrics["examples_asked"] == 2 * 60_000, "validation isn't counted"
    metrics = runs["honest_float16"].metrics
    assert "updates_done" not in metrics
    assert metrics["examples_done"] == metrics["examples_asked"] == 512


@pytest.mark.engine
def test_another_engine_gives_no_evidence_and_is_not_judged_by_it(runs: dict[str, Run]) -> None:
    run = runs["half_batch"]
    for key in [key for key in run.metrics if key.startswith("examples")]:
        del run.metrics[key]
    assert "examples_missing" not in {reason.code for reason in judge(run).reasons}


ENGINES = ("torch", "jax")
Runs = dict[str, Run]


@pytest.fixture(scope="module")
def runs_elsewhere(engines_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Runs]:
    """The stored record of each case by engine; one process trains all that an engine has."""
    home = tmp_path_factory.mktemp("cheats")
    paths = Paths(home / "data", home / "config", home / "cache", engines_folder=engines_folder)
    with Database(home / "runs") as database:
        return {engine: dict(trained(engine, paths, database)) for engine in ENGINES}


def trained(engine: str, paths: Paths, database: Database) -> Iterator[tuple[str, Run]]:
    for line in real_engines.probe("tests.workloads.training.cheat_probe", engine, paths, *cases_of(engine)):
        yield line["case"], stored(database, CASES[line["case"]].spec(engine), line["events"])


@pytest.mark.engines
@pytest.mark.parametrize(("engine", "case"), [(engine, case) for engine in ENGINES for case in cases_of(engine)])
def test_the_same_is_found_out_with_other_engines(engine: str, case: str, runs_elsewhere: dict[str, Runs]) -> None:
    run = runs_elsewhere[engine][case]
    check(case, run)
    if not CASES[case].codes:
        assert run.metrics["examples_done"] == run.metrics["examples_asked"]
