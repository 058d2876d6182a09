import os
import plistlib
import tomllib
from pathlib import Path

import pytest

from app.core.hardware.gpu import apple as apple_gpu
from app.core.hardware.gpu.apple import AppleGpus, describe, entries_from, telemetry_from
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


def test_no_ioreg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    gpus = AppleGpus()
    assert (gpus.vendors, gpus.gpus([]), gpus.telemetry([])) == ((), (), ())
    gpus.close()


@pytest.mark.parametrize("value", [b"<integer>x</integer>", b"<date>x</date>", b"<data>x</data>", b"<key>x"])
def test_a_broken_answer_is_none(value: bytes) -> None:
    answer = (DATA / "ioreg_m1.plist").read_bytes().replace(b"<integer>14</integer>", value)
    assert entries_from(answer) == []
    for text in (b"", b"x", plistlib.dumps({"a": 1}), plistlib.dumps([1, "a"])):
        assert entries_from(text) == []


@pytest.mark.parametrize("value", [None, True, -1, 2**64 - 1, float("nan"), "x", b"x", {}])
def test_values_that_cannot_be_are_unknown(value: object) -> None:
    (entry,) = entries("ioreg_m1.plist")
    names = ("Device Utilization %", "In use system memory", "Temperature(C)", "Total Power(W)")
    entry |= {"PerformanceStatistics": dict.fromkeys(names, value), "gpu-core-count": value}
    assert telemetry_from(entry) == GpuTelemetry(0)
    assert describe([entry])[0].name == "Apple M1"
