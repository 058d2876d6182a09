"""NVIDIA's GPUs through nvidia-smi: a made-up one answers as the real one does on broken computers."""

import os
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from app.core.hardware.gpu import gpus as gpu
from app.core.hardware.gpu import nvidia_smi
from tests.core.hardware.gpu.gpu_trees import DATA
from tests.core.hardware.gpu.nvml import PYNVML, FakeDriver
from tests.waiting import wait_until
from workloads.protocol.machine import Gpu
from workloads.protocol.telemetry import GpuTelemetry

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the made-up nvidia-smi is a shell script")


@pytest.fixture
def reader(tmp_path: Path) -> gpu.GpuReader:
    return gpu.GpuReader(tmp_path)


@pytest.fixture
def smi_folder(driver: FakeDriver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    driver.start_error = PYNVML.NVMLError_LibraryNotFound()
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", os.pathsep.join((str(folder), os.environ["PATH"], os.defpath)))
    yield folder
    assert not [child for child in psutil.Process().children(recursive=True) if child.name() == "nvidia-smi"]
    for name in [name for name in sys.modules if name.partition(".")[0] in ("GPUtil", "distutils")]:
        del sys.modules[name]  # else importing pip would warn that distutils was there before


def write_smi(folder: Path, body: str) -> None:
    script = folder / "nvidia-smi"
    script.write_text(f"#!/bin/sh\necho run >> '{folder}/runs'\n{body}\n")
    script.chmod(0o755)


GOOD = Gpu("NVIDIA GeForce RTX 3070", "nvidia", 8192 * 2**20, "535.54", None, "gputil")


@pytest.mark.parametrize(
    ("name", "listed", "expected"),
    [
        ("good", GOOD, GpuTelemetry(0, 37.0, 2**30, 54.0)),
        ("not_available", Gpu("NVIDIA GPU", "nvidia", source="gputil"), GpuTelemetry(0)),
        ("not_supported", replace(GOOD, name="NVIDIA GeForce GT 710"), GpuTelemetry(0, memory_used_bytes=2**30)),
    ],
)
def test_what_nvidia_smi_says(
    smi_folder: Path, reader: gpu.GpuReader, tmp_path: Path, name: str, listed: Gpu, expected: GpuTelemetry
) -> None:
    write_smi(smi_folder, f"cat '{DATA}/smi/{name}.txt'")
    assert gpu.list_gpus(tmp_path) == (listed,)
    assert reader.read() == (expected,)
    reader.close()


@pytest.mark.parametrize(
    "body",
    [
        f"cat '{DATA}/smi/no_driver.txt'; exit 9",
        f"cat '{DATA}/smi/mismatch.txt'; exit 18",
        f"cat '{DATA}/smi/no_devices.txt'; exit 6",
        f"cat '{DATA}/smi/lost.txt'; exit 15",
        f"cat '{DATA}/smi/no_memory.txt'",
        "echo '0, too short'",
        "printf '\\377\\376\\n'",
        "exit 1",
    ],
    ids=["no driver", "mismatch", "no devices", "lost", "zero memory", "short line", "no text", "nothing"],
)
def test_gputil_failures_mean_no_gpus(smi_folder: Path, reader: gpu.GpuReader, tmp_path: Path, body: str) -> None:
    write_smi(smi_folder, body)
    assert gpu.list_gpus(tmp_path) == ()
    assert reader.read() == ()
    reader.close()
    assert (smi_folder / "runs").read_text().count("run") == 2


@pytest.mark.slow
def test_a_hanging_nvidia_smi_is_killed_and_not_asked_again(
    smi_folder: Path, reader: gpu.GpuReader, tmp_path: Path
) -> None:
    write_smi(smi_folder, f"sleep 60 &\necho $! > '{smi_folder}/pid'\nwait")
    assert gpu.list_gpus(tmp_path) == ()
    assert nvidia_smi.HUNG.is_set()
    pid = int((smi_folder / "pid").read_text())
    wait_until(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    assert not [thread for thread in threading.enumerate() if thread.name == "gputil"]
    assert reader.read() == ()
    assert gpu.list_gpus(tmp_path) == ()
    assert (smi_folder / "runs").read_text().count("run") == 1
    reader.close()


@pytest.mark.parametrize(("missing", "count"), [("", 2), ("pynvml", 1), ("GPUtil", 0)])
def test_it_is_asked_only_without_nvml(
    driver: FakeDriver, smi_folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, missing: str, count: int
) -> None:
    write_smi(smi_folder, f"cat '{DATA}/smi/good.txt'")
    if missing:
        monkeypatch.setitem(sys.modules, missing, None)
    else:
        driver.start_error = None
    assert len(gpu.list_gpus(tmp_path)) == count
    assert (smi_folder / "runs").exists() is (missing == "pynvml")
