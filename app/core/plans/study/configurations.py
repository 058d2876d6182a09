"""The configurations of the predefined studies, as far as they depend on the computer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from app.core.engines.choices import Choice, Installed, device_choices
from app.core.hardware.device_limit import device_limit
from app.core.plans.study.axes import FOLDERS, POWER_LIMIT, with_values
from app.core.verdict.context import gpu_index
from workloads import CATALOGUE
from workloads.engines.registry import DEFAULT_ENGINE, ENGINES, compiles_always
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
# Compute capability of Ampere, NVIDIA's first GPUs with TF32.
TF32_CAPABILITY = 8.0
# Limits of the power study relative to the full limit, and the step to which limits from COARSE_FROM_W are
# rounded. Many cards accept no limit below half.
POWER_SHARES, POWER_STEP_W, COARSE_FROM_W = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5), 5, 100
CONVERGENCE_EPOCHS = 3
# Steps of each run that only shows whether it fits. The first one may need less memory than the others.
FITS_STEPS = 3
# Lengths of sequences, and the length and sizes of larger batches. On a CPU, longer ones would take hours.
FITS_ON_GPU = ([2**power for power in range(9, 18)], 2_048, [2**power for power in range(1, 8)])
FITS_ON_CPU = ([128, 256, 512, 1_024], 256, [2, 4])
# Batch sizes relative to the default.
CONVERGENCE_BATCHES = (0.5, 1, 4)


@dataclass(frozen=True, slots=True)
class StudyContext:
    """The inputs that determine the configurations of a study."""

    machine: Machine  # this computer
    installed: Installed  # installed engines
    usable_cpus: int  # number of logical CPUs available to a run
    can_limit_cpus: bool  # whether a run can be pinned to some of the CPUs
    preset: Preset  # preset of each run
    choice: dict[str, Any]  # other settings of each run, as for `Workload.default_spec`
    folders: tuple[str, ...] = ()  # folders to read from; () if there are none

    def spec(self, workload: Workload, **changes: Any) -> RunSpec:
        """Return a workload's spec for this computer, with changes."""
        return workload.default_spec(self.preset, **(self.choice | changes))

    def choices(self, workload: Workload) -> tuple[Choice, ...]:
        return device_choices(self.installed, self.machine, workload.engines)


def batches(context: StudyContext, workloads: Sequence[Workload]) -> list[RunSpec]:
    """Return specs with powers of two around the default batch size, up to an eighth of an epoch."""
    (workload,) = workloads
    usual = workload.batch_size.bit_length() - 1
    most = workload.samples_per_epoch // 8 or LARGEST_BATCH
    sizes_wanted = [2**power for power in range(max(0, usual - BATCHES_BELOW), usual + BATCHES_ABOVE + 1)]
    return [context.spec(workload, batch_size=size) for size in sizes_wanted if size <= most]


def fits(context: StudyContext, workloads: Sequence[Workload]) -> list[RunSpec]:
    """Return specs with longer and longer sequences, and with larger and larger batches, of a language model.

    The model is the largest one whose weights leave half of the GPU's memory free. An engine with fused attention
    is preferred.
    """
    (workload,) = workloads
    engine, device = context.choice.get("engine"), context.choice.get("device", "auto")

    def standing(choice: Choice) -> tuple[bool, bool]:
        spec = context.spec(workload, engine=choice.engine, device=choice.device)
        return choice.gpu is not None, workload.attention_of(spec) == workload.attention

    choices = [each for each in context.choices(workload) if engine in (None, each.engine)]
    choices = [each for each in choices if device in ("auto", each.device)]
    if not choices:
        return [context.spec(workload)]  # which is refused with the reason
    choice = max(choices, key=standing)
    there_bytes = context.machine.memory_bytes if choice.gpu is None else choice.gpu.memory_bytes
    base: dict[str, Any] = {"engine": choice.engine, "device": choice.device, "epochs": 1, "steps": FITS_STEPS}
    base |= {"jit": compiles_always(choice.engine)}
    sizes = next(each.kind.allowed() for each in workload.parameters if each.name == "size")
    models = [context.spec(workload, **base, parameters={"size": size, "checkpointing": True}) for size in sizes]
    wide = [spec for spec in models if 2 * (workload.expected_parameters(spec) or 0) <= (there_bytes or 0) / 2]
    model = models[0] if choice.gpu is None else [models[0], *wide][-1]
    lengths, length, batch_sizes = FITS_ON_CPU if choice.gpu is None else FITS_ON_GPU
    pairs = [*((1, each) for each in lengths), *((size, length) for size in batch_sizes)]
    specs = [(with_values(model, {"sequence": sequence, "micro_batch": size}), size) for size, sequence in pairs]
    return [msgspec.structs.replace(spec, batch_size=size) for spec, size in specs]


