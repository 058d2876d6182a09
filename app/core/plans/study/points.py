"""The state of a stored study: the result of each configuration, and the remaining runs."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from app.core.analysis.ab import between_runs, is_usable
from app.core.analysis.power import is_gpu, work_metric
from app.core.analysis.shared_host import says_shared, with_host
from app.core.analysis.student_t import CONFIDENCE
from app.core.messages import sentence, text
from app.core.metrics import headline_kind
from app.core.plain_text import joined
from app.core.plans.report import LAB_PAGE, Experiment
from app.core.plans.study.axes import POWER_LIMIT, axis_phrase, axis_text, axis_title, axis_value, named_text
from app.core.plans.study.configurations import StudyContext
from app.core.records import Group, Plan, PlannedRun, RunSummary, Study
from app.core.runs.memory_check import filled_by
from workloads import CATALOGUE
from workloads.protocol.spec import RunSpec
from workloads.workload import Workload

METRICS = (
    *("peak_memory_bytes", "peak_gpu_memory_bytes", "settled_memory_bytes"),
    *("proof_loss", "latency_1_median_s", "latency_16_median_s"),
)
# A smaller distance from a straight line could be noise.
KNEE_AT_LEAST = 0.1
State = Literal["done", "waiting", "out_of_memory", "failed", "refused", "skipped"]


@dataclass(frozen=True, slots=True)
class Rate:
    """Speed of a configuration (higher is faster) with its interval. None means unknown."""

    value: float
    low: float | None = None
    high: float | None = None

    def is_above(self, other: "Rate") -> bool:
        """Return whether this rate is higher than another and their intervals don't overlap."""
        return self.low is not None and other.high is not None and self.low > other.high


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One configuration of a study."""

    spec: RunSpec
    place: tuple[str, ...]  # value on each axis, as text
    name: str  # the same on one line
    runs: tuple[RunSummary, ...] = ()  # the configuration's runs, in order
    state: State = "waiting"  # state of the configuration; "done" as soon as it has a usable run
    reason: str = ""  # reason why there is no result; "" if there is one or a run remains
    # Headline of each round; None for a round that is unusable or hasn't been run.
    rounds: tuple[float | None, ...] = ()
    # Median of the headlines with its interval, or with the interval of the only run.
    value: float | None = None
    low: float | None = None
    high: float | None = None
    confidence_pct: float | None = None  # confidence level of the interval; below 95 with two to five rounds
    metrics: Mapping[str, float] = field(default_factory=dict)  # largest value of each of METRICS in its runs

    @property
    def best_run(self) -> RunSummary | None:
        """The usable run closest to the median, as the configuration's representative; None if there is none."""
        counted = [run for run in self.runs if is_usable(run) and run.value is not None]
        return min(counted, key=lambda run: abs((run.value or 0) - (self.value or 0)), default=None)

    @property
    def has_spilled(self) -> bool:
        """Whether, in every usable run, the GPU's memory was full and the computer's memory was used instead."""
        counted = [run for run in self.runs if is_usable(run)]
        return bool(counted) and all("memory_spilled" in (run.reasons or "").split() for run in counted)

    @property
    def metric(self) -> str:
        return self.runs[-1].metric if self.runs else CATALOGUE[self.spec.workload].metric

    @property
    def rate(self) -> Rate | None:
        """The speed in examples per second, or in the workload's own unit; None without a result."""
        if self.value is None:
            return None
        if headline_kind(self.metric).is_rate:
            return Rate(self.value, self.low, self.high)
        workload = CATALOGUE[self.spec.workload]
        per_epoch = self.metric == "seconds_per_epoch_s"
        examples = workload.samples_per_epoch if per_epoch else self.spec.batch_size
        low, high = (None if end is None or end <= 0 else examples / end for end in (self.high, self.low))
        return Rate(examples / self.value, low, high)

    @property
    def step_s(self) -> float | None:
        """The duration of a typical step in seconds; None if unknown."""
        run = self.best_run
        return run.step_median_s if run is not None else None

    @property
    def memory_bytes(self) -> float | None:
        """Peak memory of the GPU or, on the CPU, of the process; None if unknown."""
        on_gpu = any(is_gpu(run) for run in self.runs)
        return self.metrics.get("peak_gpu_memory_bytes" if on_gpu else "peak_memory_bytes")

    @property
    def memory_growth_bytes(self) -> float | None:
        """Increase in peak memory after the first steps; None if unknown or if no run was long enough."""
        peak, settled = (self.metrics.get(key) for key in ("peak_memory_bytes", "settled_memory_bytes"))
        return None if peak is None or settled is None else max(0.0, peak - settled)

    @property
    def work_per_j(self) -> float | None:
        """Median work per joule of the usable runs; None if no energy was measured."""
        values = [run.work_per_j for run in self.runs if is_usable(run) and run.work_per_j is not None]
        return statistics.median(values) if values else None

    @property
    def work_metric(self) -> str:
        """The metric of `work_per_j`, in the same units of work as the speed."""
        metric = work_metric(self.metric)
        counts_images = CATALOGUE[self.spec.workload].counts_images
        return "images_per_j" if metric == "examples_per_j" and counts_images else metric

    @property
    def energy_per_epoch_j(self) -> float | None:
        """Energy, in joules, used by CPU and GPU per epoch, as far as known; None if neither is known."""
        run = self.best_run
        parts = (run.cpu_energy_per_epoch_j, run.gpu_energy_per_epoch_j) if run is not None else ()
        there = [part for part in parts if part is not None]
        return sum(there) if there else None


