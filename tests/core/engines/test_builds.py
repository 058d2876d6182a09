"""What each engine offers and uses on computers that people have. Names of cards are those that systems report."""

import re
from dataclasses import replace

import pytest
from msgspec.structs import replace as replace_stamp

from app.core.engines.builds import builds_for, cards_for, idle_cards, no_build
from app.core.engines.choices import Choice, device_choices, gpu_help, included, unused_card
from app.core.engines.install import choose_variant
from app.core.engines.overview import list_engines
from app.core.engines.package_files import read_lock, versions
from app.core.engines.stamp import Package, write_stamp
from app.core.engines.variants import LOCKS, VARIANTS
from app.core.errors import UsageError
from app.core.messages import text
from app.core.paths import Paths
from tests.conftest import MACHINE
from tests.core.engines.conftest import put_engine
from tests.saying import Saying, said
from tests.sure import sure
from workloads.protocol.machine import Gpu, Machine

LINUX, WINDOWS, MAC = "Linux 6.1 (Debian GNU/Linux 12)", "Windows 11", "macOS 15.1"
RTX_5070 = Gpu("GeForce RTX 5070", "nvidia", driver="580.95.05", compute_capability="12.0")
RTX_5070_OLD_DRIVER = replace(RTX_5070, driver="570.86.10")
RTX_3060_OLD_DRIVER = Gpu("GeForce RTX 3060", "nvidia", driver="550.54", compute_capability="8.6")
GTX_1080 = Gpu("GeForce GTX 1080", "nvidia", driver="580.95.05", compute_capability="6.1")
NO_DRIVER = Gpu("GeForce RTX 4090", "nvidia", source="sysfs")
RADEON = Gpu("Radeon RX 9070 XT", "amd", source="sysfs", architecture="gfx1201")
ARC = Gpu("Arc B580", "intel", source="sysfs")
UHD = Gpu("UHD Graphics 770", "intel", source="sysfs")
M2 = Gpu("Apple M2", "apple", source="ioreg")


def computer(os_name: str, *gpus: Gpu, architecture: str = "x86_64") -> Machine:
    return replace(MACHINE, os_name=os_name, architecture=architecture, gpus=gpus)


RTX = Gpu("NVIDIA GeForce RTX 5070 Ti", "nvidia", driver="580.95.05", compute_capability="12.0")
GB10 = Gpu("NVIDIA GB10", "nvidia", driver="580.95.05", compute_capability="12.1", shares_memory=True)
RX_9070 = Gpu("AMD Radeon RX 9070 XT", "amd", source="sysfs", architecture="gfx1201")
RX_7900 = Gpu("AMD Radeon RX 7900 XTX", "amd", source="sysfs", architecture="gfx1100")
RX_6700 = Gpu("AMD Radeon RX 6700 XT", "amd", source="sysfs", architecture="gfx1031")
HALO = Gpu("AMD Radeon 8060S Graphics", "amd", source="sysfs", architecture="gfx1151", shares_memory=True)
B580 = Gpu("Intel Arc B580", "intel", source="sysfs", architecture="Xe2")
ARC_140V = Gpu("Intel Arc Graphics 140V", "intel", source="sysfs", architecture="Xe2", shares_memory=True)
UHD_770 = Gpu("Intel UHD Graphics 770", "intel", source="sysfs", architecture="Xe-LP", shares_memory=True)
WSL = "Linux 6.6 (Ubuntu 24.04)"


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
    "Apple M1": (mac("M1"), "mps", "cpu", "cpu", 1, 0),
    "Apple M4 Max": (mac("M4 Max"), "mps", "cpu", "cpu", 1, 0),
    "RTX 50 and RX 9070 XT, Linux": (on(LINUX, RTX, RX_9070), "cuda", "cuda13", "gpu:0", 2, 1),
    "RTX 50 and RX 9070 XT, Windows": (on(WINDOWS, RTX, RX_9070), "cuda", "cpu", "cpu", 2, 0),
    "RX 9070 XT and Arc B580, Linux": (on(LINUX, RX_9070, B580), "rocm", "cpu", "cpu", 2, 0),
    "RTX 50 and UHD, Windows": (on(WINDOWS, RTX, UHD_770), "cuda", "cpu", "cpu", 1, 0),
    "RTX 50 and Strix Point, Linux": (
        on(LINUX, RTX, replace(HALO, name="AMD Radeon 890M Graphics", architecture="gfx1150")),
        *("cuda", "cuda13", "gpu:0", 2, 1),
    ),
    "UHD, Windows": (on(WINDOWS, UHD_770), "cpu", "cpu", "cpu", 0, 0),
    "no card": (on(LINUX), "cpu", "cpu", "cpu", 0, 0),
    "no card, arm64": (on(LINUX, architecture="arm64"), "cpu", "cpu", "cpu", 0, 0),
    "no card, Windows": (on(WINDOWS), "cpu", "cpu", "cpu", 0, 0),
    "old driver": (on(LINUX, RTX_5070_OLD_DRIVER), "cpu", "cuda12", "gpu:0", 1, 1),
    "RTX 30, old driver": (on(LINUX, RTX_3060_OLD_DRIVER), "cuda-legacy", "cuda12", "gpu:0", 1, 1),
    "GTX 10": (on(LINUX, GTX_1080), "cuda-legacy", "cuda12", "gpu:0", 1, 1),
    "GTX 10, Windows": (on(WINDOWS, GTX_1080), "cuda-legacy", "cpu", "cpu", 1, 0),
    "no driver": (on(LINUX, NO_DRIVER), "cpu", "cpu", "cpu", 1, 1),
    "RX 9070 XT and RTX 50, Linux": (on(LINUX, RX_9070, RTX), "cuda", "cuda13", "gpu:0", 2, 1),
}


