"""Which engine a line is about, and whose remedies it gets."""

import re

import pytest

from app.core.known_lines.logs import diagnose_log
from app.core.known_lines.signals import Commands, signals
from app.core.known_lines.which_engine import TRACKERS, Mentions, named_in
from workloads.engines.registry import ENGINES

FAILED = "XlaError: the frobnicator exploded, an error"
# Rows whose lines only TensorFlow's own world prints, and those about GPUs that it doesn't use.
OF_TENSORFLOW = {
    *("python_without_build", "tensorflow_missing", "metal_plugin", "keras_3", "tensorflow_1_code", "mutex_macos"),
    *("windows_native", "built_without_cuda", "few_multiprocessors", "directml"),
    *("amd_gpu", "intel_gpu", "apple_gpu", "other_gpu"),
}
OF_OTHERS = {"jax_plugin", "jax_plugin_version", "jax_without_cuda", "torch_library", "torch_without_cuda"}


def _all(commands: Commands) -> list[str]:
    return [
        each
        for on in (commands.any, commands.linux, commands.windows, commands.wsl, commands.macos)
        for each in on
    ]


@pytest.mark.parametrize(
    ("line", "engine"),
    [
        ("2024-01-01 W tensorflow/core/common_runtime/gpu/gpu_device.cc:2256] Cannot dlopen", "tensorflow"),
        ("E external/local_xla/xla/stream_executor/cuda/cuda_driver.cc:152] failed call", "tensorflow"),
        ("W external/org_tensorflow/tensorflow/compiler/xla/stream_executor/gpu/asm_compiler.cc:231]", "jax"),
        ("2025-01-01 W external/xla/xla/service/gpu/nvptx_compiler.cc:703] The NVIDIA driver's", "jax"),
        ('File "lib/python3.11/site-packages/jaxlib/xla_client.py", line 1', "jax"),
        ('File "envs/pytorch/lib/python3.11/site-packages/tensorflow/__init__.py", line 1', "tensorflow"),
        ("Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.", "torch"),
        ("RuntimeError: [enforce fail at alloc_cpu.cpp:117] DefaultCPUAllocator: not enough memory", "torch"),
        ("set JAX_PLATFORMS=cpu to skip this backend", "jax"),
        ("NVRM: GPU 0000:02:00.0: RmInitAdapter failed!", None),
        ("epoch 1 of 5", None),
    ],
)
def test_a_line_names_an_engine(line: str, engine: str | None) -> None:
    assert named_in(line) == engine


def test_the_closest_line_counts_and_of_two_the_one_before() -> None:
    mentions = Mentions(["import torch", "", "CUDA", "import jax", "x", "y", "z"])
    assert [mentions.nearest(index) for index in range(7)] == ["torch", "torch", "jax", "jax", "jax", "jax", "jax"]
    assert Mentions(["import torch", "CUDA", "import jax"]).nearest(1) == "torch"
    assert Mentions(["CUDA"]).nearest(0) is None


@pytest.mark.parametrize("engine", ENGINES)
def test_an_unknown_line_is_searched_for_where_its_engine_has_its_issues(engine: str) -> None:
    said = diagnose_log(f"import {engine}\n{FAILED}").conclusion
    assert [each.code for each in said] == ["doctor.log_unknown", "doctor.log_ask"]
    assert said[1].arguments["address"] == TRACKERS[engine]
    assert [each.code for each in diagnose_log(FAILED).conclusion] == [
        "doctor.log_unknown",
        "doctor.log_ask_maker",
    ]


@pytest.mark.parametrize("engine", [None, "torch", "jax"])
def test_no_other_engine_gets_tensorflows_remedies(engine: str | None) -> None:
    for row in signals():
        if row.severity == "harmless" or row.id in OF_TENSORFLOW:
            continue
        shown = row.of(engine)
        said = "\n".join((shown.title, shown.fix, *_all(shown.commands)))
        assert not re.search(r"\bTensorFlow\b|\bTF_\w|--repair|install .*tensorflow", said), f"{row.id}: {said}"


@pytest.mark.parametrize("engine", [None, *ENGINES])
def test_no_placeholder_is_left(engine: str | None) -> None:
    for row in signals():
        shown = row.of(engine)
        for part in (shown.title, shown.meaning, shown.fix, *_all(shown.commands)):
            assert not re.search(r"\{\w+\}", part), f"{row.id}: {part}"
            assert part


@pytest.mark.parametrize("engine", ["tensorflow", "torch", "jax"])
def test_what_an_engine_installs_is_its_own(engine: str) -> None:
    others = {"tensorflow": r"\btorch\b|\bjax\b", "torch": r"tensorflow|\bjax\b", "jax": r"tensorflow|\btorch\b"}
    for row in signals():
        if row.id not in OF_TENSORFLOW | OF_OTHERS | {"triton_missing"}:
            for command in _all(row.of(engine).commands):
                assert not re.search(rf"install .*(?:{others[engine]})", command), f"{row.id}: {command}"


def test_remedies_for_cards_and_builds_that_do_not_go_together() -> None:
    def found(log: str) -> tuple[str, str, tuple[str, ...]]:
        first = diagnose_log(log).findings[0]
        return first.signal.id, str(first.engine), first.signal.commands.on("linux")

    new = "GeForce RTX 5070 with CUDA capability sm_120 is not compatible with the current PyTorch installation."
    row, engine, commands = found(new)
    assert (row, engine) == ("gpu_too_new", "torch")
    assert any("whl/cu128" in command for command in commands)
    old = new.replace("RTX 5070", "GTX 1080 Ti").replace("sm_120", "sm_61")
    row, engine, commands = found(old)
    assert (row, engine) == ("gpu_too_old", "torch")
    assert any("whl/cu126" in command for command in commands)
    row, engine, commands = found("CUDA_ERROR_OUT_OF_MEMORY\nFile site-packages/jax/_src/dispatch.py")
    assert (row, engine) == ("out_of_memory", "jax")
    assert "export XLA_PYTHON_CLIENT_PREALLOCATE=false" in commands
    assert found("CUDA_ERROR_OUT_OF_MEMORY") == ("out_of_memory", "None", ("nvidia-smi",))
