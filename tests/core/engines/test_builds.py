"""What is offered on computers with all kinds of cards, from records of them."""

import re
from dataclasses import replace

import pytest
from msgspec.structs import replace as replace_stamp

from app.core.engines.builds import builds_for
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


@pytest.mark.parametrize(
    ("machine", "torch", "jax"),
    [
        (computer(LINUX), "cpu", "cpu"),
        (computer(LINUX, architecture="arm64"), "cpu", "cpu"),
        (computer(LINUX, RTX_5070), "cuda", "cuda13"),
        (computer(LINUX, RTX_5070_OLD_DRIVER), "cpu", "cuda12"),
        (computer(LINUX, RTX_3060_OLD_DRIVER), "cuda-legacy", "cuda12"),
        (computer(LINUX, GTX_1080), "cuda-legacy", "cuda12"),
        (computer(LINUX, NO_DRIVER), "cpu", "cpu"),
        (computer(LINUX, RADEON), "rocm", "cpu"),
        (computer(LINUX, ARC), "xpu", "cpu"),
        (computer(LINUX, UHD), "cpu", "cpu"),
        (computer(LINUX, RADEON, RTX_5070), "cuda", "cuda13"),
        (computer(WINDOWS), "cpu", "cpu"),
        (computer(WINDOWS, RTX_5070), "cuda", "cpu"),
        (computer(WINDOWS, GTX_1080), "cuda-legacy", "cpu"),
        (computer(WINDOWS, ARC), "xpu", "cpu"),
        (computer(WINDOWS, RADEON), "rocm10", "cpu"),
        (computer(MAC, M2, architecture="arm64"), "mps", "cpu"),
    ],
)
def test_the_best_comes_first(machine: Machine, torch: str, jax: str) -> None:
    for engine, best in (("torch", torch), ("jax", jax)):
        first, *others = builds_for(engine, machine)
        assert (first.variant.name, first.is_recommended) == (best, True)
        assert not any(offer.is_recommended for offer in others)
        assert choose_variant(engine, machine) == first.variant
        assert bool(first.gpus) == (best != "cpu")


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


def test_tensorflow_and_unknown_engines_are_refused() -> None:
    with pytest.raises(UsageError, match=said("engines.comes_with_epochmark", title="TensorFlow").pattern):
        choose_variant("tensorflow", MACHINE)
    with pytest.raises(UsageError, match=said("engine.unknown", engine="theano").pattern):
        choose_variant("theano", MACHINE)


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
