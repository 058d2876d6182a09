"""TensorFlow's record files without TensorFlow: what it wrote, what we write, and what others may have written."""

import errno
import os
import struct
import sys
from contextlib import suppress
from pathlib import Path

import google_crc32c  # noqa: TID253 - these tests make checksums of their own
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from workloads.datasets.tfrecords import RecordWriter, Value, example, read_examples, read_records

# Written by TensorFlow 2.21: an example with the bytes "abc" and the label -3, and an empty record.
TENSORFLOWS = bytes.fromhex(
    "2c00000000000000f4aecc450a2a0a0f0a046a70656712070a050a036162630a170a056c6162656c120e1a0c0a0afdffffffffffffffff01"
    "9180d64e000000000000000029039807d8ea82a2"
)
FIRST = TENSORFLOWS[:60]


def write(path: Path, *records: bytes) -> Path:
    with RecordWriter(path) as writer:
        for record in records:
            writer.write(record)
    return path


def checksum(data: bytes) -> bytes:
    value = google_crc32c.value(data)
    return struct.pack("<I", ((value >> 15 | value << 17) + 0xA282EAD8) % 2**32)


def damaged(path: Path, limit_bytes: int = 1_000) -> bool:
    with pytest.raises(OSError, match="its records are damaged") as error:
        list(read_examples(path, "jpeg", limit_bytes))
    return error.value.errno == errno.EIO and error.value.filename == str(path)


def test_the_checksum_is_castagnolis() -> None:
    assert google_crc32c.value(b"123456789") == 0xE3069283
    assert google_crc32c.implementation == "c"  # Python's own would take seconds for each picture


def test_what_tensorflow_wrote_is_read(tmp_path: Path) -> None:
    (path := tmp_path / "records").write_bytes(TENSORFLOWS)
    records = list(read_records(path))
    assert [len(record) for record in records] == [44, 0]
    path.write_bytes(FIRST)
    assert list(read_examples(path, "jpeg")) == [(b"abc", -3)]


def test_what_we_write_is_what_tensorflow_writes(tmp_path: Path) -> None:
    path = write(tmp_path / "records", example({"jpeg": b"abc", "label": -3}), b"")
    assert path.read_bytes() == TENSORFLOWS


