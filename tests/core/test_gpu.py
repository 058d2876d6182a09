import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.machine import gpu
from app.core.model import Gpu, GpuReading
from tests.core.nvml import NOWHERE, OTHER, OWN, PYNVML, FakeDriver, held

posix_only = pytest.mark.skipif(os.name != "posix", reason="the made-up nvidia-smi is a shell script")


FULL_READING = GpuReading(0, 97.0, 2**30, 65.0, 312.5, 2520.0, ())


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    fake = FakeDriver(2)
    monkeypatch.setitem(sys.modules, "pynvml", fake.module())
    return fake


@pytest.fixture
def reader(tmp_path: Path) -> gpu.GpuReader:
    return gpu.GpuReader(tmp_path)


def test_two_gpus(driver: FakeDriver) -> None:
    assert gpu.list_gpus() == (
        Gpu("NVIDIA GeForce RTX 4090", "nvidia", 24 * 2**30, "580.65.06", "8.9"),
        Gpu("NVIDIA GeForce GTX 1080", "nvidia", 24 * 2**30, "580.65.06", "6.1"),
    )
    assert driver.running == 0


def test_reading_two_gpus(driver: FakeDriver, reader: gpu.GpuReader) -> None:
    first, second = reader.read()
    assert first == FULL_READING
    assert second.index == 1
    reader.read()
    assert (driver.starts, driver.running) == (1, 1)
    reader.close()
    assert driver.running == 0
    assert reader.read()[0] == FULL_READING
    reader.close()
    reader.close()
    assert (driver.starts, driver.running) == (2, 0)


def test_nothing_is_loaded_before_the_first_read(driver: FakeDriver, reader: gpu.GpuReader) -> None:
    reader.close()
    assert (driver.starts, driver.running) == (0, 0)


def test_unsupported_values_are_none(driver: FakeDriver, reader: gpu.GpuReader) -> None:
    for key, name in (
        ("Power", "NVMLError_NotSupported"),
        ("Utilization", "NVMLError_NotSupported"),
        ("Clock", "NVMLError_Unknown"),
        ("MemoryInfo", "NVMLError_NoPermission"),
        ("Capability", "NVMLError_NotSupported"),
        ("Name", "NVMLError_Unknown"),
        ("Reasons", "NVMLError_FunctionNotFound"),
        ("OldReasons", "NVMLError_NotSupported"),
        ("Computing", "NVMLError_NotSupported"),
        ("Drawing", "NVMLError_NotSupported"),
    ):
        driver.values[key][0] = getattr(PYNVML, name)()
    assert reader.read({OWN})[0] == GpuReading(0, temperature_c=65.0)
    assert reader.read()[1].power_w == 312.5
    assert gpu.list_gpus()[0] == Gpu("NVIDIA GPU", "nvidia", driver="580.65.06")


def test_values_that_mean_unknown_are_none(driver: FakeDriver, reader: gpu.GpuReader) -> None:
    all_ones = 2**32 - 1
    driver.values["Power"] = [0, all_ones]
    driver.values["Temperature"] = [0, all_ones]
    driver.values["Clock"] = [0, all_ones]
    driver.values["Utilization"] = [SimpleNamespace(gpu=0), SimpleNamespace(gpu=all_ones)]
    driver.values["MemoryInfo"] = [
        SimpleNamespace(total=0, used=0),
        SimpleNamespace(total=2**64 - 1, used=2**64 - 1),
    ]
    driver.values["Reasons"] = [2**64 - 1, -1]
    assert reader.read() == (GpuReading(0, utilization_pct=0.0, memory_used_bytes=0), GpuReading(1))
    assert [found.memory_bytes for found in gpu.list_gpus()] == [None, None]


@pytest.mark.parametrize(
    ("bits", "words"),
    [
        (0x0, ()),
        (0x1 | 0x2 | 0x10 | 0x100, ()),  # idle, chosen clocks, waiting for another card, a display
        (0x4, ("power cap",)),
        (0x8 | 0x40, ("hardware slowdown", "thermal")),
        (0x20, ("thermal",)),
        (0x8 | 0x80, ("hardware slowdown", "power brake")),
    ],
)
def test_what_holds_the_clock_down_is_said_in_words(
    driver: FakeDriver, reader: gpu.GpuReader, bits: int, words: tuple[str, ...]
) -> None:
    driver.values["Reasons"][0] = bits
    assert reader.read()[0].throttle_reasons == words
    driver.values["Reasons"][0] = PYNVML.NVMLError_FunctionNotFound()  # a driver that knows the old name only
    driver.values["OldReasons"][0] = bits
    assert reader.read()[0].throttle_reasons == words
    reader.close()


