"""Logs of epochs that others measured: read strictly, kept, and drawn beside runs that are like them."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.analysis.compare import bars
from app.core.analysis.provenance import provenance
from app.core.errors import UsageError
from app.core.messages import Message, message, sentence
from app.core.records import RunSummary
from app.core.storage.database import Database
from app.core.storage.imported_logs import epochs_of_totals, import_log, list_logs, read_log, remove_log
from tests.conftest import HINT, CommandLine
from tests.saying import Saying, has_at_its_core, said
from tests.sure import sure
from workloads import CATALOGUE

MLP = CATALOGUE["mnist_mlp"]
HEAD = "epoch,elapsed,loss,acc,val_loss,val_acc\n"
GOOD = HEAD + "0,5.5,0.24,0.92,0.12,0.96\n1,3.0,0.10,0.97,0.08,0.97\n2,3.5,0.07,0.98,0.08,0.98\n"


def written(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "log.csv"
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
    assert read_log(written(tmp_path, text)) == (5.5, 3.0, 3.5)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", message("logs.columns_missing", columns=["epoch", "elapsed"], count=2)),
        (HEAD, message("logs.no_epochs")),
        ("epoch,loss\n0,1\n", message("logs.columns_missing", columns=["elapsed"], count=1)),
        ("epoch,elapsed,cookies\n0,1,2\n", message("logs.unknown_column", column="cookies")),
        (HEAD + "0,-1\n", message("logs.implausible_epoch", line=2, duration_s=-1.0)),
        (HEAD + "0,1e308\n1,1e308\n", message("logs.implausible_epoch", line=2, duration_s=1e308)),
        (HEAD + "0,1e-300\n", message("logs.implausible_epoch", line=2, duration_s=1e-300)),
        (HEAD + "0,nan\n", message("logs.not_a_number", text="nan", line=2)),
        (HEAD + "0,1e999\n", message("logs.not_a_number", text="1e999", line=2)),
        (HEAD + "0,three\n", message("logs.not_a_number", text="three", line=2)),
        (HEAD + "0,1\n2,1\n", message("logs.epoch_out_of_order", line=3)),
        (HEAD + "7,1\n", message("logs.epoch_out_of_order", line=2)),
        (HEAD + "0,1,2,3,4,5,6,7\n", message("logs.too_many_cells", line=2)),
        (b"epoch,elapsed\n0,\xff\n", message("logs.not_utf8")),
        (b"epoch,elapsed\n" + b"0,1\n" * 300_000, message("logs.too_large")),
        (
            "epoch,elapsed\n" + "".join(f"{number},1\n" for number in range(10_001)),
            message("logs.too_many_epochs"),
        ),
    ],
)
def test_what_is_no_log_is_refused_with_the_place(tmp_path: Path, text: str | bytes, wanted: Message) -> None:
    path = written(tmp_path, text)
    with pytest.raises(UsageError) as refusal:
        read_log(path)
    assert has_at_its_core(refusal.value.message, wanted)
    assert str(path) in str(refusal.value)


def test_a_folder_or_nothing_is_not_a_log(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.csv"):
        with pytest.raises(UsageError, match=said("logs.not_a_file").pattern):
            read_log(path)


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.binary(max_size=300), st.text(max_size=300).map(lambda text: (HEAD + text).encode("utf-8"))))
def test_any_bytes_are_a_log_or_are_refused(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(raw)
    try:
        found = read_log(path)
    except UsageError:
        return
    assert all(1e-6 <= duration_s <= 1e8 for duration_s in found)


def test_an_imported_log_stands_among_the_bars_until_it_is_removed(
    database: Database, tmp_path: Path, summary: RunSummary
) -> None:
    log = import_log(database, written(tmp_path, GOOD), MLP, "  my   K80 ")
    assert (log.name, log.seconds_per_epoch_s) == ("my K80", 3.25)
    logs = list_logs(database, "mnist_mlp")
    assert logs == [log]
    assert list_logs(database, "mnist_cnn") == []
    (bar,) = [bar for bar in bars("mnist_mlp", None, logs=logs) if bar.kind == "log"]
    assert (bar.name, bar.value, bar.remarks) == ("my K80", 3.25, (sentence("compare.imported_log"),))
    assert (sentence("provenance.measured"), "3.25 s per epoch") in provenance(bar)
    run = replace(summary, workload="mnist_mlp", batch_size=128)
    assert bar in bars("mnist_mlp", run, logs=logs)
    for change in ({"batch_size": 64}, {"variant": "x=1"}, {"precision": "mixed_float16"}):
        assert bar not in bars("mnist_mlp", replace(run, **change), logs=logs)
    assert bars("cifar10_keras_cnn", None, logs=logs) == bars("cifar10_keras_cnn", None)
    remove_log(database, log.id)
    assert list_logs(database) == []
    with pytest.raises(UsageError, match=said("logs.unknown").pattern):
        remove_log(database, log.id)


@pytest.mark.parametrize(("workload", "name", "words"), [
    ("matmul", "x", said("logs.not_measured_in_epochs")),
    ("demo", "x", said("logs.not_measured_in_epochs")),
    ("mnist_mlp", " ", said("logs.bad_name")),
    ("mnist_mlp", "x" * 81, said("logs.bad_name")),
    ("mnist_mlp", "a\x1b[31mb", said("logs.bad_name")),
])  # fmt: skip
def test_what_cannot_be_drawn_is_not_imported(
    database: Database, tmp_path: Path, workload: str, name: str, words: Saying
) -> None:
    path = written(tmp_path, GOOD)
    with pytest.raises(UsageError, match=words.pattern):
        import_log(database, path, CATALOGUE[workload], name)
    assert list_logs(database) == []


def test_the_command_line_imports_lists_compares_and_removes(epochmark: CommandLine, tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    done = epochmark("logs", "import", str(path), "--workload", "mnist_mlp", "--name", "my K80")
    hint = f"See `{HINT} compare mnist_mlp`."
    assert done.stdout == f"Imported my K80 as log 1: 3.25 s per epoch (3 epochs). {hint}\n"
    assert "my K80  mnist_mlp" in epochmark("logs", "list").stdout
    assert "imported log" in epochmark("compare", "mnist_mlp").stdout
    assert epochmark("logs", "remove", "1").returncode == 0
    assert "imported log" not in epochmark("compare", "mnist_mlp").stdout
    refused = epochmark("logs", "import", str(tmp_path), "--workload", "mnist_mlp", "--name", "x")
    assert refused.returncode == 2
    assert refused.stderr.startswith("epochmark: ")


@pytest.mark.parametrize(
    ("seconds_s", "epochs_s"),
    [
        ((5.1, 10.2, 15.3, 20.4), (5.1, 5.1, 5.1, 5.1)),
        ((9.0, 12.0, 15.0, 18.5), (9.0, 3.0, 3.0, 3.5)),  # the first epoch includes start-up
        ((10.0, 10.2, 10.4, 10.6), None),  # a computer that gets warm
        ((10.0, 12.0, 11.0, 13.0), None),
        ((5.0, 10.0), None),  # too few to tell
        ((5.0,), None),
        ((5.0, 5.0, 5.0), None),
        ((1.0, 2.0, 30.0), None),  # an interruption
    ],
)
def test_totals_are_told_from_epochs(seconds_s: tuple[float, ...], epochs_s: tuple[float, ...] | None) -> None:
    result = epochs_of_totals(seconds_s)
    assert result == (None if epochs_s is None else pytest.approx(epochs_s))


@given(st.lists(st.floats(1.0, 1.3), min_size=3, max_size=50))
def test_totals_of_any_epochs_are_noticed_and_epochs_never_are(epochs_s: list[float]) -> None:
    totals_s = [sum(epochs_s[: number + 1]) for number in range(len(epochs_s))]
    assert sure(epochs_of_totals(totals_s)) == pytest.approx(epochs_s)
    assert epochs_of_totals(sorted(epochs_s)) is None or max(epochs_s) > 1.2 * min(epochs_s)


def test_the_terminal_says_what_looks_like_totals_and_takes_their_differences(
    epochmark: CommandLine, tmp_path: Path
) -> None:
    path = written(tmp_path, HEAD + "".join(f"{number},{5 * (number + 1)},,,,\n" for number in range(4)))
    asked = ("logs", "import", str(path), "--workload", "mnist_mlp", "--name")
    done = epochmark(*asked, "totals")
    assert done.returncode == 0
    assert said("cli.log_of_totals").is_in(done.stderr)
    right = epochmark(*asked, "right", "--totals")
    assert right.stderr == ""
    assert "5.0" in right.stdout
    refused = epochmark("logs", "import", str(written(tmp_path, GOOD)), *asked[3:], "falling", "--totals")
    assert refused.returncode == 2
    assert said("logs.not_totals").is_in(refused.stderr)
