"""Plain records that are passed between the hardware, monitor, runner, database and views."""

import itertools
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Annotated, Any, Literal, TypeVar, get_args, get_type_hints

import msgspec

from app.core.messages import text
from app.core.uids import Uid
from workloads.protocol.events import Count, Dataset, Environment, Epoch, Model, Steps, TelemetryEvent, Text, Warn
from workloads.protocol.machine import Machine
from workloads.protocol.messages import Message
from workloads.protocol.spec import RunSpec
from workloads.settings import read_recorded

Item = TypeVar("Item")
# Status of a run whose row can't be read completely. It is never stored.
DAMAGED = "damaged"
# Types and ranges of stored values, validated when they are read, because a file may contain anything.
Positive = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]
Finite = Annotated[float, msgspec.Meta(ge=-1e300, le=1e300)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e12)]
# Smaller numbers have no finite reciprocal, and charts can't show them to scale.
Amount = Annotated[float, msgspec.Meta(ge=1e-300, le=1e300)]


@dataclass(frozen=True, slots=True)
class Declared:
    """What a field of RunSummary is, for everything that shows, shares, blanks or compares runs."""

    # Name of the field of the preview with which the user excludes it; "" if it is always shared.
    private: str = ""
    must_match: bool = False  # whether results with different values aren't comparable
    # Field of Telemetry or, after "gpu_", of GpuTelemetry, whose mean during the timed steps is the value; "" for
    # none. The value is then shown by the sentence `fact.<field>`.
    telemetry: str = ""


