"""The event protocol between a worker and its parent, with one JSON object per line.

Every event has a `type`, a `seq` that counts from 0, and `t_s`, the monotonic time in seconds since the worker
started. Unavailable values are null, never 0. Unknown types and fields are ignored, so an older reader can process
events from a newer worker. If `hello` contains a different protocol number, the reader rejects the stream. The
parent adds `run`, `sample`, `estimate`, `verdict` and `result` to the same stream.
"""

from typing import Annotated, Literal, TypeAlias

import msgspec

from workloads.protocol import typed
from workloads.protocol.machine import Machine
from workloads.protocol.messages import Message
from workloads.protocol.spec import RunSpec
from workloads.protocol.telemetry import Telemetry

PROTOCOL = 1
LINE_LIMIT_BYTES = 1 << 16
# A process that sends nothing for HUNG_S is suspended or stuck, even if its training may be slow.
BEAT_S, HUNG_S = 2.0, 15.0
# While an engine is being imported, Python may not run any other thread, for a long time if the disk is slow.
LOADS_S = 90.0

Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
# Thirty thousand years. The limit keeps sums of durations finite.
Duration = Annotated[float, msgspec.Meta(ge=0, le=1e12)]
Speed = Annotated[float, msgspec.Meta(gt=0, le=1e20)]
Text = Annotated[str, msgspec.Meta(max_length=20_000)]

PhaseName = Literal["import", "data", "build", "warmup", "measure", "evaluate", "finish"]
EndStatus = Literal["completed", "cancelled", "failed"]
# The parent reports "crashed" and "hung", because the worker can't.
ErrorCode = Literal[
    "out_of_memory",
    "engine_missing",
    "device_unavailable",
    "data_missing",
    "bad_parameters",
    "non_finite_loss",
    "internal",
    "crashed",
    "hung",
]


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """Fields common to all events. `seq` and `t_s` are set when the event is sent."""

    seq: Count = 0
    t_s: Duration = 0.0

    @property
    def type(self) -> str:
        return str(self.__struct_config__.tag)


class Hello(Event, frozen=True, kw_only=True, tag="hello"):
    """The worker has started."""

    protocol: int
    pid: Count
    python: Text
    wall_time_ns: Count


class Environment(Event, frozen=True, kw_only=True, tag="environment"):
    """The environment as resolved by the engine: versions, device and settings."""

    engine: Text
    engine_version: Text | None = None
    keras_version: Text | None = None
    device: Text  # "cpu", "gpu:0"
    device_name: Text | None = None  # None for the CPU, whose name is part of the machine record
    precision: Text
    jit: bool
    tf32: bool | None = None
    onednn: bool | None = None
    intra_op_threads: Count | None = None  # 0 if the engine chooses
    visible_cpus: Count | None = None
    cpu_quota: Duration | None = None  # CPU time limit of the container, in CPUs; None if there is no known limit
    variables: tuple[Text, ...] | None = None  # variables that affect the engine; None in old records
    # Speeds of a run's several devices, measured before it; None for a single device, or if unknown.
    device_flop_per_s: tuple[Speed, ...] | None = None


class Dataset(Event, frozen=True, kw_only=True, tag="dataset"):
    """The data that the run uses for training."""

    name: Text
    source: Literal["real", "synthetic"]
    checksum: Text | None = None  # SHA-256 of the source bytes of the arrays
    samples: Count
    validation_samples: Count = 0
    shape: tuple[Count, ...] = ()


class Model(Event, frozen=True, kw_only=True, tag="model"):
    """The network."""

    parameters_count: Count
    flops_per_example: Count | None = None  # operations per example and training step, including the backward pass


class Phase(Event, frozen=True, kw_only=True, tag="phase"):
    """The start of a phase. `total_steps` is None if unknown."""

    name: PhaseName
    epochs: Count | None = None
    total_steps: Count | None = None  # training steps in the whole phase
    budget_s: Duration | None = None  # time limit of the phase


class Steps(Event, frozen=True, kw_only=True, tag="steps", gc=False):  # no cycles, and a long run has 100,000
    """A block of consecutive training steps. At most ten blocks are sent per second.

    A step lasts from the end of the previous step (or the start of the epoch) to its own end.
    """

    # In a Quick run, "start" is for the first steps of short epochs, and "validate" for validation batches.
    phase: Literal["warmup", "measure", "start", "validate"]
    epoch: Count
    first_index: Count  # within the epoch
    durations_s: tuple[Duration, ...]
    loss: float | None = None  # running mean over the epoch, as printed by Keras


class Epoch(Event, frozen=True, kw_only=True, tag="epoch"):
    """One epoch, from Keras's on_epoch_begin to on_epoch_end."""

    index: Count
    duration_s: Duration
    train_s: Duration
    validation_s: Duration | None = None
    steps: Count | None = None
    loss: float | None = None
    accuracy: float | None = None
    val_loss: float | None = None
    val_accuracy: float | None = None


class Metric(Event, frozen=True, kw_only=True, tag="metric"):
    """A single number, whose key includes the unit (see app.core.metrics)."""

    key: Annotated[str, msgspec.Meta(max_length=100, pattern=r"^[a-z][a-z0-9_]*\Z")]
    value: float | None


