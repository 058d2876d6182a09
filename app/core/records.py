"""The plain records passed between hardware, monitor, runner, database and views."""

import itertools
import random
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec

from workloads.protocol.events import Count, Dataset, Environment, Epoch, Model, Steps, TelemetryEvent, Text, Warn
from workloads.protocol.machine import Machine
from workloads.protocol.messages import Message
from workloads.protocol.spec import RunSpec

# Status of a run whose row can't be read completely; it is never stored.
DAMAGED = "damaged"
# Valid types and ranges of stored values, checked when they are read, as a file may hold anything.
Positive = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]
Finite = Annotated[float, msgspec.Meta(ge=-1e300, le=1e300)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e12)]
# Numbers below it have no reciprocal, and nothing can be drawn to their scale.
Amount = Annotated[float, msgspec.Meta(ge=1e-300, le=1e300)]


@dataclass(frozen=True, slots=True)
class PowerState:
    """What a computer runs on now. None means that the system doesn't report it, or has no such thing."""

    on_battery: bool | None = None  # None without a battery
    battery_pct: float | None = None
    plan: str | None = None  # see Telemetry.power_plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """The number that a run gives, and how certain it is; stored, shown, exported and compared as a whole.

    None means unknown or not reached.

    Attributes:
        value: In the unit of the run's metric.
        seconds_per_epoch_s: Set even if the value is another number.
        basis: later_epochs, first_epoch, estimate, repetitions.
        minimum_s, maximum_s: Of an epoch, or of a step if the headline comes from steps.
        spread_pct: Of epochs or parts of steps: sample standard deviation in percent of the value.
        step_median_s: The typical step of all kinds.
        value_low, value_high: Confidence interval of `value`, in its unit.
        confidence_pct: Of the interval; below 95 with too few epochs.
        value_mean: The plain average, including interruptions.
        warmup_steps: Left out by an estimate.
        interruptions, interruptions_s: Steps that took far longer than their neighbours, and the seconds lost.
        sustained_pct: Of a Sustained run, the speed of its last third in percent of its first.
    """

    value: Amount | None = None
    seconds_per_epoch_s: Amount | None = None
    basis: Text | None = None
    first_epoch_s: Seconds | None = None
    minimum_s: Seconds | None = None
    maximum_s: Seconds | None = None
    spread_pct: Finite | None = None
    step_median_s: Amount | None = None
    value_low: Finite | None = None
    value_high: Finite | None = None
    confidence_pct: Finite | None = None
    value_mean: Finite | None = None
    warmup_steps: Count | None = None
    interruptions: Count | None = None
    interruptions_s: Finite | None = None
    sustained_pct: Finite | None = None


HEADLINE_FIELDS = tuple(field.name for field in fields(Headline))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary(Headline):
    """One stored run in one row, with its headline: what lists show and CSV files contain.

    None means unknown, not reached or not asked for. Times are in seconds, `started_at` and `finished_at` ISO 8601
    in UTC.
    """

    id: Count
    started_at: Text
    finished_at: Text | None
    status: Text  # running, completed, cancelled, failed, interrupted; or DAMAGED
    workload: Text
    workload_version: Count
    variant: Text  # parameters that change the network from the usual one, "" for none
    preset: Text
    metric: Text  # what `value` measures: a workloads.workload.HeadlineKey
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
    comment: Text | None  # the user's own name or comment
    verdict: Text | None = None  # valid, caution, invalid; None while it runs and in old records
    reasons: Text | None = None  # its codes of app.core.verdict.rules, worst first, separated by spaces
    group_id: Count | None = None  # its group: repetitions, or both sides of an A/B
    side: Text | None = None  # "A" or "B"
    cpu_energy_j: Finite | None = None  # of the CPU, from the first telemetry to the last
    cpu_energy_per_epoch_j: Finite | None = None  # for a typical epoch
    gpu_energy_j: Finite | None = None  # of the GPU that the run used
    gpu_energy_per_epoch_j: Finite | None = None
    gpu_energy_basis: Text | None = None  # counter: the GPU's own; power: integrated second by second
    settings: Text = ""  # settings without a column that differ from the default: "name=value …"

    @property
    def row(self) -> tuple[Any, ...]:
        """Its values in the order of RUN_COLUMNS."""
        return tuple(getattr(self, name) for name in RUN_COLUMNS)

    @property
    def wall_s(self) -> float | None:
        """Time from start to end in seconds; None if it isn't stored."""
        if self.finished_at is None:
            return None
        try:
            lasted = datetime.fromisoformat(self.finished_at) - datetime.fromisoformat(self.started_at)
            return lasted.total_seconds()
        except (ValueError, TypeError):  # TypeError: one with a time zone, the other one without
            return None


