"""The plain records that cross boundaries between hardware, monitor, runner, database and views."""

import itertools
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import msgspec

from workloads.protocol.events import Count, Dataset, Environment, Epoch, Model, Sample, Steps, Text, Warn
from workloads.protocol.machine import Machine
from workloads.protocol.messages import Message
from workloads.protocol.spec import RunSpec

# The status of a run whose row cannot be read as a whole; it is never stored.
DAMAGED = "damaged"
# What a stored record may hold: checked where it is read, because nothing else says what is in a file.
Positive = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]
Finite = Annotated[float, msgspec.Meta(ge=-1e300, le=1e300)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e12)]
Amount = Annotated[float, msgspec.Meta(gt=0, le=1e300)]


@dataclass(frozen=True, slots=True)
class PowerState:
    """What a computer runs on at a moment. None means that the system does not tell, or has no such thing."""

    on_battery: bool | None = None  # None where there is no battery
    battery_pct: float | None = None
    plan: str | None = None  # see Telemetry.power_plan


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """One stored run in one row: what lists show and what CSV files hold, column by column.

    None means not known, not reached or not asked for. Times are in seconds, `started_at` and `finished_at`
    ISO 8601 in UTC. `minimum_s` and `maximum_s` are of an epoch, or of a step where steps make the headline. The
    epochs' values stand in one cell each, separated by spaces, in their order.
    """

    id: Count
    started_at: Text
    finished_at: Text | None
    status: Text  # running, completed, cancelled, failed, interrupted; or DAMAGED
    workload: Text
    workload_version: Count
    variant: Text  # parameters that make the network another one than usual, "" for none
    preset: Text
    metric: Text  # what `value` is: a workloads.workload.HeadlineKey
    value: Amount | None  # the headline
    seconds_per_epoch_s: Amount | None
    basis: Text | None  # later_epochs, first_epoch, estimate, repetitions
    first_epoch_s: Seconds | None
    minimum_s: Seconds | None
    maximum_s: Seconds | None
    spread_pct: Finite | None
    step_median_s: Amount | None
    epochs: Positive
    epochs_done: Count
    steps: Positive | None
    steps_per_epoch: Positive
    samples_per_epoch: Count
    batch_size: Positive
    precision: Text
    jit: bool
    threads: Positive | None
    seed: Count
    data_source: Text | None
    engine: Text
    engine_version: Text | None
    device: Text | None
    device_name: Text | None
    cpu_name: Text | None
    physical_cores: Count | None
    logical_cores: Count | None
    memory_bytes: Count | None
    os_name: Text | None
    virtual_machine: bool | None
    app_version: Text
    error_code: Text | None
    error_message: Text | None
    comment: Text | None  # the user's own name or remark for the run
    verdict: Text | None = None  # valid, caution, invalid; None while it runs and for runs of versions without it
    reasons: Text | None = None  # codes of app.core.verdict.rules behind it, worst first, separated by spaces
    value_low: Finite | None = None  # confidence interval of `value`, in its unit
    value_high: Finite | None = None
    confidence_pct: Finite | None = None  # that the interval has; below 95 where there are too few epochs for more
    value_mean: Finite | None = None  # what plain averaging says, interruptions and all
    warmup_steps: Count | None = None  # that an estimate left out
    interruptions: Count | None = None  # steps that took far longer than their neighbours
    interruptions_s: Finite | None = None  # how much longer, together
    sustained_pct: Finite | None = None  # of a Sustained run: speed of its last third, in percent of the first
    group_id: Count | None = None  # of runs that were made as one: repetitions, or both sides of an A/B
    side: Text | None = None  # "A" or "B"
    cpu_energy_j: Finite | None = None  # of the processors, from the first look at them to the last
    cpu_energy_per_epoch_j: Finite | None = None  # of a typical epoch
    gpu_energy_j: Finite | None = None  # of the GPU that the run used
    gpu_energy_per_epoch_j: Finite | None = None
    gpu_energy_basis: Text | None = None  # counter: the card's own; power: its power each second, integrated
    settings: Text = ""  # run settings that have no column and are not as usual: "name=value …"


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochColumns:
    """The epochs of a run as CSV cells, beside the columns of RunSummary."""

    epoch_durations_s: str | None
    epoch_train_s: str | None
    epoch_validation_s: str | None
    epoch_loss: str | None
    epoch_accuracy: str | None
    epoch_val_loss: str | None
    epoch_val_accuracy: str | None