@dataclass(frozen=True, slots=True)
class PowerState:
    """The current power source and plan. None means unavailable or unknown."""

    on_battery: bool | None = None  # None if there is no battery
    battery_pct: float | None = None
    plan: str | None = None  # see Telemetry.power_plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """The result of a run with its uncertainty, as stored, shown, exported and compared.

    None means unknown or not reached.
    """

    value: Amount | None = None  # value in the unit of the run's metric
    seconds_per_epoch_s: Amount | None = None  # duration of an epoch, even if `value` is another quantity
    basis: Text | None = None  # "later_epochs", "first_epoch", "estimate" or "repetitions"
    first_epoch_s: Seconds | None = None
    # Range of the duration of an epoch, or of a step if the headline is based on steps.
    minimum_s: Seconds | None = None
    maximum_s: Seconds | None = None
    # Sample standard deviation of the epochs (or of parts of the steps), as a percentage of the value.
    spread_pct: Finite | None = None
    step_median_s: Amount | None = None  # median duration of all steps, regardless of kind
    # Confidence interval of `value`, in its unit.
    value_low: Finite | None = None
    value_high: Finite | None = None
    confidence_pct: Finite | None = None  # confidence level of the interval; below 95 with too few epochs
    value_mean: Finite | None = None  # arithmetic mean including interruptions
    warmup_steps: Count | None = None  # number of steps excluded from an estimate
    # Number of interruptions, and the total time lost, in seconds.
    interruptions: Count | None = None
    interruptions_s: Finite | None = None
    # For a Sustained run, the speed in the last third as a percentage of the speed in the first third.
    sustained_pct: Finite | None = None


HEADLINE_FIELDS = tuple(field.name for field in fields(Headline))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary(Headline):
    """A stored run as a row, with its headline, as shown in lists and written to CSV files.

    None means unknown, not reached or not requested. Times are in seconds; `started_at` and `finished_at` are ISO
    8601 in UTC.
    """

    id: Count
    started_at: Annotated[Text, Declared(private="date")]
    finished_at: Annotated[Text | None, Declared(private="date")] = None
    status: Text  # running, completed, cancelled, failed, interrupted; or DAMAGED
    workload: Annotated[Text, Declared(must_match=True)]
    workload_version: Annotated[Count, Declared(must_match=True)]
    variant: Annotated[Text, Declared(must_match=True)]  # parameters that change the default network; "" for none
    preset: Text
    metric: Annotated[Text, Declared(must_match=True)]  # metric of `value`: a workloads.workload.HeadlineKey
    epochs: Positive
    epochs_done: Count
    steps: Positive | None = None
    steps_per_epoch: Positive
    samples_per_epoch: Annotated[Count, Declared(must_match=True)]
    batch_size: Positive
    precision: Text
    jit: bool
    threads: Positive | None = None
    seed: Count
    data_source: Text | None = None
    engine: Text
    engine_version: Text | None = None
    device: Text | None = None
    device_name: Annotated[Text | None, Declared(private="gpu")] = None
    cpu_name: Annotated[Text | None, Declared(private="cpu")] = None
    physical_cores: Annotated[Count | None, Declared(private="cores")] = None
    logical_cores: Annotated[Count | None, Declared(private="cores")] = None
    memory_bytes: Annotated[Count | None, Declared(private="memory")] = None
    os_name: Annotated[Text | None, Declared(private="system")] = None
    virtual_machine: bool | None = None
    app_version: Text
    error_code: Text | None = None
    error_said: Message | None = None  # why the run failed
    comment: Annotated[Text | None, Declared(private="comment")] = None  # the user's name or comment
    verdict: Text | None = None  # valid, caution or invalid; None while running and in old records
    reasons: Text | None = None  # codes of app.core.verdict.rules, worst first, separated by spaces
    group_id: Count | None = None  # group of repetitions, an A/B test or another plan
    side: Text | None = None  # "A" or "B"
    cpu_energy_j: Finite | None = None  # from the first to the last telemetry
    cpu_energy_per_epoch_j: Finite | None = None  # for a typical epoch
    gpu_energy_j: Finite | None = None  # of the GPU used by the run
    gpu_energy_per_epoch_j: Finite | None = None
    gpu_energy_basis: Text | None = None  # "counter": the GPU's own; "power": integrated every second
    settings: Text = ""  # non-default settings without a column: "name=value …"
    cpu_power_w: Finite | None = None  # mean draw during the timed steps, of the CPU packages
    gpu_power_w: Finite | None = None  # and of the GPU that the run used
    power_limit_w: Amount | None = None  # limit of the device used, in force during the timed steps
    power_default_w: Amount | None = None  # the GPU's default limit or the CPU's rated power
    on_battery: bool | None = None  # during any part of the timed steps; None without a battery
    work_per_j: Amount | None = None  # per joule of the device used; the unit is in app.core.analysis.power
    gpu_clock_mhz: Annotated[Finite | None, Declared(private="gpu", telemetry="gpu_clock_mhz")] = None
    uid: Uid | None = None  # name in every file and picture; None for results of earlier versions

    def as_dict(self) -> dict[str, Any]:
        """Return the fields for export, in the order of RUN_FIELDS."""
        return {name: getattr(self, name) for name in RUN_FIELDS}

    @property
    def error_message(self) -> str | None:
        return None if self.error_said is None else text(self.error_said)

    @property
    def device_count(self) -> int:
        count = read_recorded(self.settings).get("devices")
        return count if isinstance(count, int) else 1

    @property
    def machine_count(self) -> int:
        count = read_recorded(self.settings).get("machines")
        return count if isinstance(count, int) and count > 0 else 1

    @property
    def has_rounds(self) -> bool:
        """Whether `steps` steps make up a round instead of an epoch."""
        return self.steps is not None and (self.steps < self.steps_per_epoch or not self.samples_per_epoch)

    @property
    def divides_cpu(self) -> bool:
        """Whether a CPU was divided into several devices, which is for testing only."""
        return self.device == "cpu" and self.device_count // self.machine_count > 1

    @property
    def wall_s(self) -> float | None:
        if self.finished_at is None:
            return None
        try:
            lasted = datetime.fromisoformat(self.finished_at) - datetime.fromisoformat(self.started_at)
            return lasted.total_seconds()
        except (ValueError, TypeError):  # TypeError: only one of the times has a time zone
            return None


FIELDS: dict[str, Declared] = {
    name: next((each for each in get_args(hint) if isinstance(each, Declared)), Declared())
    for name, hint in get_type_hints(RunSummary, include_extras=True).items()
}
_own = [field.name for field in fields(RunSummary) if field.name not in HEADLINE_FIELDS]
_own[_own.index("error_said")] = "error_message"
_start = _own.index("metric") + 1
# Fields of RunSummary in the order of spreadsheets: what was run, how fast, and on what.
RUN_FIELDS = (*_own[:_start], *HEADLINE_FIELDS, *_own[_start:])


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochColumns:
    """A run's epochs as CSV cells. Each cell contains the values of all epochs in order, separated by spaces."""

    epoch_durations_s: str | None
    epoch_train_s: str | None
    epoch_validation_s: str | None
    epoch_loss: str | None
    epoch_accuracy: str | None
    epoch_val_loss: str | None
    epoch_val_accuracy: str | None