# RunSummary's fields as rows have them. Spreadsheets rely on their order, which is since the first version.
RUN_COLUMNS = (
    *("id", "started_at", "finished_at", "status", "workload", "workload_version", "variant", "preset", "metric"),
    *("value", "seconds_per_epoch_s", "basis", "first_epoch_s", "minimum_s", "maximum_s", "spread_pct"),
    *("step_median_s", "epochs", "epochs_done", "steps", "steps_per_epoch", "samples_per_epoch", "batch_size"),
    *("precision", "jit", "threads", "seed", "data_source", "engine", "engine_version", "device", "device_name"),
    *("cpu_name", "physical_cores", "logical_cores", "memory_bytes", "os_name", "virtual_machine", "app_version"),
    *("error_code", "error_message", "comment", "verdict", "reasons", "value_low", "value_high"),
    *("confidence_pct", "value_mean", "warmup_steps", "interruptions", "interruptions_s", "sustained_pct"),
    *("group_id", "side", "cpu_energy_j", "cpu_energy_per_epoch_j", "gpu_energy_j", "gpu_energy_per_epoch_j"),
    *("gpu_energy_basis", "settings"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochColumns:
    """A run's epochs as CSV cells, each of them all values in order, separated by spaces."""

    epoch_durations_s: str | None
    epoch_train_s: str | None
    epoch_validation_s: str | None
    epoch_loss: str | None
    epoch_accuracy: str | None
    epoch_val_loss: str | None
    epoch_val_accuracy: str | None


@dataclass(frozen=True, slots=True)
class PeakShare:
    """A run's share of peak.

    Attributes:
        reached_flop_per_s: Matrix products and convolutions of the network per typical step.
        peak_flop_per_s: The fastest matrix product on the same machine, device and precision; None if not
            measured.
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
    machine: Machine  # as far as it can be read
    environment: Environment | None
    dataset: Dataset | None
    model: Model | None
    error_said: Message | None = None  # why it failed; None if it didn't, and in old records
    epochs: tuple[Epoch, ...]
    steps: tuple[Steps, ...]
    metrics: dict[str, float | None]
    warnings: tuple[Warn, ...]
    telemetry: tuple[TelemetryEvent, ...]
    peak: PeakShare | None = None  # its share of peak
    damage: tuple[str, ...] = ()  # which parts of the record can't be read, in clauses
    # Then everything stored of it, unchanged, by table; without anything that may name folders.
    raw: dict[str, list[dict[str, Any]]] = field(default_factory=dict)


Side = Literal["A", "B"]
Order = Literal["in_turn", "pairs", "there_and_back", "shuffled"]


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One run of a plan.

    Attributes:
        number: From 1.
        count: Number of runs in the plan.
        side: None in a plan without sides.
        label: Name of the side.
    """

    number: int
    count: int
    side: Side | None
    label: str
    spec: RunSpec


@dataclass(frozen=True, slots=True)
class PlanPlace:
    """Where a run belongs.

    Attributes:
        group_id: Its stored plan.
        number: Which run of the plan it is, from 1.
        side: None in a plan without sides.
    """

    group_id: int
    number: int
    side: Side | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A point of a study that isn't run, and why."""

    spec: RunSpec
    reason: Message | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """What a study asks, besides its runs.

    Attributes:
        preset: One of app.core.plans.study.presets; "" for axes of the user's own.
        axes: What differs between its points, in the order of tables: names of app.core.plans.study.axes.
        seed: Shuffles the order of the runs.
        refused: Points that can't be run on this computer.
    """

    preset: str = ""
    axes: tuple[str, ...] = ()
    seed: int = 0
    refused: tuple[Refusal, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """Which suite a plan carries out, besides its runs.

    Attributes:
        number: One of app.core.plans.suite.definition.
        refused: Parts that can't be run on this computer.
    """

    number: Count = -1  # which no definition has
    refused: tuple[Refusal, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Runs requested as one; a single run is a plan of one round.

    Attributes:
        kind: A key of app.core.plans.registry; other versions of Epochmark may have more.
        specs: What to run: one to repeat, A and B, workloads with several engines each, a study's points, a
            suite's parts.
        rounds: How often each of them runs; for an A/B, the number of pairs.
        order: "in_turn": all specs in their order, again and again. "pairs": A B B A A B B A …, each pair two
            neighbours, so that slow changes affect both sides equally. "there_and_back": the same for any number,
            workload by workload: A B C C B A. "shuffled": each round in an order of its own, so that heat affects
            all equally.
        survives_failures: Whether the rest goes on after a run that fails: an engine may lack memory where another
            doesn't.
        label_a, label_b: Names of the sides.
        by_hand: Whether the user changes something between the sides that Epochmark can't set.
        study: Set if it is a study.
        suite: Set if it is a suite.
    """

    kind: str
    specs: tuple[RunSpec, ...] = ()
    rounds: Positive = 1
    order: Order = "in_turn"
    survives_failures: bool = False
    label_a: str = "A"
    label_b: str = "B"
    by_hand: bool = False
    study: Study | None = None
    suite: Suite | None = None

    @property
    def count(self) -> int:
        """Number of runs."""
        return self.rounds * (2 if self.order == "pairs" else max(1, len(self.specs)))

    @property
    def is_single(self) -> bool:
        """Whether it is one run, which is stored on its own, without a group."""
        return self.count == 1 and self.study is None and self.suite is None

    def runs(self) -> list[PlannedRun]:
        """Return the runs in order."""
        labels = {"A": self.label_a, "B": self.label_b}
        return [
            PlannedRun(number, self.count, side, labels[side] if side else "", spec)
            for number, (side, spec) in enumerate(self._ordered(), 1)
        ]

    def _ordered(self) -> list[tuple[Side | None, RunSpec]]:
        if self.order == "pairs":
            a: tuple[Side | None, RunSpec] = ("A", self.specs[0])
            b: tuple[Side | None, RunSpec] = ("B", self.specs[1])
            return list(itertools.islice(itertools.cycle((a, b, b, a)), self.count))
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
            of_workload = list(specs)
            for number in range(self.rounds):
                rounds += of_workload[::-1] if number % 2 else of_workload
        return rounds


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A plan and what came of it.

    Attributes:
        plan: The plan, as far as it can be read.
        runs: Its runs that are still there, in the order in which they began.
        numbers: Which of the plan's runs each is, from 1, by its own number; without an entry, its place in
            `runs`.
        begun: How many were started; None if none of these was deleted since.
    """

    id: int
    created_at: str
    plan: Plan
    runs: tuple[RunSummary, ...]
    numbers: Mapping[int, int] = field(default_factory=dict)
    begun: int | None = None

    @property
    def kind(self) -> str:
        """The plan's kind."""
        return self.plan.kind

    @property
    def numbered(self) -> tuple[tuple[int, RunSummary], ...]:
        """Its runs, each with its number in the plan."""
        return tuple((self.numbers.get(run.id, place), run) for place, run in enumerate(self.runs, 1))

    @property
    def deleted(self) -> int:
        """How many of its runs were deleted."""
        return max(0, (self.begun or 0) - len(self.runs))

    @property
    def not_begun(self) -> int:
        """How many of the planned runs were never started."""
        return max(0, self.plan.count - len({number for number, _ in self.numbered}) - self.deleted)

    @property
    def planned(self) -> int:
        """Planned number of runs."""
        return self.plan.count

    @property
    def labels(self) -> tuple[str, str]:
        """Names of the sides."""
        return self.plan.label_a or "A", self.plan.label_b or "B"

    @property
    def workload(self) -> str:
        """Id of the workload; "" if the plan doesn't say."""
        return self.plan.specs[0].workload if self.plan.specs else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRun:
    """A run of the past with what may change between runs of one computer; None means unknown."""

    run: RunSummary
    gpu_driver: str | None = None  # of the first GPU
    kernel: str | None = None
    bios_version: str | None = None
    power_plan: str | None = None  # when it began, as is `on_battery`
    on_battery: bool | None = None
