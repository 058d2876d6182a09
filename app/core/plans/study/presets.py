"""The nine ready-made studies: their configurations on this computer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from app.core.engines.choices import Choice, Installed, device_choices
from app.core.messages import sentence
from app.core.plans.study.axes import CONFIGURATION, FOLDERS, WORKLOAD, with_values
from workloads import CATALOGUE, STANDARD
from workloads.engines.registry import DEFAULT_ENGINE, compiles_always, engine_named
from workloads.protocol.machine import Machine
from workloads.protocol.spec import Precision, Preset, RunSpec
from workloads.workload import Workload

LARGEST_BATCH = 8_192
BATCHES_BELOW, BATCHES_ABOVE = 3, 4
WOOLF = (
    *("mnist_mlp", "mnist_cnn", "cifar10_cnn", "imdb_fasttext"),
    *("imdb_bidirectional_lstm", "lstm_text_generation", "text_generator_keras"),
)
FLOWERS = ("flowers_xception_331", "flowers_vgg16_331", "flowers_resnet50_331")
PRECISIONS: tuple[Precision, ...] = ("float32", "mixed_float16", "mixed_bfloat16")
# NVIDIA's GPUs since Ampere.
TF32_CAPABILITY = 8.0
CONVERGENCE_EPOCHS = 3
# Smaller and larger batches, as factors of the default batch size.
CONVERGENCE_BATCHES = (0.5, 1, 4)


@dataclass(frozen=True, slots=True)
class Place:
    """Everything that configurations are derived from.

    Attributes:
        machine: This computer.
        installed: Installed engines.
        usable_cpus: Number of logical CPUs that a run may use.
        can_limit_cpus: Whether a run can be pinned to some of them.
        preset: Preset of each run; None for the study's own.
        choice: More settings of each run, as for `Workload.default_spec`.
        folders: Folders to read from, for studies that need them.
    """

    machine: Machine
    installed: Installed
    usable_cpus: int
    can_limit_cpus: bool
    preset: Preset | None
    choice: dict[str, Any]
    folders: tuple[str, ...] = ()

    def spec(self, workload: Workload, preset: Preset = "quick", **changes: Any) -> RunSpec:
        """Return a workload's spec with these settings."""
        return workload.default_spec(self.preset or preset, **(self.choice | changes))

    def choices(self, workload: Workload) -> tuple[Choice, ...]:
        """Return the combinations of engine and device that can run a workload."""
        return device_choices(self.installed, self.machine, workload.engines)


Build = Callable[[Place, Sequence[Workload]], list[RunSpec]]


@dataclass(frozen=True, slots=True)
class StudyPreset:
    """A ready-made study.

    Attributes:
        key: Name as typed and stored.
        axes: Its axes, the chart's axis first.
        build: Creates its configurations, some of which may be impossible on this computer.
        workloads: Its default workloads.
        rounds: Number of runs per configuration.
        source: The published study, "000" to "003".
        takes_several: Whether it can run several workloads.
        reading: The workload used instead if it reads from folders; "" if it never does.
    """

    key: str
    axes: tuple[str, ...]
    build: Build
    workloads: tuple[str, ...] = (STANDARD,)
    rounds: int = 1
    source: str = ""
    takes_several: bool = False
    reading: str = ""

    @property
    def title(self) -> str:
        """Its name on screen."""
        return sentence(f"studies.title_{self.key}")

    @property
    def question(self) -> str:
        """The question it answers."""
        return sentence(f"studies.question_{self.key}")


def batches(place: Place, workloads: Sequence[Workload]) -> list[RunSpec]:
    """Return powers of two around the default batch size, at most an eighth of an epoch."""
    (workload,) = workloads
    usual = workload.batch_size.bit_length() - 1
    most = workload.samples_per_epoch // 8 or LARGEST_BATCH
    sizes_wanted = [2**power for power in range(max(0, usual - BATCHES_BELOW), usual + BATCHES_ABOVE + 1)]
    return [place.spec(workload, batch_size=size) for size in sizes_wanted if size <= most]


def threads(place: Place, workloads: Sequence[Workload]) -> list[RunSpec]:
    """Return 1, 2, 4 … CPUs up to all, including the number of physical cores, with as many threads as CPUs."""
    (workload,) = workloads
    limits = place.can_limit_cpus
    specs = []
    for count in cpu_counts(place):
        spec = place.spec(workload, device="cpu", threads=count)
        specs.append(with_values(spec, {"cpus": count}) if limits else spec)
    return specs


def cpu_counts(place: Place) -> list[int]:
    """Return 1, 2, 4 … up to the number of usable CPUs, including the number of physical cores."""
    there = max(1, place.usable_cpus)
    counts = {2**power for power in range(there.bit_length()) if 2**power <= there} | {there}
    physical = place.machine.physical_cores
    return sorted(counts | ({physical} if physical and physical < there else set()))


