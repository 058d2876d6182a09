import math
import os
import plistlib
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.hardware.gpu import apple as apple_gpu
from app.core.hardware.gpu.apple import AppleGpus, describe, entries_from, telemetry_from, vendor_from
from tests.core.hardware.gpu.gpu_trees import DATA, known
from workloads.protocol.telemetry import GpuTelemetry

RECORDED = tomllib.loads((DATA / "ioreg.toml").read_text(encoding="utf-8"))
posix_only = pytest.mark.skipif(os.name != "posix", reason="the made-up ioreg is a shell script")


def entries(name: str) -> list[dict[str, object]]:
    return entries_from((DATA / name).read_bytes())


@pytest.mark.parametrize(("name", "expected"), RECORDED.items(), ids=RECORDED)
def test_a_recorded_mac(name: str, expected: dict[str, object]) -> None:
    found = entries(f"{name}.plist")
    listed = describe(found, entries("ioreg_intel_pci.plist") if "intel" in name else [])
    assert {
        "listed": list(map(known, listed)),
        "read": [known(telemetry_from(each)) for each in found],
    } == expected


def test_without_their_names_the_vendors_are_told() -> None:
    assert [gpu.name for gpu in describe(entries("ioreg_intel_amd.plist"))] == ["Intel GPU", "AMD GPU"]


def write_ioreg(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> Path:
    script = folder / "ioreg"
    script.write_text(f"#!/bin/sh\necho run >> '{folder}/runs'\n{body}\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join((str(folder), os.environ["PATH"], os.defpath)))
    return folder / "runs"


@posix_only
def test_ioreg_is_asked_once_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = write_ioreg(tmp_path, monkeypatch, f"cat '{DATA}/ioreg_m1.plist'")
    now_s = [0.0]
    gpus = AppleGpus(lambda: now_s[0])
    assert gpus.vendors == ("apple",)
    assert gpus.gpus([0])[0].name == "Apple M1 (8 cores)"
    for _ in range(5):
        assert gpus.telemetry([0])[0].utilization_pct == 14.0
    assert runs.read_text().count("run") == 1
    now_s[0] += 1.0
    write_ioreg(tmp_path, monkeypatch, "exit 1")
    assert gpus.telemetry([0]) == (GpuTelemetry(0),)
    assert runs.read_text().count("run") == 2


@pytest.mark.slow
@posix_only
def test_a_hanging_ioreg_is_not_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = write_ioreg(tmp_path, monkeypatch, "exec sleep 60")
    assert AppleGpus().vendors == ()
    assert apple_gpu.HUNG.is_set()
    assert AppleGpus().vendors == ()
    assert runs.read_text().count("run") == 1


@posix_only
def test_ioreg_cannot_wait_for_the_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_ioreg(tmp_path, monkeypatch, f"cat > /dev/null\ncat '{DATA}/ioreg_m1.plist'")
    reading, writing = os.pipe()
    terminal = os.dup(0)
    os.dup2(reading, 0)
    try:
        assert AppleGpus().vendors == ("apple",)
    finally:
        os.dup2(terminal, 0)
        for opened in (terminal, reading, writing):
            os.close(opened)


def test_no_ioreg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    gpus = AppleGpus()
    assert (gpus.vendors, gpus.gpus([]), gpus.telemetry([])) == ((), (), ())
    gpus.close()


values = st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**64 - 1), st.floats(), st.text(), st.binary())
keys = st.sampled_from([
    "IOClass", "model", "gpu-core-count", "vendor-id", "class-code", "VRAM,totalMB", "VRAM,totalsize",
    "PerformanceStatistics", "Device Utilization %", "In use system memory", "vramUsedBytes", "Temperature(C)",
    "Total Power(W)", "Core Clock(MHz)", "Fan Speed(%)",
])  # fmt: skip


@pytest.mark.slow
@given(st.lists(st.dictionaries(keys, values | st.dictionaries(keys, values))))
def test_any_entries(found: list[dict[str, object]]) -> None:
    for gpu in describe(found, found):
        assert gpu.name
        assert gpu.memory_bytes is None or gpu.memory_bytes > 0
    for entry in found:
        assert vendor_from(entry) in ("apple", "amd", "intel", "nvidia", "other")
        reading = telemetry_from(entry)
        for value in (reading.utilization_pct, reading.memory_used_bytes, reading.fan_pct):
            assert value is None or 0 <= value < math.inf
        for value in (reading.temperature_c, reading.power_w, reading.clock_mhz, reading.memory_clock_mhz):
            assert value is None or 0 < value < math.inf


@given(st.binary() | st.text().map(str.encode))
def test_any_answer(text: bytes) -> None:
    start = b'<?xml version="1.0" encoding="UTF-8"?>\n<plist version="1.0">'
    for answer in (text, start + text, start + b"<array><dict>" + text, b"bplist00" + text):
        assert isinstance(entries_from(answer), list)


@pytest.mark.parametrize("tag", ["integer", "real", "date", "data", "string", "key", "nothing"])
def test_broken_values(tag: str) -> None:
    whole = (DATA / "ioreg_m1.plist").read_bytes()
    assert entries_from(whole.replace(b"<integer>14</integer>", f"<{tag}>x</{tag}>".encode())) in (
        [],
        entries_from(whole.replace(b"<integer>14</integer>", b"<string>x</string>")),
    )
    assert entries_from(plistlib.dumps({"a": 1})) == entries_from(plistlib.dumps([1, "a"])) == []
