"""Windows' performance counters: values that stand in one buffer, and counters that fail."""

import ctypes
from typing import Any

from app.core.hardware.gpu import windows_pdh
from app.core.hardware.gpu.windows_pdh import Counters


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
