"""Reads Windows' performance counters through pdh.dll. A counter with a wildcard returns all its instances.

The library is a parameter, so that tests on any system can pass their own.
"""

import ctypes
import logging
import sys
from collections.abc import Mapping, Sequence
from typing import Any

_logger = logging.getLogger(__name__)

_DOUBLE = 0x200
_NO_CAP = 0x8000  # otherwise a process's percentages are capped at 100
_MORE_DATA = 0x800007D2
_VALID = (0, 1)  # valid, and valid with new data
_MAX_BYTES = 2**24
_TRIES = 3  # instances may change between the queries for the size and the data


class _Value(ctypes.Structure):
    _fields_ = (("status", ctypes.c_uint32), ("number", ctypes.c_double))


class Item(ctypes.Structure):
    """PDH_FMT_COUNTERVALUE_ITEM_W with a double, from pdh.h."""

    _fields_ = (("name", ctypes.c_wchar_p), ("value", _Value))


class Counters:
    """A query for several counters, for repeated reads from one thread."""

    def __init__(self, library: Any, paths: Sequence[str]) -> None:
        self._library = library
        self._query = ctypes.c_void_p()
        self._counters: dict[str, ctypes.c_void_p] = {}
        if _failed(library.PdhOpenQueryW(None, None, ctypes.byref(self._query))):
            return
        for path in paths:
            counter = ctypes.c_void_p()
            if not _failed(library.PdhAddEnglishCounterW(self._query, path, None, ctypes.byref(counter))):
                self._counters[path] = counter
        self.read()  # percentages of time require a previous read

    def read(self) -> Mapping[str, list[tuple[str, float]]]:
        if not self._counters or _failed(self._library.PdhCollectQueryData(self._query)):
            return {}
        return {path: self._values(counter) for path, counter in self._counters.items()}

    def close(self) -> None:
        if self._query.value is not None:
            self._library.PdhCloseQuery(self._query)
        self._query, self._counters = ctypes.c_void_p(), {}

    def _values(self, counter: ctypes.c_void_p) -> list[tuple[str, float]]:
        size, count = ctypes.c_uint32(0), ctypes.c_uint32(0)
        buffer = None
        for _ in range(_TRIES):
            status = self._library.PdhGetFormattedCounterArrayW(
                counter, _DOUBLE | _NO_CAP, ctypes.byref(size), ctypes.byref(count), buffer
            )
            if status & 0xFFFFFFFF != _MORE_DATA:
                break
            if not 0 < size.value <= _MAX_BYTES:
                return []
            buffer = ctypes.create_string_buffer(size.value)
        if buffer is None or _failed(status) or count.value * ctypes.sizeof(Item) > len(buffer):
            return []
        items = (Item * count.value).from_buffer(buffer)  # the buffer also contains their names
        return [(item.name or "", item.value.number) for item in items if item.value.status in _VALID]


def open_counters(paths: Sequence[str]) -> Counters | None:
    """Open counters; None if unavailable, as on all systems except Windows."""
    if sys.platform != "win32":
        return None
    try:
        library = ctypes.WinDLL("pdh")
        handle, number = ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint32)
        library.PdhOpenQueryW.argtypes = (ctypes.c_wchar_p, handle, ctypes.POINTER(handle))
        library.PdhAddEnglishCounterW.argtypes = (handle, ctypes.c_wchar_p, handle, ctypes.POINTER(handle))
        library.PdhCollectQueryData.argtypes = (handle,)
        library.PdhCloseQuery.argtypes = (handle,)
        library.PdhGetFormattedCounterArrayW.argtypes = (handle, ctypes.c_uint32, number, number, ctypes.c_void_p)
        return Counters(library, paths)
    except (OSError, AttributeError) as error:  # no such library or function
        _logger.info("Windows' counters of GPUs cannot be read: %s", error)
        return None


def _failed(status: int) -> bool:
    return status & 0xFFFFFFFF != 0