@pytest.mark.parametrize(
    ("machine", "torch", "jax", "tensorflow", "torch_idle", "jax_idle"), COMPUTERS.values(), ids=COMPUTERS
)
def test_what_each_engine_uses(
    machine: Machine, torch: str, jax: str, tensorflow: str, torch_idle: int, jax_idle: int
) -> None:
    for engine, best in (("torch", torch), ("jax", jax)):
        first, *others = builds_for(engine, machine)
        assert (first.variant.name, first.is_recommended) == (best, True)
        assert not any(offer.is_recommended for offer in others)
        assert choose_variant(engine, machine) == first.variant
        assert bool(first.gpus) == (best != "cpu")
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
    assert {*known, *idle} == {gpu for gpu in machine.gpus if gpu != on(machine.os_name, UHD_770).gpus[0]}
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


@pytest.mark.parametrize(
    ("python", "engine", "variants"),
    [
        ("3.14.1", "tensorflow", {"cpu", "cuda", "cuda-legacy"}),
        ("3.15.0", "tensorflow", set()),
        ("3.15.0", "torch", {"cuda"}),  # the only one from PyPI
        ("3.15.0", "jax", {"cpu", "cuda12", "cuda13"}),
    ],
)
def test_builds_for_new_pythons(python: str, engine: str, variants: set[str]) -> None:
    offered = builds_for(engine, replace(computer(LINUX, RTX_5070), python_version=python))
    assert {offer.variant.name for offer in offered} == variants


def test_a_card_that_cannot_be_used_says_why() -> None:
    def obstacle(gpu: Gpu) -> str:
        (offer,) = [each for each in builds_for("torch", computer(LINUX, gpu)) if each.variant.name == "cuda"]
        return text(sure(offer.obstacle))

    assert said("engines.driver_too_old", gpu="GeForce RTX 5070", oldest="580", driver="570.86.10").is_all_of(
        obstacle(RTX_5070_OLD_DRIVER)
    )
    assert said("engines.no_driver", gpu="GeForce RTX 4090").is_all_of(obstacle(NO_DRIVER))
    assert said("engines.not_for_this_card", gpu="GeForce GTX 1080", variant="cuda").is_all_of(obstacle(GTX_1080))


@pytest.mark.parametrize(
    ("machine", "variant", "sentence"),
    [
        (computer(LINUX), "mps", said("engines.unknown_variant", title="PyTorch", variant="mps")),
        (computer(LINUX), "", said("engines.unknown_variant", title="PyTorch")),
        (
            computer(MAC),
            None,
            said("engines.not_for_this_system", title="PyTorch", system="macOS 15.1, x86_64, Python 3.11.7"),
        ),
        (computer("Haiku"), None, said("engines.not_for_this_system", title="PyTorch")),
    ],
)
def test_what_there_is_not_is_refused(machine: Machine, variant: str | None, sentence: Saying) -> None:
    with pytest.raises(UsageError, match=sentence.pattern):
        choose_variant("torch", machine, variant)
    with pytest.raises(UsageError, match=said("engines.comes_with_epochmark", title="TensorFlow").pattern):
        choose_variant("tensorflow", machine)
    with pytest.raises(UsageError, match=said("engine.unknown", engine="theano").pattern):
        choose_variant("theano", machine)


