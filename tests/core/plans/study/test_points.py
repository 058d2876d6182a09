"""A stored study as it stands: points, intervals, what is left to run."""

import io
import random
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.analysis.shared_host import BETWEEN_RUNS_HALF_PCT
from app.core.errors import UsageError
from app.core.messages import sentence
from app.core.paths import Paths
from app.core.plans.study.axes import AXES_LIMIT, POINTS_LIMIT, axis_text, points, read_axis, with_values
from app.core.plans.study.findings import findings
from app.core.plans.study.planning import plan_axes
from app.core.plans.study.points import followed
from app.core.plans.study.tables import study_table
from app.core.records import Plan, Study
from app.core.runs.runner import Runner
from app.core.storage.database import Database
from app.core.storage.queries import trash_runs
from tests.build import Outcome, Store, load_study, plan_preset, store_point
from tests.saying import said
from tests.sure import sure
from workloads import CATALOGUE
from workloads.engines import setup
from workloads.engines.engine import Engine, Started
from workloads.engines.registry import ENGINES
from workloads.protocol.errors import WorkloadError
from workloads.protocol.machine import Gpu, Machine
from workloads.protocol.reporter import Emitter, Reporter
from workloads.protocol.spec import RunSpec

CIFAR = CATALOGUE["cifar10_keras_cnn"]
SPEC = CIFAR.default_spec("quick")


@pytest.fixture
def plan(runner: Runner) -> Plan:
    return plan_axes(SPEC, {"batch_size": (50, 100, 200, 400)}, runner, rounds=2)


def seconds(spec: RunSpec) -> Outcome:
    return 4_000.0 / spec.batch_size


def left_of(database: Database, group_id: int) -> Counter[int]:
    result = load_study(database, group_id)
    return Counter(planned.spec.batch_size for planned in result.left)


def test_a_point_has_the_median_of_its_rounds_and_its_speed(runner: Runner, stored: Store, plan: Plan) -> None:
    point = stored(plan, seconds).points[1]
    assert (point.place, point.state, point.value) == (("100",), "done", 40.0)
    assert point.rounds == (40.0, 40.0)
    assert sure(point.rate).value == pytest.approx(50_000 / 40)
    once = plan_axes(SPEC, {"batch_size": (100,)}, runner)
    rate = sure(stored(once, seconds).points[0].rate)
    assert (rate.low, rate.high) == pytest.approx((50_000 / 40.8, 50_000 / 39.2))


@pytest.mark.parametrize(
    ("rounds", "reasons", "level_pct", "half_pct"),
    [
        (1, None, 95, 2),
        (2, None, 50, 0.1),
        (3, None, 75, 0.1),
        (6, None, 96.875, 0.1),
        (2, "other shared_host", 95, BETWEEN_RUNS_HALF_PCT),
        (6, "shared_host", 95, BETWEEN_RUNS_HALF_PCT),
    ],
)
def test_an_interval_says_its_level_and_allows_for_a_shared_host(
    rounds: int, reasons: str | None, level_pct: float, half_pct: float, runner: Runner, stored: Store
) -> None:
    plan = plan_axes(SPEC, {"batch_size": (100, 200)}, runner, rounds=rounds)
    made: Counter[int] = Counter()

    def outcome(spec: RunSpec) -> Outcome:
        made[spec.batch_size] += 1
        return 40.0 if rounds == 1 else 40.04 if made[spec.batch_size] % 2 else 39.96

    result = stored(plan, outcome, reasons=reasons)
    for point in result.points:
        assert point.confidence_pct == pytest.approx(level_pct)
        half = (sure(point.high) - sure(point.low)) / 2 / sure(point.value)
        assert 100 * half == pytest.approx(half_pct, rel=0.06)
        shown = said("group.interval", confidence_pct=f"{level_pct:.0f}")
        assert shown.is_in([cell for row in study_table(result).rows for cell in row])


def test_what_is_finished_is_never_run_again(stored: Store, plan: Plan) -> None:
    for runs in range(len(plan.runs()) + 1):
        result = stored(plan, seconds, runs=runs)
        left = result.left
        begun = Counter(planned.spec.batch_size for planned in plan.runs()[:runs])
        both = begun + Counter(planned.spec.batch_size for planned in left)
        assert both == Counter({50: 2, 100: 2, 200: 2, 400: 2})


def test_cancelled_failed_and_deleted_runs_are_run_again_but_not_those_out_of_memory(
    stored: Store, database: Database, eight_cores: Machine, plan: Plan
) -> None:
    outcomes: dict[int, Outcome] = {50: None, 100: "crashed", 200: 10.0, 400: "out_of_memory"}
    result = stored(plan, lambda spec: outcomes[spec.batch_size])
    states = {point.spec.batch_size: point.state for point in result.points}
    assert states == {50: "waiting", 100: "failed", 200: "done", 400: "out_of_memory"}
    assert left_of(database, result.group.id) == Counter({50: 2, 100: 2})
    trash_runs(database, [result.points[2].runs[0].id])
    assert left_of(database, result.group.id) == Counter({50: 2, 100: 2, 200: 1})
    number = next(planned.number for planned in plan.runs() if planned.spec == plan.specs[0])
    store_point(database, eight_cores, plan.specs[0], result.group.id, 80.0, number)
    assert left_of(database, result.group.id) == Counter({50: 1, 100: 2, 200: 1})


