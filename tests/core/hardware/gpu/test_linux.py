"""Graphics cards of Linux: their folders, what the run's own processes had of them, and what counters say."""

import os
import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.core.hardware.gpu import linux as linux_gpus
from app.core.hardware.gpu import pci_ids
from app.core.hardware.gpu.gpus import GpuReader, list_gpus
from app.core.hardware.gpu.linux_reader import (
    CLIENTS_EVERY_S,
    Client,
    OwnClients,
    busiest_pct,
    client_from,
    starred_mhz,
)
from app.core.hardware.gpu.values import read_number
from tests.core.hardware.gpu.gpu_trees import DATA, device, known, link, opened_files, plant, write
from workloads.protocol.telemetry import GpuTelemetry

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="folders with colons in their names"),
    pytest.mark.usefixtures("no_nvidia"),
]

# With what is listed and read of each.
RECORDED = tomllib.loads((DATA / "expected.toml").read_text(encoding="utf-8"))
FDINFO = tomllib.loads((DATA / "fdinfo.toml").read_text(encoding="utf-8"))
# What the kernel knows of a card by heart.
STATIC = {
    *("power/runtime_status", "vendor", "device", "class", "revision"),
    *("mem_info_vram_total", "tile0/physical_vram_size_bytes"),
}


@pytest.mark.parametrize(("name", "expected"), RECORDED.items(), ids=RECORDED)
def test_a_recorded_computer(tmp_path: Path, name: str, expected: dict[str, object]) -> None:
    listed = list_gpus(plant(tmp_path, name))
    assert {"listed": list(map(known, listed)), "read": list(map(known, GpuReader(tmp_path).read()))} == expected


@pytest.mark.parametrize(
    ("tree", "address", "files", "memory_bytes", "shares"),
    [
        # Two tiles, as of a Data Center GPU Max.
        ("arc_b580", "0000:03:00.0", {"tile1/physical_vram_size_bytes": "12884901888"}, 24 * 2**30, False),
        # Intel's own builds of i915.
        ("arc_a770", "0000:03:00.0", {"drm/card1/lmem_total_bytes": "17095983104"}, 17_095_983_104, False),
        # A card at the address of the integrated GPU, as in a virtual machine.
        ("arc_a770", "0000:00:02.0", {"drm/card0/lmem_total_bytes": "17095983104"}, 17_095_983_104, False),
        ("arc_a770", "0000:00:02.0", {"tile0/physical_vram_size_bytes": "0"}, None, True),
    ],
)
def test_the_memory_of_intels_cards(
    tmp_path: Path, tree: str, address: str, files: dict[str, str], memory_bytes: int | None, *, shares: bool
) -> None:
    card = device(plant(tmp_path, tree), address)
    for name, content in files.items():
        write(card / name, content)
    cards = linux_gpus.find_cards(tmp_path)
    place = [each.folder.resolve() for each in cards].index(card)
    gpu = linux_gpus.describe_cards(tmp_path, cards)[place]
    assert (gpu.memory_bytes, gpu.shares_memory) == (memory_bytes, shares)


def test_a_slower_slot_limits_the_link(tmp_path: Path) -> None:
    plant(tmp_path, "rx6800xt")
    slot = tmp_path / "sys/devices/pci0000:00/0000:00:03.1"
    write(slot / "max_link_speed", "8.0 GT/s PCIe\n")
    write(slot / "max_link_width", "4\n")
    assert [(gpu.pcie_generation, gpu.pcie_lanes) for gpu in list_gpus(tmp_path)] == [(3, 4)]
    write(slot / "max_link_speed", "Unknown\n")
    write(slot / "max_link_width", "255\n")
    assert [(gpu.pcie_generation, gpu.pcie_lanes) for gpu in list_gpus(tmp_path)] == [(None, None)]


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({}, ["AMD GPU (1002:73bf)"]),
        ({"product_name": "AMD Radeon PRO W6800"}, ["AMD Radeon PRO W6800"]),
        *(({"vendor": vendor}, []) for vendor in ("0x1234", "0x15ad", "0x1af4", "0x1414", "0x1a03", "ten", "")),
    ],
)
def test_names_without_lists(tmp_path: Path, changes: dict[str, str], names: list[str]) -> None:
    """A virtual machine's display is no GPU."""
    card = device(plant(tmp_path, "rx6800xt", ids=False), "0000:0a:00.0")
    for name, text in changes.items():
        write(card / name, f"{text}\n")
    assert [gpu.name for gpu in list_gpus(tmp_path)] == names


