"""The record of a result file, format 3: everything about a result that is shared with other people.

It is separate from the app's own records because those may change, whereas the meaning of this record never does.
New fields must default to None, which isn't written, so that digests of older files remain valid. New fields also
require a new format version, because readers reject unknown fields.
"""

from typing import Annotated, Final, Literal

import msgspec

from app.core.uids import Uid

FORMAT: Final = "epochmark-result"
FORMAT_VERSION: Final = 3
# Maximum for one file. Even the picture of a long study contains far fewer.
RESULTS_LIMIT = 10_000
# Maximums for one result. Larger amounts are omitted; `epochs_done` and `steps.count` contain the actual numbers.
EPOCHS_LIMIT, STEPS_LIMIT = 1_000, 20_000

Token = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:+-]*$", max_length=80)]
Line = Annotated[str, msgspec.Meta(min_length=1, max_length=300)]
Comment = Annotated[str, msgspec.Meta(min_length=1, max_length=2_000)]
Moment = Annotated[str, msgspec.Meta(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$")]
Hash = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}$")]
# Integers that every JSON reader can represent exactly.
Count = Annotated[int, msgspec.Meta(ge=0, le=2**53 - 1)]
Number = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
Cores = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
Positive = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
Epochs = Annotated[int, msgspec.Meta(ge=1, le=10_000_000)]
# The longest duration is a year; amounts are limited to the largest plausible headline.
Seconds = Annotated[float, msgspec.Meta(ge=0, le=31_536_000)]
Amount = Annotated[float, msgspec.Meta(gt=0, le=1e24)]
Percent = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
Finite = Annotated[float, msgspec.Meta(ge=-1e300, le=1e300)]
Value = bool | Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)] | Finite | Line
Level = Literal["valid", "caution", "invalid"]
Status = Literal["completed", "cancelled", "failed", "interrupted"]
Basis = Literal["later_epochs", "first_epoch", "estimate", "repetitions"]


class ResultSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Base class of all sections. None means unknown and isn't written."""


class Spec(ResultSection, frozen=True, kw_only=True):
    """The requested settings.

    Attributes:
        variant: Difference from the default network; None if there is none.
        steps: Number of steps per shortened epoch; None for whole epochs.
        parameters: Parameters of the workload. Folders are replaced by numbers.
        settings: Non-default settings without their own field, as "name=value …".
    """

    workload: Token
    workload_version: Number
    variant: Line | None = None
    preset: Token
    epochs: Epochs
    steps: Positive | None = None
    steps_per_epoch: Positive
    samples_per_epoch: Count
    batch_size: Positive
    precision: Token
    jit: bool
    threads: Positive | None = None
    seed: Count
    parameters: dict[Token, Value] | None = None
    settings: Line | None = None


class Environment(ResultSection, frozen=True, kw_only=True):
    """The software that was used."""

    engine: Token
    engine_version: Line | None = None
    keras_version: Line | None = None
    device: Token | None = None
    tf32: bool | None = None
    onednn: bool | None = None
    intra_op_threads: Count | None = None
    visible_cpus: Count | None = None


class Gpu(ResultSection, frozen=True, kw_only=True):
    """A graphics card.

    Attributes:
        power_limit_w: Power limit of the card at the start of the run.
        power_min_w, power_max_w: Lowest and highest limits that the card's driver accepts.
    """

    name: Line
    vendor: Token | None = None
    memory_bytes: Count | None = None
    driver: Line | None = None
    power_limit_w: Amount | None = None
    power_default_w: Amount | None = None
    power_min_w: Amount | None = None
    power_max_w: Amount | None = None


class Machine(ResultSection, frozen=True, kw_only=True):
    """The computer, without anything that identifies it or its owner.

    Attributes:
        device_name: Name of the graphics card that was used; None for the CPU.
    """

    cpu_name: Line | None = None
    physical_cores: Cores | None = None
    logical_cores: Cores | None = None
    memory_bytes: Count | None = None
    os_name: Line | None = None
    architecture: Token | None = None
    virtual_machine: bool | None = None
    device_name: Line | None = None
    gpus: tuple[Gpu, ...] | None = None


class Dataset(ResultSection, frozen=True, kw_only=True):
    """The data set that was used for training."""

    name: Token | None = None
    source: Literal["real", "synthetic"]
    checksum: Line | None = None


class Epoch(ResultSection, frozen=True, kw_only=True):
    """One epoch; epochs are listed in order."""

    duration_s: Seconds
    train_s: Seconds
    validation_s: Seconds | None = None
    loss: Finite | None = None
    accuracy: Finite | None = None
    val_loss: Finite | None = None
    val_accuracy: Finite | None = None


