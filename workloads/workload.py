"""What a workload is: its declaration (read by window, command line and worker) and its `run`.

Declarations need no engine; whatever a workload imports to run, it imports inside `run`.
"""

from dataclasses import dataclass
from typing import Any, Literal

from workloads.engines.registry import ENGINES, engine_named, engine_title
from workloads.protocol.errors import WorkloadError
from workloads.protocol.messages import Message, message
from workloads.protocol.parameters import Parameter, folders_of
from workloads.protocol.reporter import Reporter
from workloads.protocol.spec import Job, Preset, RunSpec
from workloads.settings import all_settings, split_values

Kind = Literal["image", "text", "dense", "limits", "storage", "demo"]
# What a workload's headline is; app.core.metrics knows how each is written.
HeadlineKey = Literal[
    "seconds_per_epoch_s", "seconds_per_batch_s", "images_per_s", "words_per_s", "flop_per_s", "bytes_per_s"
]


def unknown_parameter(workload: "Workload", name: str) -> Message:
    """Say that a workload has no parameter of this name, and which it has."""
    names = [parameter.name for parameter in workload.parameters]
    code = "workload.other_parameters" if names else "workload.no_parameters"
    return message(code, workload=workload.id, name=repr(name[:60]), known=names or None)


@dataclass(frozen=True, slots=True)
class Proof:
    """What shows that a run really trained: with the usual batch and network, wherever it ran.

    Attributes:
        steps: After so many training steps …
        bands: … the mean of their losses lies between these two, by the source of the data ("real", "synthetic").
        origin: How the bands were found, in one sentence.
    """

    steps: int
    bands: dict[str, tuple[float, float]]
    origin: str