@pytest.mark.parametrize(
    ("trees", "sleeping"),
    [
        (("rx6800xt", "laptop_rtx3060"), ("0000:0a:00.0", "0000:01:00.0")),
        (("arc_b580",), ("0000:03:00.0",)),
        (("nouveau",), ("0000:01:00.0",)),
    ],
)
def test_a_sleeping_card_is_left_alone(tmp_path: Path, trees: tuple[str, ...], sleeping: tuple[str, ...]) -> None:
    plant(tmp_path, *trees)
    cards = [device(tmp_path, address) for address in sleeping]
    for card in cards:
        write(card / "power/runtime_status", "suspended\n")
    with opened_files() as names:
        found = list_gpus(tmp_path)
        reader = GpuReader(tmp_path)
        readings = [reader.read({os.getpid()}) for _ in range(3)]
    paths = [Path(name).resolve() for name in names]
    for card in cards:
        touched = {str(path.relative_to(card)) for path in paths if path.is_relative_to(card)}
        assert "power/runtime_status" in touched
        assert touched <= STATIC
    awake = [gpu for gpu in found if gpu.drives_display is not None]
    assert len(found) - len(awake) == len(cards)
    for look in readings:
        assert len([reading for reading in look if reading == GpuTelemetry(reading.index)]) == len(cards)


def test_what_was_read_while_awake_is_kept_during_sleep(tmp_path: Path) -> None:
    status = device(plant(tmp_path, "rx6800xt"), "0000:0a:00.0") / "power/runtime_status"
    status.write_text("suspended\n")
    (gpu,) = list_gpus(tmp_path)
    assert (gpu.name, gpu.memory_bytes) == ("AMD Radeon RX 6800 XT", 17_163_091_968)
    assert (gpu.architecture, gpu.pcie_lanes, gpu.drives_display) == ("gfx1030", None, None)
    status.write_text("active\n")
    awake = list_gpus(tmp_path)
    status.write_text("suspended\n")
    assert list_gpus(tmp_path) == awake != (gpu,)
    reader = GpuReader(tmp_path)
    assert reader.read() == (GpuTelemetry(0),)
    status.write_text("active\n")
    assert reader.read()[0].utilization_pct == 97.0


def test_a_card_that_is_pulled_out_gives_nones(tmp_path: Path) -> None:
    plant(tmp_path, "rx6800xt")
    reader = GpuReader(tmp_path)
    reader.read()
    card = device(tmp_path, "0000:0a:00.0")
    card.rename(tmp_path / "gone")
    assert reader.read() == (GpuTelemetry(0),)


def test_pci_names() -> None:
    ids = (DATA / "pci.ids").read_bytes()
    names = pci_ids.pci_names
    assert names(ids, 0x1002, 0x73BF)[1] == "Navi 21 [Radeon RX 6800/6800 XT / 6900 XT]"
    assert names(ids, 0x10DE, 0x2520) == ("NVIDIA Corporation", "GA106M [GeForce RTX 3060 Mobile / Max-Q]")
    assert names(ids, 0x10DE, 0x73BF) == ("NVIDIA Corporation", None), "that is another vendor's"
    assert names(ids, 0x1002, 0x0E3A)[1] is None, "that is a subsystem"
    assert names(ids, 0x1D17, 0x46A6)[1] is None
    assert names(ids, 0xABCD, 1) == (None, None)
    assert names(b"8086  Intel Corporation", 0x8086, 1) == ("Intel Corporation", None)
    assert pci_ids.amdgpu_name((DATA / "amdgpu.ids").read_bytes(), 0x73BF, 0xC0) == "AMD Radeon RX 6900 XT"
    assert pci_ids.amdgpu_name(b"", 0x73BF, 0xC0) is None


NAVI_21 = "AMD Radeon RX 6800/6800 XT / 6900 XT"
FILES = sorted(set(re.findall(r"^([a-z]\S*) = ", (DATA / "rx6800xt.txt").read_text(), re.MULTILINE)))


@pytest.mark.parametrize("text", ["", "-1", "nan", "inf", "1e999", "18446744073709551615", "9" * 60, "\xff\x00"])
def test_garbage_in_all_files_is_unknown(tmp_path: Path, text: str) -> None:
    card = device(plant(tmp_path, "rx6800xt"), "0000:0a:00.0")
    reader = GpuReader(tmp_path)
    reader.read()
    for name in FILES:
        write(card / name, text)
    for name, number in (("vendor", "0x1002"), ("device", "0x73bf"), ("class", "0x030000")):
        write(card / name, number)
    (gpu,) = list_gpus(tmp_path)
    assert (gpu.name, gpu.memory_bytes, gpu.power_limit_w, gpu.drives_display) == (NAVI_21, None, None, False)
    assert [replace(reading, fan_pct=None) for reading in reader.read()] == [GpuTelemetry(0)]


def test_numbers_of_files(tmp_path: Path) -> None:
    path = tmp_path / "number"
    for text, number in (("12\n", 12.0), ("-3", -3.0), ("1.5", 1.5), ("nan", None), ("", None), ("1_0", None)):
        assert read_number(write(path, text)) == number
    assert read_number(None) is read_number(tmp_path / "none") is None
    for text, mhz in (("0: 500Mhz\n1: 1000Mhz *\n", 1000), ("S: 19Mhz *\n0: 615Mhz\n", 19), ("1: 0Mhz *", None)):
        assert starred_mhz(text) == mhz
    assert starred_mhz("0: 500Mhz\n1: 1000Mhz\n") is starred_mhz("1: 99999Mhz *") is None


