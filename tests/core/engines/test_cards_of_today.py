"""What each engine would use on the computers that people bought since 2024, one line per computer.

The names are those that the systems report. A card's build for PyTorch and JAX is the recommended variant; for
TensorFlow, which has no variants, it is what its device list shows.
"""

from dataclasses import replace

import pytest

from app.core.engines.builds import builds_for, cards_for, idle_cards, no_build
from app.core.engines.choices import Choice, device_choices, gpu_help, included, unused_card
from tests.conftest import MACHINE
from workloads.protocol.machine import Gpu, Machine

LINUX, WSL, WINDOWS, MAC = (
    "Linux 6.14 (Ubuntu 24.04.3 LTS)",
    "Linux 6.6 (Ubuntu 24.04)",
    "Windows 11",
    "macOS 26.1",
)
RTX = Gpu("NVIDIA GeForce RTX 5070 Ti", "nvidia", driver="580.95.05", compute_capability="12.0")
GB10 = Gpu("NVIDIA GB10", "nvidia", driver="580.95.05", compute_capability="12.1", shares_memory=True)
RX_9070 = Gpu("AMD Radeon RX 9070 XT", "amd", source="sysfs", architecture="gfx1201")
RX_7900 = Gpu("AMD Radeon RX 7900 XTX", "amd", source="sysfs", architecture="gfx1100")
RX_6700 = Gpu("AMD Radeon RX 6700 XT", "amd", source="sysfs", architecture="gfx1031")
HALO = Gpu("AMD Radeon 8060S Graphics", "amd", source="sysfs", architecture="gfx1151", shares_memory=True)
B580 = Gpu("Intel Arc B580", "intel", source="sysfs", architecture="Xe2")
ARC_140V = Gpu("Intel Arc Graphics 140V", "intel", source="sysfs", architecture="Xe2", shares_memory=True)
UHD = Gpu("Intel UHD Graphics 770", "intel", source="sysfs", architecture="Xe-LP", shares_memory=True)


def on(os_name: str, *gpus: Gpu, architecture: str = "x86_64") -> Machine:
    if os_name == WINDOWS:
        gpus = tuple(replace(gpu, architecture=None) if gpu.source == "sysfs" else gpu for gpu in gpus)
        gpus = tuple(replace(gpu, source="registry") if gpu.source == "sysfs" else gpu for gpu in gpus)
    virtualization = "wsl" if os_name == WSL else None
    return replace(MACHINE, os_name=os_name, architecture=architecture, gpus=gpus, virtualization=virtualization)


def mac(chip: str) -> Machine:
    gpu = Gpu(f"Apple {chip}", "apple", source="ioreg", architecture=f"Apple {chip}", shares_memory=True)
    return on(MAC, gpu, architecture="arm64")


# Computer: builds of PyTorch and JAX, TensorFlow's device, and how many cards the doctor calls idle if PyTorch is
# installed for the CPU, and if JAX is.
COMPUTERS = {
    "RTX 50, Linux": (on(LINUX, RTX), "cuda", "cuda13", "gpu:0", 1, 1),
    "RTX 50, WSL": (on(WSL, RTX), "cuda", "cuda13", "gpu:0", 1, 1),
    "RTX 50, Windows": (on(WINDOWS, RTX), "cuda", "cpu", "cpu", 1, 0),
    "DGX Spark": (on(LINUX, GB10, architecture="arm64"), "cuda", "cuda13", "gpu:0", 1, 1),
    "RX 9070 XT, Linux": (on(LINUX, RX_9070), "rocm", "cpu", "cpu", 1, 0),
    "RX 9070 XT, Windows": (on(WINDOWS, RX_9070), "rocm10", "cpu", "cpu", 1, 0),
    "RX 7900 XTX, Linux": (on(LINUX, RX_7900), "rocm", "cpu", "cpu", 1, 0),
    "RX 7900 XTX, Windows": (on(WINDOWS, RX_7900), "rocm10", "cpu", "cpu", 1, 0),
    "Strix Halo, Linux": (on(LINUX, HALO), "rocm10", "cpu", "cpu", 1, 0),
    "Strix Halo, Windows": (on(WINDOWS, HALO), "rocm10", "cpu", "cpu", 1, 0),
    "RX 6700 XT, Linux": (on(LINUX, RX_6700), "rocm10", "cpu", "cpu", 1, 0),
    "RX 6700 XT, Windows": (on(WINDOWS, RX_6700), "rocm10", "cpu", "cpu", 1, 0),
    "Arc B580, Linux": (on(LINUX, B580), "xpu", "cpu", "cpu", 1, 0),
    "Arc B580, Windows": (on(WINDOWS, B580), "xpu", "cpu", "cpu", 1, 0),
    "Arc 140V, Linux": (on(LINUX, ARC_140V), "xpu", "cpu", "cpu", 1, 0),
    "Arc 140V, Windows": (on(WINDOWS, ARC_140V), "xpu", "cpu", "cpu", 1, 0),
    **{f"Apple M{number}": (mac(f"M{number}"), "mps", "cpu", "cpu", 1, 0) for number in range(1, 6)},
    "Apple M4 Max": (mac("M4 Max"), "mps", "cpu", "cpu", 1, 0),
    "RTX 50 and RX 9070 XT, Linux": (on(LINUX, RTX, RX_9070), "cuda", "cuda13", "gpu:0", 2, 1),
    "RTX 50 and RX 9070 XT, Windows": (on(WINDOWS, RTX, RX_9070), "cuda", "cpu", "cpu", 2, 0),
    "RX 9070 XT and Arc B580, Linux": (on(LINUX, RX_9070, B580), "rocm", "cpu", "cpu", 2, 0),
    "RTX 50 and UHD, Windows": (on(WINDOWS, RTX, UHD), "cuda", "cpu", "cpu", 1, 0),
    "RTX 50 and Strix Point, Linux": (
        on(LINUX, RTX, replace(HALO, name="AMD Radeon 890M Graphics", architecture="gfx1150")),
        *("cuda", "cuda13", "gpu:0", 2, 1),
    ),
    "UHD, Windows": (on(WINDOWS, UHD), "cpu", "cpu", "cpu", 0, 0),
}


