"""Reads and writes TensorFlow's record files without TensorFlow.

A record consists of its length, a checksum of the length, the data, and a checksum of the data. The data is a
`tf.train.Example` encoded as protobuf. Only the subset that Epochmark's files use is implemented: features with
one value, either bytes or an integer. Files are untrusted. Whatever they contain, memory use stays close to the
size limit of a record.
"""

import errno
import struct
from collections import deque
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from workloads.datasets.regular_file import open_regular

Value = bytes | int
RECORD_LIMIT_BYTES = 16_000_000
_HEADER, _CHECKSUM = struct.Struct("<QI"), struct.Struct("<I")
_MASK = 0xA282EAD8
_BUFFER_BYTES = 262_144  # TensorFlow's value
# Protobuf's wire types.
_VARINT, _FIXED64, _DELIMITED, _FIXED32 = 0, 1, 2, 5
_FIXED_BYTES = {_FIXED64: 8, _FIXED32: 4}
_VARINT_BYTES = 10
# Field numbers in Example and Features, in a map entry, and for the types of a Feature.
_INSIDE, _KEY, _VALUE, _BYTES_LIST, _INT64_LIST = 1, 1, 2, 1, 3


class RecordWriter:
    """Writes a record file. Use this class as a context manager."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb", _BUFFER_BYTES)

    def write(self, record: bytes) -> None:
        """Add a record."""
        length = struct.pack("<Q", len(record))
        self._file.write(length + _CHECKSUM.pack(_masked_checksum(length)))
        self._file.write(record)
        self._file.write(_CHECKSUM.pack(_masked_checksum(record)))

    def __enter__(self) -> "RecordWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def read_records(path: Path, limit_bytes: int = RECORD_LIMIT_BYTES) -> Iterator[bytes]:
    """Yield the records of a file.

    Raises:
        OSError: The file can't be read, isn't a regular file, or is damaged or truncated.
    """
    with open_regular(path, _BUFFER_BYTES) as file:
        while header := file.read(_HEADER.size):
            if len(header) < _HEADER.size:
                raise _damaged(path)
            length, checksum = _HEADER.unpack(header)
            # Trust the length only if its checksum is correct.
            if _masked_checksum(header[:8]) != checksum or length > limit_bytes:
                raise _damaged(path)
            yield _record(file, length, path)


def _record(file: BinaryIO, length: int, path: Path) -> bytes:
    record, checksum = file.read(length), file.read(_CHECKSUM.size)
    is_whole = len(record) == length and len(checksum) == _CHECKSUM.size
    if not is_whole or _masked_checksum(record) != _CHECKSUM.unpack(checksum)[0]:
        raise _damaged(path)
    return record


def read_examples(path: Path, name: str, limit_bytes: int = RECORD_LIMIT_BYTES) -> Iterator[tuple[bytes, int]]:
    """Yield the bytes feature of this name and the "label" of each record.

    Raises:
        OSError: As for `read_records`, or a record lacks these features.
    """
    for record in read_records(path, limit_bytes):
        try:
            data, label = (_feature_of(record, wanted.encode()) for wanted in (name, "label"))
        except ValueError as error:
            raise _damaged(path) from error
        if not isinstance(data, bytes) or not isinstance(label, int):
            raise _damaged(path)
        yield data, label


def example(features: Mapping[str, Value]) -> bytes:
    """Return a serialised `tf.train.Example` with one value per feature."""
    entries = b"".join(
        _field(_INSIDE, _field(_KEY, name.encode()) + _field(_VALUE, _feature(value)))
        for name, value in features.items()
    )
    return _field(_INSIDE, entries)


def _feature(value: Value) -> bytes:
    if isinstance(value, bytes):
        return _field(_BYTES_LIST, _field(_INSIDE, value))
    return _field(_INT64_LIST, _field(_INSIDE, _varint(value % 2**64)))


def _feature_of(record: bytes, name: bytes) -> Value | None:
    """Return the single value of an example's feature; None if it is missing, or has another type or value count.

    Raises:
        ValueError: The record isn't an example.
    """
    last: deque[memoryview] = deque(maxlen=1)  # if repeated, the last one wins, as in all protobuf parsers
    for features in _parts(memoryview(record), _INSIDE):
        for entry in _parts(features, _INSIDE):
            if any(key == name for key in _parts(entry, _KEY)):
                last.extend(_parts(entry, _VALUE))
    return _value(last[0]) if last else None


def _value(feature: memoryview) -> Value | None:
    data = (part for values in _parts(feature, _BYTES_LIST) for part in _parts(values, _INSIDE))
    numbers = (number for values in _parts(feature, _INT64_LIST) for number in _numbers(values))
    match list(islice(chain(data, numbers), 2)):  # read at most two, because there may be millions
        case [memoryview() as only]:
            return bytes(only)
        case [int(only)]:
            return only
    return None


def _numbers(values: memoryview) -> Iterator[int]:
    """Yield integers, whether stored as separate fields or packed into one."""
    for field, part in _fields(values):
        if field != _INSIDE:
            continue
        if isinstance(part, int):
            yield _signed(part)
            continue
        place = 0
        while place < len(part):
            number, place = _read_varint(part, place)
            yield _signed(number)


def _signed(number: int) -> int:
    return number - 2**64 if number >= 2**63 else number


def _parts(message: memoryview, wanted: int) -> Iterator[memoryview]:
    return (part for field, part in _fields(message) if field == wanted and isinstance(part, memoryview))


def _fields(message: memoryview) -> Iterator[tuple[int, "memoryview | int"]]:
    """Yield the number and content of each field of a message."""
    place = 0
    while place < len(message):
        key, place = _read_varint(message, place)
        field, kind = key >> 3, key & 7
        if kind == _VARINT:
            number, place = _read_varint(message, place)
            yield field, number
            continue
        if kind == _DELIMITED:
            length, place = _read_varint(message, place)
        elif kind in _FIXED_BYTES:
            length = _FIXED_BYTES[kind]
        else:
            raise ValueError("an unknown kind of field")
        if length > len(message) - place:
            raise ValueError("a field that is longer than its message")
        yield field, message[place : place + length]
        place += length


def _read_varint(data: memoryview, place: int) -> tuple[int, int]:
    """Return the number that starts at an offset, and the offset after it."""
    number = 0
    for index, byte in enumerate(data[place : place + _VARINT_BYTES]):
        number |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return number % 2**64, place + index + 1
    raise ValueError("a number that doesn't end")


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | _DELIMITED) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    parts = bytearray()
    while number >= 0x80:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    parts.append(number)
    return bytes(parts)


def _masked_checksum(data: bytes) -> int:
    from google_crc32c import value

    checksum = int(value(data))
    # TensorFlow masks checksums, because a CRC of data that contains CRCs is weak.
    return ((checksum >> 15 | checksum << 17) + _MASK) & 0xFFFFFFFF


def _damaged(path: Path) -> OSError:
    return OSError(errno.EIO, "its records are damaged", str(path))