@given(
    features=st.dictionaries(
        st.text(max_size=200), st.binary(max_size=300) | st.integers(-(2**63), 2**63 - 1), max_size=5
    ),
    data=st.binary(max_size=100_000),
    label=st.integers(-(2**63), 2**63 - 1),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_any_features_are_read_back(tmp_path: Path, features: dict[str, Value], data: bytes, label: int) -> None:
    wanted: dict[str, Value] = {"label": label, "jpeg": data}
    path = write(tmp_path / "records", *[example(features | wanted), example(wanted | features | wanted)] * 2)
    assert list(read_examples(path, "jpeg")) == [(data, label)] * 4


def test_a_file_without_records_is_empty(tmp_path: Path) -> None:
    assert list(read_records(write(tmp_path / "records"))) == []


def test_every_cut_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "records"
    for end in range(1, len(FIRST)):
        path.write_bytes(FIRST[:end])
        assert damaged(path)


def test_every_changed_byte_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "records"
    for place in range(len(FIRST)):
        path.write_bytes(FIRST[:place] + bytes([FIRST[place] ^ 0x20]) + FIRST[place + 1 :])
        assert damaged(path)


@pytest.mark.parametrize("length", [1_001, 2**40, 2**63, 2**64 - 1])
def test_a_record_that_claims_to_be_enormous_is_not_read(tmp_path: Path, length: int) -> None:
    header = struct.pack("<Q", length)
    (path := tmp_path / "records").write_bytes(header + checksum(header) + bytes(2_000))
    assert damaged(path)


def test_the_limit_is_for_a_record_and_not_the_file(tmp_path: Path) -> None:
    record = example({"jpeg": bytes(900), "label": 1})
    assert len(list(read_examples(write(tmp_path / "records", *[record] * 50), "jpeg", len(record)))) == 50
    assert damaged(tmp_path / "records", len(record) - 1)


def part(number: int, content: bytes | int) -> bytes:
    """Return a field of a message, for contents below 128 bytes."""
    if isinstance(content, int):
        return bytes([number << 3, content])
    return bytes([number << 3 | 2, len(content)]) + content


def made(*entries: bytes) -> bytes:
    return part(1, b"".join(part(1, entry) for entry in entries))


JPEG = part(1, b"jpeg") + part(2, part(1, part(1, b"abc")))
LABEL = part(1, b"label") + part(2, part(3, part(1, b"\x07")))
READABLE = {
    "as we write it": made(JPEG, LABEL),
    "in two messages": made(JPEG) + made(LABEL),
    "a number that isn't packed": made(JPEG, part(1, b"label") + part(2, part(3, part(1, 7)))),
    "a number of more than 64 bits": made(
        JPEG, part(1, b"label") + part(2, part(3, part(1, b"\x87" + b"\x80" * 8 + b"\x04")))
    ),
    "the value before the key": made(part(2, part(1, part(1, b"abc"))) + part(1, b"jpeg"), LABEL),
    "the last of several": made(part(1, b"jpeg") + part(2, part(1, part(1, b"no"))), LABEL, JPEG),
    "other features": made(part(1, b"a") + part(2, part(2, part(1, bytes(8)))), JPEG, LABEL),
    "unknown fields": bytes([9 << 3 | 1, *range(8), 9 << 3 | 5, *range(4), 9 << 3, 1]) + made(JPEG, LABEL),
}
UNREADABLE = {
    "nothing": b"",
    "no label": made(JPEG),
    "no picture": made(LABEL),
    "kinds changed": made(
        part(1, b"jpeg") + part(2, part(3, part(1, b"\x07"))), part(1, b"label") + part(2, part(1, part(1, b"7")))
    ),
    "two labels": made(JPEG, part(1, b"label") + part(2, part(3, part(1, b"\x07\x08")))),
    "two pictures": made(part(1, b"jpeg") + part(2, part(1, part(1, b"a") + part(1, b"b"))), LABEL),
    "an empty list": made(part(1, b"jpeg") + part(2, part(1, b"")), LABEL),
    "floats": made(part(1, b"jpeg") + part(2, part(2, part(1, bytes(4)))), LABEL),
    "a field longer than all": b"\x0a" + bytes([len(JPEG + LABEL) + 5]) + made(JPEG, LABEL)[2:],
    "a length without end": b"\x0a" + b"\xff" * 20,
    "a length of 2**64": b"\x0a" + b"\xff" * 9 + b"\x01",
    "a cut number": made(JPEG, part(1, b"label") + part(2, part(3, part(1, b"\x87")))),
    "an unknown kind of field": b"\x0b" + made(JPEG, LABEL),
    "no protobuf": b"GIF89a" * 5,
}


@pytest.mark.parametrize("record", READABLE.values(), ids=READABLE)
def test_examples_that_others_write_are_read(tmp_path: Path, record: bytes) -> None:
    assert list(read_examples(write(tmp_path / "records", record), "jpeg")) == [(b"abc", 7)]


@pytest.mark.parametrize("record", UNREADABLE.values(), ids=UNREADABLE)
def test_what_is_no_example_is_refused(tmp_path: Path, record: bytes) -> None:
    assert damaged(write(tmp_path / "records", record))


@given(record=st.binary(max_size=300))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
def test_any_bytes_are_read_or_refused(tmp_path: Path, record: bytes) -> None:
    with suppress(OSError):
        list(read_examples(write(tmp_path / "records", record), "jpeg"))


@pytest.mark.skipif(sys.platform == "win32", reason="has no named pipes")
def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "records")
    with pytest.raises(OSError, match="no regular file"):
        list(read_records(tmp_path / "records"))


def test_a_missing_file_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(read_records(tmp_path / "records"))