@dataclass(frozen=True, kw_only=True)
class StudyExperiment(Experiment):
    """An experiment whose configurations differ in their values on one or two axes."""

    kind: str = "study"
    page: str = LAB_PAGE
    axes: tuple[str, ...] = ()  # names of the axes, the axis of the chart first
    axis_titles: Mapping[str, str] = field(default_factory=dict)  # axes whose titles are those of other settings
    # Returns the configurations. This computer may be unable to run some of them. None for custom axes.
    configurations: Callable[[StudyContext, Sequence[Workload]], list[RunSpec]] | None = None
    # Returns sentences about the configurations that have a speed, most important first.
    findings: "Callable[[StudyResult, list[Point]], list[str]]"
    takes_several: bool = False  # whether it supports several workloads
    on_several: bool = False  # whether it compares numbers of devices
    # Id of the workload that replaces the default one if folders are read; "" if the study never reads folders.
    reading: str = ""
    # Whether the progress of training is shown: never (""), if runs have several epochs, or instead of speeds.
    curves: Literal["", "if_any", "only"] = ""
    explains_limits: bool = False  # whether each configuration's limiting factor is stated
    is_own: bool = False  # whether only its own workloads can answer the question
    shows_memory: bool = False  # whether memory is the question, so that its chart replaces those of speeds
    is_priced: bool = False  # whether costs are compared
    is_proportional: bool = False  # whether the speed would ideally grow in proportion to the first axis
    has_published_lines: bool = True  # whether published results are comparable along the first axis

    @property
    def title(self) -> str:
        return sentence(f"studies.title_{self.key}")

    def axis_title(self, name: str) -> str:
        return axis_title(self.axis_titles.get(name, name))

    def titled(self, name: str, axes: Sequence[str]) -> str:
        """Return a configuration's name with the title of the axis if it is only a number."""
        is_number = len(axes) == 1 and name.replace(",", "").isdecimal()
        return sentence("studies.axis_value", axis=self.axis_title(axes[0]), value=name) if is_number else name