@pytest.mark.parametrize("reasons", ["memory_spilled other_load", None])
def test_larger_batches_than_one_that_filled_the_memory_are_skipped(
    runner: Runner, stored: Store, reasons: str | None
) -> None:
    plan = plan_axes(
        CATALOGUE["demo"].default_spec("quick"), {"batch_size": (50, 100, 200), "seed": (1, 2)}, runner, 2
    )
    full = replace(plan, order="in_turn", specs=(plan.specs[2], *plan.specs[:2], *plan.specs[3:]))
    result = stored(full, lambda _: 1.0 if reasons else "out_of_memory", runs=1, reasons=reasons)
    points = {(point.spec.batch_size, point.spec.seed): point for point in result.points}
    assert {place for place, point in points.items() if point.state == "skipped"} == {(200, 1)}
    assert points[200, 1].reason == sentence("studies.filled", batch=100)
    assert (200, 1) not in {(planned.spec.batch_size, planned.spec.seed) for planned in result.left}
    assert len(result.left) == 12 - 1 - 2
    assert said("studies.skipped", points=points[200, 1].name).is_in(findings(result))


def test_an_invalid_run_is_finished_but_gives_no_result(stored: Store, plan: Plan) -> None:
    result = stored(plan, seconds, verdict="invalid")
    assert {point.state for point in result.points} == {"failed"}
    assert all(said("studies.invalid_run").is_in(point.reason) for point in result.points)
    assert not result.left


def test_refused_points_come_last_with_the_reason(runner: Runner, stored: Store) -> None:
    plan = plan_axes(SPEC, {"batch_size": (100, 60_000)}, runner)
    result = stored(plan, seconds)
    assert [(point.spec.batch_size, point.state) for point in result.points] == [
        (100, "done"),
        (60_000, "refused"),
    ]
    assert "60,000" in result.points[1].reason or "60000" in result.points[1].reason


