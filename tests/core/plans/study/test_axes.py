"""Axes as they are typed: what they mean, and what is refused."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.errors import UsageError
from app.core.plans.study.axes import AXES_LIMIT, POINTS_LIMIT, axis_text, points, read_axis, with_values
from tests.saying import said
from workloads import CATALOGUE

WORKLOAD = CATALOGUE["cifar10_keras_cnn"]
SPEC = WORKLOAD.default_spec("quick")


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
    assert read_axis(typed, WORKLOAD) == (name, values, ())


def test_a_parameter_of_the_workload_is_an_axis() -> None:
    assert read_axis("step_s=0.1,0.2", CATALOGUE["demo"])[:2] == ("step_s", (0.1, 0.2))


def test_a_value_that_is_there_twice_runs_once_and_says_so() -> None:
    name, values, remarks = read_axis("batch=16,32,16,032", WORKLOAD)
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
        ("batch=16,x", "studies.not_whole"),
        ("batch=-4", "studies.not_whole"),
        ("batch=1e3", "studies.not_whole"),
        ("batch=٣", "studies.not_whole"),
        ("batch=0", "setting.not_in_range"),
        ("batch=99999999999999999999", "setting.not_in_range"),
        ("xla=maybe", "setting.not_choice"),
        ("workload=cifar", "workload.unknown"),
        ("step_s=1", "studies.unknown_axis"),
    ],
)
def test_what_makes_no_sense_gets_one_sentence(typed: str, code: str) -> None:
    with pytest.raises(UsageError, match=said(code).pattern) as refused:
        read_axis(typed, WORKLOAD)
    assert "\n" not in str(refused.value)


@given(st.text(max_size=60))
def test_any_text_is_an_axis_or_refused(typed: str) -> None:
    with contextlib.suppress(UsageError):
        name, values, _ = read_axis(typed, WORKLOAD)
        assert name
        assert len(set(values)) == len(values) > 0


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


def test_an_engine_that_compiles_always_does_so_on_an_axis_too() -> None:
    specs = points(SPEC, {"engine": ("tensorflow", "torch", "jax")})
    assert [(spec.engine, spec.jit) for spec in specs] == [("tensorflow", False), ("torch", False), ("jax", True)]
    for spec in specs:
        WORKLOAD.check(spec)
    assert not with_values(specs[2], {"engine": "tensorflow"}).jit


def test_a_configuration_is_named_by_what_differs() -> None:
    specs = [
        WORKLOAD.default_spec(engine="tensorflow"),
        WORKLOAD.default_spec(engine="tensorflow", onednn=False),
        WORKLOAD.default_spec(engine="torch", jit=True),
    ]
    names = [axis_text("configuration", spec, specs) for spec in specs]
    assert names == ["TensorFlow", "TensorFlow without oneDNN", "PyTorch compiled"]
    assert axis_text("configuration", specs[0], specs[:1]) == "TensorFlow"
    assert axis_text("batch_size", specs[0], specs) == "100"