class Workload:
    """One thing that can be run. Subclasses fill the attributes and `run`.

    Attributes:
        version: Raised whenever a change makes new results incomparable with old ones.
        study: The published study that it repeats, "000" to "004"; "" for none.
        summary: What it is, in at most two lines.
        source: Where the network is published.
        epoch_text: What counts as an epoch, in a few words.
        metric: What its headline is.
        samples_per_epoch, validation_samples: Examples trained and validated in one epoch; 0 training examples
            where the study knows no epoch.
        steps: What each epoch is cut to unless something else is asked, where a whole one is out of reach or
            does not exist; None for whole epochs.
        units_per_example: What one example counts for in a headline per second: the words of a sequence.
        parameters_count: Of the default variant; None where only building it tells.
        loss_band: Between which values the training loss lies after the first whole epoch; None if not known.
        fixed_duration_s: How long a run takes on any machine, about, where it is cut by time; else None.
        memory_base_bytes, memory_per_example_bytes: What a run was measured to need on the processor, at batch 0
            and for each example of a batch; None if it was not.
        prepares_input: Whether the CPU makes each batch while the network trains.
        engines: Those that can run it, by name; None for all.
        is_demo: Whether its times say nothing about the computer.
        trains: Whether losses come of it.
        has_epochs: Whether it goes through data, epoch by epoch or round by round; else it takes its own time.
        can_sustain: Whether it can go on for a time that is asked for.
        counts_steps: Whether it must make exactly the steps that a Standard run asks for.
        steps_alike: Whether all of its steps do the same, so that they can be compared with each other.
        reports_headline: Whether it measures its headline itself, because its steps are of many different cases.
    """

    id: str
    version: int = 1
    title: str
    kind: Kind
    study: str = ""
    summary: str
    source: str
    epoch_text: str = ""
    metric: HeadlineKey = "seconds_per_epoch_s"
    dataset: str | None = None
    epochs: int
    steps: int | None = None
    batch_size: int
    samples_per_epoch: int
    validation_samples: int = 0
    units_per_example: int = 1
    parameters_count: int | None = None
    parameters: tuple[Parameter, ...] = ()
    loss_band: tuple[float, float] | None = None
    fixed_duration_s: float | None = None
    memory_base_bytes: int | None = None
    memory_per_example_bytes: int = 0
    prepares_input: bool = False
    engines: tuple[str, ...] | None = None
    is_demo: bool = False
    trains: bool = False
    has_epochs: bool = True
    can_sustain: bool = True
    counts_steps: bool = False
    steps_alike: bool = False
    reports_headline: bool = False

    def default_spec(self, preset: Preset = "standard", **changes: Any) -> RunSpec:
        """Return what a run is when nothing else is asked; `changes` that are None count as not asked."""
        asked = {name: value for name, value in changes.items() if value is not None}
        epochs = self.epochs if preset == "standard" else 1
        defaults: dict[str, Any] = {
            "epochs": epochs,
            "steps": self.steps if preset == "standard" else None,
            "batch_size": self.batch_size,
            "workload": self.id,
            "preset": preset,
        }
        values = {parameter.name: parameter.default for parameter in self.parameters}
        asked["parameters"] = values | asked.get("parameters", {})
        return RunSpec(**(defaults | split_values(asked)))

    def check(self, spec: RunSpec) -> None:
        """Refuse what cannot be run; raises WorkloadError("bad_parameters") with the sentence to show."""
        declared = {parameter.name: parameter for parameter in self.parameters}
        for name, value in spec.parameters.items():
            if name not in declared:
                raise WorkloadError("bad_parameters", unknown_parameter(self, name))
            declared[name].check(value)
        for parameter in self.parameters:
            if parameter.required and not folders_of(str(spec.parameters.get(parameter.name, parameter.default))):
                said = message("workload.needs_folder", workload=self.id, parameter=parameter.name)
                raise WorkloadError("bad_parameters", said)
        for name in spec.settings:
            if name not in (setting.name for setting in all_settings()):
                raise WorkloadError("bad_parameters", message("setting.unknown", name=repr(name[:60])))
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
                label = name.replace("_", " ").capitalize()
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
        """Return the run settings that a form shows, with this workload's limits and defaults."""
        most = {"batch_size": self.samples_per_epoch or None}
        return tuple(
            setting.parameter(getattr(self, setting.name, None), most.get(setting.name))
            for setting in all_settings()
            if setting.in_form and setting.is_choice
        )

    def steps_per_epoch(self, spec: RunSpec) -> int:
        """Return the training steps of one whole epoch, the last, smaller batch included.

        Where the study knows no epoch, it is what was asked for.
        """
        if not self.samples_per_epoch:
            return spec.steps or self.steps or 1
        return -(-self.samples_per_epoch // spec.batch_size)

    def after_steps_s(self, example_s: float) -> float:
        """Return about how long a run goes on after its steps, by what one example takes in a large batch."""
        return 0.0

    @property
    def proof(self) -> Proof | None:
        """What its first steps' losses must be; None where there is no loss, or the band is not known."""
        return None

    def memory_need_bytes(self, spec: RunSpec) -> int | None:
        """Return about how much memory the run needs; None if that was never measured."""
        if self.memory_base_bytes is None:
            return None
        return self.memory_base_bytes + spec.batch_size * self.memory_per_example_bytes

    def expected_parameters(self, spec: RunSpec) -> int | None:
        """Return how many parameters the network of this spec has; None where only building it tells."""
        return None if self.variant(spec) else self.parameters_count

    def variant(self, spec: RunSpec) -> str:
        """Return what makes the network another one than the default, as "name=value …"; "" for nothing."""
        return " ".join(
            f"{parameter.name}={spec.parameters[parameter.name]}"
            for parameter in self.parameters
            if parameter.in_variant and spec.parameters.get(parameter.name, parameter.default) != parameter.default
        )

    def run(self, job: Job, reporter: Reporter) -> None:
        """Run in the worker process, telling `reporter` what happens.

        Raises:
            WorkloadError: It cannot go on, for a reason that has a code.
            workloads.protocol.reporter.Cancelled: The parent asked to stop.
        """
        raise NotImplementedError
