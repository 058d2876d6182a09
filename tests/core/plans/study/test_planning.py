"""Plans of studies: their points on a computer, what can't be run there, and the order of the runs."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from app.core.errors import UsageError
from app.core.messages import sentence
from app.core.paths import Paths
from app.core.plans.experiments import STUDIES
from app.core.plans.report import runs_text
from app.core.runs.runner import Runner
from app.core.storage.database import Database
from app.core.storage.groups import begin_group, load_group
from tests.build import plan_preset
from tests.conftest import pretend_installed
from tests.saying import Saying, said
from tests.sure import sure
from workloads import CATALOGUE
from workloads.protocol.machine import Gpu
from workloads.workload import MemoryNeed, Workload


def test_every_preset_makes_points_that_a_database_gives_back(with_card: Runner, database: Database) -> None:
    for key in STUDIES:
        plan = plan_preset(key, with_card)
        assert plan.study is not None
        assert len(plan.specs) == len(set(map(msgspec.json.encode, plan.specs))) > 0
        stored = load_group(database, begin_group(database, plan)).plan
        # A message within a message is read as a dictionary.
        assert msgspec.json.encode(stored) == msgspec.json.encode(plan), key


def test_batches_are_powers_of_two_around_the_usual_one(runner: Runner) -> None:
    plan = plan_preset("batch", runner)
    assert [spec.batch_size for spec in plan.specs] == [8, 16, 32, 64, 128, 256, 512, 1_024]
    small = plan_preset("batch", runner, workloads=["demo"])
    assert max(spec.batch_size for spec in small.specs) <= CATALOGUE["demo"].samples_per_epoch // 8


def test_a_study_of_quick_runs_states_about_how_long_it_takes(runner: Runner) -> None:
    plan = plan_preset("batch", runner, rounds=2)
    assert runs_text(plan) == sentence("studies_page.quick_runs", count=16, minutes=16)
    standard = plan_preset("batch", runner, preset="standard")
    assert runs_text(standard) == sentence("studies_page.runs", count=8)


def test_a_batch_that_cannot_fit_is_a_point_with_the_reason(
    paths: Paths, runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(CATALOGUE["cifar10_keras_cnn"]), "memory_need", lambda *_: MemoryNeed(0, 10**8))
    plan = plan_preset("batch", Runner(paths, replace(runner.machine, memory_bytes=16 * 10**9)))
    assert [refusal.spec.batch_size for refusal in sure(plan.study).refused] == [256, 512, 1_024]
    assert max(spec.batch_size for spec in plan.specs) == 128
    monkeypatch.setattr(Workload, "memory_need", lambda *_: MemoryNeed(10**12, 0))
    first = said("memory.computer_too_small", batch_size="8")
    with pytest.raises(UsageError, match=said("studies.nothing_to_run", reason=first).pattern):
        plan_preset("batch", runner, workloads=["demo"])


def test_threads_go_to_all_cpus_with_the_physical_cores_among_them(runner: Runner, paths: Paths) -> None:
    plan = plan_preset("threads", runner)
    assert [(spec.threads, spec.settings["cpus"]) for spec in plan.specs] == [(n, n) for n in (1, 2, 4, 8, 16)]
    six = Runner(paths, replace(runner.machine, physical_cores=6))
    assert [spec.threads for spec in plan_preset("threads", six).specs] == [1, 2, 4, 6, 8, 16]


def test_software_is_each_engine_with_what_it_can(runner: Runner, paths: Paths) -> None:
    alone = plan_preset("software", runner)
    assert {(spec.engine, spec.onednn, spec.jit) for spec in alone.specs} == {
        ("tensorflow", None, False),
        ("tensorflow", False, False),
        ("tensorflow", None, True),
    }
    pretend_installed("jax", paths)
    both = plan_preset("software", runner)
    assert [spec.jit for spec in both.specs if spec.engine == "jax"] == [True]


def test_devices_are_all_pairs_of_engine_and_device(runner: Runner, paths: Paths) -> None:
    gpu = Gpu("NVIDIA GeForce RTX 4070", "nvidia", memory_bytes=12 * 10**9, compute_capability="8.9")
    machine = replace(runner.machine, os_name="Linux 6.1", gpus=(gpu,))
    plan = plan_preset("devices", Runner(paths, machine), workloads=["mnist_mlp", "mnist_cnn"])
    assert [(spec.workload, spec.device) for spec in plan.specs] == [
        (workload, device) for workload in ("mnist_mlp", "mnist_cnn") for device in ("cpu", "gpu:0")
    ]


@pytest.mark.parametrize(("key", "grows"), [("scaling", False), ("weak_scaling", True)])
def test_several_cards_share_a_batch_or_each_have_one(key: str, grows: bool, runner: Runner, paths: Paths) -> None:
    gpu = Gpu("NVIDIA GeForce RTX 4070", "nvidia", memory_bytes=12 * 10**9, compute_capability="8.9")
    machine = replace(runner.machine, os_name="Linux 6.1", gpus=(gpu,) * 3)
    plan = plan_preset(key, Runner(paths, machine), workloads=["fc_parametric"], choice={"engine": "tensorflow"})
    usual = CATALOGUE["fc_parametric"].batch_size
    batches = {spec.device_count: spec.batch_size for spec in plan.specs}
    assert batches == ({1: usual, 2: 2 * usual, 3: 3 * usual} if grows else {1: usual, 2: usual})
    assert {spec.device for spec in plan.specs} == {"auto"}
    assert len(sure(plan.study).refused) == (0 if grows else 1)  # three can't share the usual batch


def test_power_goes_down_from_the_default_in_steps_that_the_card_takes(with_card: Runner) -> None:
    plan = plan_preset("power", with_card)
    limits_w = [370, 335, 295, 260, 220]  # 185 W, a half, is below what it takes
    assert [spec.settings for spec in plan.specs] == [{"power_limit_w": limit_w} for limit_w in limits_w]
    assert {spec.device for spec in plan.specs} == {"gpu:0"}
    assert [planned.spec for planned in plan.runs()] == list(plan.specs), "each limit is set once"


@pytest.mark.parametrize(
    ("limit_w", "rated_w", "expected_w"),
    [
        (15.0, 15.0, [15, 14, 12, 10, 9, 8]),
        (4_095.0, 125.0, [125, 110, 100, 90, 75, 60]),
        (253.0, 125.0, [253, 230, 200, 175, 150, 125]),
        (28.5, None, [28, 26, 23, 20, 17, 14]),
    ],
)
def test_power_of_a_cpu_goes_down_from_its_limit_unless_that_is_never_reached(
    with_card: Runner, paths: Paths, limit_w: float, rated_w: float | None, expected_w: list[int]
) -> None:
    machine = replace(with_card.machine, cpu_power_limit_w=limit_w, cpu_power_rated_w=rated_w)
    plan = plan_preset("power", Runner(paths, machine), choice={"device": "cpu"})
    assert [spec.settings["power_limit_w"] for spec in plan.specs] == expected_w
    assert {spec.device for spec in plan.specs} == {"cpu"}
    assert {spec.device for spec in plan_preset("power", Runner(paths, machine)).specs} == {"gpu:0"}


NO_LIMIT = sentence("run.no_power_limit")


@pytest.mark.parametrize(
    ("key", "asked", "refusal"),
    [
        *(("batch", {"rounds": rounds}, said("studies.too_many_runs", rounds="20")) for rounds in (0, -1, 21)),
        ("power", {}, said("studies.nothing_to_run", reason=NO_LIMIT)),
        ("fits", {"workloads": ["gpt_mini"]}, said("studies.own_workload")),
        ("fits", {"choice": {"engine": "jax"}}, said("studies.nothing_to_run")),
    ],
)
def test_what_has_no_point_is_refused_with_the_reason(
    runner: Runner, key: str, asked: dict[str, Any], refusal: Saying
) -> None:
    with pytest.raises(UsageError, match=refusal.pattern):
        plan_preset(key, runner, **asked)


def test_each_round_has_all_points_in_an_order_of_its_own(runner: Runner) -> None:
    plan = plan_preset("batch", runner, rounds=4)
    runs, count = plan.runs(), len(plan.specs)
    rounds = [[planned.spec.batch_size for planned in runs[at : at + count]] for at in range(0, len(runs), count)]
    assert all(sorted(each) == [spec.batch_size for spec in plan.specs] for each in rounds)
    assert len({tuple(each) for each in rounds}) > 1
    assert runs == plan.runs(), "the order must be the same whenever a study is resumed"


def test_what_fits_is_tried_on_the_chosen_device(with_card: Runner) -> None:
    on_cpu = plan_preset("fits", with_card, choice={"device": "cpu"})
    assert {spec.device for spec in on_cpu.specs} == {"cpu"}
    assert {spec.device for spec in plan_preset("fits", with_card).specs} == {"gpu:0"}
    longest = max(int(spec.parameters["sequence"]) for spec in plan_preset("fits", with_card).specs)
    assert (longest, max(int(spec.parameters["sequence"]) for spec in on_cpu.specs)) == (131_072, 1_024)
