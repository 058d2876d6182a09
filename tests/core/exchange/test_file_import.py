"""Files of others: every kind comes back equal, and what isn't right is refused whole, with place and reason."""

import os
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.errors import UsageError
from app.core.exchange.file_import import read_results
from app.core.exchange.png_embed import embed
from app.core.messages import Message, message
from app.core.report.formats.csv_table import table_lines
from app.core.report.run_table import people_lines
from app.core.result_file.canonical import file_bytes
from app.core.result_file.record import Result
from app.core.storage.database import Database
from app.core.storage.runs import all_ids
from tests.broken import make_results
from tests.build import GOLDEN, results, set_fields
from tests.core.exchange.test_png_embed import PLAIN
from tests.saying import has_at_its_core, said
from workloads.protocol.machine import Machine

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
            set_fields(opened, f"id = {run_id}", comment=name)
        yield opened


@pytest.mark.parametrize("lines", [table_lines, people_lines])
def test_our_csv_is_for_reading(database: Database, tmp_path: Path, lines: Callable[..., Iterator[str]]) -> None:
    exported = "".join(lines(database, []))
    with pytest.raises(UsageError, match=said("exchange.refused", problem=said("exchange.is_table")).pattern):
        read_results(written(tmp_path, exported))


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
        (b"epoch,elapsed\n0,5.5\n", message("exchange.unknown_kind")),
        (GOLDEN.read_bytes()[:5_000], message("exchange.not_json")),
        (
            b'{"format": "epochmark-result", "format_version": 1, "results": %b}' % DEEP,
            message("exchange.nested_too_deeply"),
        ),
        (b'{"runs":' + b"[" * 1_000_000, message("exchange.nested_too_deeply")),
        (b'{"format_version": 1, "runs": []}', message("exchange.unknown_kind")),
        (b'{"format_version": 1, "points": []}', message("exchange.unknown_kind")),
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
