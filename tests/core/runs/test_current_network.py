"""The current network that the first screen offers."""

from dataclasses import replace

import pytest

from app.core.analysis.band import band
from app.core.analysis.bars import bars
from app.core.engines.choices import Choice
from app.core.records import RunSummary
from app.core.runs.current_network import current_network, newest_card, peers
from workloads import CATALOGUE
from workloads.protocol.machine import Gpu, Machine

CPU = Choice("tensorflow", "cpu")


def card(memory_bytes: int | None) -> Choice:
    return Choice("tensorflow", "gpu:0", Gpu("NVIDIA GeForce RTX 4070", "nvidia", memory_bytes=memory_bytes))


@pytest.mark.parametrize(
    ("choice", "memory_bytes", "expected"),
    [
        (card(80_000_000_000), 16_000_000_000, ("resnet50_224", 320, "mixed_float16")),
        (card(12_000_000_000), 16_000_000_000, ("gpt_mini", 16, "mixed_float16")),
        (card(2_000_000_000), 16_000_000_000, ("resnet50_224", 32, "float32")),
        (card(None), 16_000_000_000, ("resnet50_224", 32, "float32")),
        (CPU, 16_000_000_000, ("resnet50_224", 56, "float32")),
        (CPU, 8_000_000_000, ("resnet50_224", 32, "float32")),
        (CPU, None, ("resnet50_224", 32, "float32")),
    ],
    ids=str,
)
def test_it_is_what_the_device_can_hold(
    machine: Machine, choice: Choice, memory_bytes: int | None, expected: tuple[str, int, str]
) -> None:
    spec = current_network(choice, replace(machine, memory_bytes=memory_bytes))
    assert (spec.workload, spec.batch_size, spec.precision) == expected
    assert (spec.engine, spec.device) == (choice.engine, choice.device)


@pytest.mark.parametrize(
    ("name", "asks"),
    [
        ("NVIDIA GeForce RTX 5070", True),
        ("NVIDIA GeForce RTX 5060 Laptop GPU", True),
        ("AMD Radeon RX 7900 XTX", True),
        ("NVIDIA GeForce RTX 5080", False),  # too few computers
        ("RTX 5070 Unheard-of", False),
    ],
)
def test_a_well_known_card_is_asked_whether_it_is_normal(machine: Machine, name: str, asks: bool) -> None:
    spec = current_network(Choice("torch", "gpu:0", Gpu(name, "nvidia", memory_bytes=12_000_000_000)), machine)
    assert ((spec.workload, spec.precision) == ("matmul", "mixed_float16")) == asks
    assert (spec.engine, spec.device) == ("torch", "gpu:0")
    assert (band(spec.workload, name, spec.precision) is not None) == asks
    CATALOGUE[spec.workload].check(spec)


@pytest.mark.parametrize(
    ("choice", "peer"),
    [(card(12_000_000_000), "RTX 4090"), (CPU, "RTX 4090"), (card(80_000_000_000), "H100 80GB SXM5")],
    ids=["card", "processor", "lab"],
)
def test_its_run_is_ranked_with_its_peers(
    machine: Machine, summary: RunSummary, choice: Choice, peer: str
) -> None:
    spec = current_network(choice, replace(machine, memory_bytes=16_000_000_000))
    settings = {name: getattr(spec, name) for name in ("workload", "batch_size", "precision", "engine", "device")}
    metric = bars(spec.workload, None)[0].metric
    run = replace(summary, metric=metric, **settings)
    ranked = {bar.name for bar in bars(spec.workload, run) if bar.is_like}
    assert peers(spec) == (len(ranked - {"This computer"}), peer)
    assert peer in ranked


def test_a_network_without_cards_has_no_newest_one() -> None:
    assert newest_card("cifar10_keras_cnn") == ""
