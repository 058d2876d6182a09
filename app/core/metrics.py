"""The registry of numbers: each key's label, unit and digits, and how to format it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from workloads.protocol.parameters import FOLDERS_LIMIT
from workloads.system.storage import CASES


@dataclass(frozen=True, slots=True)
class Metric:
    """Label and format of a number."""

    label: str
    unit: str = ""
    digits: int = 2
    scale: float = 1.0  # factor from the stored to the displayed unit
    is_signed: bool = False  # whether to show a plus sign
    is_memory: bool = False  # in bytes, shown as `format_memory` does


@dataclass(frozen=True, slots=True)
class Headline:
    """Label, unit and direction of a headline.

    Attributes:
        unit: In words, as it follows the number in a sentence.
        short_unit: For narrow places.
        scale: Factor from the stored to the displayed value.
        is_rate: Whether higher is faster.
    """

    label: str
    unit: str
    short_unit: str
    scale: float = 1.0
    is_rate: bool = False

    def times_as_fast(self, value: float, other: float) -> float:
        """Return how many times as fast `value` is as `other`."""
        return value / other if self.is_rate else other / value

    @property
    def quantity(self) -> str:
        """The title of an axis: the label if it includes the unit, or else the unit."""
        return self.label if " per " in self.unit else self.unit

    @property
    def tick_unit(self) -> str:
        """The unit after a number on an axis whose title says the rest."""
        return " s" if self.unit.startswith("s ") else ""


HEADLINES: dict[str, Headline] = {
    "seconds_per_epoch_s": Headline("Seconds per epoch", "s per epoch", "s / epoch"),
    "seconds_per_batch_s": Headline("Seconds per mini-batch", "s per mini-batch", "s / batch"),
    "images_per_s": Headline("Images per second", "images per second", "images / s", is_rate=True),
    "words_per_s": Headline("Words per second", "words per second", "words / s", is_rate=True),
    "tokens_per_s": Headline("Tokens per second", "tokens per second", "tokens / s", is_rate=True),
    "flop_per_s": Headline("Arithmetic", "TFLOP/s", "TFLOP/s", 1e-12, is_rate=True),
    "bytes_per_s": Headline("Bandwidth", "GB/s", "GB/s", 1e-9, is_rate=True),
}


def headline_kind(key: str) -> Headline:
    """Return a headline's label and unit; one from another version of Epochmark is shown plainly."""
    return HEADLINES.get(key, Headline(key, key, key))


def format_value(key: str, value: float | None) -> str:
    """Format a headline with three significant digits and no unit; "n/a" for None."""
    return format_seconds(None if value is None else value * headline_kind(key).scale)


