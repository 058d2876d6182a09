"""Scores of other computers: from files with all parts of one computer and engine, and from nothing else."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.core.exchange.importing import import_files
from app.core.messages import sentence
from app.core.paths import default_paths
from app.core.plans.suite.definition import SUITE_1, SUITES
from app.core.plans.suite.imported import imported_scores
from app.core.plans.suite.planning import plan_suite
from app.core.plans.suite.stored import list_suites
from app.core.plans.suite.texts import scores_figure
from app.core.records import Plan
from app.core.report.formats.result_document import enclosed_file
from app.core.runs.runner import Runner
from app.core.storage.database import Database
from tests.core.plans.suite.conftest import Store
from tests.sure import sure

Send = Callable[[list[int], str], None]


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


@pytest.fixture
def send(database: Database, elsewhere: Database, tmp_path: Path) -> Send:
    """Send runs elsewhere, in a file of this name."""

    def send_file(ids: list[int], name: str) -> None:
        path = tmp_path / "sent" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(enclosed_file(database, ids))
        (outcome,) = import_files(elsewhere, [path])
        assert outcome.refusal is None

    return send_file


def test_a_file_with_all_parts_is_a_score_elsewhere(
    database: Database, elsewhere: Database, plan: Plan, store: Store, send: Send
) -> None:
    result = store(plan, {"gpt_mini": 2.0}, engine_version="2.21.0", data_source="synthetic")
    send([run.id for run in result.runs], "suite.json")
    (score,) = imported_scores(elsewhere)
    assert score.score.points == pytest.approx(sure(result.total).points)
    assert score.score.low == pytest.approx(sure(result.total).low)
    assert (score.engine, score.verdict) == ("TensorFlow 2.21.0", "valid")
    assert sure(scores_figure(result, [], [score])).rows[1:] == (
        sentence("suite.imported", name="Test CPU", engine="TensorFlow 2.21.0"),
    )
    assert imported_scores(database) == [], "one's own are no others"


def test_scores_of_an_older_suite_stay_when_a_newer_one_comes(
    database: Database,
    elsewhere: Database,
    plan: Plan,
    store: Store,
    send: Send,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    result = store(plan, data_source="synthetic", engine_version="2.21.0")
    send([run.id for run in result.runs], "suite.json")
    monkeypatch.setitem(SUITES, 2, replace(SUITE_1, number=2, parts=SUITE_1.parts[:4]))
    newer, older = imported_scores(elsewhere)
    assert (newer.suite, older.suite) == (2, 1)
    assert older.score.points == pytest.approx(sure(result.total).points)
    assert [each.definition.number for each in list_suites(database)] == [1]


def test_seven_parts_are_no_score_nor_are_eight_of_two_files(
    elsewhere: Database, plan: Plan, store: Store, send: Send
) -> None:
    ids = [run.id for run in store(plan, data_source="synthetic").runs]
    send(ids[:14], "seven.json")
    send(ids[14:], "one.json")
    assert imported_scores(elsewhere) == []


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("batch_size", 64),
        ("precision", "mixed_float16"),
        ("preset", "standard"),
        ("data_source", "real"),
        ("engine_version", "2.20.0"),
    ],
)
def test_a_part_that_was_run_otherwise_is_none(
    database: Database, elsewhere: Database, plan: Plan, store: Store, send: Send, column: str, value: object
) -> None:
    result = store(plan, data_source="synthetic", engine_version="2.21.0")
    database.connection.execute(f"UPDATE runs SET {column} = ? WHERE workload = 'resnet_56'", (value,))
    send([run.id for run in result.runs], "suite.json")
    assert imported_scores(elsewhere) == []


def test_files_of_one_name_are_never_mixed_and_never_lost(
    elsewhere: Database, plan: Plan, store: Store, send: Send
) -> None:
    for number, (speed, parts) in enumerate(((1.0, 8), (1.5, 8), (3.0, 4))):
        everywhere = {part.workload: speed for part in SUITE_1.parts}
        result = store(plan, everywhere, data_source="synthetic", engine_version="2.21.0")
        send([run.id for run in result.runs[: 2 * parts]], f"{number}/score.json")
    points = sorted(each.score.points for each in imported_scores(elsewhere))
    assert points == pytest.approx([1_000.0, 1_500.0])
