"""Declarations: parameters and limits refuse what cannot be run, in a sentence, before anything starts."""

import errno
import os
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.core.messages import message
from app.core.messages import text as sentence_of
from tests.saying import Saying, said
from tests.systems import needs_links
from workloads import CATALOGUE, STANDARD
from workloads.demo import Demo
from workloads.protocol.errors import WorkloadError
from workloads.protocol.messages import quoted
from workloads.protocol.parameters import Choice, Folders, Fraction, OnOff, Parameter, Whole
from workloads.protocol.spec import ParameterValue, read_job

COUNT = Parameter("layers", Whole(1, 8), 2, message("help.layers"))
RATE = Parameter("rate", Fraction(0, unit="1/step"), 0.1, message("help.learning rate"))
FREE = Parameter("free", Fraction(), 0.0, message("help.anything"))
SWITCH = Parameter("fused", OnOff(), False, message("help.fused"))
KIND = Parameter("kind", Choice(("adam", "sgd")), "adam", message("help.optimizer"))
PLACES = Parameter("places", Folders(), "", message("help.folders"), required=True)
DEMO = CATALOGUE["demo"]


class Short(Demo):
    """Runs in epochs, but can't be sustained."""

    can_sustain = False


def test_a_workload_with_epochs_may_refuse_to_be_sustained() -> None:
    assert Short.has_epochs
    Short().check(DEMO.default_spec("standard"))
    with pytest.raises(WorkloadError, match=r"workload\.not_sustained"):
        Short().check(DEMO.default_spec("sustained"))


@pytest.mark.parametrize(
    ("parameter", "text", "value"),
    [
        (COUNT, "1", 1),
        (COUNT, " 8 ", 8),
        (RATE, "0.5", 0.5),
        (RATE, "1e-3", 0.001),
        (RATE, "2", 2.0),
        (SWITCH, "ON", True),
        (SWITCH, "false", False),
        (SWITCH, "0", False),
        (KIND, "sgd", "sgd"),
    ],
)
def test_what_a_user_types_becomes_a_value(parameter: Parameter, text: str, value: ParameterValue) -> None:
    found = parameter.parse(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("parameter", "typed", "kind", "shown"),
    [
        (COUNT, "0", "int", "0"),
        (COUNT, "9", "int", "9"),
        (COUNT, "2.5", "int", "2.5"),
        (COUNT, "", "int", ""),
        (COUNT, "9" * 5_000, "int", "9" * 60),
        (RATE, "-1", "float", "-1.0"),
        (RATE, "nan", "float", "nan"),
        (RATE, "inf", "float", "inf"),
        (RATE, "fast", "float", "fast"),
        (FREE, "-inf", "float", "-inf"),
        (SWITCH, "maybe", "bool", "maybe"),
        (KIND, "rmsprop", "choice", "rmsprop"),
    ],
    ids=range(12),
)
def test_invalid_values_are_refused_in_a_sentence(parameter: Parameter, typed: str, kind: str, shown: str) -> None:
    allowed: dict[str, dict[str, object]] = {
        "layers": {"limits": message("parameter.range", minimum=1, maximum=8), "unit": None},
        "rate": {
            "limits": message("parameter.minimum", minimum=0),
            "unit": message("parameter.in_unit", unit="1/step"),
        },
        "free": {"limits": None, "unit": None},
        "kind": {"choices": ["adam", "sgd"]},
    }
    with pytest.raises(WorkloadError) as caught:
        parameter.parse(typed)
    arguments = {"name": parameter.name, "value": f"'{shown}'", **allowed.get(parameter.name, {})}
    assert caught.value.message == message(f"parameter.not_{kind}", **arguments)
    assert caught.value.code == "bad_parameters"


def test_what_is_not_asked_for_keeps_its_default_and_limits_are_allowed() -> None:
    DEMO.check(DEMO.default_spec(batch_size=1_000))
    DEMO.check(DEMO.default_spec(steps=10))
    spec = DEMO.default_spec(epochs=None, batch_size=50, parameters={"step_s": 0.5})
    assert (spec.epochs, spec.batch_size) == (3, 50)
    assert spec.parameters == {"outcome": "ok", "step_s": 0.5}