@dataclass(frozen=True, slots=True)
class PeakShare:
    """A run's speed relative to the device's peak."""

    # Speed of the network's matrix products and convolutions, at the speed of the headline.
    reached_flop_per_s: float
    # Speed of the fastest matrix product with the same computer, device and precision; None if not measured.
    peak_flop_per_s: float | None
    half_pct: float | None = None  # half the headline's interval in percent; None if unknown
    # Speed of the fastest matrix product published for the device; None if unknown.
    published_flop_per_s: float | None = None
    peak_high_flop_per_s: float | None = None  # upper end of the peak's interval; None if unknown
    # Whether something slowed down the measurement of the peak, so that the device may be faster.
    is_disturbed: bool = False

    @property
    def share_pct(self) -> float | None:
        """The percentage of peak; None without a measured peak."""
        return 100 * self.reached_flop_per_s / self.peak_flop_per_s if self.peak_flop_per_s else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """The exchange of a step's gradients between the devices of a run."""

    gradients_bytes: int  # size of the gradients
    devices: int  # number of devices, on all computers
    step_s: float  # duration of a typical step
    bytes_per_s: float | None  # bandwidth between the devices, as measured by `all_reduce`; None if not measured

    @property
    def duration_s(self) -> float | None:
        """The time that summing all gradients takes by itself; None without a measured bandwidth."""
        # The inverse of the bandwidth's definition in NVIDIA's NCCL tests ("bus bandwidth").
        sent_bytes = 2 * (self.devices - 1) / self.devices * self.gradients_bytes
        return sent_bytes / self.bytes_per_s if self.bytes_per_s else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A stored run with all recorded data."""

    summary: RunSummary
    spec: RunSpec  # without its unreadable parts
    machine: Machine  # without its unreadable parts
    environment: Environment | None
    dataset: Dataset | None
    model: Model | None
    plan_uid: str | None = None  # of the plan that the run belongs to
    epochs: tuple[Epoch, ...]
    steps: tuple[Steps, ...]
    metrics: dict[str, float | None]
    warnings: tuple[Warn, ...]
    telemetry: tuple[TelemetryEvent, ...]
    peak: PeakShare | None = None  # the run's share of the device's peak
    exchange: Exchange | None = None  # between the run's devices; None on a single one
    damage: tuple[str, ...] = ()  # unreadable parts of the record, as clauses
    # Contents of a damaged record by table, excluding fields that may contain folder names.
    raw: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    # Fields of another version, by part of the record ("summary", "spec", "environment" …).
    unknown: dict[str, dict[str, Any]] = field(default_factory=dict)


Side = Literal["A", "B"]
Order = Literal["in_turn", "pairs", "there_and_back", "shuffled"]


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One run of a plan."""

    number: int  # number of the run, from 1
    count: int  # number of runs in the plan
    side: Side | None  # side of an A/B test; None in a plan without sides
    label: str  # label of the side
    spec: RunSpec


