"""Pairs of engine and device that a run can be given, from what is installed and records of computers."""

from dataclasses import replace

import pytest

from app.core.engines.choices import (
    Choice,
    Installed,
    automatic_choice,
    default_engine,
    device_choices,
    engine_to_install,
    gpu_help,
    included,
    installed_engines,
)
from app.core.engines.locations import engine_folder
from app.core.paths import Paths
from tests.conftest import pretend_installed
from tests.core.engines.conftest import put_engine
from tests.core.engines.test_builds import (
    ARC,
    GTX_1080,
    LINUX,
    M2,
    MAC,
    NO_DRIVER,
    RADEON,
    RTX_5070,
    RTX_5070_OLD_DRIVER,
    UHD,
    WINDOWS,
    computer,
)
from tests.sure import sure
from workloads.protocol.machine import Machine

INCLUDED = included()
TORCH_CPU: Installed = {**INCLUDED, "torch": "cpu"}
TORCH_CUDA: Installed = {**INCLUDED, "torch": "cuda"}
BOTH: Installed = {**INCLUDED, "jax": "cuda13", "torch": "cuda"}
RTX_4070 = replace(RTX_5070, name="GeForce RTX 4070", compute_capability="8.9")
CPUS = ("tensorflow cpu", "torch cpu")


def pairs(installed: Installed, machine: Machine, *engines: str) -> tuple[str, ...]:
    choices = device_choices(installed, machine, engines or None)
    for choice in choices:
        assert (choice.gpu is None) == (choice.device == "cpu")
    return tuple(f"{choice.engine} {choice.device}" for choice in choices)


def test_what_is_installed_is_what_a_run_can_have(paths: Paths) -> None:
    assert installed_engines(paths) == {"tensorflow": None}
    pretend_installed("jax", paths)
    put_engine(paths.engines / "torch", python="2.7")
    assert installed_engines(paths) == {"tensorflow": None, "jax": "cpu"}
    (engine_folder(paths, "jax").path / "engine.json").unlink()
    assert installed_engines(paths) == {"tensorflow": None}


@pytest.mark.parametrize(
    ("installed", "machine", "expected"),
    [
        (INCLUDED, computer(LINUX), ("tensorflow cpu",)),
        (INCLUDED, computer(LINUX, RTX_5070), ("tensorflow cpu", "tensorflow gpu:0")),
        (
            *(INCLUDED, computer(LINUX, RTX_5070, NO_DRIVER, RTX_4070)),
            ("tensorflow cpu", "tensorflow gpu:0", "tensorflow gpu:1"),
        ),
        (INCLUDED, computer(WINDOWS, RTX_5070), ("tensorflow cpu",)),
        (INCLUDED, computer(LINUX, NO_DRIVER), ("tensorflow cpu",)),
        (TORCH_CPU, computer(WINDOWS, RTX_5070), CPUS),
        (TORCH_CUDA, computer(WINDOWS, RTX_5070), (*CPUS, "torch gpu:0")),
        (TORCH_CUDA, computer(WINDOWS, RTX_5070_OLD_DRIVER), CPUS),
        (TORCH_CUDA, computer(WINDOWS, UHD, RTX_5070, RADEON), (*CPUS, "torch gpu:0")),
        (TORCH_CUDA, computer(WINDOWS, GTX_1080, RTX_5070), (*CPUS, "torch gpu:1")),
        (TORCH_CUDA, computer(WINDOWS, RTX_5070, RTX_5070), (*CPUS, "torch gpu:0", "torch gpu:1")),
        ({**INCLUDED, "torch": "xpu"}, computer(LINUX, UHD, ARC), (*CPUS, "torch gpu:0")),
        ({**INCLUDED, "torch": "rocm"}, computer(LINUX, RADEON), (*CPUS, "torch gpu:0")),
        ({**INCLUDED, "torch": "mps"}, computer(MAC, M2, architecture="arm64"), (*CPUS, "torch gpu:0")),
        ({**INCLUDED, "torch": "of a later version"}, computer(WINDOWS, RTX_5070), CPUS),
        (BOTH, computer(LINUX, RTX_5070), (*CPUS, "jax cpu", "tensorflow gpu:0", "torch gpu:0", "jax gpu:0")),
    ],
)
def test_each_engine_is_paired_with_what_its_build_can_use(
    installed: Installed, machine: Machine, expected: tuple[str, ...]
) -> None:
    assert pairs(installed, machine) == expected
    of_tensorflow = tuple(each for each in expected if each.startswith("tensorflow"))
    assert pairs(installed, machine, "tensorflow") == of_tensorflow, "only engines that can run the workload"


@pytest.mark.usefixtures("no_engine_included")
def test_the_default_engine_is_the_default_one_unless_only_others_are_installed(paths: Paths) -> None:
    assert installed_engines(paths) == {}
    assert default_engine(paths) == "tensorflow"
    pretend_installed("jax", paths)
    assert default_engine(paths) == "jax"
    assert default_engine(paths, ("tensorflow", "torch")) == "tensorflow"
    pretend_installed("tensorflow", paths)
    assert default_engine(paths) == "tensorflow"