def too_small(setting: str, value: str) -> Saying:
    return said("workload.number_too_small", setting=setting, minimum="1", value=value)


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        ({"epochs": 0}, too_small("Epochs", "0")),
        ({"steps": 0}, too_small("Steps", "0")),
        ({"batch_size": -1}, too_small("Batch size", "-1")),
        ({"threads": -1}, too_small("Threads", "-1")),
        ({"batch_size": 1_001}, said("workload.batch_too_large", samples="1,000", usual="100")),
        ({"steps": 11}, said("workload.too_many_steps", asked="11", batch_size="100", steps="10")),
        ({"steps": 2, "batch_size": 1_000}, said("workload.too_many_steps", steps="1")),
        ({"preset": "quick", "epochs": 2}, said("workload.quick_is_one_epoch")),
        ({"preset": "quick", "steps": 5}, said("workload.quick_is_one_epoch")),
        (
            {"parameters": {"colour": "red"}},
            said("workload.other_parameters", known="outcome, step_s", name="'colour'"),
        ),
        ({"parameters": {"outcome": "win"}}, said("parameter.not_choice", name="outcome")),
        ({"workload": STANDARD, "parameters": {"step_s": 1}}, said("workload.no_parameters")),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_what_cannot_be_run_is_refused_with_what_can(changes: dict[str, Any], refusal: Saying) -> None:
    workload = CATALOGUE[changes.get("workload", "demo")]
    asked = {name: value for name, value in changes.items() if name != "workload"}
    with pytest.raises(WorkloadError) as found:
        workload.check(workload.default_spec(**({"preset": "standard"} | asked)))
    assert found.value.code == "bad_parameters"
    assert refusal.is_in(sentence_of(found.value.message))


@pytest.mark.parametrize(
    "change",
    [
        {"epochs": 0},
        {"batch_size": 2**31},
        {"device": "gpu:x"},
        {"device": "cpu\n"},
        {"device": "gpu:٣"},
        {"precision": "float64"},
        {"engine": "../torch"},
        {"seed": -1},
        {"threads": 5_000},
        {"unknown": 1},
    ],
    ids=str,
)
def test_a_job_with_impossible_values_is_not_read(change: dict[str, object]) -> None:
    plain = {"spec": {"workload": "demo"} | change, "datasets_folder": "/x"}
    with pytest.raises(ValueError, match=r"spec"):
        read_job(msgspec.json.encode(plain))


@needs_links
def test_folders_that_cannot_be_used_are_refused_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusal(*folders: object) -> str:
        with pytest.raises(WorkloadError) as found:
            PLACES.parse(os.pathsep.join(map(str, folders)))
        assert found.value.code == "bad_parameters"
        return sentence_of(found.value.message)

    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path)
    assert said("folder.not_absolute", folder="'data'").is_all_of(refusal("data"))
    for missing in (tmp_path / "nowhere", tmp_path / "file", tmp_path / "nul\0"):
        assert said("folder.missing", folder=quoted(str(missing))).is_all_of(refusal(tmp_path, missing))
    too_long = refusal(tmp_path / ("x" * 300))
    assert said("folder.unreadable", reason=os.strerror(errno.ENAMETOOLONG)).is_in(too_long) or os.name == "nt", (
        "there, it is just missing"
    )
    same = said("folder.twice", first=str(tmp_path), second=str(tmp_path / "link"))
    assert same.is_all_of(refusal(tmp_path, tmp_path / "link"))
    assert said("folder.too_many", given="9", limit="8").is_in(
        refusal(*(tmp_path / str(number) for number in range(9)))
    )
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert said("folder.not_writable", folder=quoted(str(tmp_path))).is_all_of(refusal(tmp_path))


@pytest.mark.parametrize(
    ("workload", "engine", "changes", "attention"),
    [
        ("gpt_mini", "torch", {}, "plain"),
        ("gpt_mini", "torch", {"attention": "fused"}, "fused"),
        ("gpt_mini", "tensorflow", {"attention": "fused"}, "engine.no_fused_attention"),
        ("gpt_mini", "jax", {"attention": "fused", "precision": "mixed_float16"}, "fused"),
        ("gpt_mini", "jax", {"attention": "fused"}, "engine.fused_attention_needs_gpu"),
        ("gpt_mini", "jax", {"attention": "fused", "device": "cpu"}, "engine.fused_attention_needs_gpu"),
        ("nanogpt_char", "torch", {}, "fused"),
        ("nanogpt_char", "torch", {"device": "cpu"}, "plain"),
        ("nanogpt_char", "tensorflow", {}, "plain"),
        ("nanogpt_char", "jax", {"precision": "mixed_float16"}, "plain"),
        ("nanogpt_char", "jax", {"attention": "fused", "precision": "mixed_float16"}, "engine.no_fused_dropout"),
        ("lora_qwen3", "torch", {"attention": "plain"}, "plain"),
        ("lora_qwen3", "jax", {}, "fused"),
        ("lora_qwen3", "jax", {"device": "cpu"}, "plain"),
        ("mnist_mlp", "torch", {"attention": "plain"}, "workload.no_attention"),
    ],
)
def test_attention_is_as_published_where_the_engine_can(
    workload: str, engine: str, changes: dict[str, Any], attention: str
) -> None:
    spec = CATALOGUE[workload].default_spec(engine=engine, **changes)
    if "." in attention:
        with pytest.raises(WorkloadError, match=re.escape(attention)):
            CATALOGUE[workload].check(spec)
    else:
        CATALOGUE[workload].check(spec)
        assert CATALOGUE[workload].attention_of(spec) == attention
