"""What the doctor learns of a computer before it starts anything."""

import sys
import threading
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from app.core.doctor import facts as facts_module
from app.core.doctor.facts import Facts, cuda_majors, gather_facts
from app.core.doctor.nvml import NvidiaGpu, Nvml, ask_nvml
from app.core.hardware.gpu.linux import pci_vendors
from tests.core.doctor.machines import WSL1, WSL2, Root
from tests.core.hardware.gpu.nvml import PYNVML, FakeDriver
from workloads.protocol.machine import Gpu

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads Linux's files")
GPU = Gpu(name="AMD Radeon RX 6700", vendor="amd")


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts_module, "list_gpus", lambda: ())


def look(root: Root, **variables: str) -> Facts:
    return gather_facts(root.path, variables)


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    fake = FakeDriver(2)
    monkeypatch.setitem(sys.modules, "pynvml", fake.module())
    return fake


def test_computers_with_and_without_a_card(tmp_path: Path) -> None:
    found = look(Root(tmp_path / "plain").pci("virtual"))
    assert (found.system, found.container, found.pci, found.nvidia_cards) == ("linux", False, ("other",), ())
    assert (found.kernel_driver, found.device_nodes, found.libcuda, found.dxg) == (None, 0, None, None)
    assert (found.nouveau, found.secure_boot, found.avx) == (False, None, True)
    found = look(Root(tmp_path / "card").pci("intel", "nvidia").driver().libcuda("/usr/lib/x86_64-linux-gnu"))
    assert (found.pci, found.kernel_driver) == (("intel", "nvidia"), "580.65.06")
    assert (found.device_nodes, found.libcuda) == (1, "system")
    assert [card.name for card in found.nvidia_cards] == ["NVIDIA GPU"]
    assert look(Root(tmp_path / "wsl", WSL1)).system == "wsl1"
    assert look(Root(tmp_path / "32 bits").libcuda("/usr/lib/i386-linux-gnu")).libcuda is None


CARDS, OTHERS = ("0x030000", "0x030200", "0x038000", "0x120000"), ("0x040300", "0x0c0330", "0x020000", "")


@pytest.mark.parametrize("kind", [*CARDS, *OTHERS])
def test_cards_are_found_by_their_class(tmp_path: Path, kind: str) -> None:
    assert pci_vendors(Root(tmp_path).pci("nvidia", kind=kind).path) == (("nvidia",) if kind in CARDS else ())


@pytest.mark.parametrize(
    ("mark", "text"), [(".dockerenv", ""), ("run/.containerenv", ""), ("proc/1/cgroup", "0::/docker/abc")]
)
def test_containers_are_recognised_by_their_marks(tmp_path: Path, mark: str, text: str) -> None:
    assert look(Root(tmp_path).write(mark, text)).container


def test_wsl_with_and_without_a_graphics_card_of_windows(tmp_path: Path) -> None:
    without = look(Root(tmp_path / "a", WSL2))
    assert (without.system, without.dxg, without.wsl_libcuda, without.nvidia_cards) == ("wsl2", False, False, ())
    root = Root(tmp_path / "b", WSL2).write("dev/dxg", "").libcuda("/usr/lib/wsl/lib")
    found = look(root)
    assert (found.dxg, found.wsl_libcuda, found.libcuda) == (True, True, "wsl")
    assert len(found.nvidia_cards) == 1


def test_nouveau_and_secure_boot(tmp_path: Path) -> None:
    root = Root(tmp_path).write("proc/modules", "nouveau 2306048 1 - Live 0x0\n")
    root.write("sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c", b"\x06\0\0\0\x01")
    found = look(root)
    assert (found.nouveau, found.secure_boot) == (True, True)


@pytest.mark.parametrize(
    ("folder", "kind"),
    [("/opt/conda/lib", "conda"), ("/usr/local/cuda/lib64/stubs", "stub"), ("/usr/lib64", "system")],
)
def test_the_path_of_the_environment_comes_first(tmp_path: Path, folder: str, kind: str) -> None:
    root = Root(tmp_path).libcuda("/usr/lib/wsl/lib").write(f"{folder[1:]}/libcuda.so.1", "")
    assert look(root, LD_LIBRARY_PATH=f"/nowhere:{folder}").libcuda == kind