@pytest.mark.parametrize(
    ("computing", "drawing", "expected"),
    [
        ([], [], 0),
        ([held(OWN, 2**30)], [], 0),
        ([held(OWN, 2**30), held(OTHER, 5)], [], 5),
        ([held(OTHER, 5)], [held(OTHER, 7)], 7),  # one that computes and draws
        ([held(OTHER, 5)], None, 5),
        (None, [held(OTHER, 5)], 5),
        (None, None, None),
        ([held(OTHER, None)], [], None),  # Windows does not say how much
        ([held(OTHER, 2**64 - 1)], [], None),
        ([held(NOWHERE, 5)], [], None),  # a container is told the host's numbers
    ],
)
def test_memory_of_others(
    driver: FakeDriver,
    reader: gpu.GpuReader,
    computing: list[SimpleNamespace] | None,
    drawing: list[SimpleNamespace] | None,
    expected: int | None,
) -> None:
    missing = PYNVML.NVMLError_NotSupported()
    driver.values["Computing"][0] = missing if computing is None else computing
    driver.values["Drawing"][0] = missing if drawing is None else drawing
    assert reader.read(frozenset({OWN}))[0].other_memory_bytes == expected
    assert reader.read()[0].other_memory_bytes is None
    reader.close()


def test_a_gpu_lost_on_the_way_gives_nones(driver: FakeDriver, reader: gpu.GpuReader) -> None:
    assert reader.read()[0] == FULL_READING
    driver.lose(0, "NVMLError_GpuIsLost")
    first, second = reader.read()
    assert first == GpuReading(0)
    assert second.power_w == 312.5


def test_a_gpu_lost_before_the_start_keeps_its_place(driver: FakeDriver, reader: gpu.GpuReader) -> None:
    driver.lose(0, "NVMLError_GpuIsLost")
    assert reader.read()[0] == GpuReading(0)
    assert reader.read()[1].index == 1
    assert [found.name for found in gpu.list_gpus()] == ["NVIDIA GPU", "NVIDIA GeForce GTX 1080"]


