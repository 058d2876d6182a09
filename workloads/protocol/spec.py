"""RunSpec, what was asked of a run: the one record that command line, window, database and worker share."""

from typing import Annotated, Any, Literal

import msgspec

Preset = Literal["quick", "standard", "sustained"]
Precision = Literal["float32", "mixed_float16", "mixed_bfloat16"]
DataChoice = Literal["auto", "real", "synthetic"]

DEVICE_PATTERN = r"^(auto|cpu|gpu:[0-9]{1,3})\Z"
Positive = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
ParameterValue = bool | int | float | str


class RunSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was asked.

    Attributes:
        epochs: Whole passes over the training data; in the Quick preset always 1, which is estimated, and in
            Sustained too, which goes on for a time instead.
        steps: Training steps that each epoch is cut to, or None for whole epochs.
        duration_s: How long Sustained trains at least, or Quick at most, from the engine's start on; None for
            their usual time.
        measure_s: Seconds that Quick times steps for, without validation: a probe; None for its usual time.
        threads: Threads inside one operation, or None to leave the choice to the engine.
        jit: Whether XLA compiles the training step. The studies ran without it.
        engine: What trains, by its name in workloads.engines.registry.
        onednn: Whether TensorFlow uses oneDNN's kernels on the processor; None to leave that to it.
        parameters: Values for the workload's own declared parameters.
        settings: Values for run settings that have no field here (see workloads.settings) and are not as usual.
    """

    workload: str
    preset: Preset = "standard"
    epochs: Positive = 1
    steps: Positive | None = None
    duration_s: Annotated[float, msgspec.Meta(ge=1, le=86_400)] | None = None
    measure_s: Annotated[float, msgspec.Meta(gt=0, le=600)] | None = None
    batch_size: Positive = 1
    engine: Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9_]{0,29}\Z")] = "tensorflow"
    device: Annotated[str, msgspec.Meta(pattern=DEVICE_PATTERN)] = "auto"
    precision: Precision = "float32"
    jit: bool = False
    onednn: bool | None = None
    threads: Annotated[int, msgspec.Meta(ge=1, le=4096)] | None = None
    data: DataChoice = "auto"
    seed: Annotated[int, msgspec.Meta(ge=0, le=2**32 - 1)] = 0
    parameters: dict[str, ParameterValue] = {}
    settings: dict[str, ParameterValue] = {}


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """What the parent writes to the worker's stdin, as its first line.

    Attributes:
        datasets_folder: As the file system has it (os.fsencode): it need not be UTF-8.
    """

    spec: RunSpec
    datasets_folder: bytes


def read_job(line: bytes) -> Job:
    """Read a job from one line of JSON; raises msgspec.DecodeError (a ValueError) when it is not one."""
    return msgspec.json.decode(line, type=Job)


def write_job(job: Job) -> bytes:
    """Return the job as one line of JSON, newline included."""
    return msgspec.json.encode(job) + b"\n"


def spec_as_dict(spec: RunSpec) -> dict[str, Any]:
    """Return the spec as plain JSON types."""
    plain: dict[str, Any] = msgspec.to_builtins(spec)
    return plain