@given(st.lists(st.lists(st.booleans(), max_size=8), max_size=5), st.integers(1, 3), st.randoms())
def test_every_run_is_followed_by_its_number(sittings: list[list[bool]], times: int, order: random.Random) -> None:
    """Several sittings, each of which runs some of what is left, in any order; some runs fail."""
    specs = tuple(CIFAR.default_spec("quick", batch_size=batch) for batch in (50, 100, 200))
    plan = Plan(
        kind="study",
        order="shuffled",
        survives_failures=True,
        specs=specs,
        rounds=times,
        study=Study(axes=("batch_size",), seed=times),
    )
    begun: list[tuple[int, RunSpec, bool]] = []
    final: set[int] = set()
    for sitting in sittings:
        left, _ = followed(plan, begun)
        assert {each.number for each in left} == {each.number for each in plan.runs()} - final
        shuffled = order.sample(left, len(left))
        for planned, is_done in zip(shuffled, sitting, strict=False):
            begun.append((planned.number, planned.spec, is_done))
            final |= {planned.number} if is_done else set()
    _, rounds = followed(plan, begun)
    assert rounds == [(number - 1) // len(specs) for number, _, _ in begun]


def test_a_deleted_run_leaves_its_round_empty(stored: Store, database: Database, runner: Runner) -> None:
    plan = plan_axes(SPEC, {"batch_size": (50, 100)}, runner, rounds=2)
    result = stored(plan, seconds)
    gone = next(point for point in result.points if point.spec == plan.runs()[0].spec)
    trash_runs(database, [gone.runs[0].id])
    after = next(point for point in load_study(database, result.group.id).points if point.spec == gone.spec)
    assert after.rounds == (None, gone.rounds[1])


@pytest.mark.parametrize(
    ("typed", "name", "values"),
    [
        ("batch=16,32,64", "batch_size", (16, 32, 64)),
        (" batch = 16 , 32 ,", "batch_size", (16, 32)),
        ("threads=1,auto", "threads", (1, None)),
        ("cpus=1,2", "cpus", (1, 2)),
        ("xla=on,off", "jit", (True, False)),
        ("precision=float32,mixed_float16", "precision", ("float32", "mixed_float16")),
        ("workload=mnist_mlp,mnist_cnn", "workload", ("mnist_mlp", "mnist_cnn")),
        ("engine=tensorflow,jax", "engine", ("tensorflow", "jax")),
    ],
)
def test_an_axis_is_a_setting_a_workload_or_a_parameter(typed: str, name: str, values: tuple[object, ...]) -> None:
    assert read_axis(typed, CIFAR) == (name, values, ())


def test_a_value_that_is_there_twice_runs_once_and_says_so() -> None:
    name, values, remarks = read_axis("batch=16,32,16,032", CIFAR)
    assert (name, values) == ("batch_size", (16, 32))
    assert [remark.arguments["value"] for remark in remarks] == ["16"]


@pytest.mark.parametrize(
    ("typed", "code"),
    [
        ("", "studies.bad_axis"),
        ("batch", "studies.bad_axis"),
        ("batch=", "studies.bad_axis"),
        ("batch=,,", "studies.bad_axis"),
        ("colour=red", "studies.unknown_axis"),
        ("batch=16,x", "parameter.not_int"),
        ("batch=-4", "parameter.not_int"),
        ("batch=1e3", "parameter.not_int"),
        ("batch=0", "parameter.not_int"),
        ("batch=99999999999999999999", "parameter.not_int"),
        ("xla=maybe", "parameter.not_choice"),
        ("workload=cifar", "workload.unknown"),
        ("step_s=1", "studies.unknown_axis"),
    ],
)
def test_what_makes_no_sense_gets_one_sentence(typed: str, code: str) -> None:
    with pytest.raises(UsageError, match=said(code).pattern) as refused:
        read_axis(typed, CIFAR)
    assert "\n" not in str(refused.value)


def test_all_combinations_become_points_up_to_the_limit() -> None:
    grid = points(SPEC, {"batch_size": (16, 32), "threads": (1, 2, 4)})
    assert [(spec.batch_size, spec.threads) for spec in grid] == [(b, t) for b in (16, 32) for t in (1, 2, 4)]
    assert len(points(SPEC, {"batch_size": range(1, POINTS_LIMIT + 1)})) == POINTS_LIMIT
    with pytest.raises(UsageError, match=said("studies.too_many_points", points=POINTS_LIMIT + 1).pattern):
        points(SPEC, {"batch_size": range(1, POINTS_LIMIT + 2)})
    with pytest.raises(UsageError, match=said("studies.too_many_points", axes_limit=AXES_LIMIT).pattern):
        points(SPEC, {"batch_size": (1,), "threads": (1,), "seed": (1,)})


def test_another_workload_brings_its_own_batch_and_parameters() -> None:
    other = with_values(SPEC, {"workload": "lstm_text_generation", "cpus": 2})
    usual = CATALOGUE["lstm_text_generation"].default_spec("quick")
    assert (other.batch_size, other.parameters) == (usual.batch_size, usual.parameters)
    assert other.settings == {"cpus": 2}
    assert with_values(other, {"cpus": None}).settings == {}


def test_a_configuration_is_named_by_what_differs() -> None:
    specs = [
        CIFAR.default_spec(engine="tensorflow"),
        CIFAR.default_spec(engine="tensorflow", onednn=False),
        CIFAR.default_spec(engine="torch", jit=True),
    ]
    names = [axis_text("configuration", spec, specs) for spec in specs]
    assert names == ["TensorFlow", "TensorFlow without oneDNN", "PyTorch compiled"]
    assert axis_text("configuration", specs[0], specs[:1]) == "TensorFlow"
    assert axis_text("batch_size", specs[0], specs) == "100"


CARDS = {"8.9": True, "12.0": True, "8.0": True, "7.5": False, None: False, "new": False}


class WithoutGpu(Engine):
    info = ENGINES["tensorflow"]

    def start(self, spec: object) -> Started:
        return Started(version="1", device="cpu")


def test_what_the_engine_starts_on_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup, "engine_named", lambda _: WithoutGpu())
    reporter = Reporter(Emitter(io.BytesIO()))
    with pytest.raises(WorkloadError, match="tf32_needs_gpu") as caught:
        setup.start_engine(CATALOGUE["mnist_mlp"].default_spec(tf32=True), reporter)
    assert caught.value.code == "device_unavailable"


@pytest.mark.parametrize(("capability", "has_tf32"), CARDS.items())
def test_the_study_of_precisions_has_it_where_it_exists(
    paths: Paths, machine: Machine, capability: str | None, has_tf32: bool
) -> None:
    gpu = Gpu("NVIDIA GeForce", "nvidia", memory_bytes=12 * 10**9, compute_capability=capability)
    runner = Runner(paths, replace(machine, os_name="Linux 6.1", gpus=(gpu,), memory_bytes=64 * 10**9))
    specs = plan_preset("precision", runner).specs
    names = [axis_text("precision", spec, specs) for spec in specs]
    both = ["float32", sentence("studies.with_tf32", precision="float32")] if has_tf32 else ["float32"]
    assert names == [*both, "mixed_float16", "mixed_bfloat16"]
    on_cpu = plan_preset("precision", runner, choice={"device": "cpu"}).specs
    assert all("tf32" not in spec.settings for spec in on_cpu)
