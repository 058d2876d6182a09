"""What the steps themselves show, with real TensorFlow: it finds out those that skip work, and no honest ones."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.core.records import Run
from app.core.storage.database import Database
from app.core.storage.recording import RunWriter, begin_run
from app.core.storage.runs import load_run
from app.core.verdict.rules import judge
from app.core.verdict.training_proof import proof_lines
from tests.conftest import MACHINE, ROOT
from tests.workloads.training.cheat_probe import CASES
from workloads import CATALOGUE
from workloads.protocol import events

pytestmark = [pytest.mark.engine, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """The stored record of each case; one process trains them all."""
    command = [sys.executable, "-m", "tests.workloads.training.cheat_probe"]
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2_000:]
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    with Database(tmp_path_factory.mktemp("cheats") / "runs") as database:
        return {line["case"]: stored(database, line["case"], line["events"]) for line in lines}


def stored(database: Database, case: str, lines: str, engine: str = "tensorflow") -> Run:
    spec = CASES[case].spec(engine)
    run_id = begin_run(database, spec, CATALOGUE[spec.workload], MACHINE)
    writer = RunWriter(database, run_id)
    for line in lines.splitlines():
        event = events.decode(line.encode())
        assert event is not None
        writer.add(event)
    writer.finish("completed", None)
    return load_run(database, run_id)


@pytest.mark.parametrize("case", CASES)
def test_work_that_was_skipped_is_found_out_and_honest_work_is_not(case: str, runs: dict[str, Run]) -> None:
    run, codes = runs[case], CASES[case].codes
    reasons = {reason.code: reason.level for reason in judge(run).reasons}
    assert codes <= reasons.keys()
    if not codes:
        assert "invalid" not in reasons.values()
        assert "operations_unknown" not in reasons
    if CASES[case].real:
        assert run.summary.data_source == "real"


def test_the_evidence_is_shown(runs: dict[str, Run]) -> None:
    honest = dict(proof_lines(runs["honest"]))
    assert honest["Examples"] == "512 in the weight updates, at least 512 expected"
    assert honest["Operations"] == "3.209 million for each example in a step, 3.209 million expected"
    assert honest["Precision"] == "100 % float32"
    assert dict(proof_lines(runs["honest_bfloat16"]))["Precision"] == "100 % bfloat16"
    (said,) = (reason.text for reason in judge(runs["half_batch"]).reasons if reason.code == "examples_missing")
    assert said == "The weight updates used 256 examples instead of 512."


def test_a_smaller_last_batch_counts_as_it_is_and_validation_not_at_all(runs: dict[str, Run]) -> None:
    metrics = runs["honest_last_batch"].metrics
    assert metrics["examples_done"] == metrics["examples_asked"] == 2 * 60_000


def test_what_a_loss_scale_skips_is_counted_as_seen(runs: dict[str, Run]) -> None:
    metrics = runs["honest_float16"].metrics
    assert "updates_done" not in metrics
    assert metrics["examples_done"] == metrics["examples_asked"] == 512


def test_another_engine_gives_no_evidence_and_is_not_judged_by_it(runs: dict[str, Run], tmp_path: Path) -> None:
    run = runs["half_batch"]
    for key in [key for key in run.metrics if key.startswith(("examples", "operations"))]:
        del run.metrics[key]
    assert not {"examples_missing", "operations_missing", "operations_unknown", "precision_differs"} & {
        reason.code for reason in judge(run).reasons
    }