@pytest.mark.parametrize(
    ("value", "kept"),
    [(None, None), ("", ""), ("-1", "-1"), ("0,1", "0,1"), ("GPU-67a571b1-79ee", "other"), ("/home/me", "other")],
)
def test_only_variables_that_identify_nobody_are_kept(tmp_path: Path, value: str | None, kept: str | None) -> None:
    variables = {} if value is None else {"CUDA_VISIBLE_DEVICES": value}
    found = look(Root(tmp_path), LD_LIBRARY_PATH="/home/jane/cuda-11/lib", **variables)
    assert found.visible_devices == kept
    assert found.library_path_cuda is True
    assert "jane" not in repr(found)


def test_what_cannot_be_read_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "proc/modules").mkdir(parents=True)
    found = gather_facts(tmp_path, {})
    assert (found.nouveau, found.avx, found.pci, found.secure_boot) == (None, None, None, None)


def test_packages_that_matter_are_listed() -> None:
    found = gather_facts()
    assert found.package("tensorflow")
    assert found.package("numpy") == metadata.version("numpy")
    assert found.package("pytest") is None
    nothing: Any = SimpleNamespace(metadata=None, version="1")
    assert facts_module.installed([nothing]) == ()
    two = Facts(system="linux", packages=(("nvidia-cudnn-cu12", "9"), ("nvidia-cudnn-cu13", "9")))
    assert cuda_majors(two) == {"12", "13"}


def test_cards_of_a_running_driver(driver: FakeDriver) -> None:
    driver.values["MemoryInfo"][1] = PYNVML.NVMLError_NoPermission()
    found = ask_nvml()
    assert (found.state, found.driver) == ("ok", "580.65.06")
    first, second = found.gpus
    assert first == NvidiaGpu("NVIDIA GeForce RTX 4090", "8.9", 24 * 2**30, 2**30)
    assert second == NvidiaGpu("NVIDIA GeForce GTX 1080", "6.1", None, None)
    assert driver.running == 0


@pytest.mark.parametrize(
    ("error", "state"),
    [
        ("LibraryNotFound", "library_not_found"),
        ("DriverNotLoaded", "driver_not_loaded"),
        ("LibRmVersionMismatch", "version_mismatch"),
        ("GpuIsLost", "gpu_lost"),
        ("OperatingSystem", "blocked"),
        ("Unknown", "error"),
    ],
)
def test_a_driver_that_does_not_start(driver: FakeDriver, error: str, state: str) -> None:
    driver.start_error = getattr(PYNVML, f"NVMLError_{error}")()
    assert ask_nvml().state == state


def test_cards_that_are_all_lost(driver: FakeDriver) -> None:
    driver.values["HandleByIndex"] = [PYNVML.NVMLError_GpuIsLost()]
    found = ask_nvml()
    assert (found.state, len(found.gpus)) == ("gpu_lost", 1)


def test_a_driver_that_hangs_is_left_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    release = threading.Event()
    module = FakeDriver(1).module()
    module.nvmlInit = release.wait  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pynvml", module)
    found = gather_facts(Root(tmp_path).path, {}, limit_s=0.2)
    assert found.nvml.state == "no_answer"
    assert not release.is_set()
    release.set()


def test_slow_sources_are_asked_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    both = threading.Barrier(2, timeout=20)

    def nvml() -> Nvml:
        both.wait()
        return Nvml("ok")

    def gpus() -> tuple[Gpu, ...]:
        both.wait()
        return (GPU,)

    monkeypatch.setattr(facts_module, "ask_nvml", nvml)
    monkeypatch.setattr(facts_module, "list_gpus", gpus)
    found = look(Root(tmp_path))
    assert (found.nvml.state, found.gpus) == ("ok", (GPU,))


def test_the_source_that_knows_most_cards_counts() -> None:
    named = Gpu(name="NVIDIA T4", vendor="nvidia", compute_capability="7.5")
    assert Facts(system="linux", gpus=(GPU, named)).nvidia_cards == (NvidiaGpu("NVIDIA T4", "7.5"),)
    asked = Nvml("ok", gpus=(NvidiaGpu("NVIDIA T4", "7.5", 1, 2),))
    assert Facts(system="linux", gpus=(named,), nvml=asked).nvidia_cards == asked.gpus
    for state in ("gpu_lost", "version_mismatch", "blocked"):
        assert len(Facts(system="wsl2", nvml=Nvml(state)).nvidia_cards) == 1, "a driver that complains of a card"
    assert Facts(system="linux", nvml=Nvml("driver_not_loaded")).nvidia_cards == ()
    more = Facts(system="linux", nvml=asked, pci=("nvidia", "nvidia")).nvidia_cards
    assert more == (*asked.gpus, NvidiaGpu("NVIDIA GPU"))
