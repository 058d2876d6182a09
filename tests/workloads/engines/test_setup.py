"""What PyTorch reports about the memory of a GPU, with a stand-in for a PyTorch with a GPU."""

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from workloads.engines.setup import report_memory
from workloads.engines.torch import Torch
from workloads.protocol import events
from workloads.protocol.spec import RunSpec

ALLOCATED, RESERVED = 3 * 10**9, 5 * 10**9


class FakeReporter:
    def __init__(self) -> None:
        self.metrics: dict[str, float | None] = {}

    def send(self, event: events.Event) -> None:
        assert isinstance(event, events.Metric)
        self.metrics[event.key] = event.value


def fake_torch(gpus: int) -> Any:
    """Return a stand-in for PyTorch with so many GPUs, whose memory is asked for by the name of the first one."""
    sizes = {"max_memory_allocated": {"cuda:0": ALLOCATED}, "max_memory_reserved": {"cuda:0": RESERVED}}
    cuda = SimpleNamespace(
        is_available=lambda: gpus > 0,
        device_count=lambda: gpus,
        get_device_name=lambda index: f"GPU {index}",
        **{name: by_device.__getitem__ for name, by_device in sizes.items()},
    )
    precise = SimpleNamespace(fp32_precision="ieee")
    backends = SimpleNamespace(
        cuda=SimpleNamespace(matmul=precise),
        cudnn=SimpleNamespace(conv=precise),
        mkldnn=SimpleNamespace(is_available=lambda: False),
        mps=SimpleNamespace(is_available=lambda: False),
    )
    return SimpleNamespace(__version__="2", cuda=cuda, backends=backends, get_num_threads=lambda: 1)


@pytest.mark.parametrize(
    ("gpus", "expected"), [(1, {"peak_gpu_memory_bytes": ALLOCATED, "peak_gpu_reserved_bytes": RESERVED}), (0, {})]
)
def test_peaks_of_gpu_memory(monkeypatch: pytest.MonkeyPatch, gpus: int, expected: dict[str, int]) -> None:
    monkeypatch.setenv("KERAS_TORCH_DEVICE", "")
    monkeypatch.setitem(sys.modules, "torch", fake_torch(gpus))
    engine, reporter = Torch(), FakeReporter()
    engine.start(RunSpec(workload="demo"))
    report_memory(engine, reporter)  # type: ignore[arg-type]
    reporter.metrics.pop("peak_memory_bytes")
    assert reporter.metrics == expected
