"""Files of others: every kind comes back equal, and what isn't right is refused whole, with place and reason."""

import json
import os
import tracemalloc
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.errors import UsageError
from app.core.exchange.file_import import read_results
from app.core.exchange.png_embed import embed
from app.core.messages import Message, message
from app.core.records import Run
from app.core.report.formats.csv_table import CsvStyle, table_lines
from app.core.report.formats.json_document import json_lines
from app.core.report.formats.result_document import results_of
from app.core.report.result_records import result_of
from app.core.result_file.canonical import file_bytes
from app.core.result_file.record import Result
from app.core.result_file.summary import summary_of
from app.core.storage.database import Database
from app.core.storage.runs import all_ids, load_runs
from tests.broken import make_results
from tests.core.exchange.test_png_embed import PLAIN
from tests.core.result_file.results import GOLDEN, LINES, golden, results
from tests.saying import has_at_its_core, said
from tests.sure import sure
from workloads.protocol import events
from workloads.protocol.machine import Machine

STYLES = [CsvStyle(mark, comma) for mark in (False, True) for comma in (False, True)]
POSIX = pytest.mark.skipif(os.name != "posix", reason="POSIX files")


def written(folder: Path, content: str | bytes, name: str = "other") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.slow
@settings(max_examples=40)
@given(st.lists(results(), min_size=1, max_size=3), st.booleans())
def test_a_result_file_and_a_picture_come_back_equal(
    tmp_path_factory: pytest.TempPathFactory, out: list[Result], in_picture: bool
) -> None:
    content = file_bytes(out)
    folder = tmp_path_factory.getbasetemp()
    assert read_results(written(folder, embed(PLAIN, content) if in_picture else content)) == tuple(out)


@pytest.fixture
def database(tmp_path: Path, machine: Machine) -> Iterable[Database]:
    with Database(tmp_path / "runs.sqlite3") as opened:
        make_results(opened, machine)
        names = ("=1+1", "'=1+1", "''@x", "-", "+a", "'quoted'", 'x;"y",\tz')
        for run_id, name in zip(all_ids(opened), names, strict=False):
            opened.connection.execute("UPDATE runs SET comment = ? WHERE id = ?", (name, run_id))
        yield opened


def test_our_json_comes_back_as_the_result_file_of_the_same_runs(database: Database, tmp_path: Path) -> None:
    exported = "".join(json_lines(load_runs(database, all_ids(database)), {}))
    assert read_results(written(tmp_path, exported)) == tuple(results_of(database, []))


@pytest.mark.parametrize("style", STYLES, ids=str)
def test_our_csv_is_for_reading(database: Database, tmp_path: Path, style: CsvStyle) -> None:
    exported = "".join(table_lines(database, [], style))
    assert exported.startswith("\ufeff") == style.has_mark
    assert (";" in exported.partition("\n")[0]) == style.has_comma
    with pytest.raises(UsageError, match=said("exchange.refused", problem=said("exchange.is_table")).pattern):
        read_results(written(tmp_path, exported))


FLOATS = st.floats(1e-6, 1e6, allow_nan=False)


def document(**changes: Any) -> str:
    """Return a JSON export of one run, with some values changed."""
    row = asdict(summary_of(golden()[2])) | {"id": 7}
    machine = {"cpu_name": "X", "physical_cores": 2, "logical_cores": 2, "memory_bytes": 1, "os_name": "y"}
    machine |= {"architecture": "x86_64", "python_version": "3", "virtual_machine": None}
    return json.dumps({"format_version": 1, "runs": [row | {"spec": {}, "machine": machine} | changes]})


def test_the_examples_below_are_right_but_for_what_they_change(tmp_path: Path) -> None:
    (result,) = read_results(written(tmp_path, document()))
    assert result.statistics.value == golden()[2].statistics.value


