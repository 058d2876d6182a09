"""A table that somebody else made: fetched from good and bad servers, and never a bad one in place of a good."""

import gzip
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.analysis.compare import Bar, bars, find_baseline, position, rank_text
from app.core.analysis.provenance import provenance
from app.core.errors import AppError, UsageError
from app.core.exchange import community_file
from app.core.exchange.community_build import Row, look_at, table_rows, table_text
from app.core.exchange.community_file import get_table, load_table, read_table, rows_hash, use_previous
from app.core.external_results import CommunityRow
from app.core.files import write_whole
from app.core.locks import acquire
from app.core.messages import Message, message, sentence
from app.core.paths import Paths
from app.core.records import RunSummary
from app.core.result_file.canonical import UnfitError, file_bytes, without_durations
from tests.core.datasets.server import Answer, Handler, Server, bare, broken_after, chunked, serving
from tests.core.result_file.results import golden
from tests.saying import has_at_its_core, said
from tests.sure import sure

ROW = Row(
    device="RTX 3060",
    kind="gpu",
    engine="torch",
    workload="mnist_mlp",
    workload_version=1,
    variant="",
    batch_size=128,
    precision="float32",
    settings="",
    metric="seconds_per_epoch_s",
    median=1.5,
    low=1.2,
    high=1.8,
    machines=3,
    results=4,
    cautions=1,
    codes=("67D0-963F",) * 4,
)


def table(*rows: Row) -> bytes:
    return table_text(rows or (ROW,)).encode()


def sealed_table(change: Callable[[dict[str, Any]], object], **more: Any) -> bytes:
    """Return a table whose first row somebody changed, with a checksum that fits."""
    plain = json.loads(table())
    change(plain["rows"][0])
    return json.dumps(plain | {"sha256": rows_hash(plain["rows"])} | more).encode()


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        server.content = table()
        yield server