@pytest.mark.usefixtures("no_engine_included")
@pytest.mark.parametrize(
    ("machine", "expected"),
    [
        (computer(LINUX), "tensorflow cpu"),
        (computer(LINUX, RTX_4070), "tensorflow cuda"),
        (computer(LINUX, GTX_1080), "tensorflow cuda-legacy"),
        (computer(LINUX, RTX_5070), "torch cuda"),  # too new for TensorFlow
        (computer(LINUX, RADEON), "torch rocm"),
        (computer(WINDOWS, RTX_4070), "torch cuda"),
        (computer(WINDOWS, RTX_5070_OLD_DRIVER), "tensorflow cpu"),
        (computer(WINDOWS, replace(RADEON, name="Radeon RX 9070 XT")), "tensorflow cpu"),  # only an untried build
        (computer(MAC, M2, architecture="arm64"), "torch mps"),
        (computer(MAC, architecture="x86_64"), None),
    ],
)
def test_the_first_engine_is_one_that_uses_the_card(machine: Machine, expected: str | None) -> None:
    best = engine_to_install(machine)
    assert (best and f"{best[0]} {best[1].variant.name}") == expected


@pytest.mark.parametrize(
    ("installed", "machine", "engine", "device"),
    [
        (INCLUDED, computer(WINDOWS, RTX_5070), "tensorflow", "cpu"),
        (BOTH, computer(LINUX, RTX_4070), "tensorflow", "gpu:0"),
        (BOTH, computer(LINUX, RTX_5070), "torch", "gpu:0"),
        (INCLUDED, computer(LINUX, RTX_5070), "tensorflow", "gpu:0"),
        (BOTH, computer(WINDOWS, RTX_5070), "torch", "gpu:0"),
        (BOTH, computer(LINUX), "tensorflow", "cpu"),
    ],
)
def test_automatic_is_a_card_before_the_processor_and_the_default_engine_before_others(
    installed: Installed, machine: Machine, engine: str, device: str
) -> None:
    best = sure(automatic_choice(device_choices(installed, machine)))
    assert (best.engine, best.device) == (engine, device)
    assert automatic_choice(()) is None


TF_CPU, TORCH_ON_CPU = Choice("tensorflow", "cpu"), Choice("torch", "cpu")
TF_GPU, TORCH_GPU = Choice("tensorflow", "gpu:0", RTX_5070), Choice("torch", "gpu:0", RTX_5070)


@pytest.mark.parametrize(
    ("chosen", "installed", "machine", "helped"),
    [
        # An engine that can be installed, then one that is, and whether the system is why the chosen one does not.
        (TF_CPU, INCLUDED, computer(WINDOWS, RTX_5070), ("torch", None, True)),
        (TF_CPU, TORCH_CPU, computer(WINDOWS, RTX_5070), ("torch", None, True)),
        (TORCH_ON_CPU, TORCH_CPU, computer(WINDOWS, RTX_5070), ("torch", None, False)),
        (TF_CPU, INCLUDED, computer(LINUX, RADEON), ("torch", None, False)),
        (TF_CPU, TORCH_CUDA, computer(WINDOWS, RTX_5070), ("torch", TORCH_GPU, True)),
        # A card that is too new for TensorFlow is helped although it is chosen.
        (TF_CPU, INCLUDED, computer(LINUX, RTX_5070), ("torch", None, False)),
        (TF_GPU, INCLUDED, computer(LINUX, RTX_5070), ("torch", None, False)),
        (TF_CPU, TORCH_CUDA, computer(LINUX, RTX_5070), ("torch", TORCH_GPU, False)),
        (TF_GPU, TORCH_CUDA, computer(LINUX, RTX_5070), ("torch", TORCH_GPU, False)),
        (TF_CPU, INCLUDED, computer(WINDOWS), None),  # there is no card
        (TF_CPU, INCLUDED, computer(WINDOWS, UHD), None),  # nothing can use it
        (TF_CPU, INCLUDED, computer(LINUX, RTX_4070), None),  # the user wants the processor
        (TORCH_ON_CPU, TORCH_CUDA, computer(WINDOWS, RTX_5070), None),  # so here
        (TORCH_GPU, TORCH_CUDA, computer(WINDOWS, RTX_5070, RADEON), None),
        (TF_CPU, TORCH_CUDA, computer(WINDOWS, RTX_5070_OLD_DRIVER), None),  # installed, but now too old a driver
    ],
)
def test_an_idle_card_is_helped_by_an_engine_that_can_use_it(
    chosen: Choice, installed: Installed, machine: Machine, helped: tuple[str, Choice | None, bool] | None
) -> None:
    found = gpu_help(chosen, installed, machine)
    assert (found and (found.engine, found.choice, found.is_systems_fault)) == helped
    assert found is None or (found.gpu, found.instead_of) == (machine.gpus[0], chosen.engine)
    assert gpu_help(TF_CPU, installed, computer(WINDOWS, RTX_5070), ("tensorflow",)) is None, "unable to run it"