@dataclass(frozen=True, slots=True)
class PlanPlace:
    """A run's position in a plan."""

    group_id: int  # id of the stored group
    number: int  # number of the run in the plan, from 1
    side: Side | None = None  # side of an A/B test; None in a plan without sides


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A configuration that can't be run, and the reason."""

    spec: RunSpec
    reason: Message | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """The definition of a study."""

    preset: str = ""  # key in app.core.plans.study.presets; "" for a study with custom axes
    # Names of the properties that differ between configurations, in table order; see plans.study.axes.
    axes: tuple[str, ...] = ()
    seed: int = 0  # seed for shuffling the runs
    refused: tuple[Refusal, ...] = ()  # configurations that this computer can't run


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """The suite that is run by a plan.

    Attributes:
        number: Number of the definition in app.core.plans.suite.definition.
    """

    number: Count = -1  # no definition has this number
    refused: tuple[Refusal, ...] = ()  # tests that this computer can't run


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Runs requested together. A single run is a plan of one round."""

    kind: str  # key of the kind in app.core.plans.registry, or a kind from another version of Epochmark
    # Specs to run: the repeated spec, A and B, workloads with several engines each, the configurations of a study,
    # or the tests of a suite.
    specs: tuple[RunSpec, ...] = ()
    rounds: Positive = 1  # number of runs per spec; for an A/B test, the number of pairs
    # "in_turn": all specs in order, once per round. "pairs": consecutive runs as pairs, A B B A or B A A B, so
    # that slow changes affect both sides equally. "there_and_back": the same for any number of specs, workload by
    # workload (A B C C B A). "shuffled": each round in a different order, so that heat affects all specs equally.
    order: Order = "in_turn"
    # Determines how each two rounds of "pairs" and "there_and_back" begin; 0 for the order of the specs.
    seed: int = 0
    # Whether the plan continues after a failed run, for example because one engine ran out of memory.
    survives_failures: bool = False
    # Labels of the sides.
    label_a: str = "A"
    label_b: str = "B"
    by_hand: bool = False  # whether the user changes something manually between the sides
    study: Study | None = None  # definition of the study; None for other kinds
    suite: Suite | None = None  # suite to run; None for other kinds

    @property
    def count(self) -> int:
        return self.rounds * (2 if self.order == "pairs" else max(1, len(self.specs)))

    @property
    def is_single(self) -> bool:
        """Whether the plan is a single run, which is stored without a group."""
        return self.count == 1 and self.study is None and self.suite is None

    @property
    def has_equal_sides(self) -> bool:
        """Whether an A/B test compares a configuration with itself, to find out how much the speed varies."""
        return (
            self.order == "pairs" and not self.by_hand and len(self.specs) > 1 and self.specs[0] == self.specs[1]
        )

    def runs(self) -> list[PlannedRun]:
        """Return the planned runs in order."""
        labels = {"A": self.label_a, "B": self.label_b}
        return [
            PlannedRun(number, self.count, side, labels[side] if side else "", spec)
            for number, (side, spec) in enumerate(self._ordered(), 1)
        ]

    def _ordered(self) -> list[tuple[Side | None, RunSpec]]:
        if self.order == "pairs":
            a: tuple[Side | None, RunSpec] = ("A", self.specs[0])
            b: tuple[Side | None, RunSpec] = ("B", self.specs[1])
            return there_and_back((a, b), self.rounds, self.seed)
        ordered = {"shuffled": self._shuffled, "there_and_back": self._there_and_back}.get(self.order)
        specs = list(self.specs) * self.rounds if ordered is None else ordered()
        return [(None, spec) for spec in specs]

    def _shuffled(self) -> list[RunSpec]:
        seed = self.study.seed if self.study is not None else 0
        rounds = [list(self.specs) for _ in range(self.rounds)]
        for number, specs in enumerate(rounds):
            random.Random(f"{seed} {number}").shuffle(specs)  # noqa: S311 - no secret
        return list(itertools.chain.from_iterable(rounds))

    def _there_and_back(self) -> list[RunSpec]:
        rounds = []
        for _, specs in itertools.groupby(self.specs, key=lambda spec: spec.workload):
            rounds += there_and_back(tuple(specs), self.rounds, self.seed)
        return rounds


def there_and_back(items: Sequence[Item], rounds: int, seed: int) -> list[Item]:
    """Return the items once per round, and backwards in every second round. Unless 0, the seed shuffles them."""
    ordered: list[Item] = []
    for number in range(0, rounds, 2):
        there = list(items)
        if seed:
            random.Random(f"{seed} {number}").shuffle(there)  # noqa: S311 - no secret
        ordered += there if number + 1 == rounds else [*there, *there[::-1]]
    return ordered


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A plan and its runs so far."""

    id: int
    created_at: str
    plan: Plan  # the plan, without unreadable parts
    uid: str = ""
    runs: tuple[RunSummary, ...]  # existing runs, in the order in which they were started
    # Number in the plan, from 1, by run id. Runs without an entry have their position in `runs`.
    numbers: Mapping[int, int] = field(default_factory=dict)
    begun: int | None = None  # number of runs that were started; None if none of them has been deleted

    @property
    def kind(self) -> str:
        return self.plan.kind

    @property
    def numbered(self) -> tuple[tuple[int, RunSummary], ...]:
        return tuple((self.numbers.get(run.id, place), run) for place, run in enumerate(self.runs, 1))

    @property
    def deleted(self) -> int:
        return max(0, (self.begun or 0) - len(self.runs))

    @property
    def not_begun(self) -> int:
        """The number of planned runs that were never started."""
        return max(0, self.plan.count - len({number for number, _ in self.numbered}) - self.deleted)

    @property
    def planned(self) -> int:
        return self.plan.count

    @property
    def labels(self) -> tuple[str, str]:
        return self.plan.label_a or "A", self.plan.label_b or "B"

    @property
    def workload(self) -> str:
        """The id of the first workload in the plan; "" if there is none."""
        return self.plan.specs[0].workload if self.plan.specs else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRun:
    """A past run, with the conditions that may differ between runs. None means unknown."""

    run: RunSummary
    gpu_driver: str | None = None  # of the first GPU
    kernel: str | None = None
    bios_version: str | None = None
    power_plan: str | None = None  # at the start of the run, as is `on_battery`
    on_battery: bool | None = None
