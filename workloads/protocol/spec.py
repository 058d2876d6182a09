"""RunSpec, the request for a run, used by the CLI, the GUI, the database and the workers."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Any, Literal

import msgspec

from workloads.protocol import typed

Preset = Literal["quick", "standard", "sustained"]
Precision = Literal["float32", "mixed_float16", "mixed_bfloat16"]
DataChoice = Literal["auto", "real", "synthetic"]

DEVICE_PATTERN = r"^(auto|cpu|gpu:[0-9]{1,3})\Z"
_GPU_LIST = re.compile(r"[0-9]{1,3}(,[0-9]{1,3}){1,63}")
Positive = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
ParameterValue = bool | int | float | str


class RunSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request for a run."""

    workload: str
    preset: Preset = "standard"
    # Passes over the training data: 1 for Quick, which estimates one epoch, and for Sustained, limited by time.
    epochs: Positive = 1
    steps: Positive | None = None  # number of training steps in a shortened epoch; None for full epochs
    # Minimum training time of Sustained, or maximum time of Quick after the start; None for the preset's default.
    duration_s: Annotated[float, msgspec.Meta(ge=1, le=86_400)] | None = None
    # Duration of a probe in seconds. A probe times steps without validation. None for a normal run.
    measure_s: Annotated[float, msgspec.Meta(gt=0, le=600)] | None = None
    batch_size: Positive = 1
    # Name of the engine, as in workloads.engines.registry.
    engine: Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9_]{0,29}\Z")] = "tensorflow"
    device: Annotated[str, msgspec.Meta(pattern=DEVICE_PATTERN)] = "auto"
    precision: Precision = "float32"
    jit: bool = False  # Whether XLA compiles the training step. The studies ran without it.
    onednn: bool | None = None  # whether TensorFlow uses oneDNN kernels on the CPU; None lets TensorFlow choose
    # Threads within one operation; None lets the engine choose.
    threads: Annotated[int, msgspec.Meta(ge=1, le=4096)] | None = None
    data: DataChoice = "auto"
    seed: Annotated[int, msgspec.Meta(ge=0, le=2**32 - 1)] = 0
    parameters: dict[str, ParameterValue] = {}  # values of the parameters that the workload declares
    # Run settings that have no field here (see workloads.settings) and differ from their defaults.
    settings: dict[str, ParameterValue] = {}

    @property
    def device_count(self) -> int:
        """Total number of devices to train on. On each computer, `device` is the first one."""
        return self._count("devices")

    @property
    def machine_count(self) -> int:
        return self._count("machines")

    @property
    def devices_here(self) -> int:
        return max(1, self.device_count // max(1, self.machine_count))

    def gpus_from(self, first: int) -> Sequence[int]:
        """Return the numbers of the GPUs to train on, per computer, if the first one has this number."""
        return used_gpus(first, self.devices_here, self.settings.get("gpus"))

    def _count(self, name: str) -> int:
        count = self.settings.get(name)
        return count if isinstance(count, int) else 1  # a stored spec may contain anything


def listed_gpus(value: object) -> tuple[int, ...]:
    """Return the GPU numbers in a setting such as "0,2"; () unless it is an ascending list with a gap."""
    if not isinstance(value, str) or _GPU_LIST.fullmatch(value) is None:
        return ()
    numbers = tuple(map(int, value.split(",")))
    is_ascending = all(one < following for one, following in pairwise(numbers))
    return numbers if is_ascending and numbers[-1] - numbers[0] >= len(numbers) else ()


def used_gpus(first: int, count: int, listed: object = None) -> Sequence[int]:
    """Return the numbers of GPUs that train together: the listed ones, or consecutive ones if it doesn't fit."""
    numbers = listed_gpus(listed)
    is_matching = len(numbers) == count and numbers[0] == first
    return numbers if is_matching else range(first, first + count)


class Endpoint(msgspec.Struct, frozen=True):
    """An address, with a port from 1 to 65535."""

    address: Annotated[str, msgspec.Meta(pattern=r"^[0-9A-Za-z.:%_-]{1,255}\Z")]
    port: Annotated[int, msgspec.Meta(ge=1, le=65_535)]

    def __str__(self) -> str:
        return f"[{self.address}]:{self.port}" if ":" in self.address else f"{self.address}:{self.port}"


class ComputerPlace(msgspec.Struct, frozen=True, kw_only=True):
    """A computer's place in a run on several computers."""

    rank: Annotated[int, msgspec.Meta(ge=0, le=63)]  # the computer's number, counting from 0
    count: Annotated[int, msgspec.Meta(ge=2, le=64)]  # number of computers
    host: Endpoint  # address and port at which rank 0's engine waits for the others
    address: str  # this computer's address on the way to rank 0
    interface: str | None = None  # network interface that has this address; None if unknown
    # Address and port of TensorFlow on each computer, by rank; empty for other engines.
    workers: tuple[Endpoint, ...] = ()


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """The first line that the parent writes to the worker's stdin."""

    spec: RunSpec
    datasets_folder: bytes  # path in the file system encoding (os.fsencode), which may not be UTF-8
    place: ComputerPlace | None = None  # place among the computers of the run; None for a run on a single computer
    private: dict[str, str] = {}  # regular expressions for what other computers mustn't see, with replacements


def read_job(line: bytes) -> Job:
    """Parse a job from one line of JSON. Raises msgspec.DecodeError (a ValueError) if it is invalid."""
    return typed.decode(line, Job)


def write_job(job: Job) -> bytes:
    return msgspec.json.encode(job) + b"\n"


def spec_as_dict(spec: RunSpec) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(spec)
    return plain
