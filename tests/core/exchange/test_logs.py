"""Epoch logs among results: what they are of is in their names, and none is taken twice."""

from pathlib import Path

import pytest

from app.core.exchange.file_import import EpochLogError
from app.core.exchange.importing import Outcome, import_files
from app.core.exchange.logs import workload_of_log
from app.core.paths import Paths
from app.core.result_file.canonical import file_bytes
from app.core.storage.database import Database
from app.core.storage.imported_logs import list_logs
from tests.core.result_file.results import golden
from tests.saying import said
from tests.sure import sure

LOG = "epoch,elapsed,loss,acc,val_loss,val_acc\n0,{0},1,1,1,1\n1,{0},1,1,1,1\n2,{0},1,1,1,1\n"
TOTALS = "epoch,elapsed\n0,5\n1,10\n2,15\n3,20\n"


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A folder like that of study 000."""
    folder = tmp_path / "logs"
    for place, text in {
        "cpu-pip/cpu16/mnist_mlp_tensorflow.csv": LOG.format(5.5),
        "cpu-pip/cpu16/imdb_fasttext_unigram.csv": LOG.format(7.5),
        "gpu/mnist_mlp_tensorflow.csv": TOTALS,
        "gpu/unknown.csv": LOG.format(3),
        "gpu/mnist_cnn.csv": LOG.format("nan"),
        "mnist_cnn_tensorflow.csv": LOG.format(9),
    }.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(text)
    (folder / "result.json").write_bytes(file_bytes(golden()[:1]))
    return folder


def imported(paths: Paths, *files: Path) -> dict[str, Outcome]:
    with Database(paths.database) as database:
        return {
            each.path.relative_to(each.path.parents[1]).as_posix(): each for each in import_files(database, files)
        }


def test_a_folder_of_logs_comes_in_with_its_computers(paths: Paths, logs: Path) -> None:
    outcomes = imported(paths, logs)
    with Database(paths.database) as database:
        stored = {(log.workload, log.name): log.seconds_per_epoch_s for log in list_logs(database)}
    assert stored == {
        ("mnist_mlp", "cpu-pip cpu16"): 5.5,
        ("imdb_fasttext_unigram", "cpu-pip cpu16"): 7.5,
        ("mnist_mlp", "gpu"): 5.0,
        ("mnist_cnn", "logs"): 9.0,
    }
    refused = {name: str(each.refusal) for name, each in outcomes.items() if each.refusal is not None}
    assert set(refused) == {"gpu/unknown.csv", "gpu/mnist_cnn.csv"}
    assert said("exchange.log_of_what").is_in(refused["gpu/unknown.csv"])
    assert said("logs.not_a_number", line="2").is_in(refused["gpu/mnist_cnn.csv"])
    assert sure(outcomes["gpu/mnist_mlp_tensorflow.csv"].log).of_totals
    assert outcomes["logs/result.json"].added.imported == (1,)


def test_logs_that_come_again_are_recognised(paths: Paths, logs: Path) -> None:
    imported(paths, logs)
    again = [each.log for each in imported(paths, logs).values() if each.log is not None]
    assert [log.is_new for log in again] == [False] * 4
    with Database(paths.database) as database:
        assert len(list_logs(database)) == 4


def test_a_log_alone_is_named_by_its_file_and_can_be_left_for_a_question(database: Database, logs: Path) -> None:
    path = logs / "gpu" / "mnist_mlp_tensorflow.csv"
    (asked,) = import_files(database, [path], with_logs=False)
    assert isinstance(asked.refusal, EpochLogError)
    assert list_logs(database) == []
    (taken,) = import_files(database, [path])
    assert taken.count == 1
    assert [log.name for log in list_logs(database)] == ["mnist_mlp_tensorflow"]


@pytest.mark.parametrize(
    ("name", "workload"),
    [
        ("mnist_mlp_tensorflow", "mnist_mlp"),
        ("MNIST_MLP", "mnist_mlp"),
        ("mnist_cnn_nodropout_adam_cntk", "mnist_cnn_nodropout_adam"),
        ("mnist_mlpx", None),
        ("gpt_mini", None),
        ("demo", None),
        ("", None),
    ],
)
def test_a_workload_is_known_by_the_beginning_of_the_name(name: str, workload: str | None) -> None:
    known = workload_of_log(Path(f"{name}.csv"))
    assert (known and known.id) == workload
