"""A result file in a PNG: it comes back equal, and no picture that lies takes time, memory or the result."""

import struct
import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.exchange.png_embed import CHUNKS_LIMIT, KEYWORD, SIGNATURE, TEXT_LIMIT_BYTES, embed, extract
from app.core.messages import Message, message, text
from app.core.result_file.canonical import UnfitError, decode, file_bytes
from tests.build import golden
from tests.saying import has_at_its_core, said


def chunk(kind: bytes, body: bytes, *, length: int | None = None, checksum: int | None = None) -> bytes:
    checked = zlib.crc32(kind + body) if checksum is None else checksum
    return struct.pack(">I", len(body) if length is None else length) + kind + body + struct.pack(">I", checked)


HEAD, END = SIGNATURE + chunk(b"IHDR", bytes(13)), chunk(b"IEND", b"")
PLAIN = HEAD + chunk(b"IDAT", zlib.compress(bytes(100))) + END
TEXT = KEYWORD + b"\0\x01\0\0\0"


def packed(content: bytes) -> bytes:
    return HEAD + chunk(b"iTXt", TEXT + content) + END


@given(st.binary(max_size=2_000))
def test_any_text_comes_back_equal_and_the_picture_stays(content: bytes) -> None:
    carrying = embed(PLAIN, content)
    assert extract(carrying) == content
    assert carrying.startswith(PLAIN.removesuffix(END))
    assert carrying.endswith(END)
    assert extract(embed(carrying, b"another")) == b"another", "it takes the place of the one before"


def test_a_result_file_in_a_picture_comes_back_equal() -> None:
    assert decode(extract(embed(PLAIN, file_bytes(golden())))) == golden()


@pytest.mark.parametrize(
    ("picture", "wanted"),
    [
        (b"", message("exchange.not_png")),
        (b"\xff\xd8\xff\xe0 JPEG", message("exchange.not_png")),
        (SIGNATURE, message("exchange.damaged_picture")),
        (PLAIN[:-1], message("exchange.damaged_picture")),
        (PLAIN, message("exchange.no_text")),
        (PLAIN[:-12], message("exchange.damaged_picture")),
        (SIGNATURE + chunk(b"IDAT", b"") + END, message("exchange.damaged_picture")),
        (HEAD + chunk(b"IHDR", bytes(13)) + END, message("exchange.damaged_picture")),
        (HEAD + chunk(b"12\0\xff", b"") + END, message("exchange.damaged_picture")),
        (HEAD + chunk(b"iTXt", TEXT, length=2**32 - 1) + END, message("exchange.damaged_picture")),
        (HEAD + chunk(b"iTXt", TEXT, length=2**31) + END, message("exchange.damaged_picture")),
        (HEAD + chunk(b"iTXt", TEXT, checksum=1) + END, message("exchange.damaged_picture")),
        (HEAD + chunk(b"tEXt", KEYWORD + b"\0{}") + END, message("exchange.not_unpacked")),
        (HEAD + chunk(b"iTXt", KEYWORD + b"\0\0\0\0\0{}") + END, message("exchange.not_unpacked")),
        (packed(b""), message("exchange.not_unpacked")),
        (packed(b"no deflate"), message("exchange.not_unpacked")),
        (packed(zlib.compress(b"{}")[:-2]), message("exchange.not_unpacked")),
        (packed(zlib.compress(b"{}") + b"more"), message("exchange.not_unpacked")),
        (HEAD + 2 * chunk(b"iTXt", TEXT + zlib.compress(b"{}")) + END, message("exchange.several_texts", count=2)),
        (HEAD + CHUNKS_LIMIT * chunk(b"IDAT", b"") + END, message("exchange.too_many_values")),
    ],
)
def test_what_lies_is_refused_with_the_place(picture: bytes, wanted: Message) -> None:
    with pytest.raises(UnfitError) as refusal:
        extract(picture)
    assert has_at_its_core(refusal.value.problem, wanted)


@pytest.mark.slow
def test_a_bomb_is_not_unpacked() -> None:
    packing = zlib.compressobj(9)
    blocks = [packing.compress(bytes(1 << 20)) for _ in range(300)]
    bomb = packed(b"".join((*blocks, packing.flush())))
    assert len(bomb) < 1_000_000
    tracemalloc.start()
    with pytest.raises(UnfitError) as refusal:
        extract(bomb)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert said("exchange.file_too_large", limit_bytes="32 MB").is_in(text(refusal.value.problem))
    assert peak_bytes < 3 * TEXT_LIMIT_BYTES


def test_what_is_too_large_is_not_embedded() -> None:
    with pytest.raises(UnfitError):
        embed(PLAIN, bytes(TEXT_LIMIT_BYTES + 1))
    with pytest.raises(UnfitError):
        embed(b"GIF89a", b"{}")
