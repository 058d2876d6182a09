"""Windows' graphics cards: the registry's entries, DXGI's adapters as COM lays them out, performance counters."""

import ctypes
import sys
import tomllib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from app.core.hardware import registry
from app.core.hardware.gpu import windows as windows_gpus
from app.core.hardware.gpu import windows_dxgi, windows_pdh
from app.core.hardware.gpu.windows import AdapterEntry, WindowsGpus, busiest_pct, entry_from, pair
from app.core.hardware.gpu.windows_dxgi import Adapter, adapters_from
from app.core.hardware.gpu.windows_pdh import Counters
from tests.core.hardware.gpu.gpu_trees import DATA
from tests.core.hardware.made_up import fake_windows
from workloads.protocol.machine import Gpu
from workloads.protocol.telemetry import GpuTelemetry

ARC, GEFORCE, WARP = 0xADFB, 0x9AC6, 0xC8F1
CLASS = r"SYSTEM\CurrentControlSet\Control\Class\{4d36e968-e325-11ce-bfc1-08002be10318}"
KEYS: dict[str, dict[str, object]] = tomllib.loads((DATA / "windows_registry.toml").read_text(encoding="utf-8"))
KEYS["0001"]["HardwareInformation.qwMemorySize"] = (8 * 2**30).to_bytes(8, "little")
ADAPTERS = (
    Adapter(GEFORCE, 0x10DE, 0x2484, 8 * 2**30, 16 * 2**30, False),
    Adapter(ARC, 0x8086, 0x56A0, 16 * 2**30, 16 * 2**30, True),
)


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_windows(monkeypatch, {CLASS: {}} | {rf"{CLASS}\{name}": values for name, values in KEYS.items()})
    monkeypatch.setattr(windows_gpus, "list_adapters", lambda: ADAPTERS)


def recorded(name: str) -> list[tuple[str, float]]:
    lines = [line for line in (DATA / name).read_text().splitlines() if not line.startswith("#")]
    return [(instance, float(value)) for value, _, instance in (line.partition(" = ") for line in lines)]


@pytest.mark.usefixtures("windows")
def test_cards_of_the_registry() -> None:
    gpus = WindowsGpus()
    assert gpus.vendors == ("intel", "nvidia"), "the Radeon is no longer there"
    arc, geforce = gpus.gpus([0, 1])
    known = Gpu("Intel Arc A770 Graphics", "intel", 17_079_205_888, "32.0.101.6129", source="registry")
    assert arc == replace(known, shares_memory=False, drives_display=True)
    assert (geforce.memory_bytes, geforce.driver, geforce.drives_display) == (8 * 2**30, "581.65", False)


@pytest.mark.usefixtures("windows")
def test_cards_where_dxgi_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows_gpus, "list_adapters", lambda: None)
    monkeypatch.setattr(windows_gpus, "open_counters", lambda paths: None)
    gpus = WindowsGpus()
    assert gpus.vendors == ("intel", "nvidia", "amd")
    assert gpus.gpus([2])[0] == Gpu("AMD Radeon RX 580", "amd", source="registry", shares_memory=False)
    assert gpus.telemetry([0, 2]) == (GpuTelemetry(0), GpuTelemetry(0))
    gpus.close()


class FakeCounters:
    """Counters of the computer above, in which some processes use shared memory."""

    closed = 0

    def read(self) -> dict[str, list[tuple[str, float]]]:
        held = ((7, GEFORCE, 3e9), (8, GEFORCE, 1e9), (77, GEFORCE, 9e9), (7, ARC, 2e9))
        shared = [(f"pid_{pid}_luid_0x00000000_0x{luid:08X}_phys_0", size) for pid, luid, size in held]
        return {
            windows_gpus.ENGINES: recorded("pdh_engines.txt"),
            windows_gpus.OWN_MEMORY: recorded("pdh_memory.txt"),
            windows_gpus.PROCESS_SHARED_MEMORY: [*shared, ("pid_7_luid_0x0", 1e9), ("_Total", 1e9)],
        }

    def close(self) -> None:
        self.closed += 1


