"""Training on several devices: parts of the CPU share each batch, with each engine's own means."""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from app.core.errors import UsageError
from app.core.paths import Paths
from app.core.records import Run
from app.core.runs.launchers import joint_spec
from app.core.runs.runner import Runner
from app.core.storage.runs import load_run
from tests.build import in_database
from tests.cli.commands import posix_only
from tests.conftest import PATIENCE_S
from tests.core.runs.running import start_run
from tests.real_engines import probe, small_worker
from tests.waiting import wait_until
from workloads import CATALOGUE
from workloads.engines import tensorflow, torch
from workloads.engines.engine import Engine
from workloads.engines.jax import Jax
from workloads.engines.peers import HOST, LOCAL_RANK, OWN_ADDRESS, RANK
from workloads.engines.registry import ENGINES
from workloads.engines.setup import device_speeds
from workloads.engines.tensorflow import TensorFlow
from workloads.engines.torch import Torch
from workloads.protocol import events
from workloads.protocol.errors import WorkloadError
from workloads.protocol.machine import Machine
from workloads.protocol.messages import Message
from workloads.protocol.spec import RunSpec

# Without dropout, whose random numbers depend on the part of a batch, and with batches in a fixed order.
WORKLOAD = "fcn_r"
# Sums of gradients are rounded in another order.
TOLERANCE = 1e-4
# A stored spec may contain anything. Consecutive GPUs have no list.
NO_LISTS = (
    "",
    "0",
    "2,0",
    "0,0",
    "0,1",
    "0,3,1,9",
    "0,2,2,9",
    "0, 2",
    "0,x",
    "-1,2",
    "0,1000",
    "0,2\n",
    "\u0660,\u0662",
    2,
    0.2,
    True,
)
ENDLESS = 1_000  # epochs, for runs that a test ends


def spec_on(count: int, **changes: Any) -> RunSpec:
    usual: dict[str, Any] = {"device": "cpu", "data": "synthetic", "epochs": 1}
    return CATALOGUE[WORKLOAD].default_spec(**(usual | changes), devices=count)


def carried_out(
    spec: RunSpec, paths: Paths, machine: Machine, listener: Callable[[events.Event], None] = lambda _: None
) -> Run:
    session = start_run(Runner(paths, machine, command=small_worker), spec, listener)
    assert session.wait(300)
    run = in_database(paths.database, load_run, session.run_id)
    assert run.summary.status == "completed", run.summary.error_message
    return run


@pytest.mark.parametrize("engine", ENGINES)
def test_all_devices_take_part_in_a_sum(engine: str, installed_engines: Paths, machine: Machine) -> None:
    spec = CATALOGUE["all_reduce"].default_spec(engine=engine, device="cpu", steps=2, devices=3)
    seen: list[events.Event] = []
    run = carried_out(spec, installed_engines, machine, seen.append)
    assert run.environment is not None
    assert run.environment.device_flop_per_s is not None
    assert len(run.environment.device_flop_per_s) == 3  # positive, or reading the record would drop them
    # The speeds are in an event from before the first step.
    kinds = [type(event) for event in seen]
    assert kinds.count(events.Environment) == 1
    assert kinds.index(events.Environment) < kinds.index(events.Steps)
    assert run.summary.device_count == 3
    assert run.summary.value == run.metrics["bytes_per_s"]
    sum_s, latency_s = (run.metrics[key] or 0 for key in ("fcn_r_sum_s", "sum_latency_s"))
    assert 0 < latency_s < sum_s


@pytest.mark.parametrize("engine", ["tensorflow", "jax"])
def test_each_device_computes_in_its_own_scope(engine: str, installed_engines: Paths) -> None:
    (answer,) = probe("tests.workloads.engines.scopes_probe", engine, installed_engines)
    assert len(set(answer["devices"])) == 3, answer
    assert all(speed > 0 for speed in answer["speeds"])
    assert len(answer["speeds"]) == 3


def test_a_run_goes_on_without_speeds_that_cannot_be_measured() -> None:
    class Broken(Engine):
        exchanged = False

        def device_scopes(self) -> list[AbstractContextManager[Any]]:
            return [nullcontext(), BrokenScope()]

        def of_all_devices(self, numbers: list[float]) -> list[float]:
            self.exchanged = True  # the other processes wait for it
            return numbers

    class BrokenScope(AbstractContextManager[Any]):
        def __enter__(self) -> Any:
            raise RuntimeError("CUDA error: unknown error")

        def __exit__(self, *error: object) -> None:
            pass

    engine = Broken()
    assert device_speeds(engine, spec_on(2)) is None
    assert engine.exchanged


def test_the_leader_ends_a_quick_run_for_all(installed_engines: Paths, machine: Machine) -> None:
    spec = CATALOGUE["mnist_mlp"].default_spec(
        "quick", engine="torch", device="cpu", data="synthetic", duration_s=4.0, devices=2
    )
    run = carried_out(spec, installed_engines, machine)
    assert run.summary.seconds_per_epoch_s is not None
    assert run.metrics["examples_done"] == run.metrics["examples_asked"]


