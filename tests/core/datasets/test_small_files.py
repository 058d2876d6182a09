"""Small files from servers that say how large they are, that don't, that pack, and that lie."""

import gzip
import itertools
import tracemalloc
import zlib
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.core.datasets.downloads import DownloadError
from app.core.datasets.small_files import read_small
from app.core.errors import UsageError
from tests.core.datasets.server import Answer, Server, bare, broken_after, chunked, serving
from tests.saying import Saying, said
from tests.sure import sure

CONTENT = bytes(range(256)) * 1_000
PARTS = [CONTENT[:100_000], CONTENT[100_000:100_001], CONTENT[100_001:]]
PACKED = gzip.compress(CONTENT)
LIMIT_BYTES = len(CONTENT)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as server:
        server.content = CONTENT
        yield server


def read(server: Server, answer: Answer, limit_bytes: int = LIMIT_BYTES) -> bytes | None:
    server.answer = answer
    return read_small(server.url, limit_bytes)


@pytest.mark.parametrize(
    "answer",
    [
        bare(PARTS, Content_Length=str(len(CONTENT))),
        bare(PARTS),
        bare(PARTS, Content_Length="many"),
        bare(PARTS, Content_Length="-1"),
        bare([*PARTS, b"more"], Content_Length=str(len(CONTENT))),
        bare(PARTS, Content_Encoding="identity"),
        chunked(PARTS),
        chunked(PARTS, b"0\r\nChecksum: x\r\n\r\n"),
        chunked(PARTS, Content_Length="5"),
        bare([PACKED], Content_Encoding="gzip"),
        bare([PACKED], Content_Encoding="X-GZIP", Content_Length=str(len(PACKED))),
        chunked([PACKED[:7], PACKED[7:]], Content_Encoding="gzip"),
    ],
    ids=lambda _: "",
)
def test_it_comes_whole_however_it_is_sent(server: Server, answer: Answer) -> None:
    assert read(server, answer) == CONTENT


def endless() -> Iterator[bytes]:
    return itertools.repeat(bytes(1 << 16))


def bomb() -> Iterator[bytes]:
    packing = zlib.compressobj(9, wbits=31)
    return filter(None, (packing.compress(bytes(1 << 20)) for _ in itertools.count()))


@pytest.mark.parametrize(
    "answer",
    [
        bare([], Content_Length=str(10**18)),
        bare([b"x"], Content_Length=str(LIMIT_BYTES + 1)),
        bare([*PARTS, b"x"]),
        chunked([*PARTS, b"x"]),
        chunked([*PARTS, b"x"], Content_Length="5"),
        bare([gzip.compress(CONTENT + b"x")], Content_Encoding="gzip"),
        bare(endless()),
        chunked(endless()),
        bare(bomb(), Content_Encoding="gzip"),
        chunked(bomb(), Content_Encoding="gzip"),
    ],
    ids=lambda _: "",
)
def test_past_the_limit_it_is_left(server: Server, answer: Answer) -> None:
    tracemalloc.start()
    assert read(server, answer) is None
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 20 * LIMIT_BYTES


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (broken_after(100), said("dataset.download_incomplete", done_bytes="100", size_bytes="256,000")),
        (chunked([b"x" * 100], b""), said("dataset.download_cut_off", done_bytes="100")),
        (chunked([b"x" * 100], b"fff\r\nxx"), said("dataset.download_cut_off", done_bytes="102")),
        (chunked([b"x" * 100], b"no number\r\n"), said("dataset.download_cut_off", done_bytes="100")),
        (bare([PACKED[:100]], Content_Encoding="gzip"), said("dataset.download_cut_off", done_bytes="100")),
        (bare([], Content_Encoding="gzip"), said("dataset.download_cut_off", done_bytes="0")),
        (bare([CONTENT], Content_Encoding="gzip"), said("dataset.damaged_packing")),
        (bare([PACKED + b"more"], Content_Encoding="gzip"), said("dataset.damaged_packing")),
        (bare([PACKED[:-8] + bytes(8)], Content_Encoding="gzip"), said("dataset.damaged_packing")),
        (bare([CONTENT], Content_Encoding="br"), said("dataset.unknown_packing", encoding="br")),
        (bare([PACKED], Content_Encoding="gzip, gzip"), said("dataset.unknown_packing", encoding="gzip, gzip")),
        (bare([], Content_Encoding="\x1b[31m" + "x" * 900), said("dataset.unknown_packing")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_not_complete_is_never_taken(server: Server, answer: Answer, words: Saying) -> None:
    with pytest.raises(DownloadError, match=words.pattern) as failed:
        read(server, answer)
    assert len(str(failed.value)) < 300


def test_nobody_waits_for_what_is_no_longer_wanted(server: Server) -> None:
    server.answer = bare(endless())
    answers = iter((True, True, False))
    assert 0 < len(sure(read_small(server.url, 10**9, lambda: next(answers)))) <= 2 << 16


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://127.0.0.1/x", "", "x"])
def test_only_web_servers_are_asked(url: str) -> None:
    with pytest.raises(UsageError):
        read_small(url, LIMIT_BYTES)


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.binary(min_size=1, max_size=3_000), max_size=9), st.booleans(), st.booleans())
def test_any_content_comes_back_equal(server: Server, parts: list[bytes], packed: bool, chunks: bool) -> None:
    sent = [gzip.compress(b"".join(parts))] if packed else parts
    encoding = "gzip" if packed else "identity"
    assert read(server, (chunked if chunks else bare)(sent, Content_Encoding=encoding)) == b"".join(parts)
