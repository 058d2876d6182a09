"""Out of memory, reported before a run if it is certain."""

from dataclasses import replace

import pytest
from msgspec.structs import replace as replaced

from app.core.errors import UsageError
from app.core.messages import message, sentence, text
from app.core.paths import Paths
from app.core.records import RunSummary
from app.core.runs.memory_check import filled_by, memory_problem
from app.core.runs.runner import Runner
from tests.core.runs.running import start_run
from tests.saying import Saying, said
from tests.sure import sure
from workloads import CATALOGUE
from workloads.protocol.machine import Gpu, Machine
from workloads.protocol.spec import RunSpec
from workloads.workload import MemoryNeed, Workload

GB = 10**9
WORKLOAD = CATALOGUE["demo"]
NEEDS = {
    "tensorflow": MemoryNeed(base_bytes=GB, per_example_bytes=GB // 10),
    "torch": MemoryNeed(base_bytes=GB // 2, per_example_bytes=GB // 5),
    "jax": None,
}


@pytest.fixture(autouse=True)
def needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo needs 1 GB, and 0.1 GB for each example; with PyTorch about twice as much."""
    monkeypatch.setattr(Workload, "memory_need", lambda _, engine: NEEDS[engine])


@pytest.mark.parametrize(("batch_size", "fits"), [(100, True), (182, True), (183, False)])
def test_only_what_is_far_beyond_the_memory_is_refused(machine: Machine, batch_size: int, fits: bool) -> None:
    spec = WORKLOAD.default_spec(batch_size=batch_size)
    problem = memory_problem(spec, machine)
    assert (problem is None) == fits
    if problem:
        assert said(
            "memory.computer_too_small",
            batch_size=183,
            need_bytes="18.0 GB",
            there_bytes="15 GB",
            advice=sentence("memory.smaller_batch", fitting=150),
        ).is_all_of(text(problem))


def test_a_card_has_a_memory_of_its_own(machine: Machine) -> None:
    gpu = Gpu("Test GPU", "nvidia", memory_bytes=4 * GB)
    machine = replace(machine, gpus=(gpu,))
    ask = WORKLOAD.default_spec
    assert memory_problem(ask(batch_size=60, device="cpu"), machine) is None
    problem = sure(memory_problem(ask(batch_size=60, device="gpu:0"), machine))
    advice = sentence("memory.smaller_batch", fitting=40)
    shown = {
        "batch_size": 60,
        "need_bytes": "5.6 GB",
        "there_bytes": "3.7 GB",
        "gpu": "Test GPU",
        "advice": advice,
    }
    assert said("memory.gpu_too_small", **shown).is_all_of(text(problem))
    # "auto" may mean the processor, where TensorFlow cannot use the card.
    assert memory_problem(ask(batch_size=60), machine) is None
    assert memory_problem(ask(batch_size=60, device="gpu:1"), machine) is None


def test_several_cards_each_hold_a_part_of_the_batch(machine: Machine) -> None:
    machine = replace(machine, gpus=(Gpu("Test GPU", "nvidia", memory_bytes=4 * GB),) * 2)
    ask = WORKLOAD.default_spec
    assert memory_problem(ask(batch_size=80, device="gpu:0", devices=2), machine) is None
    problem = sure(memory_problem(ask(batch_size=120, device="gpu:0", devices=2), machine))
    assert problem.arguments["advice"] == message("memory.smaller_batch", fitting=80)


def test_with_one_process_per_device_each_has_its_own_packages(machine: Machine) -> None:
    def fits(count: int) -> bool:
        spec = WORKLOAD.default_spec(batch_size=80, device="cpu", engine="torch", devices=count)
        return memory_problem(spec, machine, "cpu") is None

    assert (fits(1), fits(2), fits(8)) == (True, True, False)


def test_a_build_for_the_processor_has_the_computers_memory(machine: Machine) -> None:
    gpu = Gpu("NVIDIA GeForce RTX 4070", "nvidia", memory_bytes=64 * GB, compute_capability="8.9")
    machine = replace(machine, os_name="Linux 6.1", gpus=(gpu,))
    spec = WORKLOAD.default_spec(batch_size=350, engine="torch")  # 70.5 GB
    problem = sure(memory_problem(spec, machine, "cpu"))
    assert said("memory.computer_too_small", there_bytes="15 GB").is_in(text(problem))
    assert memory_problem(spec, machine, "cuda") is None  # as the card may be used
    on_card = sure(memory_problem(replaced(spec, device="gpu:0", batch_size=400), machine, "cuda"))
    assert said("memory.gpu_too_small", gpu="NVIDIA GeForce RTX 4070", there_bytes="60 GB").is_in(text(on_card))


@pytest.mark.parametrize(("engine", "fitting"), [("tensorflow", 182), ("torch", 93), ("jax", 10_000)])
def test_each_engine_has_needs_of_its_own(machine: Machine, engine: str, fitting: int) -> None:
    spec = WORKLOAD.default_spec(batch_size=fitting, engine=engine, device="cpu")
    assert memory_problem(spec, machine, "cpu") is None
    problem = memory_problem(replaced(spec, batch_size=fitting + 1), machine, "cpu")
    assert (problem is None) == (NEEDS[engine] is None)


@pytest.mark.parametrize(
    ("batch_size", "words"),
    [
        (1_000, said("memory.computer_too_small", need_bytes="94.1 GB")),
        (5_000, said("workload.batch_too_large", samples="1,000", batch_size="5,000")),
    ],
)
def test_the_runner_refuses_before_storing(paths: Paths, machine: Machine, batch_size: int, words: Saying) -> None:
    with pytest.raises(UsageError, match=words.pattern):
        start_run(Runner(paths, machine), WORKLOAD.default_spec(batch_size=batch_size))
    assert not paths.database.exists()


def test_if_no_batch_fits_another_workload_is_advised(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Workload, "memory_need", lambda *_: MemoryNeed(30 * GB, GB // 10))
    problem = sure(memory_problem(WORKLOAD.default_spec(batch_size=1), machine))
    assert problem.arguments["advice"] == message("memory.other_workload")


def batches(size: int, micro_batch: int, sequence: int) -> RunSpec:
    parameters = {"micro_batch": micro_batch, "sequence": sequence}
    return CATALOGUE["lora_qwen3"].default_spec(batch_size=size, parameters=parameters)


@pytest.mark.parametrize(
    ("full", "other", "is_filled"),
    [
        ((2, 2, 512), (4, 4, 512), True),
        ((1, 1, 512), (1, 1, 1_024), True),
        ((2, 2, 512), (4, 4, 1_024), True),
        ((4, 4, 512), (2, 2, 512), False),
        ((2, 2, 512), (1, 1, 1_024), False),
        ((8, 8, 512), (8, 1, 512), False),  # only one sequence at a time
        ((8, 1, 512), (8, 8, 512), True),
        ((2, 2, 512), (8, 1, 512), False),
        ((2, 2, 512), (2, 2, 512), False),
    ],
)
def test_what_trains_more_at_a_time_than_a_run_that_filled_the_memory_is_not_tried(
    summary: RunSummary, full: tuple[int, int, int], other: tuple[int, int, int], is_filled: bool
) -> None:
    run = replace(summary, error_code="out_of_memory")
    assert (filled_by(batches(*other), [(batches(*full), run)]) is not None) == is_filled
