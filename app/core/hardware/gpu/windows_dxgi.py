"""Lists the adapters of a Windows computer through DXGI, with their IDs, memory and displays.

DXGI is a COM library. An object is a pointer to a table of functions, which are called by their index in the
table, as defined in dxgi.h. The code assumes the calling convention and memory layout of 64-bit Windows.
"""

import ctypes
import logging
import sys
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from app.core.hardware.gpu.values import MAX_MEMORY_BYTES, whole

_logger = logging.getLogger(__name__)

_FACTORY = uuid.UUID("770aae78-f26f-4dba-a829-253c83d1b387").bytes_le
_RELEASE, _ENUM_OUTPUTS, _GET_DESCRIPTION, _ENUM_ADAPTERS = 2, 7, 10, 12
_NOT_FOUND = 0x887A0002
_SOFTWARE = 2
_MAX_ADAPTERS = 32


class Description(ctypes.Structure):
    """DXGI_ADAPTER_DESC1, from dxgi.h."""

    _fields_ = (
        ("name", ctypes.c_uint16 * 128),
        ("vendor_id", ctypes.c_uint32),
        ("device_id", ctypes.c_uint32),
        ("subsystem_id", ctypes.c_uint32),
        ("revision", ctypes.c_uint32),
        ("own_memory", ctypes.c_size_t),
        ("reserved_memory", ctypes.c_size_t),
        ("shared_memory", ctypes.c_size_t),
        ("luid_low", ctypes.c_uint32),
        ("luid_high", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
    )


@dataclass(frozen=True, slots=True)
class Adapter:
    """A display adapter, identified by its LUID until Windows restarts."""

    luid: int
    vendor_id: int
    device_id: int
    own_memory_bytes: int | None
    shared_memory_bytes: int | None  # the most it may use of the computer's memory
    drives_display: bool | None


def list_adapters() -> tuple[Adapter, ...] | None:
    """List the hardware adapters; None if DXGI doesn't respond."""
    if sys.platform != "win32":
        return None
    try:
        return adapters_from(ctypes.WinDLL("dxgi").CreateDXGIFactory1)
    except (OSError, AttributeError) as error:  # no such library, or a driver failed in it
        _logger.info("DXGI does not answer: %s", error)
        return None


def adapters_from(create_factory: Callable[..., int]) -> tuple[Adapter, ...] | None:
    """List the hardware adapters through a factory created by this function; None if that fails."""
    factory = ctypes.c_void_p()
    identity = ctypes.create_string_buffer(_FACTORY, len(_FACTORY))
    if create_factory(ctypes.byref(identity), ctypes.byref(factory)) != 0 or not factory.value:
        return None
    adapters = []
    try:
        for index in range(_MAX_ADAPTERS):
            adapter = ctypes.c_void_p()
            if _call(factory, _ENUM_ADAPTERS, ctypes.c_uint32(index), ctypes.byref(adapter)) or not adapter.value:
                break
            try:
                adapters.append(_describe(adapter))
            finally:
                _call(adapter, _RELEASE)
    finally:
        _call(factory, _RELEASE)
    return tuple(adapter for adapter in adapters if adapter is not None)


def _describe(adapter: ctypes.c_void_p) -> Adapter | None:
    description = Description()
    if _call(adapter, _GET_DESCRIPTION, ctypes.byref(description)) or description.flags & _SOFTWARE:
        return None
    return Adapter(
        luid=description.luid_high << 32 | description.luid_low,
        vendor_id=description.vendor_id,
        device_id=description.device_id,
        own_memory_bytes=whole(description.own_memory, 1, MAX_MEMORY_BYTES),
        shared_memory_bytes=whole(description.shared_memory, 1, MAX_MEMORY_BYTES),
        drives_display=_drives_display(adapter),
    )


def _drives_display(adapter: ctypes.c_void_p) -> bool | None:
    output = ctypes.c_void_p()
    status = _call(adapter, _ENUM_OUTPUTS, ctypes.c_uint32(0), ctypes.byref(output))
    if status == 0 and output.value:
        _call(output, _RELEASE)
        return True
    return False if status == _NOT_FOUND else None


def _call(instance: ctypes.c_void_p, place: int, *args: Any) -> int:
    """Call an object's function by its index in the table."""
    table = ctypes.cast(instance, ctypes.POINTER(ctypes.POINTER(ctypes.c_void_p))).contents
    kinds = [ctypes.c_uint32 if isinstance(arg, ctypes.c_uint32) else ctypes.c_void_p for arg in args]
    function = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, *kinds)(table[place])
    return int(function(instance, *args))
