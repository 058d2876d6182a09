"""GPUs that aren't consecutive, with stand-ins for the engines' packages: no test has a GPU."""

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from app.core.runs.launchers import joint_spec
from workloads import CATALOGUE
from workloads.engines import tensorflow, torch
from workloads.engines.jax import Jax
from workloads.engines.peers import HOST, LOCAL_RANK, OWN_ADDRESS
from workloads.engines.tensorflow import TensorFlow
from workloads.engines.torch import Torch
from workloads.protocol.spec import RunSpec


def spec_for(engine: str) -> RunSpec:
    return CATALOGUE["fcn_r"].default_spec(engine=engine, device="gpu:0", devices=2, gpus="0,2")


def test_tensorflow_sees_only_these(monkeypatch: pytest.MonkeyPatch) -> None:
    visible: list[str] = []
    grows: list[str] = []
    config = SimpleNamespace(
        list_physical_devices=lambda _: ["card 0", "card 1", "card 2"],
        set_visible_devices=lambda devices, _: visible.extend(devices),
        threading=SimpleNamespace(get_intra_op_parallelism_threads=lambda: 0),
        experimental=SimpleNamespace(
            set_memory_growth=lambda device, _: grows.append(device),
            get_device_details=lambda device: {"device_name": device},
            tensor_float_32_execution_enabled=lambda: True,
        ),
    )
    monkeypatch.setitem(sys.modules, "tensorflow", SimpleNamespace(config=config, __version__="2"))
    monkeypatch.setattr(tensorflow, "leave_untuned", lambda: None)
    started = TensorFlow().start(spec_for("tensorflow"))
    assert visible == grows == ["card 0", "card 2"]
    assert (started.device, started.device_name) == ("gpu:0", "card 0")


@pytest.mark.parametrize(("rank", "number"), [(0, 0), (1, 2)])
def test_each_process_of_pytorch_has_its_own(rank: int, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = SimpleNamespace(
        is_available=lambda: True, device_count=lambda: 3, get_device_name=lambda index: f"card {index}"
    )
    precision = SimpleNamespace(fp32_precision="ieee")
    package = SimpleNamespace(
        cuda=cuda,
        backends=SimpleNamespace(cudnn=SimpleNamespace(conv=precision), cuda=SimpleNamespace(matmul=precision)),
        get_num_threads=lambda: 1,
        version=SimpleNamespace(hip=None),
        __version__="2",
    )
    joined: list[str] = []

    def join(device: str) -> SimpleNamespace:
        joined.append(device)
        return SimpleNamespace(leads=rank == 0)

    monkeypatch.setitem(sys.modules, "torch", package)
    monkeypatch.setattr(torch, "Ranks", join)
    monkeypatch.setenv(LOCAL_RANK, str(rank))
    monkeypatch.setenv("KERAS_TORCH_DEVICE", "")
    started = Torch().start(spec_for("torch"))
    assert (started.device, started.device_name) == (f"gpu:{number}", f"card {number}")
    assert joined == [f"cuda:{number}"]


@pytest.mark.parametrize(
    ("machines", "names"), [(1, ["cuda:0", "cuda:2"]), (2, ["cuda:0", "cuda:2", "cuda:3", "cuda:5"])]
)
def test_jax_uses_these_on_each_computer(machines: int, names: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    cards = [
        SimpleNamespace(
            platform="cuda", id=3 * process + number, process_index=process, device_kind=f"card {number}"
        )
        for process in range(machines)
        for number in range(3)
    ]
    used: dict[str, Any] = {}
    package = SimpleNamespace(
        config=SimpleNamespace(update=used.__setitem__, jax_default_matmul_precision=None),
        local_devices=lambda backend: cards[:3],
        devices=lambda _: cards,
        distributed=SimpleNamespace(initialize=lambda *_, **__: None),
        __version__="0",
    )
    client = SimpleNamespace(key_value_set=None, key_value_delete=None, blocking_key_value_get=None)
    distributed: list[str] = []
    keras = SimpleNamespace(
        distribution=SimpleNamespace(DataParallel=lambda devices: devices, set_distribution=distributed.extend)
    )
    for name, stand_in in (
        ("jax", package),
        ("jax._src.distributed", SimpleNamespace(global_state=SimpleNamespace(client=client))),
        ("jax._src.lib", SimpleNamespace(_jax=SimpleNamespace(make_gloo_tcp_collectives=print))),
        ("keras", keras),
    ):
        monkeypatch.setitem(sys.modules, name, stand_in)
    monkeypatch.setenv(HOST, "10.0.0.1:1")
    monkeypatch.setenv(OWN_ADDRESS, "10.0.0.2")
    engine = Jax()
    spec = spec_for("jax")
    started = engine.start(spec if machines == 1 else joint_spec(spec, machines))
    assert (started.device, started.device_name) == ("gpu:0", "card 0")
    assert used["jax_default_device"] is cards[0]
    assert engine.gpus() == 2
    with engine.scope():
        assert distributed == names
