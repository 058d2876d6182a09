"""Scores of other computers: from files with all parts of one computer and engine, and from nothing else."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.core.exchange.importing import import_files
from app.core.paths import default_paths
from app.core.records import Plan
from app.core.report.formats.result_document import enclosed_file
from app.core.runs.runner import Runner
from app.core.storage.database import Database
from app.core.suite.definition import SUITE_1
from app.core.suite.imported import imported_scores
from app.core.suite.planning import plan_suite
from app.core.suite.texts import scores_figure
from tests.core.suite.conftest import Store


@pytest.fixture
def plan(runner: Runner) -> Plan:
    return plan_suite(runner, "tensorflow", "cpu")


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Database]:
    """The results of somebody else."""
    paths = default_paths({"EPOCHMARK_HOME": str(tmp_path / "elsewhere")})
    paths.create()
    with Database(paths.database) as opened:
        yield opened


def send(database: Database, ids: list[int], path: Path, to: Database) -> None:
    path.write_bytes(enclosed_file(database, ids))
    (outcome,) = import_files(to, [path])
    assert outcome.refusal is None


def test_a_file_with_all_parts_is_a_score_elsewhere(
    database: Database, elsewhere: Database, plan: Plan, store: Store, tmp_path: Path
) -> None:
    result = store(plan, {"gpt_mini": 2.0}, engine_version="2.21.0", data_source="synthetic")
    send(database, [run.id for run in result.runs], tmp_path / "suite.json", elsewhere)
    (score,) = imported_scores(elsewhere, SUITE_1)
    assert result.total is not None
    assert score.score.points == pytest.approx(result.total.points)
    assert score.score.low == pytest.approx(result.total.low)
    assert (score.engine, score.verdict) == ("TensorFlow 2.21.0", "valid")
    figure = scores_figure([], [score])
    assert figure is not None
    assert figure.rows == ("Test CPU, TensorFlow 2.21.0 (imported, not verified)",)
    assert imported_scores(database, SUITE_1) == [], "one's own are no others"


def test_seven_parts_are_no_score_nor_are_eight_of_two_files(
    database: Database, elsewhere: Database, plan: Plan, store: Store, tmp_path: Path
) -> None:
    ids = [run.id for run in store(plan, data_source="synthetic").runs]
    send(database, ids[:7], tmp_path / "seven.json", elsewhere)
    send(database, ids[7:], tmp_path / "one.json", elsewhere)
    assert imported_scores(elsewhere, SUITE_1) == []


@pytest.mark.parametrize(
    ("column", "value"),
    [("batch_size", 64), ("precision", "mixed_float16"), ("preset", "standard"), ("data_source", "real")],
)
def test_a_part_that_was_run_otherwise_is_none(
    database: Database,
    elsewhere: Database,
    plan: Plan,
    store: Store,
    tmp_path: Path,
    column: str,
    value: object,
) -> None:
    result = store(plan, data_source="synthetic")
    database.connection.execute(f"UPDATE runs SET {column} = ? WHERE workload = 'resnet_56'", (value,))
    send(database, [run.id for run in result.runs], tmp_path / "suite.json", elsewhere)
    assert imported_scores(elsewhere, SUITE_1) == []


def test_parts_of_two_engines_are_no_score(
    database: Database, elsewhere: Database, plan: Plan, store: Store, tmp_path: Path
) -> None:
    result = store(plan, data_source="synthetic", engine_version="2.21.0")
    database.connection.execute("UPDATE runs SET engine_version = '2.20.0' WHERE workload = 'resnet_56'")
    send(database, [run.id for run in result.runs], tmp_path / "suite.json", elsewhere)
    assert imported_scores(elsewhere, SUITE_1) == []


def test_files_of_one_name_are_never_mixed_and_never_lost(
    database: Database, elsewhere: Database, plan: Plan, store: Store, tmp_path: Path
) -> None:
    sent = []
    for number, speed in enumerate((1.0, 1.5)):
        everywhere = {part.workload: speed for part in SUITE_1.parts}
        result = store(plan, everywhere, data_source="synthetic", engine_version="2.21.0")
        folder = tmp_path / str(number)
        folder.mkdir()
        send(database, [run.id for run in result.runs], folder / "score.json", elsewhere)
        sent.append(1_000 * speed)
    everywhere = dict.fromkeys(everywhere, 3.0)
    half = store(plan, everywhere, data_source="synthetic", engine_version="2.21.0")
    (tmp_path / "half").mkdir()
    send(database, [run.id for run in half.runs[:4]], tmp_path / "half" / "score.json", elsewhere)
    points = sorted(each.score.points for each in imported_scores(elsewhere, SUITE_1))
    assert points == pytest.approx(sent)