@pytest.mark.usefixtures("windows")
def test_values(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[FakeCounters] = []

    def open_counters(paths: tuple[str, ...]) -> FakeCounters:
        opened.append(FakeCounters())
        return opened[-1]

    monkeypatch.setattr(windows_gpus, "open_counters", open_counters)
    gpus = WindowsGpus()
    assert gpus.telemetry([]) == ()
    assert not opened, "NVML reads all there is"
    assert gpus.telemetry([0]) == (GpuTelemetry(0, None, 2_479_771_648),), "shares of microseconds say nothing"
    assert gpus.telemetry([0]) == (GpuTelemetry(0, 97.0, 2_479_771_648),)
    assert gpus.telemetry([1, 0])[0] == GpuTelemetry(0, 12.0, 480_039_912)
    # Only the run's processes count, and only on cards with their own memory.
    for own_pids, shared in (
        (frozenset({7, 8}), [4e9, 2e9]),
        (frozenset({9}), [None, None]),
        (None, [None, None]),
    ):
        assert [gpu.own_shared_bytes for gpu in gpus.telemetry([1, 0], own_pids)] == shared
    monkeypatch.setattr(windows_gpus, "shares_memory", lambda entry, adapter: True)
    assert gpus.telemetry([1], frozenset({7}))[0].own_shared_bytes is None
    gpus.close()
    gpus.close()
    assert [each.closed for each in opened] == [1]


def test_two_engines_of_a_kind_do_not_add_up() -> None:
    start = "pid_1_luid_0x00000001_0x00000002_phys_0_eng"
    copies = [(f"{start}_{number}_engtype_Copy", 60.0) for number in (1, 2)]
    assert busiest_pct(copies) == {1 << 32 | 2: 60.0}
    assert busiest_pct([*copies, (f"pid_2{start[5:]}_1_engtype_Copy", 70.0)]) == {1 << 32 | 2: 100.0}


VENDORS = {"intel": 0x8086, "amd": 0x1002, "nvidia": 0x10DE, "other": 0x5143}


@pytest.mark.parametrize(
    ("vendor", "name", "by_name", "own_mib", "by_memory"),
    [
        ("intel", "Intel Iris Xe Graphics", True, 128, True),
        ("intel", "Intel Arc 140V GPU (16GB)", True, 128, True),
        ("intel", "Intel Arc B390 GPU", None, 128, True),
        ("intel", "Intel Arc B580 Graphics", None, 12_160, False),
        ("intel", "Intel Arc A770 Graphics", False, 16_288, False),
        ("intel", "Intel Arc Pro A40/A50 Graphics", False, 6_000, False),
        ("intel", "Intel Something 9000", None, 128, True),
        ("amd", "AMD Radeon Graphics", True, 512, True),
        ("amd", "AMD Radeon 8060S Graphics", True, 65_536, True),
        ("amd", "AMD Radeon RX 7900 XTX", False, 24_560, False),
        ("amd", "AMD Radeon RX 580", False, 8_192, False),
        ("amd", "AMD Radeon R7 200 Series", None, 2_048, False),
        ("nvidia", "NVIDIA GeForce RTX 3070", False, 8_192, False),
        ("nvidia", "NVIDIA N1X", False, 0, True),
        ("other", "Qualcomm Adreno X1-85 GPU", None, 0, True),
    ],
)
def test_whose_memory_it_is(vendor: str, name: str, by_name: bool | None, own_mib: int, by_memory: bool) -> None:
    entry = AdapterEntry(name, VENDORS[vendor], 1, None, None)
    assert windows_gpus.shares_memory(entry, None) is by_name
    dxgi = Adapter(1, VENDORS[vendor], 1, own_mib * 2**20 or None, 16 * 2**30, True)
    assert windows_gpus.shares_memory(entry, dxgi) is by_memory
    of_registry = replace(entry, memory_bytes=own_mib * 2**20 or None)
    assert windows_gpus.shares_memory(of_registry, None) is (by_memory if own_mib else by_name)


def test_a_recorded_integrated_gpu_whose_name_looks_like_a_cards() -> None:
    values = tomllib.loads((DATA / "windows_arc_b390.toml").read_text(encoding="utf-8"))
    entry = entry_from(values)
    assert entry is not None
    alone = windows_gpus.describe(entry, None)
    gpu = windows_gpus.describe(entry, Adapter(1, 0x8086, 0xB080, 128 * 2**20, 16 * 2**30, True))
    assert (alone.shares_memory, alone.memory_bytes) == (True, None)
    assert (gpu.name, gpu.shares_memory, gpu.memory_bytes) == ("Intel Arc B390 GPU", True, 16 * 2**30)
    radeon = AdapterEntry("AMD Radeon 780M Graphics", 0x1002, 0x15BF, "32.0.12033.1030", 512 * 2**20)
    assert windows_gpus.describe(radeon, None).memory_bytes is None


def test_identical_cards_are_paired_in_order() -> None:
    entry = AdapterEntry("NVIDIA GeForce RTX 3070", 0x10DE, 0x2484, None, None)
    first, second = (Adapter(luid, 0x10DE, 0x2484, None, None, None) for luid in (1, 2))
    assert pair([entry, entry, entry], [first, second]) == ((entry, first), (entry, second))
    assert pair([entry], [first, second]) == ((entry, first),), "a virtual display doubles its adapter"


@pytest.mark.skipif(sys.platform == "win32", reason="they are there")
def test_other_systems_have_no_registry_and_no_libraries() -> None:
    assert registry.read_value(CLASS, "DriverDesc") is windows_dxgi.list_adapters() is None
    assert (registry.read_text(CLASS, "DriverDesc"), registry.list_subkeys(CLASS)) == ("", ())
    assert windows_pdh.open_counters(("a",)) is None


@pytest.mark.usefixtures("windows")
def test_windows_without_its_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr(ctypes, "WinDLL", refuse, raising=False)
    assert windows_dxgi.list_adapters() is None
    assert windows_pdh.open_counters(("a",)) is None
    assert registry.list_subkeys("nowhere") == ()
    assert registry.read_value("nowhere", "name") is None


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


class FakePdh:
    """pdh.dll with counters whose values stand in one buffer: first the items, then their names."""

    def __init__(self, values: dict[str, list[tuple[str, int, float]]], status: int = 0) -> None:
        self.values = values
        self.status = status
        self.paths: list[str] = []
        self.collected = 0
        self.closed = 0
        self.names: list[Any] = []

    def PdhOpenQueryW(self, source: None, data: None, query: Any) -> int:  # noqa: N802 - its name there
        query._obj.value = 7
        return self.status

    def PdhAddEnglishCounterW(self, query: Any, path: str, data: None, counter: Any) -> int:  # noqa: N802
        if path not in self.values:
            return 0xC0000BB8 - 2**32  # PDH_CSTATUS_NO_OBJECT, with the sign that ctypes gives it
        self.paths.append(path)
        counter._obj.value = len(self.paths)
        return 0

    def PdhCollectQueryData(self, query: Any) -> int:  # noqa: N802
        self.collected += 1
        return 0

    def PdhGetFormattedCounterArrayW(  # noqa: N802
        self, counter: Any, kind: int, size: Any, count: Any, buffer: Any
    ) -> int:
        values = self.values[self.paths[counter.value - 1]]
        needed = ctypes.sizeof(windows_pdh.Item) * len(values)
        if buffer is None or size._obj.value < needed:
            size._obj.value = needed
            return 0x800007D2 - 2**32
        count._obj.value = len(values)
        items = (windows_pdh.Item * len(values)).from_buffer(buffer)
        self.names = [ctypes.c_wchar_p(name) for name, _, _ in values]
        for item, name, (_, status, number) in zip(items, self.names, values, strict=True):
            item.name, item.value.status, item.value.number = name, status, number
        return 0

    def PdhCloseQuery(self, query: Any) -> int:  # noqa: N802
        self.closed += 1
        return 0


def test_counters() -> None:
    pdh = FakePdh({"a": [("one", 0, 1.5), ("two", 1, 2.5), ("three", 0xC0000BC6, 9.0)], "b": []})
    counters = Counters(pdh, ("a", "missing", "b"))
    assert pdh.collected == 1, "shares need a look before"
    assert counters.read() == {"a": [("one", 1.5), ("two", 2.5)], "b": []}
    pdh.values["a"] = [("four", 0, 4.0)] * 50
    assert counters.read()["a"] == [("four", 4.0)] * 50
    counters.close()
    counters.close()
    assert pdh.closed == 1
    assert counters.read() == {}


def test_counters_that_fail() -> None:
    pdh = FakePdh({"a": [("one", 0, 1.0)]}, status=-1)
    assert Counters(pdh, ("a",)).read() == {}
    pdh.status = 0
    counters = Counters(pdh, ("a",))
    pdh.PdhCollectQueryData = lambda query: -1  # type: ignore[method-assign]
    assert counters.read() == {}