@dataclass(frozen=True, slots=True)
class StudyResult:
    """A study and its configurations, in plan order, impossible ones last."""

    experiment: StudyExperiment
    group: Group
    points: tuple[Point, ...]
    left: tuple[PlannedRun, ...] = ()  # remaining runs

    @property
    def axes(self) -> tuple[str, ...]:
        return definition_of(self.group.plan).axes

    @property
    def workloads(self) -> tuple[str, ...]:
        """The ids of the workloads, in order."""
        return tuple(dict.fromkeys(point.spec.workload for point in self.points))

    @property
    def done(self) -> tuple[Point, ...]:
        return tuple(point for point in self.points if point.state == "done")

    def name_in_sentence(self, point: Point) -> str:
        """Return a configuration's name for use in a sentence: "a batch size of 400" instead of "400"."""
        if self.axes == ("batch_size",):
            return sentence("studies.batch_of", batch=point.spec.batch_size)
        return self.name_in_legend(point)

    def name_in_legend(self, point: Point) -> str:
        """Return a self-explanatory name of a configuration: "batch 400" instead of "400"."""
        is_number = len(self.axes) == 1 and point.name.replace(",", "").isdecimal()
        phrase = axis_phrase(self.axes[0], point.spec) if is_number else ""
        return phrase or self.experiment.titled(point.name, self.axes)


def definition_of(plan: Plan) -> Study:
    return plan.study or Study()


def point_name(plan: Plan, spec: RunSpec) -> str:
    """Return a configuration's values on the axes of its study, on one line."""
    definition = definition_of(plan)
    specs = [*plan.specs, *(refusal.spec for refusal in definition.refused)]
    return str(_named(spec, specs, definition.axes)["name"])


def make_result(
    experiment: StudyExperiment,
    group: Group,
    specs_of_runs: Mapping[int, RunSpec],
    metrics: Mapping[str, Mapping[int, float]] | None = None,
) -> StudyResult:
    """Return the results of a group's runs, by configuration.

    Args:
        experiment: The study.
        group: Group of the study. The study may still be running.
        specs_of_runs: Requested spec of each run, by run id.
        metrics: Values reported by runs, by key and run id.
    """
    plan, definition = group.plan, definition_of(group.plan)
    specs = [*plan.specs, *(refusal.spec for refusal in definition.refused)]
    began = [(number, run) for number, run in group.numbered if run.id in specs_of_runs]
    left, rounds_of = followed(plan, [(number, specs_of_runs[run.id], is_final(run)) for number, run in began])
    done = [(specs_of_runs[run.id], run) for _, run in began]
    left = tuple(planned for planned in left if filled_by(planned.spec, done) is None)
    results = []
    for spec in plan.specs:
        if spec.workload not in CATALOGUE:
            continue
        own = [
            (run, number)
            for (_, run), number in zip(began, rounds_of, strict=True)
            if specs_of_runs[run.id] == spec
        ]
        rounds: list[float | None] = [None] * plan.rounds
        for run, number in own:
            if number is not None and is_usable(run):
                rounds[number] = run.value
        point = _point(spec, _named(spec, specs, definition.axes), [run for run, _ in own], rounds, metrics or {})
        if point.state == "waiting" and (full := filled_by(spec, done)) is not None:
            point = replace(point, state="skipped", reason=_filled_text(full, spec))
        results.append(point)
    results += [
        Point(
            spec=refusal.spec,
            **_named(refusal.spec, specs, definition.axes),
            state="refused",
            reason=refusal.reason if isinstance(refusal.reason, str) else text(refusal.reason),
        )
        for refusal in definition.refused
        if refusal.spec.workload in CATALOGUE
    ]
    return StudyResult(experiment, group, tuple(results), left)


def _filled_text(full: RunSpec, spec: RunSpec) -> str:
    if (length := full.parameters.get("sequence")) == spec.parameters.get("sequence"):
        return sentence("studies.filled", batch=full.batch_size)
    return sentence("studies.filled_by_sequence", batch=full.batch_size, tokens=length)


def is_final(run: RunSummary) -> bool:
    """Return whether a run needn't be repeated when its study is resumed."""
    return run.status == "completed" or run.error_code == "out_of_memory"


