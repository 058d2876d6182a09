"""The commands that set a card's power limit."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from app.core.hardware.device_limit import limit_command
from app.core.hardware.gpu.gpus import list_gpus
from tests.core.hardware.gpu.gpu_trees import plant
from tests.systems import linux_names
from workloads.protocol.machine import Gpu, Machine

NVIDIA, AMD = Gpu("NVIDIA GeForce RTX 3090", "nvidia"), Gpu("AMD Radeon RX 6800 XT", "amd")


@pytest.mark.parametrize(
    ("system", "index", "expected"),
    [
        ("linux", 1, "sudo nvidia-smi -i 1 -pl 230"),
        ("win32", 1, "nvidia-smi -i 1 -pl 230"),
        # Other cards have a command on Linux only, and only with a file.
        *((system, 2, None) for system in ("win32", "darwin", "linux")),
    ],
)
def test_commands(
    machine: Machine,
    system: str,
    index: int,
    expected: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    assert limit_command(replace(machine, gpus=(NVIDIA, NVIDIA, AMD)), index, 230.0, tmp_path) == expected


@linux_names
@pytest.mark.parametrize(
    ("tree", "name"), [("rx6800xt", "power1_cap"), ("arc_a770", "power1_max"), ("arc_b580", "power1_cap")]
)
def test_linux_writes_the_file_that_is_read(
    machine: Machine, tree: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpus = list_gpus(plant(tmp_path, tree))
    monkeypatch.setattr(sys, "platform", "linux")
    index = next(at for at, gpu in enumerate(gpus) if gpu.power_limit_w)
    command = limit_command(replace(machine, gpus=gpus), index, 150.0, tmp_path) or ""
    path = Path(command.removeprefix("echo 150000000 | sudo tee "))
    assert path.name == name
    assert path.is_file()
    path.write_text("150000000\n")
    assert list_gpus(tmp_path)[index].power_limit_w == 150.0
