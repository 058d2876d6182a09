"""Epoch logs among files of results: read strictly, stored as results, and none twice."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.analysis.compare import Bar, bars
from app.core.analysis.provenance import provenance
from app.core.errors import UsageError
from app.core.exchange.epoch_log import LONGEST_S, LogDetails, read_durations, workload_of_log
from app.core.exchange.file_import import EpochLogError
from app.core.exchange.importing import Outcome, import_files
from app.core.exchange.preview import preview
from app.core.messages import Message, message, sentence
from app.core.paths import Paths
from app.core.records import RunSummary
from app.core.result_file.canonical import check, file_bytes
from app.core.storage.database import Database
from app.core.storage.imported_results import list_results, load_result
from tests.core.result_file.results import golden
from tests.saying import Saying, has_at_its_core, said
from workloads import CATALOGUE

HEAD = "epoch,elapsed,loss,acc,val_loss,val_acc\n"
GOOD = HEAD + "0,5.5,0.24,0.92,0.12,0.96\n1,3.0,0.10,0.97,0.08,0.97\n2,3.5,0.07,0.98,0.08,0.98\n"
LOG = "epoch,elapsed,loss,acc,val_loss,val_acc\n0,{0},1,1,1,1\n1,{0},1,1,1,1\n2,{0},1,1,1,1\n"
TOTALS = "epoch,elapsed\n0,5\n1,10\n2,15\n3,20\n"


def written(tmp_path: Path, text: str | bytes, name: str = "log.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        GOOD.replace("\n", "\r\n"),
        "\ufeff" + GOOD,
        GOOD.replace("0,5.5", "1,5.5").replace("\n1,3.0", "\n2,3.0").replace("\n2,3.5", "\n3,3.5"),
        "elapsed,epoch\n5.5,0\n3.0,1\n3.5,2\n",
        GOOD.replace("0.24,0.92,0.12,0.96", ",,,"),
    ],
)
def test_a_log_is_its_seconds_epoch_by_epoch(tmp_path: Path, text: str) -> None:
    assert read_durations(written(tmp_path, text)) == (5.5, 3.0, 3.5)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", message("logs.columns_missing", columns=["epoch", "elapsed"], count=2)),
        (HEAD, message("logs.no_epochs")),
        ("epoch,loss\n0,1\n", message("logs.columns_missing", columns=["elapsed"], count=1)),
        ("epoch,elapsed,cookies\n0,1,2\n", message("logs.unknown_column", column="cookies")),
        (HEAD + "0,-1\n", message("logs.implausible_epoch", line=2, duration_s=-1.0)),
        (HEAD + "0,4e7\n", message("logs.implausible_epoch", line=2, duration_s=4e7)),
        (HEAD + "0,1e308\n1,1e308\n", message("logs.implausible_epoch", line=2, duration_s=1e308)),
        (HEAD + "0,1e-300\n", message("logs.implausible_epoch", line=2, duration_s=1e-300)),
        (HEAD + "0,nan\n", message("logs.not_a_number", text="nan", line=2)),
        (HEAD + "0,1e999\n", message("logs.not_a_number", text="1e999", line=2)),
        (HEAD + "0,three\n", message("logs.not_a_number", text="three", line=2)),
        (HEAD + "0,1\n2,1\n", message("logs.epoch_out_of_order", line=3)),
        (HEAD + "7,1\n", message("logs.epoch_out_of_order", line=2)),
        (HEAD + "0,1,2,3,4,5,6,7\n", message("logs.too_many_cells", line=2)),
        (HEAD + '0,"1', message("logs.not_csv")),
        (b"epoch,elapsed\n0,\xff\n", message("exchange.not_utf8")),
        (b"epoch,elapsed\n" + b"0,1\n" * 300_000, message("exchange.file_too_large")),
        (
            "epoch,elapsed\n" + "".join(f"{number},1\n" for number in range(10_001)),
            message("logs.too_many_epochs"),
        ),
    ],
)
def test_what_is_no_log_is_refused_with_the_place(tmp_path: Path, text: str | bytes, wanted: Message) -> None:
    path = written(tmp_path, text)
    with pytest.raises(UsageError) as refusal:
        read_durations(path)
    assert has_at_its_core(refusal.value.message, wanted)
    assert str(path) in str(refusal.value)


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.binary(max_size=300), st.text(max_size=300).map(lambda text: (HEAD + text).encode("utf-8"))))
def test_any_bytes_are_a_log_or_are_refused(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(raw)
    try:
        found = read_durations(path)
    except UsageError:
        return
    assert all(1e-6 <= duration_s <= LONGEST_S for duration_s in found)


def bars_of(database: Database, run: RunSummary | None = None) -> list[Bar]:
    drawn = bars("mnist_mlp", run, imported=list_results(database, "mnist_mlp"))
    return [bar for bar in drawn if bar.kind == "imported"]


def test_a_log_is_a_result_of_the_usual_spec_beside_runs_that_are_like_it(
    database: Database, tmp_path: Path, summary: RunSummary
) -> None:
    details = LogDetails(CATALOGUE["mnist_mlp"], "  my   K80 ")
    (outcome,) = import_files(database, [written(tmp_path, GOOD)], None, details)
    result = load_result(database, outcome.added.imported[0])
    check(result)
    assert [epoch.duration_s for epoch in result.epochs or ()] == [5.5, 3.0, 3.5]
    assert (result.statistics.basis, result.statistics.first_epoch_s) == ("later_epochs", 5.5)
    assert result.verdict is None
    fields = {field.name: field.text for field in preview(result)}
    assert (fields["cpu"], fields["version"]) == ("my K80", "epoch log")
    assert said("exchange.epoch_seconds", count="3").is_all_of(fields["epochs"])
    (bar,) = bars_of(database)
    assert (bar.name, bar.value, bar.remarks) == ("my K80", 3.25, (sentence("compare.imported_log"),))
    assert (sentence("provenance.measured"), "3.25 s per epoch") in provenance(bar)
    workload = CATALOGUE["mnist_mlp"]
    run = replace(
        summary,
        workload="mnist_mlp",
        workload_version=workload.version,
        batch_size=128,
        samples_per_epoch=workload.samples_per_epoch,
    )
    assert bars_of(database, run) == [bar]
    for change in ({"batch_size": 64}, {"variant": "x=1"}, {"precision": "mixed_float16"}):
        assert bars_of(database, replace(run, **change)) == []


def test_a_log_of_one_epoch_says_so(database: Database, tmp_path: Path) -> None:
    list(import_files(database, [written(tmp_path, HEAD + "0,12.25,,,,\n", "mnist_mlp.csv")]))
    (bar,) = bars_of(database)
    codes = ("compare.imported_log", "short.first_epoch")
    assert (bar.value, bar.remarks) == (12.25, tuple(map(sentence, codes)))


def test_a_log_of_very_many_epochs_keeps_them_all(database: Database, tmp_path: Path) -> None:
    text = "epoch,elapsed\n" + "".join(f"{epoch},{2 + epoch % 2}\n" for epoch in range(10_000))
    (outcome,) = import_files(database, [written(tmp_path, text, "cifar10_keras_cnn.csv")])
    result = load_result(database, outcome.added.imported[0])
    assert (result.statistics.value, len(result.epochs or ())) == (3.0, 10_000)


@pytest.mark.parametrize(("workload", "name", "words"), [
    ("matmul", "x", said("logs.not_measured_in_epochs")),
    ("demo", "x", said("logs.not_measured_in_epochs")),
    ("mnist_mlp", "", said("logs.bad_name")),
    ("mnist_mlp", " ", said("logs.bad_name")),
    ("mnist_mlp", "x" * 81, said("logs.bad_name")),
    ("mnist_mlp", "a\x1b[31mb", said("logs.bad_name")),
    ("mnist_mlp", "a\u202eb", said("logs.bad_name")),
    ("mnist_mlp", "a\udcffb", said("logs.bad_name")),
])  # fmt: skip
def test_what_cannot_be_drawn_is_not_imported(
    database: Database, tmp_path: Path, workload: str, name: str, words: Saying
) -> None:
    details = LogDetails(CATALOGUE[workload], name)
    (outcome,) = import_files(database, [written(tmp_path, GOOD)], None, details)
    assert words.is_in(str(outcome.refusal))
    assert list_results(database) == []


@pytest.mark.parametrize(
    "name", ["mnist_mlp \x1b[31m\u202e.csv", "mnist_mlp\udcff.csv", "mnist_mlp_" + "x" * 200 + ".csv"]
)
def test_a_hostile_file_name_names_a_computer_harmlessly(database: Database, tmp_path: Path, name: str) -> None:
    try:
        path = written(tmp_path, GOOD, name)
    except (OSError, UnicodeError):
        pytest.skip("the file system has no such names")
    (outcome,) = import_files(database, [path], None, LogDetails(CATALOGUE["mnist_mlp"]))
    assert outcome.refusal is None
    (result,) = list_results(database)
    assert result.label.isprintable()
    assert 0 < len(result.label) <= 80


@pytest.mark.parametrize(
    ("text", "are_totals", "median_s", "is_said"),
    [
        (TOTALS, None, 5.0, True),
        (TOTALS, True, 5.0, True),
        (TOTALS, False, 15.0, False),
        (GOOD, None, 3.25, False),
        ("epoch,elapsed\n0,5\n1,10\n", True, 5.0, True),  # too few to be noticed
    ],
)
def test_totals_are_noticed_unless_the_user_knows_better(
    database: Database, tmp_path: Path, text: str, are_totals: bool | None, median_s: float, is_said: bool
) -> None:
    details = LogDetails(CATALOGUE["mnist_mlp"], "x", are_totals)
    (outcome,) = import_files(database, [written(tmp_path, text)], None, details)
    assert outcome.are_totals == is_said
    assert [result.summary.value for result in list_results(database)] == [median_s]


def test_totals_that_fall_are_refused(database: Database, tmp_path: Path) -> None:
    details = LogDetails(CATALOGUE["mnist_mlp"], "x", are_totals=True)
    (outcome,) = import_files(database, [written(tmp_path, GOOD)], None, details)
    assert said("logs.not_totals").is_in(str(outcome.refusal))


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


def stored(database: Database) -> dict[tuple[str, str], float | None]:
    return {
        (each.summary.workload, each.label): each.summary.value for each in list_results(database) if each.is_log
    }


def test_a_folder_of_logs_comes_in_with_its_computers(paths: Paths, logs: Path) -> None:
    outcomes = imported(paths, logs)
    with Database(paths.database) as database:
        assert stored(database) == {
            ("mnist_mlp", "cpu-pip cpu16"): 5.5,
            ("imdb_fasttext_unigram", "cpu-pip cpu16"): 7.5,
            ("mnist_mlp", "gpu"): 5.0,
            ("mnist_cnn", "logs"): 9.0,
        }
    refused = {name: str(each.refusal) for name, each in outcomes.items() if each.refusal is not None}
    assert set(refused) == {"gpu/unknown.csv", "gpu/mnist_cnn.csv"}
    assert said("exchange.log_of_what").is_in(refused["gpu/unknown.csv"])
    assert said("logs.not_a_number", line="2").is_in(refused["gpu/mnist_cnn.csv"])
    assert outcomes["gpu/mnist_mlp_tensorflow.csv"].are_totals
    assert outcomes["logs/result.json"].count == 1


def test_logs_that_come_again_are_recognised(paths: Paths, logs: Path, tmp_path: Path) -> None:
    first = imported(paths, logs)
    again = imported(paths, logs)
    for name, outcome in first.items():
        assert again[name].added.duplicates == outcome.added.imported, name
        assert again[name].count == 0
    # Seconds that could be another computer's by chance are the same log under the same name only.
    (logs / "gpu").rename(logs / "gpu2")
    (logs / "cpu-pip").rename(logs / "cpu")
    moved = imported(paths, logs)
    assert {name for name, outcome in moved.items() if outcome.count} == {"gpu2/mnist_mlp_tensorflow.csv"}
    (alone,) = imported(paths, logs / "gpu2" / "mnist_mlp_tensorflow.csv").values()
    assert alone.count == 0


def test_a_log_alone_is_named_by_its_file_and_can_be_left_for_a_question(database: Database, logs: Path) -> None:
    path = logs / "gpu" / "mnist_mlp_tensorflow.csv"
    (asked,) = import_files(database, [path], logs=None)
    assert isinstance(asked.refusal, EpochLogError)
    assert list_results(database) == []
    (taken,) = import_files(database, [path])
    assert taken.count == 1
    assert stored(database) == {("mnist_mlp", "mnist_mlp_tensorflow"): 5.0}


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