class Warn(Event, frozen=True, kw_only=True, tag="warning"):
    """A warning for the user, which doesn't stop the run.

    Workers send `said`. The code that displays or stores the event fills in `message`, the English text.
    """

    code: Text
    message: Text = ""
    said: Message | None = None


class Alive(Event, frozen=True, kw_only=True, tag="alive"):
    """Shows that a process of a run isn't suspended. A thread sends this event every BEAT_S seconds."""


class Log(Event, frozen=True, kw_only=True, tag="log"):
    """A line for the log."""

    message: Text


class Error(Event, frozen=True, kw_only=True, tag="error"):
    """The error that ended the run. `said` and `message` are used as in Warn."""

    code: ErrorCode
    message: Text = ""
    said: Message | None = None
    traceback: Text | None = None


class End(Event, frozen=True, kw_only=True, tag="end"):
    """The last event."""

    status: EndStatus


class Run(Event, frozen=True, kw_only=True, tag="run"):
    """Sent first, by the parent: the spec and the computer."""

    run_id: Count
    spec: RunSpec
    machine: Machine


class TelemetryEvent(Event, frozen=True, kw_only=True, tag="sample"):
    """Telemetry, sent by the parent."""

    telemetry: Telemetry


class Estimate(Event, frozen=True, kw_only=True, tag="estimate"):
    """The current estimate of a Quick run's headline, in the headline's unit. Sent by the parent.

    `low` and `high` are the bounds of the 95 % confidence interval; None if there are too few blocks.
    """

    value: Duration
    low: Duration | None = None
    high: Duration | None = None
    warmup_steps: Count = 0  # steps excluded as warm-up
    steps: Count = 0  # steps used for the estimate
    interruptions: Count = 0
    is_enough: bool = False  # whether the interval is narrow enough to stop measuring


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """A reason for a verdict (see app.core.verdict.rules)."""

    code: Text
    level: Literal["fact", "caution", "invalid"]
    text: Text  # one sentence, in English
    advice: Text = ""  # how to fix it
    said: Message | None = None  # `text` as a message
    advised: Message | None = None


class Judged(Event, frozen=True, kw_only=True, tag="verdict"):
    """The current verdict, sent by the parent whenever it changes."""

    level: Literal["valid", "caution", "invalid"]
    reasons: tuple[Reason, ...] = ()
    interrupted_t_s: tuple[Duration, ...] = ()  # times of interruptions
    measured_s: Duration | None = None  # duration that the verdict covers; None while running or if unknown


class Result(Event, frozen=True, kw_only=True, tag="result"):
    """The headline computed from the raw durations, sent by the parent just before the end."""

    metric: Text | None = None  # metric of `value`, see workloads.workload.HeadlineKey
    value: float | None = None
    seconds_per_epoch_s: Duration | None = None
    basis: Text | None = None  # "later_epochs", "first_epoch", "estimate" or "repetitions"
    spread_pct: Duration | None = None
    comparison: Text | None = None


AnyEvent: TypeAlias = (
    Hello
    | Environment
    | Dataset
    | Model
    | Phase
    | Steps
    | Epoch
    | Metric
    | Warn
    | Alive
    | Log
    | Error
    | End
    | Run
    | TelemetryEvent
    | Estimate
    | Judged
    | Result
)

_TYPES = {str(kind.__struct_config__.tag): kind for kind in AnyEvent.__args__}
_decoder = typed.decoder(AnyEvent)
_encoder = msgspec.json.Encoder()


class DamagedEventError(ValueError):
    """A line isn't a valid event. The line isn't JSON, is too long, or has an invalid value."""


def encode(event: Event) -> bytes:
    """Return the event as one line of JSON, including the newline.

    Non-finite numbers become null. Invalid Unicode, such as file names that aren't UTF-8, becomes "?".
    """
    try:
        return _encoder.encode(event) + b"\n"
    except UnicodeEncodeError:
        values = msgspec.structs.asdict(event).items()
        texts = {name: value for name, value in values if isinstance(value, str)}
        clean = {name: text.encode("utf-8", "replace").decode("utf-8") for name, text in texts.items()}
        return _encoder.encode(msgspec.structs.replace(event, **clean)) + b"\n"


def decode(line: bytes) -> AnyEvent | None:
    """Parse one line of the stream.

    Returns:
        The event, or None for an unknown type.

    Raises:
        DamagedEventError: The line isn't a valid event. The error message describes the problem.
    """
    if len(line) > LINE_LIMIT_BYTES:
        raise DamagedEventError(f"a line of {len(line)} bytes, more than {LINE_LIMIT_BYTES}")
    try:
        event: AnyEvent = _decoder.decode(line)
    except RecursionError as error:
        raise DamagedEventError("nested too deeply") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        if _is_unknown_type(line):
            return None
        raise DamagedEventError(str(error)) from error
    return event


class _Tag(msgspec.Struct):
    type: str


def _is_unknown_type(line: bytes) -> bool:
    try:
        return typed.decode(line, _Tag).type not in _TYPES
    except msgspec.DecodeError:
        return False
