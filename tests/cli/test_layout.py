"""What people read fits their terminal, from 60 to 200 columns; what programs read is never wrapped."""

import gzip
import io
import os
import re
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from rich.cells import cell_len

from app.cli.arguments import make_parser
from app.cli.layout import Column, bar_chart, elided, live_text, table, wrapped
from app.cli.text import LiveLine, say, say_command
from app.cli.views import TextView
from app.core.analysis.bars import bars
from app.core.paths import Paths
from app.core.storage.database import Database
from app.core.storage.groups import list_groups
from app.core.storage.imported_results import add_results
from app.core.storage.runs import list_runs
from tests.build import golden_of, in_database
from tests.conftest import ROOT
from tests.recording import asked, recorded_events, store_recording
from tests.study_pictures import SUITE_FACTORS, store_studies, store_suite
from workloads import CATALOGUE

WIDTHS = range(60, 201)
SOME_WIDTHS = (*range(60, 90), *range(90, 201, 10))  # of what takes long to load
DATA = ROOT / "tests" / "data"
DATABASES = sorted((DATA / "databases").glob("*.sqlite3.gz"))
Shown = Callable[..., str]


@pytest.fixture
def shown(paths: Paths, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shown:
    """What a command shows on a terminal of this width, or in a pipe: shown(80, "results", "list")."""
    parsed = cache(lambda *arguments: make_parser().parse_args([*arguments]))

    def show(columns: int | None, *arguments: str) -> str:
        if columns is None:
            monkeypatch.delenv("COLUMNS", raising=False)
        else:
            monkeypatch.setenv("COLUMNS", str(columns))
        options = copy(parsed(*arguments))
        options.verb(options, paths)
        return capsys.readouterr().out

    return show


@pytest.fixture
def old_runs(request: pytest.FixtureRequest, paths: Paths) -> None:
    paths.database.write_bytes(gzip.decompress(Path(request.param).read_bytes()))


@pytest.fixture
def recorded_run(paths: Paths) -> None:
    in_database(paths.database, store_recording, recorded_events())


def words(text: str) -> set[str]:
    return {word.strip("…,·()\\") for word in re.split(r"[\s│]+", text)} - {""}


def bars_left_out(text: str) -> str:
    return re.sub(r"[█▒░]+", " ", text)


def assert_fits(fitted: str, whole: str, columns: int) -> None:
    """A line is longer than the terminal only if it's one word; every word and number is as it was."""
    long = [line for line in fitted.splitlines() if cell_len(line) > columns and len(line.split()) > 1]
    if os.name == "nt":  # its shells take a command only in one line
        long = [line for line in long if not line.startswith(" " * 8)]
    assert long == []
    assert words(bars_left_out(fitted)) - words(bars_left_out(whole)) == set(), columns


@pytest.mark.long
@pytest.mark.parametrize("old_runs", [DATABASES[0], DATABASES[-1]], indirect=True, ids=["oldest", "newest"])
def test_stored_runs_fit_every_width(old_runs: None, shown: Shown, paths: Paths) -> None:
    whole = shown(None, "results", "list")
    with Database(paths.database) as database:
        stored = [(run.id, run.workload) for run in list_runs(database, limit=50)]
        groups = [group.id for group in list_groups(database)]
    assert stored
    for columns in WIDTHS:
        listed = shown(columns, "results", "list")
        assert_fits(listed, whole, columns)
        for run_id, workload in stored:
            assert {str(run_id), workload} <= words(listed)
    for run_id, _ in stored[:2]:
        whole = shown(None, "results", "show", str(run_id))
        for columns in SOME_WIDTHS:
            assert_fits(shown(columns, "results", "show", str(run_id)), whole, columns)
    for group_id in groups[:2]:
        whole = shown(None, "results", "group", str(group_id))
        for columns in SOME_WIDTHS:
            assert_fits(shown(columns, "results", "group", str(group_id)), whole, columns)


LOG = DATA / "doctor" / "aborted_windows.log"
COMMANDS = (
    *("compare", "compare mnist_cnn", "compare resnet_50 --several-gpus", "workloads", "hardware", "engine list"),
    *("data list", "import --list", "results show 1", "doctor", "doctor --verbose --log {log}"),
)


@pytest.mark.long
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[:20])
def test_whatever_is_listed_fits_every_width(
    recorded_run: None, broken_card: None, shown: Shown, command: str, paths: Paths, tmp_path: Path
) -> None:
    arguments = [word.format(log=LOG) for word in command.split()]
    if "compare" in arguments or "import" in arguments:
        name = "A machine 計算機 with a name that is far too long"
        in_database(paths.database, add_results, [golden_of(name, 12.25)], "other.json")
    whole = shown(None, *arguments)
    for columns in SOME_WIDTHS if "show" in arguments else WIDTHS:
        fitted = shown(columns, *arguments)
        assert_fits(fitted, whole, columns)
        assert len(fitted.splitlines()) >= len(whole.splitlines())


@pytest.mark.long
def test_plans_fit_every_width(shown: Shown, paths: Paths) -> None:
    _, machine = asked(recorded_events())
    with Database(paths.database) as database:
        store_suite(database, paths, machine, SUITE_FACTORS[0])
        studies = [group_id for _, group_id in store_studies(database, paths, machine)]
    shows = [["study", "show", str(each)] for each in studies]
    for arguments in (["suite", "list"], ["suite", "show", "1"], ["study", "list"], *shows):
        whole = shown(None, *arguments)
        for columns in SOME_WIDTHS[::5]:
            assert_fits(shown(columns, *arguments), whole, columns)