def test_power_from_an_energy_counter_that_was_reset(tmp_path: Path) -> None:
    plant(tmp_path, "arc_a770")
    counter = device(tmp_path, "0000:03:00.0") / "hwmon/hwmon4/energy1_input"
    now_s = [100.0]
    reader = GpuReader(tmp_path, lambda: now_s[0])

    def look(energy_uj: int) -> tuple[float | None, float | None]:
        now_s[0] += 2.0
        write(counter, f"{energy_uj}\n")
        reading = reader.read()[1]
        return reading.energy_j, reading.power_w

    assert look(5_000_000_000) == (0.0, None)
    assert look(5_300_000_000) == (300.0, 150.0)
    assert look(1_000_000) == (300.0, None)
    assert look(101_000_000) == (400.0, 50.0)


@pytest.mark.parametrize("recorded", FDINFO.values(), ids=FDINFO)
def test_clients(recorded: dict[str, Any]) -> None:
    cycles = {name: tuple(counts) for name, counts in recorded.get("cycles", {}).items()}
    client = Client(recorded.get("busy_ns", {}), cycles, recorded.get("engines", {}))
    assert client_from(recorded["text"]) == (recorded["client"], client)
    assert client_from("pos:\t0\nflags:\t02\nmnt_id:\t28\n") is None


def test_the_busiest_engine_counts() -> None:
    before = {"1": Client({"render": 0, "video": 0}, {}, {"video": 2}), "2": Client({"render": 10})}
    after = {
        "1": Client({"render": 400_000_000, "video": 1_000_000_000}, {}, {"video": 2}),
        "2": Client({"render": 300_000_010}),
        "3": Client({"render": 10**15}),  # new: since when is unknown
    }
    assert busiest_pct(before, after, 1.0) == pytest.approx(70.0)
    assert busiest_pct(before, after, 0.0) is None
    assert busiest_pct({}, after, 1.0) is None
    assert busiest_pct(after, before, 1.0) == 0.0  # counters that go back
    cycles = {"7": Client({}, {"rcs": (500, 1000)})}, {"7": Client({}, {"rcs": (1250, 2000)})}
    assert busiest_pct(*cycles, 1.0) == pytest.approx(75.0)
    assert busiest_pct(cycles[1], cycles[1], 1.0) is None


def test_the_runs_own_share_of_a_gpu_that_reports_none(tmp_path: Path) -> None:
    plant(tmp_path, "arc_b580", "rx6800xt")
    process = tmp_path / "proc/77"
    now_s = [50.0]

    def use(used: int, passed: int) -> None:
        for number in (5, 6):  # one that was duplicated is the same
            text = f"drm-client-id: 7\ndrm-cycles-ccs: {used}\ndrm-total-cycles-ccs: {passed}\n"
            write(process / f"fdinfo/{number}", text)

    for number, target in ((5, "/dev/dri/renderD128"), (6, "/dev/dri/renderD128"), (7, "/dev/null")):
        link(process / f"fd/{number}", target)
    device(tmp_path, "0000:0a:00.0").joinpath("drm/renderD128").rename(
        device(tmp_path, "0000:0a:00.0") / "drm/renderD129"
    )
    reader = GpuReader(tmp_path, lambda: now_s[0])
    use(1_000, 1_000_000)
    assert [reading.utilization_pct for reading in reader.read({77})] == [None, 97.0]
    now_s[0] += 1.0
    use(801_000, 2_000_000)
    assert [reading.utilization_pct for reading in reader.read({77, 4_000_000})] == [pytest.approx(80.0), 97.0]
    assert [reading.utilization_pct for reading in reader.read()] == [None, 97.0]


def test_files_of_processes_are_listed_now_and_then(tmp_path: Path) -> None:
    now_s = [0.0]
    own = OwnClients(tmp_path, lambda: now_s[0])
    for pid in (9, 10):
        link(tmp_path / f"{pid}/fd/3", "/dev/null")

    def busy_pct(pids: set[int]) -> float | None:
        """Look twice, a second apart, in which process 9 uses the GPU for a half, and 10 for 0.8."""
        for looked in (0, 1):
            for pid, used_ns in ((9, 500_000_000), (10, 800_000_000)):
                text = f"drm-client-id: {pid}\ndrm-engine-render: {looked * used_ns} ns\n"
                write(tmp_path / f"{pid}/fdinfo/4", text)
            own.look_for(pids)
            share_pct = own.utilization_pct({"card0"})
            now_s[0] += 1.0
        return share_pct

    assert busy_pct({9}) is None
    link(tmp_path / "9/fd/4", "/dev/dri/card0")
    assert busy_pct({9}) is None, "opened since the list was made"
    assert busy_pct({9, 10}) == pytest.approx(50.0), "a new process: listed at once"
    link(tmp_path / "10/fd/4", "/dev/dri/card0")
    now_s[0] += CLIENTS_EVERY_S
    (tmp_path / "9/fd/4").unlink()
    assert busy_pct({9, 10}) == pytest.approx(80.0), "listed again after a while"
