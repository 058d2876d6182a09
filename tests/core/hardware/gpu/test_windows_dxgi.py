"""DXGI's adapters, laid out as COM does."""

import ctypes
from collections.abc import Callable
from typing import Any

from app.core.hardware.gpu import windows_dxgi
from app.core.hardware.gpu.windows_dxgi import Adapter, adapters_from

INDEX_AND_PLACE = (ctypes.c_uint32, ctypes.c_void_p)


class FakeDxgi:
    """A factory and its adapters as COM lays them out: pointers to tables of functions."""

    def __init__(self, adapters: list[dict[str, int]]) -> None:
        self.adapters = adapters
        self.released: list[str] = []
        self.kept: list[Any] = []
        self.factory = self.build({2: (self.release("factory"), ()), 12: (self.enum_adapters, INDEX_AND_PLACE)})

    def build(self, functions: dict[int, tuple[Callable[..., int], tuple[Any, ...]]]) -> int:
        table = (ctypes.c_void_p * 16)()
        for place, (function, kinds) in functions.items():
            callback = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, *kinds)(function)
            table[place] = ctypes.cast(callback, ctypes.c_void_p).value
            self.kept.append(callback)
        instance = ctypes.c_void_p(ctypes.addressof(table))
        self.kept += [table, instance]
        return ctypes.addressof(instance)

    def release(self, name: str) -> Callable[[int], int]:
        def release(this: int) -> int:
            self.released.append(name)
            return 0

        return release

    def enum_adapters(self, this: int, index: int, out: int) -> int:
        if index >= len(self.adapters):
            return 0x887A0002
        values = self.adapters[index]

        def describe(this: int, told: int) -> int:
            description = windows_dxgi.Description.from_address(told)
            for name, value in values.items():
                if name != "outputs":
                    setattr(description, name, value)
            return 0

        def enum_outputs(this: int, number: int, out: int) -> int:
            if number >= values.get("outputs", 0):
                return 0x887A0002
            ctypes.c_void_p.from_address(out).value = self.build({2: (self.release("output"), ())})
            return 0

        adapter = self.build(
            {
                2: (self.release("adapter"), ()),
                7: (enum_outputs, INDEX_AND_PLACE),
                10: (describe, (ctypes.c_void_p,)),
            }
        )
        ctypes.c_void_p.from_address(out).value = adapter
        return 0

    def create(self, identity: Any, factory: Any) -> int:
        assert bytes(identity._obj) == bytes.fromhex("78ae0a776ff2ba4da829253c83d1b387")
        factory._obj.value = self.factory
        return 0


def test_adapters_of_dxgi() -> None:
    radeon = {"vendor_id": 0x1002, "device_id": 0x73BF, "own_memory": 16 * 2**30, "luid_low": 0xADFB, "outputs": 1}
    warp = {"vendor_id": 0x1414, "device_id": 0x8C, "flags": 2}
    own = {"vendor_id": 0x8086, "device_id": 0x4680, "shared_memory": 2**33, "luid_high": 1, "luid_low": 5}
    dxgi = FakeDxgi([radeon, warp, own])
    assert adapters_from(dxgi.create) == (
        Adapter(0xADFB, 0x1002, 0x73BF, 16 * 2**30, None, True),
        Adapter(1 << 32 | 5, 0x8086, 0x4680, None, 2**33, False),
    )
    assert sorted(dxgi.released) == ["adapter", "adapter", "adapter", "factory", "output"]
    assert adapters_from(lambda identity, factory: 0x80004005) is None