def threads(context: StudyContext, workloads: Sequence[Workload]) -> list[RunSpec]:
    """Return specs that use 1, 2, 4 … and all CPUs, and the number of physical cores, with one thread per CPU."""
    (workload,) = workloads
    limits = context.can_limit_cpus
    specs = []
    for count in cpu_counts(context):
        spec = context.spec(workload, device="cpu", threads=count)
        specs.append(with_values(spec, {"cpus": count}) if limits else spec)
    return specs


def cpu_counts(context: StudyContext) -> list[int]:
    """Return 1, 2, 4 …, the number of usable CPUs, and the number of physical cores, in ascending order."""
    there = max(1, context.usable_cpus)
    counts = {2**power for power in range(there.bit_length()) if 2**power <= there} | {there}
    physical = context.machine.physical_cores
    return sorted(counts | ({physical} if physical and physical < there else set()))


def software(context: StudyContext, workloads: Sequence[Workload]) -> list[RunSpec]:
    """Return specs for each engine on the CPU.

    Each engine has a spec with default settings and, if supported, one without oneDNN and one that is compiled.
    """
    (workload,) = workloads
    specs = []
    for choice in context.choices(workload):
        if choice.gpu is not None:
            continue
        jit = compiles_always(choice.engine)
        usual = context.spec(workload, engine=choice.engine, device="cpu", jit=jit)
        specs.append(usual)
        if "onednn" in ENGINES[choice.engine].settings:
            specs.append(msgspec.structs.replace(usual, onednn=False))
        if not jit:
            specs.append(msgspec.structs.replace(usual, jit=True))
    return specs


def precisions(context: StudyContext, workloads: Sequence[Workload]) -> list[RunSpec]:
    """Return specs with each precision; float32 with and without TF32 if available."""
    (workload,) = workloads
    specs = [context.spec(workload, precision=precision) for precision in PRECISIONS]
    if not has_tf32(context, specs[0], workload):
        return specs
    plain, *mixed = specs
    return [with_values(plain, {"tf32": False}), with_values(plain, {"tf32": True}), *mixed]


def has_tf32(context: StudyContext, spec: RunSpec, workload: Workload) -> bool:
    """Return whether a run would use a GPU that supports TensorFloat-32."""
    pairs = [choice for choice in context.choices(workload) if choice.engine == spec.engine]
    wanted = [choice for choice in pairs if spec.device in (choice.device, "auto")]
    gpu = next((choice.gpu for choice in wanted if choice.gpu is not None), None)
    try:
        return gpu is not None and float(gpu.compute_capability or 0) >= TF32_CAPABILITY
    except ValueError:
        return False


def devices(context: StudyContext, workloads: Sequence[Workload]) -> list[RunSpec]:
    """Return specs for all combinations of engine and device, for each workload."""
    return [
        context.spec(workload, engine=choice.engine, device=choice.device, jit=compiles_always(choice.engine))
        for workload in workloads
        for choice in context.choices(workload)
    ]


def scaling(context: StudyContext, workloads: Sequence[Workload]) -> list[RunSpec]:
    """Return specs with 1, 2, 4 … and all GPUs of an engine that share the default batch.

    Without several GPUs, the CPU is divided into several devices, which only shows that sharing a batch works.
    """
    return [spec for spec, _ in _on_devices(context, workloads)]


def weak_scaling(context: StudyContext, workloads: Sequence[Workload]) -> list[RunSpec]:
    """Return the specs of `scaling`, but with the default batch size on each device."""
    specs = _on_devices(context, workloads)
    return [msgspec.structs.replace(spec, batch_size=count * spec.batch_size) for spec, count in specs]