DEEP = b"[" * 1_000_000 + b"]" * 1_000_000


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        (b"", message("exchange.empty")),
        (b"\0" * 100, message("exchange.unknown_kind")),
        (b"hello", message("exchange.unknown_kind")),
        (b"\xff\xfe\x41\x42", message("exchange.unknown_kind")),
        (b"[]", message("exchange.unknown_kind")),
        (b"{}", message("exchange.unknown_kind")),
        (b"SQLite format 3\0" + bytes(100), message("exchange.is_database")),
        (b"\xff\xd8\xff\xe0", message("exchange.is_jpeg")),
        (b"PK\x03\x04", message("exchange.is_archive")),
        (b"epoch,elapsed\n0,5.5\n", message("exchange.is_log")),
        (GOLDEN.read_bytes()[:5_000], message("exchange.not_json")),
        (
            b'{"format": "epochmark-result", "format_version": 1, "results": %b}' % DEEP,
            message("exchange.nested_too_deeply"),
        ),
        (b'{"runs":' + b"[" * 1_000_000, message("exchange.nested_too_deeply")),
        (b'{"format_version": 1, "runs": []}', message("exchange.no_results")),
        (b'{"format_version": 9, "runs": []}', message("exchange.unknown_version", version=9)),
        (b'{"format_version": 1, "points": []}', message("exchange.is_study")),
        (document(value=-3.0), message("exchange.wrong_field", place="value")),
        (document(value="3.0"), message("exchange.wrong_field", place="value")),
        (document(status="excellent"), message("exchange.wrong_field", place="status")),
        (document(epochs=10**9), message("exchange.wrong_field", place="spec.epochs")),
        (
            document(step_records=[{"phase": "measure", "epoch": 0, "first_index": 0, "durations_s": [-1]}]),
            message("exchange.wrong_field", place="step_records[0].durations_s[0]"),
        ),
        (
            document().replace("2.26", "1e999", 1).replace("2.27", "1e999", 1),
            message("exchange.wrong_field", place="value"),
        ),
        (b"a;b\n1;2\n", message("exchange.unknown_kind")),
    ],
    ids=lambda value: value.code if isinstance(value, Message) else "",
)
def test_what_is_wrong_is_refused_whole_with_its_place(
    tmp_path: Path, content: str | bytes, wanted: Message
) -> None:
    path = written(tmp_path, content, "odd.json")
    with pytest.raises(UsageError) as refusal:
        read_results(path)
    assert has_at_its_core(refusal.value.message, wanted)
    assert said("exchange.refused", path=path).begins(str(refusal.value))
    assert len(str(refusal.value)) < 300 + len(str(path))


@pytest.mark.parametrize("name", ["a\u202eb", "\x1b[31mred", "zero\u200bwidth", "two\nlines"])
def test_names_that_hide_something_are_shown_as_codes_or_refused(tmp_path: Path, name: str) -> None:
    (result,) = read_results(written(tmp_path, document(cpu_name=name)))
    assert sure(result.machine.cpu_name).isprintable()


def test_what_is_no_file_is_refused_without_waiting(tmp_path: Path) -> None:
    for path, why in (
        (tmp_path, said("exchange.refused", problem=said("files.not_regular"))),
        # With reasons that each system and each Python words in its own way.
        (tmp_path / "none", said("files.unreadable", path=tmp_path / "none")),
        (Path("a\0b"), said("files.unreadable")),
    ):
        with pytest.raises(UsageError, match=why.pattern):
            read_results(path)


@POSIX
def test_pipes_devices_and_loops_are_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for path in (tmp_path / "pipe", tmp_path / "loop", Path("/dev/zero")):
        with pytest.raises(UsageError):
            read_results(path)


@POSIX
def test_a_file_of_five_gigabytes_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.truncate(5 * 10**9)
    tracemalloc.start()
    with pytest.raises(UsageError, match=said("exchange.file_too_large", limit_bytes="32 MB").pattern):
        read_results(path)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 1_000_000


@settings(max_examples=40)
@given(
    st.builds(
        dict, value=FLOATS, comment=st.none() | LINES, cpu_name=LINES, threads=st.none() | st.integers(1, 9)
    ),
    st.lists(st.floats(0, 1e6, allow_nan=False), min_size=1, max_size=9),
)
def test_any_run_comes_back_from_json_as_its_result_file_has_it(
    stored_run: Run, tmp_path_factory: pytest.TempPathFactory, changes: dict[str, Any], durations_s: list[float]
) -> None:
    block = events.Steps(phase="measure", epoch=0, first_index=0, durations_s=tuple(durations_s))
    run = replace(stored_run, summary=replace(stored_run.summary, **changes), steps=(block,))
    path = written(tmp_path_factory.getbasetemp(), "".join(json_lines([run], {})), "run.json")
    assert read_results(path) == (result_of(run, {}),)