@pytest.mark.long
def test_a_run_fits_every_width(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = recorded_events()
    spec, machine = asked(recorded)
    machine = replace(machine, cpu_name="AMD Ryzen Threadripper PRO 7995WX 96-Cores " * 3)

    def run() -> str:
        view = TextView(CATALOGUE[spec.workload], spec, machine, quiet=False)
        view.preflight = ["Caution  Other programs used 58 % of the CPU just now. Close them."]
        for event in recorded:
            view(event)
        return capsys.readouterr().out

    whole = run()
    for columns in WIDTHS:
        monkeypatch.setenv("COLUMNS", str(columns))
        assert_fits(run(), whole, columns)


def test_names_give_way_first_then_columns_in_their_order() -> None:
    columns = (
        Column("column.id"),
        Column("heading.name", least=8),
        Column("heading.batch", order=2),
        Column("setting.device", order=1),
    )
    rows = [("1", "Intel Core i5 8250U", "100", "cpu")]

    def shown(room: int | None) -> list[str]:
        return [line.plain for line in table(columns, rows, room)[1:]]

    assert shown(None) == ["1   Intel Core i5 8250U  100    cpu"]
    assert shown(30) == ["1   Intel Core   100    cpu", "    i5 8250U"]
    assert shown(22) == ["1   Intel Core   100", "    i5 8250U"]
    assert shown(14) == ["1   Intel Core", "    i5 8250U"]


def test_a_column_that_wraps_keeps_every_word() -> None:
    columns = (Column("heading.name"), Column("column.here", least=10))
    cell = "your GPU, 1.2 GB to load"
    lines = [line.plain for line in table(columns, [("jax", cell)], 20)]
    assert max(map(len, lines)) <= 20
    words = f"{' '.join(column.heading for column in columns)} jax {cell}"
    assert sorted(" ".join(lines).split()) == sorted(words.split())


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        ("a b c", ["a b c"]),
        ("Machine  one of two or three", ["Machine  one of two", "         or three"]),
        ("    why so long a line", ["    why so long a", "    line"]),
        ("is uncertain by ± 3.9 %, only", ["is uncertain by", "± 3.9 %, only"]),
        ("not long, it took 27 s.", ["not long, it took", "27 s."]),
        ("a-very-long-word-stays whole", ["a-very-long-word-stays", "whole"]),
        ("計算機 計算機 計算機", ["計算機 計算機", "計算機"]),
    ],
)
def test_lines_break_between_words_only(line: str, lines: list[str]) -> None:
    assert wrapped(line, 19) == lines


def test_a_name_is_cut_behind_a_word_and_else_where_it_must_be() -> None:
    assert elided("NVIDIA GeForce RTX 3060", 18) == "NVIDIA GeForce…"
    assert elided("NVIDIA GeForce", 14) == "NVIDIA GeForce"
    assert elided("i5-8250U", 5) == "i5-8…"
    assert elided("計算機", 5) == "計算…"


def test_a_pipe_is_not_wrapped_and_a_terminal_of_no_size_counts_as_80(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    say("word " * 100)
    assert len(capsys.readouterr().out.splitlines()) == 1
    for nonsense in ("0", "-5", "wide", "", "²", "9" * 5000):
        monkeypatch.setenv("COLUMNS", nonsense)
        say("word " * 100)
        assert len(capsys.readouterr().out.splitlines()) == 1, nonsense


def test_a_command_to_copy_stays_one_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setattr("app.cli.text.WINDOWS", False)
    say_command("sudo apt-get install one two three four")
    assert (
        capsys.readouterr().out.replace("\\\n        ", "") == "        sudo apt-get install one two three four\n"
    )
    say_command("pip install 'tensorflow[and-cuda] >= 2.21'")
    assert capsys.readouterr().out == "        pip install 'tensorflow[and-cuda] >= 2.21'\n"


def test_the_live_line_fits_and_keeps_the_share_and_the_time_left() -> None:
    parts = ["about 4 min 50 s left", "epoch 10/10", "step 499/500", "loss 0.123", "123.4 steps/s"]
    for room in WIDTHS:
        line = live_text(0.999, parts, room)
        assert cell_len(line) <= room
        assert "█░  99 % · about 4 min 50 s left" in line
        assert "%" not in live_text(None, parts, room)
    assert live_text(0.999, parts, 200).endswith("123.4 steps/s")


def test_a_live_line_in_a_window_made_narrower_does_not_wrap(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: True)
    live = LiveLine(stream)
    for columns in (100, 60):
        monkeypatch.setenv("COLUMNS", str(columns))
        live.draw("計" * 100)
    live.erase()
    lines = [line for line in stream.getvalue().split("\r") if line]
    assert [cell_len(line) for line in lines] == [99, 59, 59]


@pytest.mark.parametrize("width", [60, 80, 200])
def test_bars_of_one_card_stay_apart_at_every_width(width: int) -> None:
    drawn = bars("resnet50_224_inference", None)
    lines = [line.plain for line in bar_chart(drawn, drawn[-1], width)]
    assert max(map(cell_len, lines)) <= width
    whole = "\n".join(lines).replace("\n    ", " · ").splitlines()
    assert len(whole) == len(drawn)
    for bar, line in zip(drawn, whole, strict=True):
        assert all(remark in line for remark in bar.remarks[: bar.apart])