def _on_devices(context: StudyContext, workloads: Sequence[Workload]) -> list[tuple[RunSpec, int]]:
    (workload,) = workloads
    engine = context.choice.get("engine", DEFAULT_ENGINE)
    changes: dict[str, Any] = {"jit": compiles_always(engine)}
    wants_cards = context.choice.get("device", "auto") != "cpu"
    there = sum(each.gpu is not None and each.engine == engine for each in context.choices(workload))
    if there < 2 or not wants_cards:
        there, changes["device"] = max(2, context.usable_cpus), "cpu"
    counts = sorted({2**power for power in range(there.bit_length()) if 2**power <= there} | {there})
    return [(context.spec(workload, devices=count, **changes), count) for count in counts]


def phases(context: StudyContext, workloads: Sequence[Workload]) -> list[RunSpec]:
    """Return specs for training and prediction with the same network, for each pair of engine and device."""
    pairs = [
        each
        for workload in workloads
        for each in (workload, CATALOGUE.get(f"{workload.id}_inference"))
        if each is not None
    ]
    return devices(context, pairs)


def sizes(context: StudyContext, workloads: Sequence[Workload]) -> list[RunSpec]:
    """Return specs with 1, 2, 4 … CPUs (for each folder, if any) for a network with images prepared by the CPU."""
    (workload,) = workloads
    if not context.folders:
        return [with_values(context.spec(workload), {"cpus": count}) for count in cpu_counts(context)]
    counts = cpu_counts(context) if context.can_limit_cpus else [None]
    return [
        with_values(context.spec(workload), {FOLDERS: folder, "cpus": count})
        for folder in context.folders
        for count in counts
    ]


def convergence(context: StudyContext, workloads: Sequence[Workload]) -> list[RunSpec]:
    """Return specs for a few whole epochs with smaller and larger batches."""
    (workload,) = workloads
    usual = {"epochs": CONVERGENCE_EPOCHS} if "epochs" not in context.choice else {}
    sizes_wanted = [max(1, round(workload.batch_size * factor)) for factor in CONVERGENCE_BATCHES]
    return [context.spec(workload, batch_size=size, **usual) for size in sizes_wanted]


def costs(context: StudyContext, workloads: Sequence[Workload]) -> list[RunSpec]:
    """Return specs for each workload on each device, with the default engine of the device."""
    specs = []
    for workload in workloads:
        seen: set[str] = set()
        for choice in sorted(context.choices(workload), key=lambda each: each.engine != DEFAULT_ENGINE):
            if choice.device not in seen:
                seen.add(choice.device)
                jit = compiles_always(choice.engine)
                specs.append(context.spec(workload, engine=choice.engine, device=choice.device, jit=jit))
    return specs


def power_limits(context: StudyContext, workloads: Sequence[Workload]) -> list[RunSpec]:
    """Return specs with fractions of a device's full power limit that the device accepts, highest first.

    If no device has a known limit, the only spec has a limit that is rejected, so that the plan states the reason.
    """
    (workload,) = workloads
    wanted = context.choice.get("device", "auto")
    usable = [choice for choice in context.choices(workload) if wanted in (choice.device, "auto")]
    for choice in sorted(usable, key=lambda each: each.gpu is None):
        device = device_limit(context.machine, gpu_index(choice.device))
        if device is not None and device.full_w:
            jit = compiles_always(choice.engine)
            spec = context.spec(workload, engine=choice.engine, device=choice.device, jit=jit)
            # Rounded limits, highest first, without those that are too low
            step_w = POWER_STEP_W if device.full_w >= COARSE_FROM_W else 1
            rounded_w = {step_w * round(share * device.full_w / step_w) for share in POWER_SHARES} | {
                round(device.full_w)
            }
            limits_w = sorted(
                (limit_w for limit_w in rounded_w if device.least_w <= limit_w <= device.full_w), reverse=True
            )
            return [with_values(spec, {POWER_LIMIT: limit_w}) for limit_w in limits_w]
    return [with_values(context.spec(workload), {POWER_LIMIT: 1})]