def software(place: Place, workloads: Sequence[Workload]) -> list[RunSpec]:
    """Return each engine on the CPU with its defaults, without oneDNN, and compiled, where supported."""
    (workload,) = workloads
    specs = []
    for choice in place.choices(workload):
        if choice.gpu is not None:
            continue
        jit = compiles_always(choice.engine)
        usual = place.spec(workload, engine=choice.engine, device="cpu", jit=jit)
        specs.append(usual)
        if "onednn" in engine_named(choice.engine).settings:
            specs.append(msgspec.structs.replace(usual, onednn=False))
        if not jit:
            specs.append(msgspec.structs.replace(usual, jit=True))
    return specs


def precisions(place: Place, workloads: Sequence[Workload]) -> list[RunSpec]:
    """Return each precision on the chosen device; float32 with and without TF32 where available."""
    (workload,) = workloads
    specs = [place.spec(workload, precision=precision) for precision in PRECISIONS]
    if not has_tf32(place, specs[0], workload):
        return specs
    plain, *mixed = specs
    return [with_values(plain, {"tf32": False}), with_values(plain, {"tf32": True}), *mixed]


def has_tf32(place: Place, spec: RunSpec, workload: Workload) -> bool:
    """Return whether a run would use a GPU that has TensorFloat-32."""
    pairs = [choice for choice in place.choices(workload) if choice.engine == spec.engine]
    wanted = [choice for choice in pairs if spec.device in (choice.device, "auto")]
    gpu = next((choice.gpu for choice in wanted if choice.gpu is not None), None)
    try:
        return gpu is not None and float(gpu.compute_capability or 0) >= TF32_CAPABILITY
    except ValueError:
        return False


def devices(place: Place, workloads: Sequence[Workload]) -> list[RunSpec]:
    """Return every combination of engine and device for each workload."""
    return [
        place.spec(workload, engine=choice.engine, device=choice.device, jit=compiles_always(choice.engine))
        for workload in workloads
        for choice in place.choices(workload)
    ]


def phases(place: Place, workloads: Sequence[Workload]) -> list[RunSpec]:
    """Return training and prediction with the same network, on every combination of engine and device."""
    pairs = [
        each
        for workload in workloads
        for each in (workload, CATALOGUE.get(f"{workload.id}_inference"))
        if each is not None
    ]
    return devices(place, pairs)


def sizes(place: Place, workloads: Sequence[Workload]) -> list[RunSpec]:
    """Return 1, 2, 4 … CPUs (and each folder) for a network with CPU-prepared pictures, on the best device."""
    (workload,) = workloads
    if not place.folders:
        return [with_values(place.spec(workload), {"cpus": count}) for count in cpu_counts(place)]
    counts = cpu_counts(place) if place.can_limit_cpus else [None]
    return [
        with_values(place.spec(workload), {FOLDERS: folder, "cpus": count})
        for folder in place.folders
        for count in counts
    ]


def convergence(place: Place, workloads: Sequence[Workload]) -> list[RunSpec]:
    """Return a few whole epochs with smaller and larger batches."""
    (workload,) = workloads
    usual = {"epochs": CONVERGENCE_EPOCHS} if "epochs" not in place.choice else {}
    sizes_wanted = [max(1, round(workload.batch_size * factor)) for factor in CONVERGENCE_BATCHES]
    return [place.spec(workload, "standard", batch_size=size, **usual) for size in sizes_wanted]


def costs(place: Place, workloads: Sequence[Workload]) -> list[RunSpec]:
    """Return each workload on every device, with the default engine for the device."""
    specs = []
    for workload in workloads:
        seen: set[str] = set()
        for choice in sorted(place.choices(workload), key=lambda each: each.engine != DEFAULT_ENGINE):
            if choice.device not in seen:
                seen.add(choice.device)
                jit = compiles_always(choice.engine)
                specs.append(place.spec(workload, engine=choice.engine, device=choice.device, jit=jit))
    return specs


PRESETS: dict[str, StudyPreset] = {
    preset.key: preset
    for preset in (
        StudyPreset("batch", ("batch_size",), batches, source="003"),
        StudyPreset("threads", ("threads",), threads, source="003"),
        StudyPreset("software", (CONFIGURATION,), software, rounds=3, source="003"),
        StudyPreset("precision", ("precision",), precisions, rounds=2),
        StudyPreset("devices", (CONFIGURATION, WORKLOAD), devices, source="004", takes_several=True),
        StudyPreset("phases", (CONFIGURATION, WORKLOAD), phases, (FLOWERS[1],), source="002", takes_several=True),
        StudyPreset("sizing", ("cpus",), sizes, ("cifar10_cnn",), source="001", reading="storage"),
        StudyPreset("convergence", ("batch_size",), convergence, source="003"),
        StudyPreset("cost", (WORKLOAD, CONFIGURATION), costs, WOOLF, source="000", takes_several=True),
    )
}
