"""Libraries that crash or hang, made byte by byte: no computer needs a compiler for them."""

import platform
import struct
from typing import Literal

Kind = Literal["crashes", "hangs"]
# The machine's number in ELF, an instruction that no CPU has, one that jumps to itself, "return 0", and "store 1
# where the first argument points, and return 0".
_MACHINES = {
    "x86_64": (62, "0f0b", "ebfe", "31c0c3", "c7070100000031c0c3"),
    "aarch64": (183, "00000000", "00000014", "00008052c0035fd6", "21008052010000b900008052c0035fd6"),
}
CAN_BE_MADE = platform.machine() in _MACHINES
_HEADER, _PROGRAM, _SYMBOL, _DYNAMIC, _CODE = 64, 56, 24, 16, 32
_LOAD, _DYNAMIC_SEGMENT, _STACK = 1, 2, 0x6474E551


def broken_library(kind: Kind, at: str) -> bytes:
    """Make a library of NVIDIA's with one card, which crashes or hangs at "load" or in one of its functions."""
    number, *codes = _MACHINES[platform.machine()]
    crash, loop, done, one = map(bytes.fromhex, codes)
    functions = dict.fromkeys(("load", "nvmlInit_v2", "nvmlInitWithFlags", "nvmlDeviceGetHandleByIndex_v2"), done)
    functions |= {"nvmlDeviceGetCount_v2": one, at: crash if kind == "crashes" else loop}
    names = b"\x00" + b"".join(f"{name}\x00".encode() for name in functions)
    count, places, size = len(functions), {}, _HEADER + 3 * _PROGRAM
    for part, length in (
        ("code", count * _CODE),
        ("symbols", (count + 1) * _SYMBOL),
        ("hash", 4 * (count + 4)),
        ("names", len(names)),
        ("dynamic", 7 * _DYNAMIC),
    ):
        size = -(-size // 16) * 16
        places[part] = size
        size += length
    code = places["code"]
    symbols = (  # global functions in some section
        struct.pack("<IBBHQQ", names.index(f"\x00{name}\x00".encode()) + 1, 0x12, 0, 1, code + at * _CODE, _CODE)
        for at, name in enumerate(functions)
    )
    content = {
        "code": b"".join(each.ljust(_CODE, b"\x00") for each in functions.values()),
        "symbols": bytes(_SYMBOL) + b"".join(symbols),
        # One bucket, whose chain holds them all.
        "hash": struct.pack(f"<{count + 4}I", 1, count + 1, 1, 0, *range(2, count + 1), 0),
        "names": names,
        "dynamic": b"".join(
            struct.pack("<QQ", tag, value)
            for tag, value in (
                *((4, places["hash"]), (5, places["names"]), (6, places["symbols"]), (10, len(names))),
                *((11, _SYMBOL), (12, code), (0, 0)),
            )
        ),
    }
    dynamic = places["dynamic"]
    file = bytearray(size)
    file[:_HEADER] = b"\x7fELF\x02\x01\x01".ljust(16, b"\x00") + struct.pack(
        "<HHIQQQIHHHHHH", 3, number, 1, 0, _HEADER, 0, 0, _HEADER, _PROGRAM, 3, 0, 0, 0
    )
    programs = (
        struct.pack("<IIQQQQQQ", _LOAD, 7, 0, 0, 0, size, size, 0x10000)
        + struct.pack("<IIQQQQQQ", _DYNAMIC_SEGMENT, 6, dynamic, dynamic, dynamic, 7 * _DYNAMIC, 7 * _DYNAMIC, 8)
        + struct.pack("<IIQQQQQQ", _STACK, 6, 0, 0, 0, 0, 0, 16)
    )
    file[_HEADER : _HEADER + len(programs)] = programs
    for part, data in content.items():
        file[places[part] : places[part] + len(data)] = data
    return bytes(file)