@pytest.mark.parametrize("error", ["LibraryNotFound", "DriverNotLoaded", "LibRmVersionMismatch", "NoPermission"])
def test_no_driver_means_no_gpus(
    driver: FakeDriver, reader: gpu.GpuReader, error: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    driver.start_error = getattr(PYNVML, f"NVMLError_{error}")()
    assert gpu.list_gpus() == ()
    assert reader.read() == ()
    assert reader.read() == ()
    assert driver.starts == 2  # a reader does not try again with each sample
    reader.close()


def add_pci_device(root: Path, address: str, vendor: str, kind: str, state: str) -> Path:
    device = root / "sys/bus/pci/devices" / address
    (device / "power").mkdir(parents=True)
    (device / "vendor").write_text(f"{vendor}\n")
    (device / "class").write_text(f"{kind}\n")
    status = device / "power/runtime_status"
    status.write_text(f"{state}\n")
    return status


@posix_only  # a file name with colons
def test_a_sleeping_gpu_is_not_woken(driver: FakeDriver, reader: gpu.GpuReader, tmp_path: Path) -> None:
    add_pci_device(tmp_path, "0000:00:02.0", "0x8086", "0x030000", "active")
    add_pci_device(tmp_path, "0000:01:00.1", "0x10de", "0x040300", "active")  # its sound output
    status = add_pci_device(tmp_path, "0000:01:00.0", "0x10de", "0x030200", "suspended")
    assert reader.read() == (GpuReading(0),)
    assert driver.starts == 0
    status.write_text("active\n")
    assert reader.read()[0] == FULL_READING
    reader.close()


@posix_only
def test_one_of_two_gpus_asleep(driver: FakeDriver, reader: gpu.GpuReader, tmp_path: Path) -> None:
    add_pci_device(tmp_path, "0000:01:00.0", "0x10de", "0x030000", "suspended")
    add_pci_device(tmp_path, "0000:41:00.0", "0x10de", "0x030000", "active")
    first, second = reader.read()
    assert first == GpuReading(0)
    assert second.power_w == 312.5
    reader.close()


GOOD_LINE = "0, GPU-1, 37, 8192, 1024, 7168, 535.54, NVIDIA GeForce RTX 3070, [N/A], Disabled, Disabled, 54"


@pytest.fixture
def smi_folder(driver: FakeDriver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    driver.start_error = PYNVML.NVMLError_LibraryNotFound()
    monkeypatch.setattr(gpu, "_NVIDIA_SMI_HUNG", threading.Event())
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    yield folder
    assert not [child for child in psutil.Process().children(recursive=True) if child.name() == "nvidia-smi"]


def write_smi(folder: Path, body: str) -> None:
    script = folder / "nvidia-smi"
    script.write_text(f"#!/bin/sh\necho run >> '{folder}/runs'\n{body}\n")
    script.chmod(0o755)


@posix_only
def test_gputil_good_line(smi_folder: Path, reader: gpu.GpuReader) -> None:
    write_smi(smi_folder, f"echo '{GOOD_LINE}'")
    expected = Gpu("NVIDIA GeForce RTX 3070", "nvidia", 8192 * 2**20, "535.54", None, "gputil")
    assert gpu.list_gpus() == (expected,)
    assert reader.read() == (GpuReading(0, 37.0, 1024 * 2**20, 54.0),)
    reader.close()


@posix_only
def test_gputil_missing_values_are_none(smi_folder: Path, reader: gpu.GpuReader) -> None:
    line = "0, GPU-1, [N/A], [N/A], [N/A], [N/A], [N/A], [N/A], [N/A], [N/A], [N/A], [N/A]"
    write_smi(smi_folder, f"echo '{line}'")
    assert gpu.list_gpus() == (Gpu("NVIDIA GPU", "nvidia", source="gputil"),)
    assert reader.read() == (GpuReading(0),)
    reader.close()


@posix_only
@pytest.mark.parametrize(
    "body",
    [
        "echo 'NVIDIA-SMI has failed because it could not communicate with the NVIDIA driver.'; exit 9",
        "echo '0, too short'",
        f"echo '{GOOD_LINE.replace('8192', '0')}'",
        "printf '\\377\\376\\n'",
        "exit 1",
    ],
    ids=["error text", "short line", "zero memory", "no text", "nothing"],
)
def test_gputil_failures_mean_no_gpus(smi_folder: Path, reader: gpu.GpuReader, body: str) -> None:
    write_smi(smi_folder, body)
    assert gpu.list_gpus() == ()
    assert reader.read() == ()
    reader.close()
    assert (smi_folder / "runs").read_text().count("run") == 2


def ended(pid: int) -> bool:
    """Tell whether a process is gone, or dead and only not yet reaped, within a second."""
    for _ in range(20):
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        threading.Event().wait(0.05)
    return False


@posix_only
def test_a_hanging_nvidia_smi_is_killed_and_not_asked_again(smi_folder: Path, reader: gpu.GpuReader) -> None:
    write_smi(smi_folder, f"sleep 60 &\necho $! > '{smi_folder}/pid'\nwait")
    started_s = time.monotonic()
    assert gpu.list_gpus() == ()
    assert 2 < time.monotonic() - started_s < 4
    assert ended(int((smi_folder / "pid").read_text()))
    assert not [thread for thread in threading.enumerate() if thread.name == "gputil"]
    started_s = time.monotonic()
    assert reader.read() == ()
    assert gpu.list_gpus() == ()
    assert time.monotonic() - started_s < 1
    assert (smi_folder / "runs").read_text().count("run") == 1
    reader.close()


@posix_only
def test_gputil_is_not_asked_when_nvml_answers(
    driver: FakeDriver, smi_folder: Path, reader: gpu.GpuReader
) -> None:
    write_smi(smi_folder, f"echo '{GOOD_LINE}'")
    driver.start_error = None
    assert len(gpu.list_gpus()) == 2
    assert len(reader.read()) == 2
    reader.close()
    assert not (smi_folder / "runs").exists()


@posix_only
@pytest.mark.parametrize("missing", ["pynvml", "GPUtil"])
def test_missing_libraries(smi_folder: Path, monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    write_smi(smi_folder, f"echo '{GOOD_LINE}'")
    monkeypatch.setitem(sys.modules, missing, None)
    assert len(gpu.list_gpus()) == (1 if missing == "pynvml" else 0)


@posix_only
def test_warnings_of_gputil_stay_inside(smi_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_smi(smi_folder, "exit 1")
    (smi_folder / "GPUtil.py").write_text(
        "import warnings\nwarnings.warn('distutils is deprecated', DeprecationWarning)\ngetGPUs = list\n"
    )
    monkeypatch.syspath_prepend(smi_folder)
    monkeypatch.delitem(sys.modules, "GPUtil", raising=False)
    assert gpu.list_gpus() == ()
    assert sys.modules.pop("GPUtil").getGPUs is list


@given(st.one_of(st.none(), st.floats(), st.integers()))
def test_only_values_in_range_pass(value: float | None) -> None:
    found = gpu._within(value, 1, 100)
    assert found is None or (found == value and 1 <= found <= 100)


@given(st.none() | st.integers())
def test_any_reasons_are_words_or_none(bits: int | None) -> None:
    words = gpu.throttle_words(bits)
    assert words is None or set(words) <= {"power cap", "hardware slowdown", "thermal", "power brake"}


@given(st.lists(st.tuples(st.integers(1, 9), st.none() | st.integers(0, 2**50))), st.sets(st.integers(1, 9)))
def test_own_memory_is_never_that_of_others(sizes: list[tuple[int, int | None]], own: set[int]) -> None:
    others = {pid: size for pid, size in sizes if pid not in own}
    found = gpu.other_memory_bytes(sizes, own, lambda pid: True)
    if any(size is None for pid, size in sizes if pid not in own):
        assert found is None
    else:
        assert found is not None
        assert sum(size or 0 for size in others.values()) <= found <= sum(size or 0 for _, size in sizes)


@given(st.one_of(st.none(), st.text(), st.binary()))
def test_driver_text_is_one_clean_line_or_none(value: str | bytes | None) -> None:
    text = gpu._text(value)
    assert text is None or (text and text == " ".join(text.split()))


def test_this_machine() -> None:
    """Whatever this machine has: no exception, and as many readings as GPUs."""
    reader = gpu.GpuReader()
    readings = reader.read()
    reader.close()
    assert len(readings) == len(gpu.list_gpus())