METRICS = {
    "seconds_per_epoch_s": Metric("Seconds per epoch", "s", 1),
    "first_epoch_s": Metric("First epoch", "s", 1),
    "step_median_s": Metric("Typical step", "ms", 1, 1_000),
    "spread_pct": Metric("Spread", "%", 1),
    "validation_s": Metric("Validation pass", "s", 2),
    "evaluate_s": Metric("Evaluation on the test set", "s", 2),
    "predict_s": Metric("Prediction of 20 images", "s", 3),
    "loss": Metric("Loss", "", 4),
    "accuracy": Metric("Accuracy", "%", 1, 100),
    "test_loss": Metric("Test loss", "", 4),
    "test_accuracy": Metric("Test accuracy", "%", 1, 100),
    "proof_loss": Metric("Mean loss of the first steps", "", 4),
    "updates_asked": Metric("Updates of the weights, asked", "", 0),
    "updates_done": Metric("Updates of the weights, done", "", 0),
    "weights_changed": Metric("Change of the output layer", "%", 1, 100),
    "examples_asked": Metric("Examples to train on, at least", "", 0),
    "examples_done": Metric("Examples trained on", "", 0),
    "examples_declared": Metric("Examples of an epoch", "", 0),
    "examples_distinct": Metric("Different examples", "", 0),
    "steps_counted": Metric("Steps whose operations were counted", "", 0),
    "operations_per_example": Metric("Operations of a step, for each example", "MFLOP", 3, 1e-6),
    **{
        f"operations_{name}_pct": Metric(f"Operations in {name}", "%", 1)
        for name in ("float32", "float16", "bfloat16", "float64")
    },
    "worker_clock_s": Metric("From early to late steps, by the worker's clock", "s", 2),
    "parent_clock_s": Metric("The same by Epochmark's own clock", "s", 2),
    "validation_batches": Metric("Batches of validation", "", 0),
    "vocabulary_words": Metric("Vocabulary", "words", 0),
    "latency_1_median_s": Metric("Latency of 1 image, median", "ms", 1, 1_000),
    "latency_1_p95_s": Metric("Latency of 1 image, 95 of 100 within", "ms", 1, 1_000),
    "latency_16_median_s": Metric("Latency of 16 images, median", "ms", 1, 1_000),
    "latency_16_p95_s": Metric("Latency of 16 images, 95 of 100 within", "ms", 1, 1_000),
    "few_samples_s": Metric("160 images, 16 at a time", "s", 2),
    "flop_per_s": Metric("Fastest product", "TFLOP/s", 3, 1e-12),
    "matmul_1024_flop_per_s": Metric("Product of 1,024 × 1,024", "TFLOP/s", 3, 1e-12),
    "matmul_2048_flop_per_s": Metric("Product of 2,048 × 2,048", "TFLOP/s", 3, 1e-12),
    "matmul_4096_flop_per_s": Metric("Product of 4,096 × 4,096", "TFLOP/s", 3, 1e-12),
    "matmul_study_003_flop_per_s": Metric("1,024 × 26,752 × 2,048, plain", "TFLOP/s", 3, 1e-12),
    "matmul_study_003_transposed_flop_per_s": Metric("1,024 × 26,752 × 2,048, transposed", "TFLOP/s", 3, 1e-12),
    "bytes_per_s": Metric("Bandwidth", "GB/s", 1, 1e-9),
    "host_to_device_bytes_per_s": Metric("To the GPU", "GB/s", 1, 1e-9),
    "device_to_host_bytes_per_s": Metric("From the GPU", "GB/s", 1, 1e-9),
    "fcn_r_gradients_s": Metric("The gradients of FCN-R, from the GPU", "ms", 2, 1_000),
    "images_per_s": Metric("Images per second", "", 0),
    "words_per_s": Metric("Words per second", "", 0),
    "tokens_per_s": Metric("Tokens per second", "", 0),
    "prefill_tokens_per_s": Metric("Reading the prompt", "tokens/s", 0),
    "peak_memory_bytes": Metric("Peak memory of the worker", is_memory=True),
    "settled_memory_bytes": Metric("Peak memory after 50 steps", is_memory=True),
    "peak_gpu_memory_bytes": Metric("Peak memory of the GPU", is_memory=True),
}
for _number in range(1, FOLDERS_LIMIT + 1):
    for _case, _label in CASES.items():
        METRICS[f"folder{_number}_{_case}_images_per_s"] = Metric(f"Folder {_number}: {_label}", "images/s", 0)
        if _case in ("write", "preprocess"):
            METRICS[f"folder{_number}_{_case}_bytes_per_s"] = Metric(
                f"Folder {_number}: {_label}, data", "MB/s", 1, 1e-6
            )
for _number in range(2, FOLDERS_LIMIT + 1):
    for _case, _label in CASES.items():
        METRICS[f"folder{_number}_{_case}_difference_pct"] = Metric(
            f"Folder {_number} against folder 1: {_label}", "%", 1, is_signed=True
        )
_ORDER = {key: number for number, key in enumerate(METRICS)}
# Only part of an epoch's estimate, or shown elsewhere.
_HIDDEN = ("epoch_rest_s", *(f"{name}_{end}" for name in ("flop_per_s", "bytes_per_s") for end in ("low", "high")))
_GIB_BYTES = 2**30
# By how much more was installed than is reported, at most.
_KEPT_BY_SYSTEM = 1.04
_KEPT_BY_DRIVER = 0.02


def metric_lines(metrics: Mapping[str, float | None]) -> list[tuple[str, str]]:
    """Return labels and formatted values in the order of the registry, unknown ones last."""
    keys = sorted(metrics, key=lambda key: _ORDER.get(key, len(_ORDER)))
    return [
        (METRICS[key].label if key in METRICS else key, format_metric(key, metrics[key]))
        for key in keys
        if key not in _HIDDEN
    ]


def format_metric(key: str, value: float | None) -> str:
    """Format a value with its unit; "n/a" for None; an unknown key is shown plainly."""
    if value is None:
        return "n/a"
    metric = METRICS.get(key, Metric(key, "", 4))
    if metric.is_memory:
        return format_memory(value)
    sign = "+" if metric.is_signed else ""
    return f"{value * metric.scale:{sign}.{metric.digits}f} {metric.unit}".strip()