@dataclass(frozen=True, slots=True)
class PeakShare:
    """What a run reached.

    Attributes:
        reached_flop_per_s: Matrix products and convolutions of the network, over the typical step.
        peak_flop_per_s: The fastest matrix product of the same machine, device and precision; None if that was not
            measured there.
    """

    reached_flop_per_s: float
    peak_flop_per_s: float | None

    @property
    def share_pct(self) -> float | None:
        """The share in percent; None without a measured peak."""
        return 100 * self.reached_flop_per_s / self.peak_flop_per_s if self.peak_flop_per_s else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A stored run with everything that was kept of it."""

    summary: RunSummary
    spec: RunSpec  # as far as it can be read
    machine: Machine  # likewise
    environment: Environment | None
    dataset: Dataset | None
    model: Model | None
    error_said: Message | None = None  # why it failed; None if it did not, and for runs of earlier versions
    epochs: tuple[Epoch, ...]
    steps: tuple[Steps, ...]
    metrics: dict[str, float | None]
    warnings: tuple[Warn, ...]
    samples: tuple[Sample, ...]
    peak: PeakShare | None = None  # what it reached of what its machine can do
    damage: tuple[str, ...] = ()  # what of its record cannot be read, in clauses
    # Then everything that is stored of it as it is stored, by table; without what may name folders.
    raw: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    # JSON as it is stored, keys sorted: what a checksum of the record is taken of, whatever version wrote it.
    stored_spec: str = "{}"
    stored_environment: str = "null"


Side = Literal["A", "B"]


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One run of a plan.

    Attributes:
        number: From 1.
        count: How many runs the plan has.
        side: None where there are no sides.
        label: What the side is called.
    """

    number: int
    count: int
    side: Side | None
    label: str
    spec: RunSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Several runs as one, as they were asked.

    Attributes:
        kind: "repeat" or "ab"; another version of Epochmark may know more.
        specs: What is run: one to repeat, or A and B.
        times: How often each of them runs; of an A/B, the number of pairs.
        label_a, label_b: What the sides are called.
        by_hand: Whether something that Epochmark cannot set is changed between the sides.
    """

    kind: str
    specs: tuple[RunSpec, ...] = ()
    times: Positive = 1
    label_a: str = "A"
    label_b: str = "B"
    by_hand: bool = False

    @property
    def count(self) -> int:
        """How many runs it has."""
        return self.times * (2 if self.kind == "ab" else 1)

    def runs(self) -> list[PlannedRun]:
        """Return the runs in their order.

        An A/B goes A B B A A B B A …: each pair is two neighbours, and what gets slower or faster over time hits
        both sides alike.
        """
        sides: list[tuple[Side | None, RunSpec]] = [(None, self.specs[0])] * self.times
        if self.kind == "ab":
            a: tuple[Side | None, RunSpec] = ("A", self.specs[0])
            b: tuple[Side | None, RunSpec] = ("B", self.specs[1])
            sides = list(itertools.islice(itertools.cycle((a, b, b, a)), self.count))
        labels = {"A": self.label_a, "B": self.label_b}
        return [
            PlannedRun(number, self.count, side, labels[side] if side else "", spec)
            for number, (side, spec) in enumerate(sides, 1)
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A stored group.

    Attributes:
        kind: "repeat" or "ab"; another version of Epochmark may know more.
        plan: As it was asked, as far as it can be read.
        run_ids: Every run that was begun, in this order, also those that were deleted since.
        runs: Those that are left, in the same order.
    """

    id: int
    created_at: str
    kind: str
    plan: Plan
    run_ids: tuple[int, ...]
    runs: tuple[RunSummary, ...]

    @property
    def planned(self) -> int:
        """How many runs it was to have."""
        return self.plan.count

    @property
    def labels(self) -> tuple[str, str]:
        """What the sides are called."""
        return self.plan.label_a or "A", self.plan.label_b or "B"

    @property
    def workload(self) -> str:
        """The id of what was run; "" if the plan does not say."""
        return self.plan.specs[0].workload if self.plan.specs else ""


@dataclass(frozen=True, slots=True)
class ImportedLog:
    """One imported log: somebody's machine on a workload as its study ran it."""

    id: int
    imported_at: str  # ISO 8601, UTC
    workload: str
    name: str
    durations_s: tuple[float, ...]
    seconds_per_epoch_s: Amount