def test_a_table_that_was_built_is_read(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_bytes(file_bytes([without_durations(golden()[2])]))
    rows = table_rows(look_at([tmp_path])[0])
    (row,) = read_table(table_text(rows).encode())
    result = golden()[2]
    assert (row.name, row.summary.value, row.machines) == ("EPYC", result.statistics.value, 1)
    mine = (row.summary.workload, row.summary.batch_size, row.summary.device, row.summary.engine)
    assert mine == ("mnist_mlp", 128, "cpu", "tensorflow")


def test_what_is_fetched_is_used_and_the_one_before_kept(paths: Paths, server: Server) -> None:
    assert load_table(paths) == []
    assert get_table(paths, server.url) == 1
    assert get_table(paths, server.url) is None, "it is in use already"
    server.content = table(ROW, replace(ROW, device="RTX 4090"))
    assert get_table(paths, server.url) == 2
    assert [row.name for row in load_table(paths)] == ["RTX 3060", "RTX 4090"]
    assert use_previous(paths) == 1
    assert [row.name for row in load_table(paths)] == ["RTX 3060"]
    assert use_previous(paths) == 2, "and back"
    assert not list(paths.downloads.iterdir())


def redirected(handler: Handler, start: int) -> None:
    handler.give(302, b"", Location="/again/" + "x" * len(handler.path))


@pytest.mark.parametrize(
    ("content", "answer", "wanted"),
    [
        (table().replace(b"1.5", b"1.4"), None, message("table.other_checksum")),
        (table()[:-40], None, message("exchange.not_json")),
        (b"<!DOCTYPE html><html><body>404</body></html>", None, message("exchange.not_json")),
        (b"", None, message("exchange.not_json")),
        (b"[" * 100_000, None, message("exchange.not_json")),
        (table(), broken_after(100), message("dataset.download_incomplete")),
        (
            table(),
            lambda handler, _: handler.give(200, b"{", Content_Length=str(10**10)),
            message("exchange.file_too_large"),
        ),
        (b" " * 5_000_001, None, message("exchange.file_too_large")),
        (table(), chunked([b" " * 2_000_000] * 3), message("exchange.file_too_large")),
        (
            table(),
            bare([gzip.compress(bytes(6_000_000))], Content_Encoding="gzip"),
            message("exchange.file_too_large"),
        ),
        (table(), bare([table()[:-30]]), message("exchange.not_json")),
        (table(), bare([table()], Content_Length="99"), message("exchange.not_json")),
        (table(), chunked([table()], b""), message("dataset.download_cut_off")),
        (
            table(),
            bare([gzip.compress(table())[:-9]], Content_Encoding="gzip"),
            message("dataset.download_cut_off"),
        ),
        (table(), bare([table()], Content_Encoding="br"), message("dataset.unknown_packing", encoding="br")),
        (table(), redirected, message("dataset.server_redirects", status=302)),
        (
            table(),
            lambda handler, _: handler.give(302, b"", Location="file:///etc/passwd"),
            message("dataset.server_redirects", status=302),
        ),
        (table(), lambda handler, _: handler.give(404, b"no"), message("dataset.server_refused", status=404)),
        (table(replace(ROW, workload="not_yet")), None, message("table.nothing_for_here")),
        (table(replace(ROW, workload_version=99)), None, message("table.nothing_for_here")),
        (
            sealed_table(lambda row: row.update(low=9.0)),
            None,
            message("exchange.outside_range", low=9.0, high=1.8),
        ),
        (sealed_table(lambda row: row.update(device="a\u202eb")), None, message("table.hidden_characters")),
        (sealed_table(lambda row: row.update(machines=5)), None, message("table.more_than_results")),
        (
            sealed_table(lambda row: row.update(median=-1.0)),
            None,
            message("exchange.wrong_field", place="rows[0].median"),
        ),
        (
            sealed_table(lambda row: row.update(median="1")),
            None,
            message("exchange.wrong_field", place="rows[0].median"),
        ),
        (sealed_table(lambda row: row.update(more=1)), None, message("exchange.wrong_field", place="rows[0]")),
        (sealed_table(lambda row: row.pop("engine")), None, message("exchange.wrong_field", place="rows[0]")),
        (
            sealed_table(lambda row: row, format_version=3),
            None,
            message("exchange.wrong_field", place="format_version"),
        ),
        (sealed_table(lambda row: row, rows=[]), None, message("exchange.wrong_field", place="rows")),
        (table().replace(b"RTX", b"\\ud800"), None, message("exchange.not_json")),
    ],
    ids=lambda value: value.code if isinstance(value, Message) else "",
)
def test_a_bad_table_or_server_changes_nothing(
    paths: Paths, server: Server, content: bytes, answer: Callable[[Handler, int], None] | None, wanted: Message
) -> None:
    get_table(paths, server.url)
    kept = paths.table.read_bytes()
    server.content, server.answer = content, answer or server.answer
    with pytest.raises(AppError) as refusal:
        get_table(paths, server.url)
    assert has_at_its_core(refusal.value.message, wanted)
    assert len(str(refusal.value)) < 500
    assert paths.table.read_bytes() == kept
    assert not paths.previous_table.exists()
    assert not list(paths.downloads.iterdir()), "nothing is left behind"


@pytest.mark.parametrize(
    "answer",
    [
        bare([table()]),
        chunked([table()[:50], table()[50:]]),
        chunked([gzip.compress(table())], Content_Encoding="gzip"),
        bare([table() + b" " * 1_000_000], Content_Length=str(len(table()))),
    ],
    ids=["no size", "chunks", "packed", "more than stated"],
)
def test_a_server_need_not_say_how_large_it_is(paths: Paths, server: Server, answer: Answer) -> None:
    server.answer = answer
    assert get_table(paths, server.url) == 1
    assert [row.name for row in load_table(paths)] == ["RTX 3060"]


@pytest.mark.parametrize(
    ("beginning", "again"),
    [(b"HTTP/1.0 200 OK\r\n\r\n{", b""), (b"HTTP/1.0 200 OK\r\n\r\n", b" "), (b"HTTP/1.0 200 OK\r\nX: ", b"x")],
    ids=["stalls", "content that drips", "headers that drip"],
)
def test_a_server_without_end_is_given_up(paths: Paths, server: Server, beginning: bytes, again: bytes) -> None:
    get_table(paths, server.url)
    over, ended = Event(), Event()

    def drip(handler: Handler, start: int) -> None:
        try:
            handler.wfile.write(beginning)
            while not over.wait(0.02):
                handler.wfile.write(again)
        finally:
            ended.set()

    server.answer = drip
    with pytest.raises(AppError, match=said("web.too_slow", limit_s="0.2").pattern) as refusal:
        get_table(paths, server.url, time_limit_s=0.2)
    over.set()
    assert server.url in str(refusal.value)
    assert ended.wait(20)
    assert len(load_table(paths)) == 1
    server.answer = chunked([table(replace(ROW, device="RTX 4090"))])
    assert get_table(paths, server.url) == 1, "and nothing of it is in the way"


def test_when_the_disk_fails_in_between_a_good_table_stays(
    paths: Paths, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    get_table(paths, server.url)
    kept = paths.table.read_bytes()
    server.content = table(replace(ROW, device="RTX 4090"))

    def fail(path: Path, chunks: Any) -> None:
        if path == paths.table:
            raise OSError(28, "No space left on device")
        write_whole(path, chunks)

    monkeypatch.setattr(community_file, "write_whole", fail)
    with pytest.raises(AppError, match="No space left"):
        get_table(paths, server.url)
    assert paths.table.read_bytes() == kept
    monkeypatch.undo()
    assert get_table(paths, server.url) == 1


def test_a_damaged_table_counts_for_nothing_and_never_becomes_the_previous(paths: Paths, server: Server) -> None:
    get_table(paths, server.url)
    paths.table.write_bytes(table()[:-9])
    assert load_table(paths) == []
    get_table(paths, server.url)
    assert not paths.previous_table.exists()
    assert len(load_table(paths)) == 1
    with pytest.raises(UsageError, match=said("table.no_previous").pattern):
        use_previous(paths)


@pytest.mark.parametrize("address", ["ftp://example.org/x", "file:///etc/passwd", "table.json", "http://", ""])
def test_other_addresses_are_refused(paths: Paths, address: str) -> None:
    paths.create()
    with pytest.raises(AppError):
        get_table(paths, address)
    assert load_table(paths) == []


def test_two_at_once_wait_for_each_other(paths: Paths, server: Server) -> None:
    paths.create()
    hold = sure(acquire(paths.locks / "table.lock"))
    with hold, pytest.raises(AppError, match=said("table.busy").pattern):
        get_table(paths, server.url, patience_s=0.0)
    assert server.asked == []


@settings(max_examples=150)
@given(st.data())
def test_a_damaged_byte_is_noticed(data: st.DataObject) -> None:
    content = bytearray(table())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= 1 << data.draw(st.integers(0, 7))
    try:
        rows = read_table(bytes(content))
    except UnfitError:
        return
    assert rows == read_table(table()), "only what means the same is taken"


@pytest.fixture
def mine(summary: RunSummary) -> RunSummary:
    return replace(
        summary, workload="mnist_mlp", batch_size=128, samples_per_epoch=60_000, steps_per_epoch=469, value=2.0
    )


def community(*rows: Row) -> list[CommunityRow]:
    return read_table(table(*rows))


def drawn(run: RunSummary | None, *rows: Row) -> list[Bar]:
    return [bar for bar in bars("mnist_mlp", run, community=community(*rows)) if bar.kind == "community"]


def test_a_bar_says_whose_it_is_and_under_which_conditions(mine: RunSummary) -> None:
    (bar,) = drawn(mine)
    assert (bar.name, bar.value) == (sentence("compare.community_name", name="RTX 3060"), 1.5)
    assert bar.remarks == (
        sentence("compare.community", count=3),
        sentence("studies.interval", low="1.20", high="1.80"),
        "PyTorch",
        sentence("share.batch", batch_size=128),
        "float32",
        sentence("compare.community_cautions", count=1),
    )
    shown = dict(provenance(bar))
    assert shown[sentence("provenance.hardware")] == "RTX 3060"
    assert said("provenance.community_machines", count="3").is_in(shown[sentence("provenance.conditions")])
    assert drawn(None)[0].remarks == bar.remarks


@pytest.mark.parametrize(
    "changes", [{"batch_size": 64}, {"precision": "mixed_float16"}, {"variant": "x=1"}, {"workload": "mnist_cnn"}]
)
def test_only_what_compares_is_drawn(mine: RunSummary, changes: dict[str, Any]) -> None:
    assert drawn(mine)
    assert not drawn(mine, replace(ROW, **changes))


def test_it_has_no_part_in_the_rank(mine: RunSummary) -> None:
    plain, with_them = (
        bars("mnist_mlp", mine),
        bars("mnist_mlp", mine, community=community()),
    )
    assert rank_text(with_them) == rank_text(plain)
    assert position(mine) is not None
    assert find_baseline(with_them, None, "mnist_mlp") == find_baseline(plain, None, "mnist_mlp")


def test_rows_of_the_same_device_have_bars_of_their_own() -> None:
    both = drawn(None, ROW, replace(ROW, engine="tensorflow"), replace(ROW, settings="jit=on"))
    assert len({bar.remarks for bar in both}) == 3