@pytest.mark.parametrize(
    ("machine", "torch", "jax", "tensorflow", "torch_idle", "jax_idle"), COMPUTERS.values(), ids=COMPUTERS
)
def test_what_each_engine_uses(
    machine: Machine, torch: str, jax: str, tensorflow: str, torch_idle: int, jax_idle: int
) -> None:
    assert builds_for("torch", machine)[0].variant.name == torch
    assert builds_for("jax", machine)[0].variant.name == jax
    assert device_choices(included(), machine)[-1].device == tensorflow
    assert (len(cards_for("torch", machine)), len(cards_for("jax", machine))) == (torch_idle, jax_idle)


@pytest.mark.parametrize(
    ("gpu", "kernels"),
    [
        (Gpu("AMD Radeon RX 9070 XT", "amd"), "gfx1201"),
        (Gpu("AMD Radeon RX 9060 XT", "amd"), "gfx1200"),
        (Gpu("AMD Radeon RX 7900 XTX", "amd"), "gfx1100"),
        (Gpu("AMD Radeon RX 7800 XT", "amd"), "gfx1101"),
        (Gpu("AMD Radeon RX 7600", "amd"), "gfx1102"),
        (Gpu("AMD Radeon RX 6950 XT", "amd"), "gfx1030"),
        (Gpu("AMD Radeon RX 6750 XT", "amd"), "gfx1031"),
        (Gpu("AMD Radeon 8060S Graphics", "amd"), "gfx1151"),
        (Gpu("AMD Radeon 890M Graphics", "amd"), "gfx1150"),
        (Gpu("AMD Radeon 860M Graphics", "amd"), "gfx1152"),
        (Gpu("AMD Radeon Graphics", "amd", architecture="gfx1153"), "gfx1153"),
        (Gpu("AMD Radeon Graphics", "amd"), None),
        (Gpu("AMD Radeon RX 7700S", "amd"), None),  # another chip
        (Gpu("AMD Radeon RX 6800M", "amd"), None),
        (Gpu("AMD Radeon RX 6800M", "amd", architecture="gfx1031"), "gfx1031"),
        (Gpu("AMD Radeon RX 9070", "amd", architecture="gfx9999"), None),
        (Gpu("AMD Radeon RX 580", "amd"), None),
    ],
)
def test_amds_own_build_gets_the_kernels_of_the_card(gpu: Gpu, kernels: str | None) -> None:
    machine = on(LINUX, gpu)
    (offer,) = [each for each in builds_for("torch", machine) if each.variant.name == "rocm10"]
    assert offer.gpus == (() if kernels is None else (gpu,))
    assert offer.variant.pins == (f"torch[device-{kernels or 'all'}]==2.13.0+rocm10.0.0",)
    assert (offer.variant.source, offer.variant.sources) == ("stable.repo.amd.com", ("rocm==10.0.0",))


def test_amds_own_build_gets_the_kernels_of_all_cards() -> None:
    (offer,) = [each for each in builds_for("torch", on(LINUX, RX_9070, HALO)) if each.variant.name == "rocm10"]
    assert offer.variant.pins == ("torch[device-gfx1151,device-gfx1201]==2.13.0+rocm10.0.0",)


@pytest.mark.parametrize("machine", [row[0] for row in COMPUTERS.values()], ids=COMPUTERS)
@pytest.mark.parametrize("engine", ["tensorflow", "torch", "jax"])
def test_no_card_is_silently_idle(machine: Machine, engine: str) -> None:
    known, idle = cards_for(engine, machine), idle_cards(engine, machine)
    assert {*known, *idle} == {gpu for gpu in machine.gpus if gpu != on(machine.os_name, UHD).gpus[0]}
    assert not {*known} & {*idle}
    choice = Choice(engine, "cpu")
    reason, help_ = unused_card(choice, machine), gpu_help(choice, included(), machine)
    assert (reason is None) == (bool(known) or not idle)
    assert help_ is not None or known or not idle or (reason is not None and reason.code != "engines.no_build")


def test_what_would_compute_is_named() -> None:
    for machine, engine, code, others in (
        (on(WINDOWS, RTX), "jax", "engines.no_build_but_others", ["PyTorch"]),
        (mac("M4"), "tensorflow", "engines.no_build_but_others", ["PyTorch"]),
        (on(LINUX, replace(RX_6700, name="AMD Radeon RX 580")), "torch", "engines.no_build", None),
        (on(LINUX, replace(B580, name="Intel Iris Xe MAX")), "torch", "engines.no_build", None),
    ):
        said = no_build(engine, machine.gpus[0], machine)
        assert (said.code, said.arguments.get("others")) == (code, others)
    assert no_build("jax", RTX, on(WINDOWS, RTX), ("jax", "tensorflow")).code == "engines.no_build"