def format_seconds(duration_s: float | None) -> str:
    """Format seconds with three significant digits: "66.3", "4.12", "0.0213", "382", "12,345"."""
    if duration_s is None:
        return "n/a"
    for limit, digits in ((99.95, 0), (9.995, 1), (0.9995, 2), (0.09995, 3)):
        if duration_s >= limit:
            return f"{duration_s:,.{digits}f}"
    return f"{duration_s:.4f}"


def format_ratio(ratio: float | None) -> str:
    """Format a ratio with two significant digits: "4.8×", "53×", "0.27×"; "n/a" for None."""
    if ratio is None:
        return "n/a"
    for limit, digits in ((9.95, 0), (0.995, 1), (0.0995, 2), (0.00995, 3)):
        if ratio >= limit:
            return f"{ratio:.{digits}f}×"
    return f"{ratio:.4f}×"


def format_time_left(duration_s: float | None) -> str:
    """Format an expected duration, as precisely as it is known: "about 4 min 50 s"."""
    if duration_s is None:
        return ""
    if duration_s < 60:
        return f"about {max(1, round(duration_s))} s"
    minutes, seconds = divmod(round(duration_s / 10) * 10, 60)
    hours, minutes = divmod(int(minutes), 60)
    if hours:
        return f"about {hours} h {minutes} min"
    return f"about {minutes} min {int(seconds)} s"


def format_energy(energy_j: float | None) -> str:
    """Format an energy as meters show it: "12.3 kJ (3.4 Wh)", "870 J (0.24 Wh)"; "n/a" for None."""
    if energy_j is None:
        return "n/a"
    joules = f"{energy_j / 1e3:,.1f} kJ" if energy_j >= 1e3 else f"{energy_j:.0f} J"
    return f"{joules} ({energy_j / 3600:,.{1 if energy_j >= 3600 else 2}f} Wh)"


def format_file_size(size_bytes: float | None) -> str:
    """Format a size on disk or of a download in decimal units: "170 MB", "15.6 GB", "2.0 TB"."""
    return "n/a" if size_bytes is None else _sized(size_bytes, 1000)


def format_memory(memory_bytes: float | None) -> str:
    """Format an amount of memory in binary units by their everyday names: "1.5 GB" for 1.5 × 2³⁰ bytes."""
    return "n/a" if memory_bytes is None else _sized(memory_bytes, 1024)


def format_installed_memory(memory_bytes: float | None) -> str:
    """Format a computer's memory as it was sold: "24 GB" for the 23.6 GiB that programs can use.

    Firmware and kernel keep some of it before anything can count it: a system reports 7.7 of 8, 15.5 of 16, 62.6
    of 64, 125.6 of 128. So this is the next usual size (in steps of 1 GB below 16, 2 below 32, 4 below 64 …) where
    that is at most 4 % more, and otherwise the amount itself: a virtual machine may have any.
    """
    if memory_bytes is None or memory_bytes < _GIB_BYTES:
        return format_memory(memory_bytes)
    memory_gib = memory_bytes / _GIB_BYTES
    step_gib = max(1, 2 ** (int(memory_gib).bit_length() - 4))
    nominal_gib = math.ceil(memory_gib / step_gib) * step_gib
    return _sold(nominal_gib) if nominal_gib <= _KEPT_BY_SYSTEM * memory_gib else format_memory(memory_bytes)


def format_gpu_memory(memory_bytes: float | None) -> str:
    """Format a GPU's memory as it was sold: "80 GB" for 81,559 MiB, as its driver keeps a little for itself.

    That is a whole number where one is within 2 %, and otherwise the amount itself.
    """
    if memory_bytes is None:
        return "n/a"
    memory_gib = memory_bytes / _GIB_BYTES
    nominal_gib = round(memory_gib)
    is_near = abs(nominal_gib - memory_gib) <= _KEPT_BY_DRIVER * nominal_gib
    return _sold(nominal_gib) if nominal_gib and is_near else format_memory(memory_bytes)


def _sold(size_gib: int) -> str:
    return f"{size_gib} GB" if size_gib < 1024 else f"{size_gib / 1024:.4g} TB"


def _sized(size_bytes: float, base: int) -> str:
    """Format a size in the first unit in which it is below `base` once rounded: never "1000 MB"."""
    *units, largest = (("B", 0), ("kB", 0), ("MB", 0), ("GB", 1), ("TB", 1))
    for power, (unit, digits) in enumerate(units):
        if round(size_bytes / base**power, digits) < base:
            return f"{size_bytes / base**power:.{digits}f} {unit}"
    return f"{size_bytes / base ** len(units):.{largest[1]}f} {largest[0]}"
