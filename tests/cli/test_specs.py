"""--devices: a number, all GPUs of an engine, or a list of GPUs."""

from dataclasses import replace
from typing import Any

import pytest

from app.cli import specs
from app.cli.arguments import make_parser
from app.cli.specs import devices_asked, make_spec
from app.core.errors import UsageError
from app.core.messages import Message, message
from app.core.paths import Paths
from workloads.protocol.machine import Gpu, Machine

NEW = Gpu("NVIDIA GeForce RTX 4070", "nvidia", compute_capability="8.9")


@pytest.fixture
def cards(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> list[Gpu]:
    gpus: list[Gpu] = []
    monkeypatch.setattr(specs, "detect_machine", lambda **_: replace(machine, os_name="Linux", gpus=tuple(gpus)))
    return gpus


@pytest.mark.parametrize(
    ("asked", "settings"),
    [
        ("2", {"devices": 2}),
        ("all", {"device": "gpu:0", "devices": 3}),
        ("gpu:1", {"device": "gpu:1", "devices": 1}),
        ("gpu:1, gpu:2", {"device": "gpu:1", "devices": 2}),
        ("gpu:1,gpu:0", {"device": "gpu:0", "devices": 2}),
        ("gpu:0,gpu:2", {"device": "gpu:0", "devices": 2, "gpus": "0,2"}),
        ("gpu:10,gpu:2, gpu:3", {"device": "gpu:2", "devices": 3, "gpus": "2,3,10"}),
    ],
)
def test_devices_are_read(asked: str, settings: dict[str, Any], cards: list[Gpu], paths: Paths) -> None:
    cards += [NEW] * 3
    assert devices_asked(asked, "tensorflow", paths) == settings


@pytest.mark.parametrize(
    "asked",
    ["", "x", "-1", "1.5", "gpu:0,2", "gpu:0,", "gpu:", "gpu:1000", "cpu", "9" * 5_000, "gpu:" + "9" * 5_000],
)
def test_anything_else_is_refused(asked: str, paths: Paths) -> None:
    assert code_of(asked, paths) == "cli.bad_devices"


def test_all_needs_a_card(cards: list[Gpu], paths: Paths) -> None:
    assert not cards
    assert code_of("all", paths) == "cli.no_gpus"


def test_a_card_is_listed_only_once(paths: Paths) -> None:
    with pytest.raises(UsageError) as caught:
        devices_asked("gpu:2,gpu:0,gpu:02", "tensorflow", paths)
    assert caught.value.message == message("cli.gpu_twice", gpu="gpu:2")


def test_all_passes_over_cards_that_the_engine_cannot_use(
    cards: list[Gpu], paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(specs, "numbered_gpus", lambda *_: {0: NEW, 2: NEW})
    options = make_parser().parse_args(["run", "mnist_mlp", "--devices", "all"])
    spec = make_spec(options, paths)
    assert (spec.device, spec.settings) == ("gpu:0", {"devices": 2, "gpus": "0,2"})


def code_of(asked: str, paths: Paths) -> str:
    with pytest.raises(UsageError) as caught:
        devices_asked(asked, "tensorflow", paths)
    assert isinstance(caught.value.message, Message)
    return caught.value.message.code


def test_one_device_on_each_of_several_computers_is_enough_to_measure_their_network(paths: Paths) -> None:
    words = ["run", "all_reduce", "--engine", "torch", "--device", "cpu", "--devices", "1"]
    assert make_spec(make_parser().parse_args([*words, "--distributed"]), paths).device_count == 1
    with pytest.raises(UsageError) as caught:
        make_spec(make_parser().parse_args(words), paths)
    assert isinstance(caught.value.message, Message)
    assert caught.value.message.code == "workload.too_few_devices"
