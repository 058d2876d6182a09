"""Libraries that crash or hang, made byte by byte: no computer needs a compiler for them."""

import platform
import struct
from typing import Literal

Kind = Literal["crashes", "hangs"]
Place = Literal["load", "nvmlInit_v2"]
# The machine's number in ELF, an instruction that no CPU has, one that jumps to itself, and "return 0".
_MACHINES = {
    "x86_64": (62, b"\x0f\x0b", b"\xeb\xfe", b"\x31\xc0\xc3"),
    "aarch64": (183, b"\x00\x00\x00\x00", b"\x00\x00\x00\x14", b"\x00\x00\x80\x52\xc0\x03\x5f\xd6"),
}
CAN_BE_MADE = platform.machine() in _MACHINES
_HEADER, _PROGRAM, _SYMBOL, _DYNAMIC = 64, 56, 24, 16
_LOAD, _DYNAMIC_SEGMENT, _STACK = 1, 2, 0x6474E551


def broken_library(kind: Kind, at: Place) -> bytes:
    number, crash, loop, done = _MACHINES[platform.machine()]
    name = b"\x00nvmlInit_v2\x00"
    wrong = crash if kind == "crashes" else loop
    on_load, on_call = (wrong, done) if at == "load" else (done, wrong)
    places, size = {}, _HEADER + 3 * _PROGRAM
    for part, length in (
        ("code", 64),
        ("symbols", 2 * _SYMBOL),
        ("hash", 20),
        ("names", 20),
        ("dynamic", 7 * _DYNAMIC),
    ):
        size = -(-size // 16) * 16
        places[part] = size
        size += length
    code = places["code"]
    content = {
        "code": on_load.ljust(32, b"\x00") + on_call.ljust(32, b"\x00"),
        # Nothing, then a global function in some section.
        "symbols": bytes(_SYMBOL) + struct.pack("<IBBHQQ", 1, 0x12, 0, 1, code + 32, 32),
        "hash": struct.pack("<IIIII", 1, 2, 1, 0, 0),
        "names": name,
        "dynamic": b"".join(
            struct.pack("<QQ", tag, value)
            for tag, value in (
                *((4, places["hash"]), (5, places["names"]), (6, places["symbols"]), (10, len(name))),
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