def test_engines_that_use_a_card_come_first(paths: Paths) -> None:
    def order(machine: Machine) -> list[str]:
        return [row.engine for row in list_engines(paths, machine)]

    assert order(computer(LINUX)) == ["tensorflow", "torch", "jax"]
    assert order(computer(WINDOWS, RTX_5070)) == ["torch", "tensorflow", "jax"]


@pytest.mark.parametrize(
    ("python", "torch", "jax"),
    [
        ("3.11.15", "2.13.0", "0.10.2"),
        ("3.12.13", "2.14.1", "0.12.0.1"),
        ("3.13.9", "2.14.1", "0.12.0.1"),
        ("3.14.2", "2.14.1", "0.12.0.1"),
    ],
)
def test_versions_depend_on_python(python: str, torch: str, jax: str) -> None:
    for variant in VARIANTS:
        wanted = versions(variant, python)
        assert ("keras", "3.15.1") in wanted
        if variant.engine == "jax":
            assert {("jax", jax), ("jaxlib", jax)} <= wanted
        elif variant.pins and variant.source is None:
            assert [version.partition("+")[0] for name, version in wanted if name == "torch"] == [torch]


@pytest.mark.parametrize(
    ("variant", "version", "python", "is_outdated"),
    [
        ("rocm10", "2.12.0+rocm7.14.0", "3.12.13", True),
        ("rocm10", "2.13.0+rocm10.0.0", "3.12.13", False),  # with extras
        ("cpu", "2.13.0+cpu", "3.11.15", False),
        ("cpu", "2.13.0+cpu", "3.12.13", True),
    ],
)
def test_a_build_can_be_outdated(variant: str, version: str, python: str, is_outdated: bool, paths: Paths) -> None:
    folder = paths.engines / "torch"
    stamp = replace_stamp(put_engine(folder, version), variant=variant)
    (folder / "engine.json").unlink()
    write_stamp(folder, replace_stamp(stamp, packages=(Package("torch", version, "0" * 64, is_locked=False),)))
    rows = list_engines(paths, replace(computer(LINUX), python_version=python))
    assert [row.is_outdated for row in rows if row.engine == "torch"] == [is_outdated]


def test_each_variant_has_its_lock_and_no_two_are_the_same() -> None:
    assert {variant.lock for variant in VARIANTS} == {path.name for path in LOCKS.iterdir()}
    keys = [(variant.engine, variant.system, variant.name) for variant in VARIANTS]
    assert len(set(keys)) == len(keys)
    for variant in VARIANTS:
        assert bool(variant.pins) == (variant.index is not None)
        assert all(pin.partition("+")[2] for pin in variant.pins)


def test_locks_hold_for_each_architecture_of_their_variants() -> None:
    names = {"x86_64": "x86_64", "arm64": "aarch64"}  # as markers name them on Linux
    for variant in VARIANTS:
        if variant.system == "Linux":
            pins = [pin for pin in read_lock(LOCKS / variant.lock) if "platform_machine" in pin.marker]
            lacking = [
                pin.name for pin in pins if any(names[it] not in pin.marker for it in variant.architectures)
            ]
            assert lacking == [], variant


# The version of Triton that PyTorch requires on Linux, by PyTorch's version.
TRITON = {"2.13.0": "3.7.1", "2.14.1": "3.8.0", "2.15.0": "3.9.0"}


def test_triton_for_windows_is_the_version_that_the_same_pytorch_requires_on_linux() -> None:
    linux = {pin.name: pin.version for pin in read_lock(LOCKS / "torch-cuda.txt")}
    assert linux["triton"] == TRITON[linux["torch"]]
    cards = [
        each for each in VARIANTS if (each.engine, each.system, each.vendor) == ("torch", "Windows", "nvidia")
    ]
    assert {variant.lock for variant in cards} == {"torch-cuda-windows.txt"}
    lock = read_lock(LOCKS / "torch-cuda-windows.txt")
    # Both name the version for older Pythons first.
    windows = [pin.version.partition(".post")[0] for pin in lock if pin.name == "triton-windows"]
    for variant in cards:
        assert [TRITON[re.split(r"==|\+", pin)[1]] for pin in variant.pins] == windows