class StepBlock(ResultSection, frozen=True, kw_only=True):
    """Consecutive steps of one epoch and phase."""

    phase: Literal["warmup", "measure", "start", "validate"]
    epoch: Count
    first_index: Count
    count: Positive


class Steps(ResultSection, frozen=True, kw_only=True):
    """The timed steps.

    Attributes:
        count: Total number of steps.
        sha256: SHA-256 of the durations, as little-endian doubles in order. The digest covers this hash instead of
            the durations.
        durations_s: Duration of each step in seconds; None if omitted.
    """

    count: Count
    sha256: Hash
    blocks: tuple[StepBlock, ...] | None = None
    durations_s: tuple[Seconds, ...] | None = None


class Statistics(ResultSection, frozen=True, kw_only=True):
    """The headline with its uncertainty.

    Attributes:
        metric: Metric of `value`, whose name includes the unit.
        low, high: Ends of the confidence interval.
        mean: Arithmetic mean including interruptions.
        minimum_s, maximum_s: Range of the duration of an epoch, or of a step if the headline is based on steps.
        cpu_power_w, gpu_power_w: Mean power draw during the timed steps.
        power_limit_w: Limit of the device used, in force during the timed steps.
        power_default_w: The GPU's default limit or the CPU's rated power.
        on_battery: Whether the computer ran on battery power during any part of the timed steps.
        work_per_j: Examples, images, words or tokens (see `metric`) per joule of the device used.
        facts: Further facts, by their name, which includes the unit.
    """

    metric: Token
    value: Amount
    low: Finite | None = None
    high: Finite | None = None
    confidence_pct: Percent | None = None
    spread_pct: Percent | None = None
    mean: Finite | None = None
    basis: Basis | None = None
    seconds_per_epoch_s: Amount | None = None
    first_epoch_s: Seconds | None = None
    minimum_s: Seconds | None = None
    maximum_s: Seconds | None = None
    step_median_s: Amount | None = None
    epochs_done: Count
    warmup_steps: Count | None = None
    interruptions: Count | None = None
    interruptions_s: Finite | None = None
    sustained_pct: Finite | None = None
    peak_memory_bytes: Count | None = None
    cpu_energy_j: Finite | None = None
    cpu_energy_per_epoch_j: Finite | None = None
    gpu_energy_j: Finite | None = None
    gpu_energy_per_epoch_j: Finite | None = None
    gpu_energy_basis: Token | None = None
    cpu_power_w: Finite | None = None
    gpu_power_w: Finite | None = None
    power_limit_w: Amount | None = None
    power_default_w: Amount | None = None
    on_battery: bool | None = None
    work_per_j: Amount | None = None
    facts: dict[Token, Finite] | None = None


class Verdict(ResultSection, frozen=True, kw_only=True):
    """The verdict on the result, determined by the program that measured it.

    Reasons are codes, worst first.
    """

    level: Level
    reasons: tuple[Token, ...] = ()


class Range(ResultSection, frozen=True, kw_only=True):
    """The minimum, median and maximum of a value during a run."""

    low: Finite
    median: Finite
    high: Finite


class Result(ResultSection, frozen=True, kw_only=True):
    """A run.

    Attributes:
        uid: Name of the run, the same in all its files, pictures and QR codes; None before format 3.
        plan_uid: Name of the plan that the run belongs to; None if it is alone.
        telemetry: Ranges of values by name, which includes the unit, such as "cpu_pct" or "gpu_power_w".
        comment: The user's name for the run, which the digest doesn't cover.
        digest: SHA-256 of the canonical form; None until it is computed.
    """

    uid: Uid | None = None
    plan_uid: Uid | None = None
    app_version: Line
    status: Status
    started_at: Moment | None = None
    finished_at: Moment | None = None
    spec: Spec
    environment: Environment
    machine: Machine
    dataset: Dataset | None = None
    epochs: tuple[Epoch, ...] | None = None
    steps: Steps | None = None
    statistics: Statistics
    verdict: Verdict | None = None
    telemetry: dict[Token, Range] | None = None
    comment: Comment | None = None
    digest: Hash | None = None


class ResultFile(ResultSection, frozen=True, kw_only=True):
    """A file with one or more results."""

    format: Literal["epochmark-result"]
    format_version: Literal[1, 2, 3]
    results: Annotated[tuple[Result, ...], msgspec.Meta(min_length=1, max_length=RESULTS_LIMIT)]
