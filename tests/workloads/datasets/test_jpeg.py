"""What a JPEG says about its size, read from its header only."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workloads.datasets.refusals import refusing
from workloads.datasets.jpeg import jpeg_size
from workloads.datasets.source import UnfitError

START = b"\xff\xd8"
FRAMES = [0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF]
OTHERS = [number for number in range(0xC0, 0xFF) if number not in {*FRAMES, *range(0xD0, 0xDB)}]


def segment(marker: int, content: bytes) -> bytes:
    return bytes((0xFF, marker)) + (len(content) + 2).to_bytes(2, "big") + content


def frame(width: int, height: int, marker: int = 0xC0) -> bytes:
    return segment(marker, b"\x08" + height.to_bytes(2, "big") + width.to_bytes(2, "big") + b"\x01\x01\x11\x00")


sizes = st.integers(1, 65_535)
parts = st.lists(
    st.one_of(
        st.builds(segment, st.sampled_from(OTHERS), st.binary(max_size=30)),
        st.sampled_from([b"\xff\x01", b"\xff\xd0", b"\xff\xd7", b"\xff", b"\xff\xff"]),
        # A small picture of it, as cameras put in: a JPEG inside a segment.
        st.just(segment(0xE1, b"Exif" + START + frame(160, 120) + b"\xff\xd9")),
    ),
    max_size=5,
)


@given(parts, sizes, sizes, st.sampled_from(FRAMES), st.binary(max_size=20))
def test_the_size_is_found_whatever_precedes_it(
    before: list[bytes], width: int, height: int, marker: int, rest: bytes
) -> None:
    assert jpeg_size(START + b"".join(before) + frame(width, height, marker) + rest) == (width, height)


@given(parts, sizes, sizes, st.integers(0, 200))
def test_a_header_cut_before_the_size_is_refused(before: list[bytes], width: int, height: int, cut: int) -> None:
    whole = START + b"".join(before) + frame(width, height)[:9]
    with refusing(UnfitError, "^jpeg.(cut|bad_start)"):
        jpeg_size(whole[: max(0, len(whole) - 1 - cut)])


@given(st.binary(max_size=100), st.sampled_from([b"", START, START + b"\xff"]))
def test_no_contents_make_reading_fail_otherwise(noise: bytes, mark: bytes) -> None:
    try:
        width, height = jpeg_size(mark + noise)
    except ValueError:
        return
    assert (mark + noise).startswith(START)
    assert 0 < width <= 65_535
    assert 0 < height <= 65_535


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "jpeg.bad_start"),
        (b"\x89PNG\r\n\x1a\n" + bytes(40), "jpeg.bad_start"),
        (START, "jpeg.cut"),
        (START + b"\xff\xd9", "jpeg.no_size"),
        (START + segment(0xDA, b"scan") + frame(4, 4), "jpeg.no_size"),
        (START + START + frame(4, 4), "jpeg.no_size"),
        (START + b"\xff\x00" + frame(4, 4), "jpeg.no_size"),
        (START + b"x" + frame(4, 4), "jpeg.bad_header position=2"),
        (START + frame(0, 4), "jpeg.no_pixels width=0 height=4"),
        (START + frame(4, 0), "jpeg.no_pixels width=4 height=0"),
        (START + b"\xff\xe0\x00\x00" * 3, "jpeg.(cut|bad_header)"),
    ],
)
def test_invalid_jpegs_are_refused(data: bytes, reason: str) -> None:
    with refusing(UnfitError, reason):
        jpeg_size(data)


@pytest.mark.slow
def test_a_long_run_of_filling_is_passed_over() -> None:
    assert jpeg_size(START + b"\xff" * 5_000_000 + frame(4, 3)) == (4, 3)
