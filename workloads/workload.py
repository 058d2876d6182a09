"""The declaration of a workload, for window, command line and worker, and its `run`.

Declarations need no engine; imports needed to run a workload are inside `run`.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from workloads.engines.registry import DEFAULT_ENGINE, ENGINES, compiles_always, engine_named, engine_title
from workloads.protocol.errors import WorkloadError
from workloads.protocol.messages import Message, message
from workloads.protocol.parameters import Parameter, folders_of
from workloads.protocol.reporter import Reporter
from workloads.protocol.spec import Job, ParameterValue, Preset, RunSpec
from workloads.settings import all_settings, split_values

Kind = Literal["image", "text", "dense", "limits", "storage", "demo"]
# Metrics of headlines; for their formats, see app.core.metrics.
HeadlineKey = Literal[
    "seconds_per_epoch_s",
    "seconds_per_batch_s",
    "images_per_s",
    "words_per_s",
    "tokens_per_s",
    "flop_per_s",
    "bytes_per_s",
]


def unknown_parameter(workload: "Workload", name: str) -> Message:
    """Return the error for an unknown parameter, naming the known ones."""
    names = [parameter.name for parameter in workload.parameters]
    code = "workload.other_parameters" if names else "workload.no_parameters"
    return message(code, workload=workload.id, name=repr(name[:60]), known=names or None)


# After fewer steps, a network's loss has hardly changed.
LEARNING_STEPS = 20


@dataclass(frozen=True, slots=True)
class Proof:
    """Evidence that a run really trained, for the default batch size and network, on any device.

    Attributes:
        steps: Number of first training steps …
        bands: … whose mean loss is in this range, by data source ("real", "synthetic").
        origins: How each band was measured, by data source.
        unlearned: The same loss with a learning rate of zero, on synthetic data; None if unknown.
    """

    steps: int
    bands: dict[str, tuple[float, float]]
    origins: dict[str, Message] = field(default_factory=dict)
    unlearned: float | None = None

    def shows_learning(self, source: str) -> bool:
        """Return whether a loss within the band of a data source shows that the network learns."""
        low, high = self.bands[source]
        is_apart = self.unlearned is not None and not low <= self.unlearned <= high
        return is_apart and self.steps >= LEARNING_STEPS


# Weights, gradients and two running means, four bytes each, which is the minimum for training.
BYTES_PER_PARAMETER = 16


@dataclass(frozen=True, slots=True)
class MemoryNeed:
    """Measured peak memory of a worker on the CPU, including the engine itself.

    Attributes:
        base_bytes: Bytes at batch size 0.
        per_example_bytes: Bytes per example of a batch.
    """

    base_bytes: int
    per_example_bytes: int

    def at(self, batch_size: int) -> int:
        """Return the requirement at a batch size, in bytes."""
        return self.base_bytes + batch_size * self.per_example_bytes


# Everyday names of studies: authors and years.
STUDIES = {
    "000": "Woolf 2017",
    "001": "Alibaba Cloud 2018",
    "002": "Mooney 2020",
    "003": "Shi et al. 2017",
    "004": "Song 2019",
}


class Workload:
    """A workload. Subclasses set the attributes and implement `run`.

    Attributes:
        version: Incremented whenever a change makes new results incomparable with old ones.
        study: The published study it reproduces, "000" to "004"; "" for none.
        source: Where the network is published.
        epoch_text: Short definition of an epoch; None for the demo.
        metric: Metric of its headline.
        samples_per_epoch, validation_samples: Training and validation examples per epoch; 0 training examples if
            the study has no epoch.
        steps: Default length of epochs in steps, if a whole epoch takes too long or doesn't exist; None for whole
            epochs.
        units_per_example: Number of units per example in a headline per second, such as the words of a sequence.
        published_differ: Settings in which published results may differ from a run they are shown with; each bar
            then shows its own value.
        parameters_count: For the default variant; None if it is known only after building.
        loss_band: Expected range of the training loss after the first whole epoch; None if unknown.
        proof: Expected losses of its first steps; None without losses, or if they were never measured.
        operations_per_example: Products and convolutions per example in a training step of the default network;
            None if unknown.
        memory_needs: Memory requirement of the default network, by engine; only measured engines are included.
        fixed_duration_s: Approximate duration on any computer, if it runs for a fixed time; otherwise None.
        prepares_input: Whether the CPU produces each batch during training.
        engines: Names of the engines that can run it; None for all.
        is_demo: Whether its times are unrelated to the computer's speed.
        trains: Whether it has losses.
        has_epochs: Whether it runs in epochs or rounds. If not, it has its own duration.
        can_sustain: Whether it can run for a given time.
        counts_steps: Whether it must run exactly the steps of a Standard run.
        steps_alike: Whether all its steps do the same work and can be compared with each other.
        reports_headline: Whether it measures its headline itself, because its steps are of many different kinds.
    """

    id: str
    version: int = 1
    kind: Kind
    study: str = ""
    source: str
    epoch_text: Message | None = None
    metric: HeadlineKey = "seconds_per_epoch_s"
    dataset: str | None = None
    epochs: int
    steps: int | None = None
    batch_size: int
    samples_per_epoch: int
    validation_samples: int = 0
    units_per_example: int = 1
    published_differ: frozenset[str] = frozenset()
    parameters_count: int | None = None
    parameters: tuple[Parameter, ...] = ()
    loss_band: tuple[float, float] | None = None
    proof: Proof | None = None
    operations_per_example: int | None = None
    memory_needs: Mapping[str, MemoryNeed] = MappingProxyType({})
    fixed_duration_s: float | None = None
    prepares_input: bool = False
    engines: tuple[str, ...] | None = None
    is_demo: bool = False
    trains: bool = False
    has_epochs: bool = True
    can_sustain: bool = True
    counts_steps: bool = False
    steps_alike: bool = False
    reports_headline: bool = False

    @property
    def title(self) -> Message:
        """Its display name."""
        return message(f"title.{self.id}")

    @property
    def summary(self) -> Message:
        """Its description, in at most two lines."""
        return message(f"summary.{self.id}")

    def default_spec(self, preset: Preset = "standard", **changes: Any) -> RunSpec:
        """Return the default spec with `changes`; changes to None are ignored."""
        asked = {name: value for name, value in changes.items() if value is not None}
        epochs = self.epochs if preset == "standard" else 1
        defaults: dict[str, Any] = {
            "epochs": epochs,
            "steps": self.steps if preset == "standard" else None,
            "batch_size": self.batch_size,
            "workload": self.id,
            "preset": preset,
            "jit": compiles_always(asked.get("engine", DEFAULT_ENGINE)),
        }
        values = {parameter.name: parameter.default for parameter in self.parameters}
        asked["parameters"] = values | asked.get("parameters", {})
        return RunSpec(**(defaults | split_values(asked)))

    def check(self, spec: RunSpec) -> None:
        """Reject a spec that can't be run. Raises WorkloadError("bad_parameters") with the message to show."""
        declared = {parameter.name: parameter for parameter in self.parameters}
        for name, value in spec.parameters.items():
            if name not in declared:
                raise WorkloadError("bad_parameters", unknown_parameter(self, name))
            declared[name].check(value)
        for parameter in self.parameters:
            if parameter.required and not folders_of(str(spec.parameters.get(parameter.name, parameter.default))):
                said = message("workload.needs_folder", workload=self.id, parameter=parameter.name)
                raise WorkloadError("bad_parameters", said)
        settings = {setting.name: setting for setting in all_settings()}
        for name, value in spec.settings.items():
            if name not in settings:
                raise WorkloadError("bad_parameters", message("setting.unknown", name=repr(name[:60])))
            settings[name].check(value)
        self._check_numbers(spec)
        self._check_preset(spec)
        self._check_engine(spec)

    def _check_engine(self, spec: RunSpec) -> None:
        if spec.engine not in ENGINES:
            said = message("engine.unknown", engine=repr(spec.engine[:60]), engines=list(ENGINES))
            raise WorkloadError("bad_parameters", said)
        engine = engine_named(spec.engine)
        if self.engines is not None and spec.engine not in self.engines:
            able = [engine_title(name) for name in self.engines]
            said = message("engine.not_for_workload", engine=engine.title, workload=self.id, engines=able)
            raise WorkloadError("bad_parameters", said)
        if (said_no := engine.refusal(spec)) is not None:
            raise WorkloadError("bad_parameters", said_no)

    def _check_numbers(self, spec: RunSpec) -> None:
        for name, minimum in (("epochs", 1), ("steps", 1), ("batch_size", 1), ("threads", 1)):
            value = getattr(spec, name)
            if value is not None and value < minimum:
                label = message(f"setting.{name}")
                said = message("workload.number_too_small", setting=label, minimum=minimum, value=value)
                raise WorkloadError("bad_parameters", said)
        if spec.batch_size > self.samples_per_epoch > 0:
            said = message(
                "workload.batch_too_large",
                batch_size=spec.batch_size,
                samples=self.samples_per_epoch,
                workload=self.id,
                usual=self.batch_size,
            )
            raise WorkloadError("bad_parameters", said)
        steps = self.steps_per_epoch(spec)
        if spec.steps is not None and spec.steps > steps and self.samples_per_epoch:
            said = message(
                "workload.too_many_steps",
                workload=self.id,
                steps=steps,
                batch_size=spec.batch_size,
                asked=spec.steps,
            )
            raise WorkloadError("bad_parameters", said)

    def _check_preset(self, spec: RunSpec) -> None:
        if spec.preset != "standard" and (spec.epochs != 1 or spec.steps is not None):
            code = "workload.quick_is_one_epoch" if spec.preset == "quick" else "workload.sustained_is_by_time"
            raise WorkloadError("bad_parameters", message(code))
        if spec.preset == "sustained" and not self.can_sustain:
            raise WorkloadError("bad_parameters", message("workload.not_sustained", workload=self.id))

    def setting_parameters(self) -> tuple[Parameter, ...]:
        """Return the run settings of a form, with this workload's limits and defaults."""
        most = {"batch_size": self.samples_per_epoch or None}
        return tuple(
            setting.parameter(getattr(self, setting.name, None), most.get(setting.name))
            for setting in all_settings()
            if setting.in_form and setting.is_choice
        )

    def steps_per_epoch(self, spec: RunSpec) -> int:
        """Return the training steps of a whole epoch, including the last, smaller batch.

        If the study has no epochs, this is the requested number of steps.
        """
        if not self.samples_per_epoch:
            return spec.steps or self.steps or 1
        return -(-self.samples_per_epoch // spec.batch_size)

    def after_steps_s(self, example_s: float) -> float:
        """Return the approximate duration of a run after its steps, from the time per example in a large batch."""
        return 0.0

    @property
    def study_name(self) -> str:
        """The authors and year of its study; "" for none."""
        return STUDIES.get(self.study, self.study)

    def step_operations(self, variant: str) -> int | None:
        """Return the operations per example in a training step; None for a variant, or if unknown."""
        return None if variant else self.operations_per_example

    def units_of(self, variant: str) -> int:
        """Return the number of units per example for a variant's network, in a headline per second."""
        return self.units_per_example

    @property
    def counts_images(self) -> bool:
        """Whether its examples are images."""
        return self.kind == "image"

    def memory_need(self, engine: str) -> MemoryNeed | None:
        """Return the memory requirement of the default network with this engine; None if it was never measured."""
        return self.memory_needs.get(engine)

    def memory_need_of(self, spec: RunSpec) -> MemoryNeed | None:
        """Return the memory requirement of a spec's network with its engine; None if it was never measured."""
        return self.memory_need(spec.engine)

    def memory_need_bytes(self, spec: RunSpec) -> int | None:
        """Return the approximate memory requirement of a run, in bytes; None if it was never measured."""
        need = self.memory_need_of(spec)
        return None if need is None else need.at(spec.batch_size)

    def gpu_need(self, spec: RunSpec) -> Message | None:
        """Explain why this spec can't run on a CPU; None if it can."""
        return None

    def expected_parameters(self, spec: RunSpec) -> int | None:
        """Return the parameter count of this spec's network; None if it is known only after building."""
        return None if self.variant(spec) else self.parameters_count

    def variant(self, spec: RunSpec) -> str:
        """Return the differences from the default network, as "name=value …"; "" if there are none."""
        return " ".join(
            f"{parameter.name}={spec.parameters[parameter.name]}"
            for parameter in self.parameters
            if parameter.in_variant and spec.parameters.get(parameter.name, parameter.default) != parameter.default
        )

    def values_of(self, variant: str) -> dict[str, ParameterValue]:
        """Return the parameters of a variant by name; missing or invalid ones have their defaults."""
        values = {parameter.name: parameter.default for parameter in self.parameters}
        stated = dict(part.split("=", 1) for part in variant.split() if "=" in part)
        for parameter in self.parameters:
            if parameter.name in stated:
                with suppress(WorkloadError):
                    values[parameter.name] = parameter.parse(stated[parameter.name])
        return values

    def value_of(self, spec: RunSpec, name: str) -> ParameterValue:
        """Return a parameter's value in a spec, or its default if the spec doesn't contain it."""
        default = next(parameter.default for parameter in self.parameters if parameter.name == name)
        return spec.parameters.get(name, default)

    def run(self, job: Job, reporter: Reporter) -> None:
        """Run in the worker process and report to `reporter`.

        Raises:
            WorkloadError: It can't continue; the error has a code.
            workloads.protocol.reporter.Cancelled: The parent requested cancellation.
        """
        raise NotImplementedError