def followed(
    plan: Plan, runs: Sequence[tuple[int, RunSpec, bool]]
) -> tuple[tuple[PlannedRun, ...], list[int | None]]:
    """Match runs with their study's plan; return the planned runs that remain, and the round of each run.

    Rounds are numbered from 0; the round is None for a run that wasn't planned.

    Args:
        plan: Plan of the study.
        runs: For each started run, in order: its number in the plan, its spec, and whether it is final.
    """
    waiting = {planned.number: planned for planned in plan.runs()}
    specs = {number: planned.spec for number, planned in waiting.items()}
    rounds: list[int | None] = []
    for number, spec, final in runs:
        is_planned = specs.get(number) == spec
        rounds.append((number - 1) // len(plan.specs) if is_planned else None)
        if final and is_planned:
            waiting.pop(number, None)
    return tuple(waiting.values()), rounds


def _place(spec: RunSpec, specs: Sequence[RunSpec], axes: Sequence[str]) -> tuple[str, ...]:
    return tuple(axis_text(name, spec, specs) for name in axes)


def _named(spec: RunSpec, specs: Sequence[RunSpec], axes: Sequence[str]) -> dict[str, Any]:
    """Return a point's place and name. Of several numbers, the name says what they are."""
    place = _place(spec, specs, axes)
    names = place if len(axes) == 1 else map(named_text, axes, [spec] * len(axes), place)
    return {"place": place, "name": joined(names)}


def _point(
    spec: RunSpec,
    named: Mapping[str, Any],
    runs: Sequence[RunSummary],
    rounds: Sequence[float | None],
    metrics: Mapping[str, Mapping[int, float]],
) -> Point:
    counted = [run for run in runs if is_usable(run)]
    result = between_runs([run.value for run in counted if run.value is not None], [])
    low, high, confidence_pct = result.low, result.high, result.confidence_pct
    if len(counted) == 1:
        low, high, confidence_pct = counted[0].value_low, counted[0].value_high, counted[0].confidence_pct
    elif result.median is not None and any(map(says_shared, counted)):
        is_rate = headline_kind(counted[0].metric).is_rate
        low, high = with_host(result.median, low, high, is_rate=is_rate)
        confidence_pct = 100 * CONFIDENCE  # the allowance is that of the runs, and larger than what a few show
    state, reason = _state(runs, has_result=bool(counted))
    largest = {
        key: max(by_run[run.id] for run in runs if run.id in by_run)
        for key, by_run in metrics.items()
        if any(run.id in by_run for run in runs)
    }
    return Point(
        spec=spec,
        **named,
        runs=tuple(runs),
        state=state,
        reason=reason,
        rounds=tuple(rounds),
        value=result.median,
        low=low,
        high=high,
        confidence_pct=confidence_pct,
        metrics=largest,
    )


def _state(runs: Sequence[RunSummary], *, has_result: bool) -> tuple[State, str]:
    if has_result:
        return "done", ""
    ended = [run for run in runs if run.status not in ("running", "cancelled", "interrupted")]
    if not ended:
        return "waiting", ""
    last = ended[-1]
    if last.error_code == "out_of_memory":
        return "out_of_memory", sentence("failure.out_of_memory")
    if last.status == "completed":
        return "failed", sentence("studies.invalid_run", run_id=last.id)
    return "failed", last.error_message or sentence("studies.failed_run", run_id=last.id)


def power_knee(done: Sequence[Point]) -> Point | None:
    """Return the configuration at the knee of the curve of speed over power limit; None if there is no knee.

    With speed and limit scaled to the range from 0 to 1, the knee is the point where the speed exceeds the limit
    by the most (V. Satopää et al., "Finding a 'Kneedle' in a Haystack", 2011). A straight line has no knee.
    """
    limits_w = [float(axis_value(POWER_LIMIT, point.spec) or 0) for point in done]
    rates = [point.rate.value if point.rate is not None else 0.0 for point in done]
    if len(set(limits_w)) < 3 or len(set(rates)) < 2:
        return None
    above = [rate - power for rate, power in zip(_scaled(rates), _scaled(limits_w), strict=True)]
    at = above.index(max(above))
    return done[at] if above[at] >= KNEE_AT_LEAST else None


def _scaled(values: Sequence[float]) -> list[float]:
    low, high = min(values), max(values)
    return [(value - low) / (high - low) for value in values]
