"""The declaration of workloads for the GUI, the CLI and the workers, including the method that runs them.

Declarations don't need an engine. Modules needed to run a workload are imported within `run`.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from workloads.engines.registry import DEFAULT_ENGINE, ENGINES, compiles_always, engine_named, engine_title
from workloads.protocol.errors import WorkloadError, bad_parameters
from workloads.protocol.messages import Message, message
from workloads.protocol.parameters import Parameter, folders_of
from workloads.protocol.reporter import Reporter
from workloads.protocol.spec import Job, ParameterValue, Precision, Preset, RunSpec, listed_gpus
from workloads.settings import Setting, Value, all_settings, split_values

Kind = Literal["image", "text", "dense", "limits", "storage", "demo"]
# Headline metrics. For their formats, see app.core.metrics.
HeadlineKey = Literal[
    "seconds_per_epoch_s",
    "seconds_per_batch_s",
    "images_per_s",
    "words_per_s",
    "tokens_per_s",
    "flop_per_s",
    "bytes_per_s",
]


# With fewer steps, a network's loss hardly changes.
LEARNING_STEPS = 20


@dataclass(frozen=True, slots=True)
class Proof:
    """Expected losses as proof of training, for the default batch size and network on any device."""

    steps: int  # number of training steps, from the first one, over which the loss is averaged
    bands: dict[str, tuple[float, float]]  # range of the mean loss by data source ("real", "synthetic")
    origins: dict[str, Message] = field(default_factory=dict)  # how each band was determined, by data source
    unlearned: float | None = None  # mean loss on synthetic data with a learning rate of zero; None if unknown
    # Range of the mean loss on synthetic data by precision, other than float32, where measured.
    of_precisions: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def band(self, source: str, precision: str) -> tuple[float, float] | None:
        """Return the expected range of the mean loss for a data source and a precision; None if not measured."""
        if precision == "float32":
            return self.bands.get(source)
        return self.of_precisions.get(precision) if source == "synthetic" else None

    def shows_learning(self, source: str) -> bool:
        """Return whether a loss in the band of this data source proves that the network learns."""
        low, high = self.bands[source]
        is_apart = self.unlearned is not None and not low <= self.unlearned <= high
        return is_apart and self.steps >= LEARNING_STEPS


# Weight, gradient and two moving averages, four bytes each: the minimum for training.
BYTES_PER_PARAMETER = 16


@dataclass(frozen=True, slots=True)
class MemoryNeed:
    """Measured peak memory of a worker on the CPU, including the engine."""

    base_bytes: int  # memory at batch size 0, in bytes
    per_example_bytes: int  # memory per example in a batch, in bytes

    def at(self, batch_size: int) -> int:
        """Return the memory requirement at a batch size, in bytes."""
        return self.base_bytes + batch_size * self.per_example_bytes


# Common names of the studies, consisting of authors and year.
STUDIES = {
    "000": "Woolf 2017",
    "001": "Alibaba Cloud 2018",
    "002": "Mooney 2020",
    "003": "Shi et al. 2017",
    "004": "Song 2019",
}


class Workload:
    """A workload. Subclasses set the attributes and implement `run`."""

    id: str
    version: int = 1  # incremented by changes that make new results incomparable with old ones
    kind: Kind
    study: str = ""  # the published study that the workload reproduces, "000" to "004"; "" if there is none
    source: str  # publication that describes the network
    epoch_text: Message | None = None  # short definition of an epoch; None for the demo
    meaning: Message | None = None  # what the result means for networks, as a sentence; None for networks
    metric: HeadlineKey = "seconds_per_epoch_s"  # metric of the headline
    dataset: str | None = None
    epochs: int
    # Default length of an epoch in steps, if a full epoch takes too long or doesn't exist; None for full epochs.
    steps: int | None = None
    batch_size: int
    # Training and validation examples per epoch. If the study has no epochs, the number of training examples is 0.
    samples_per_epoch: int
    validation_samples: int = 0
    units_per_example: int = 1  # number of units per example, such as words per sequence, for speeds
    precision: Precision = "float32"  # default precision
    # Attention in the published definition of the network; None for networks without attention. The default is
    # "plain" wherever there is no fused one.
    attention: Literal["plain", "fused"] | None = None
    drops_attention: bool = False  # whether weights of attention are dropped during training
    # Settings and parameters in which published results may differ from a run shown next to them. Each bar is then
    # labelled with its own value.
    published_differ: frozenset[str] = frozenset()
    # Parameter count of the default variant; None if it is known only after building.
    parameters_count: int | None = None
    parameters: tuple[Parameter, ...] = ()
    # Expected range of the training loss after the first full epoch; None if unknown.
    loss_band: tuple[float, float] | None = None
    # Expected losses of the first steps; None if there are no losses or they were never measured.
    proof: Proof | None = None
    # Operations of products and convolutions per example in a training step of the default network; None if
    # unknown.
    operations_per_example: int | None = None
    # Memory requirements of the default network by engine. Only measured engines are included.
    memory_needs: Mapping[str, MemoryNeed] = MappingProxyType({})
    memory_advice: Message | None = None  # what to do if a run needs too much; None for a smaller batch
    # Approximate duration in seconds if it is the same on any computer; otherwise None.
    fixed_duration_s: float | None = None
    prepares_input: bool = False  # whether the CPU generates each batch during training
    engines: tuple[str, ...] | None = None  # names of the engines that support the workload; None for all
    is_demo: bool = False  # whether the times are unrelated to the computer's speed
    trains: bool = False  # whether the workload trains, and therefore has losses
    divides_batches: bool = False  # whether several devices can share the workload's batches
    least_devices: int = 1  # minimum number of devices, which is also the default
    # Whether the workload runs in epochs or rounds. If not, it determines its own duration.
    has_epochs: bool = True
    can_sustain: bool = True  # whether the workload can run for a specified time
    counts_steps: bool = False  # whether a Standard run must execute exactly the requested number of steps
    steps_alike: bool = False  # whether all steps do the same work and are therefore comparable
    # Whether the workload measures its headline itself, because its steps differ in kind.
    reports_headline: bool = False

    @property
    def title(self) -> Message:
        return message(f"title.{self.id}")

    @property
    def summary(self) -> Message:
        """Description of at most two lines."""
        return message(f"summary.{self.id}")

    def default_spec(self, preset: Preset = "standard", **changes: Any) -> RunSpec:
        """Return the default spec, changed by `changes`. None leaves a value unchanged."""
        chosen = {name: value for name, value in changes.items() if value is not None}
        epochs = self.epochs if preset == "standard" else 1
        defaults: dict[str, Any] = {
            "epochs": epochs,
            "steps": self.steps if preset == "standard" else None,
            "batch_size": self.batch_size,
            "precision": self.precision,
            "workload": self.id,
            "preset": preset,
            "jit": compiles_always(chosen.get("engine", DEFAULT_ENGINE)),
        }
        values = {parameter.name: parameter.default for parameter in self.parameters}
        chosen["parameters"] = values | chosen.get("parameters", {})
        if self.least_devices > 1:
            chosen.setdefault("devices", self.least_devices)
        return RunSpec(**(defaults | split_values(chosen)))

    def check(self, spec: RunSpec) -> None:
        """Check a spec. Raises WorkloadError("bad_parameters") with a message for the user if it can't be run."""
        declared = {parameter.name: parameter for parameter in self.parameters}
        for name, value in spec.parameters.items():
            if name not in declared:
                names = [parameter.name for parameter in self.parameters]
                code = "workload.other_parameters" if names else "workload.no_parameters"
                raise bad_parameters(code, workload=self.id, name=repr(name[:60]), known=names or None)
            declared[name].check(value)
        for parameter in self.parameters:
            if parameter.required and not folders_of(str(spec.parameters.get(parameter.name, parameter.default))):
                raise bad_parameters("workload.needs_folder", workload=self.id, parameter=parameter.name)
        settings = {setting.name: setting for setting in all_settings()}
        for name, value in spec.settings.items():
            if name not in settings:
                raise bad_parameters("setting.unknown", name=repr(name[:60]))
            settings[name].check(value)
        if "attention" in spec.settings and self.attention is None:
            raise bad_parameters("workload.no_attention", workload=self.id)
        self._check_numbers(spec)
        self._check_preset(spec)
        self._check_engine(spec)
        self._check_devices(spec)
        self._check_gpus(spec)

    def _check_engine(self, spec: RunSpec) -> None:
        if spec.engine not in ENGINES:
            raise bad_parameters("engine.unknown", engine=repr(spec.engine[:60]), engines=list(ENGINES))
        engine = ENGINES[spec.engine]
        if self.engines is not None and spec.engine not in self.engines:
            able = [engine_title(name) for name in self.engines]
            raise bad_parameters("engine.not_for_workload", engine=engine.title, workload=self.id, engines=able)
        refusal = engine.refusal(spec)
        if refusal is None and spec.settings.get("attention") == "fused":
            refusal = engine.fused_refusal(spec, drops=self.drops_attention)
        if refusal is not None:
            raise WorkloadError("bad_parameters", refusal)

    def _check_numbers(self, spec: RunSpec) -> None:
        for name, minimum in (("epochs", 1), ("steps", 1), ("batch_size", 1), ("threads", 1)):
            value = getattr(spec, name)
            if value is not None and value < minimum:
                label = message(f"setting.{name}")
                raise bad_parameters("workload.number_too_small", setting=label, minimum=minimum, value=value)
        if spec.batch_size > self.samples_per_epoch > 0:
            raise bad_parameters(
                "workload.batch_too_large",
                batch_size=spec.batch_size,
                samples=self.samples_per_epoch,
                workload=self.id,
                usual=self.batch_size,
            )
        steps = self.steps_per_epoch(spec)
        if spec.steps is not None and spec.steps > steps and self.samples_per_epoch:
            raise bad_parameters(
                "workload.too_many_steps",
                workload=self.id,
                steps=steps,
                batch_size=spec.batch_size,
                asked=spec.steps,
            )

    def _check_devices(self, spec: RunSpec) -> None:
        devices, computers = spec.device_count, spec.machine_count
        if devices < self.least_devices:
            raise bad_parameters("workload.too_few_devices", workload=self.id, least=self.least_devices)
        if devices % computers:
            raise bad_parameters("workload.devices_not_divisible", devices=devices, computers=computers)
        if self.least_devices > 1 or devices == 1:
            return
        if not self.divides_batches:
            raise bad_parameters("workload.one_device", workload=self.id)
        if spec.batch_size % devices:
            raise bad_parameters("workload.batch_not_divisible", batch_size=spec.batch_size, count=devices)
        for samples in (self.samples_per_epoch, self.validation_samples):
            rest = samples % spec.batch_size
            if rest % devices and ENGINES[spec.engine].has_equal_parts:
                raise bad_parameters("workload.rest_not_divisible", rest=rest, count=devices)

    def _check_gpus(self, spec: RunSpec) -> None:
        gpus, count = listed_gpus(spec.settings.get("gpus")), spec.devices_here
        if gpus and (len(gpus) != count or spec.device != f"gpu:{gpus[0]}"):
            raise bad_parameters("workload.other_gpus", gpus=list(gpus), device=spec.device, count=count)

    def _check_preset(self, spec: RunSpec) -> None:
        if spec.preset != "standard" and (spec.epochs != 1 or spec.steps is not None):
            code = "workload.quick_is_one_epoch" if spec.preset == "quick" else "workload.sustained_is_by_time"
            raise bad_parameters(code)
        if spec.preset == "sustained" and not self.can_sustain:
            raise bad_parameters("workload.not_sustained", workload=self.id)

    def setting_parameters(self) -> tuple[Parameter, ...]:
        """Return the run settings for a form, with the limits and defaults of this workload."""
        most = {"batch_size": self.samples_per_epoch or None}
        return tuple(
            setting.parameter(self.setting_default(setting), most.get(setting.name))
            for setting in all_settings()
            if setting.in_form and setting.is_choice and (setting.name != "attention" or self.attention)
        )

    def setting_default(self, setting: Setting) -> Value:
        """Return a setting's default in forms; None for the setting's own one."""
        value: Value = None if setting.may_be_auto else getattr(self, setting.name, None)
        return value

    def attention_of(self, spec: RunSpec) -> Value:
        """Return the attention that a run uses: as chosen, or as published if the engine has that."""
        if (chosen := spec.settings.get("attention")) is not None or self.attention != "fused":
            return chosen or self.attention
        return "fused" if ENGINES[spec.engine].fused_refusal(spec, drops=self.drops_attention) is None else "plain"

    def fused_attention(self, spec: RunSpec) -> Any:
        """Return the engine's fused attention, in the worker; None if the run computes it step by step."""
        engine = engine_named(spec.engine)
        if self.attention_of(spec) != "fused":
            return None
        if engine.has_fused_attention(drops=self.drops_attention):
            return engine.fused_attention
        if "attention" in spec.settings:
            raise bad_parameters("engine.no_fused_kernel", engine=engine.info.title)
        return None

    def steps_per_epoch(self, spec: RunSpec) -> int:
        """Return the number of training steps in a full epoch, including an incomplete last batch.

        If the study has no epochs, this is the requested number of steps.
        """
        if not self.samples_per_epoch:
            return spec.steps or self.steps or 1
        return -(-self.samples_per_epoch // spec.batch_size)

    def batches_per_step(self, spec: RunSpec) -> int:
        """Return the number of batches that `fit` trains with before it updates the weights."""
        return 1

    def after_steps_s(self, example_s: float) -> float:
        """Return the approximate duration of a run after its steps, from the time per example in a large batch."""
        return 0.0

    @property
    def study_name(self) -> str:
        return STUDIES.get(self.study, self.study)

    def units_of(self, variant: str) -> int:
        """Return the number of units per example for a variant's network, used for speeds."""
        return self.units_per_example

    def operations_for(self, variant: str) -> int | None:
        """Return `operations_per_example` for a variant's network; None if unknown."""
        return None if variant else self.operations_per_example

    @property
    def counts_images(self) -> bool:
        return self.kind == "image"

    def memory_need(self, engine: str) -> MemoryNeed | None:
        """Return the memory requirement of the default network with an engine; None if it was never measured."""
        return self.memory_needs.get(engine)

    def memory_need_of(self, spec: RunSpec) -> MemoryNeed | None:
        """Return the memory requirement of a spec's network with its engine; None if it was never measured."""
        return self.memory_need(spec.engine)

    def memory_need_bytes(self, spec: RunSpec) -> int | None:
        """Return the approximate memory requirement of a run, in bytes; None if it was never measured."""
        need = self.memory_need_of(spec)
        return None if need is None else need.at(spec.batch_size)

    def gpu_need(self, spec: RunSpec) -> Message | None:
        """Explain why a spec requires a GPU; None if it doesn't."""
        return None

    def expected_parameters(self, spec: RunSpec) -> int | None:
        """Return the parameter count of this spec's network; None if it is known only after building."""
        return None if self.variant(spec) else self.parameters_count

    def variant(self, spec: RunSpec) -> str:
        """Return the parameters that differ from the default network's, as "name=value …"; "" if none do."""
        return " ".join(
            f"{parameter.name}={spec.parameters[parameter.name]}"
            for parameter in self.parameters
            if parameter.in_variant and spec.parameters.get(parameter.name, parameter.default) != parameter.default
        )

    def is_default_network(self, spec: RunSpec) -> bool:
        """Return whether a spec's network is the default one and learns like it, as loss bands require."""
        return self.learns_as_default(self.variant(spec), lambda setting: setting.of(spec))

    def learns_as_default(self, variant: str, value_of: Callable[[Setting], Value]) -> bool:
        """Return whether a run with this variant and these values of settings is of the default network."""
        learning = (setting for setting in all_settings() if setting.changes == "learning")
        return not variant and all(
            value_of(setting) == getattr(self, setting.name, setting.default) for setting in learning
        )

    def values_of(self, variant: str) -> dict[str, ParameterValue]:
        """Return the parameter values of a variant by name. Missing or invalid values are replaced by defaults."""
        values = {parameter.name: parameter.default for parameter in self.parameters}
        stated = dict(part.split("=", 1) for part in variant.split() if "=" in part)
        for parameter in self.parameters:
            if parameter.name in stated:
                with suppress(WorkloadError):
                    values[parameter.name] = parameter.parse(stated[parameter.name])
        return values

    def value_of(self, spec: RunSpec, name: str) -> ParameterValue:
        """Return the value of a parameter in a spec, or its default if the spec doesn't contain it."""
        default = next(parameter.default for parameter in self.parameters if parameter.name == name)
        return spec.parameters.get(name, default)

    def run(self, job: Job, reporter: Reporter) -> None:
        """Run in a worker process. Events are sent to `reporter`.

        Raises:
            WorkloadError: The run can't continue.
            workloads.protocol.reporter.Cancelled: The parent requested cancellation.
        """
        raise NotImplementedError