@pytest.mark.parametrize(
    ("rank", "act", "code"),
    [
        ("1", "kill", "worker.peer_ended"),
        pytest.param("1", "suspend", "worker.peer_hung", marks=posix_only),
        pytest.param("0", "suspend", "run.hung", marks=posix_only),
        ("0", "kill", None),
        (None, "cancel", None),
    ],
)
def test_no_process_outlives_the_run(
    rank: str | None, act: str, code: str | None, installed_engines: Paths, machine: Machine
) -> None:
    seen: list[events.Event] = []
    runner = Runner(installed_engines, machine, command=small_worker)
    session = start_run(runner, spec_on(2, engine="torch", epochs=ENDLESS), seen.append)
    wait_until(lambda: any(isinstance(event, events.Steps) for event in seen))
    workers = workers_of_run()
    assert len(workers) == 2
    target = session if rank is None else next(each for each in workers if is_of_rank(each, "1") == (rank == "1"))
    getattr(target, act)()
    assert session.wait(PATIENCE_S)
    said = [event.said.code for event in seen if isinstance(event, events.Error) and event.said is not None]
    assert code is None or said == [code]
    wait_until(lambda: not any(process.is_running() for process in workers))


def workers_of_run() -> list[psutil.Process]:
    return [process for process in psutil.Process().children(recursive=True) if is_of_rank(process, None)]


def is_of_rank(process: psutil.Process, rank: str | None) -> bool:
    """Return whether a process belongs to the run of this test, and has this rank if it is given."""
    try:
        environment = process.environ()
    except psutil.Error:
        return False
    return "KERAS_BACKEND" in environment and (rank is None or environment.get(RANK) == rank)


@pytest.mark.parametrize(
    ("workload", "changes", "code"),
    [
        ("demo", {}, "workload.one_device"),
        ("matmul", {}, "workload.one_device"),
        ("all_reduce", {"devices": 1}, "workload.too_few_devices"),
        ("lstm_ptb_32", {}, "workload.one_device"),
        (WORKLOAD, {"batch_size": 33}, "workload.batch_not_divisible"),
        ("mnist_mlp", {"engine": "jax", "batch_size": 14, "devices": 14}, "workload.rest_not_divisible"),
        (WORKLOAD, {"jit": True}, "engine.devices_not_compiled"),
        (WORKLOAD, {"devices": 65}, "parameter.not_int"),
        *((WORKLOAD, {"device": "gpu:0", "gpus": gpus}, "parameter.not_gpus") for gpus in NO_LISTS),
        (WORKLOAD, {"device": "gpu:1", "gpus": "0,2"}, "workload.other_gpus"),
        (WORKLOAD, {"device": "auto", "gpus": "0,2"}, "workload.other_gpus"),
        (WORKLOAD, {"device": "gpu:0", "devices": 4, "gpus": "0,2"}, "workload.other_gpus"),
    ],
)
def test_what_several_devices_cannot_do_is_refused(
    workload: str, changes: dict[str, Any], code: str, paths: Paths, machine: Machine
) -> None:
    spec = CATALOGUE[workload].default_spec(**({"devices": 2} | changes))
    with pytest.raises(UsageError) as caught:
        Runner(paths, machine).check(spec)
    assert isinstance(caught.value.message, Message)
    assert caught.value.message.code == code


class Cards(Engine):
    """An engine, for its choice of cards only."""

    info = ENGINES["torch"]


@pytest.mark.parametrize(
    ("device", "count", "there", "chosen"),
    [
        ("auto", 1, 0, None),
        ("auto", 2, 0, None),
        ("auto", 2, 2, range(2)),
        ("gpu:1", 2, 3, range(1, 3)),
        ("cpu", 2, 2, None),
    ],
)
def test_the_cards_follow_the_first(device: str, count: int, there: int, chosen: range | None) -> None:
    assert Cards().gpu_indices(spec_on(count, device=device), there) == chosen


def test_missing_cards_are_named() -> None:
    with pytest.raises(WorkloadError) as caught:
        Cards().gpu_indices(spec_on(2, device="gpu:1"), 2)
    assert (caught.value.code, caught.value.message.code) == ("device_unavailable", "engine.sees_fewer_devices")
    assert caught.value.message.arguments == {"engine": "PyTorch", "asked": 2, "count": 1}


def test_cards_may_be_apart() -> None:
    spec = spec_on(2, device="gpu:0", gpus="0,2")
    assert Cards().gpu_indices(spec, 3) == (0, 2)
    with pytest.raises(WorkloadError) as caught:
        Cards().gpu_indices(spec, 2)
    assert (caught.value.code, caught.value.message.code) == ("device_unavailable", "engine.sees_other_devices")
    assert caught.value.message.arguments == {"engine": "PyTorch", "device": "gpu:2", "seen": ["gpu:0", "gpu:1"]}
    two_computers = joint_spec(spec, 2)
    assert Cards().gpu_indices(two_computers, 3) == (0, 2)


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
