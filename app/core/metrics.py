"""The registry of metrics, with the unit, number of digits and format of each. Names are in the catalogue."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.core.formats import format_memory, format_seconds
from app.core.messages import Message, message, text
from workloads.protocol.parameters import FOLDERS_LIMIT


@dataclass(frozen=True, slots=True)
class Metric:
    """The format of a number."""

    unit: str = ""
    digits: int = 2
    scale: float = 1.0  # from the stored to the displayed unit
    is_signed: bool = False  # whether to show a plus sign for positive values
    is_memory: bool = False  # in bytes, formatted by `format_memory`
    name: Message | None = None  # message with the metric's name; None to use `metric.<key>` from the catalogue


@dataclass(frozen=True, slots=True)
class Headline:
    """Names and direction of a headline metric."""

    key: str  # key of the metric
    scale: float = 1.0  # factor from the stored to the displayed value
    is_rate: bool = False  # whether higher values mean faster
    # Whether to title axes with the name, because the unit alone (TFLOP/s) is less descriptive.
    has_unit: bool = False

    def times_as_fast(self, value: float, other: float) -> float:
        """Return how many times as fast `value` is as `other`."""
        return value / other if self.is_rate else other / value

    @property
    def label(self) -> str:
        return self._known(message(f"headline.{self.key}"))

    @property
    def label_within(self) -> str:
        return self.label[:1].lower() + self.label[1:]

    @property
    def unit(self) -> str:
        has_own = self.has_unit or self.key.startswith("seconds_")
        return self._known(message(f"headline_unit.{self.key}")) if has_own else self.label_within

    @property
    def short_unit(self) -> str:
        return self._known(message(f"headline_short.{self.key}"))

    @property
    def quantity(self) -> str:
        """The title of an axis: the unit, or the label if the unit isn't descriptive."""
        return self.unit if self.has_unit else self.label

    @property
    def label_unit(self) -> str:
        """The unit after a number in a chart: seconds have one, rates are named by the chart's note."""
        return " s" if self.key.startswith("seconds_") else ""

    def _known(self, name: Message) -> str:
        return text(name) if self.key in HEADLINES else self.key


HEADLINES: dict[str, Headline] = {
    each.key: each
    for each in (
        Headline("seconds_per_epoch_s"),
        Headline("seconds_per_batch_s"),
        Headline("images_per_s", is_rate=True),
        Headline("words_per_s", is_rate=True),
        Headline("tokens_per_s", is_rate=True),
        Headline("flop_per_s", 1e-12, is_rate=True, has_unit=True),
        Headline("bytes_per_s", 1e-9, is_rate=True, has_unit=True),
        *(Headline(f"{what}_per_j", is_rate=True) for what in ("examples", "images", "words", "tokens")),
    )
}


def headline_kind(key: str) -> Headline:
    """Return a headline's properties. An unknown key, as from another version, also serves as the name."""
    return HEADLINES.get(key) or Headline(key, has_unit=True)


def format_value(key: str, value: float | None) -> str:
    """Format a headline's value with three significant digits and no unit; "n/a" for None."""
    return format_seconds(None if value is None else value * headline_kind(key).scale)


def amount_text(key: str, value: float | None, *, is_short: bool = False) -> str:
    """Format a headline's value with its unit, such as "66.3 seconds per epoch" or, if short, "66.3 s / epoch"."""
    kind = headline_kind(key)
    return f"{format_value(key, value)} {kind.short_unit if is_short else kind.unit}"


METRICS = {
    "seconds_per_epoch_s": Metric("s", 1),
    "first_epoch_s": Metric("s", 1),
    "step_median_s": Metric("ms", 1, 1_000),
    "spread_pct": Metric("%", 1),
    "validation_s": Metric("s", 2),
    "evaluate_s": Metric("s", 2),
    "predict_s": Metric("s", 3),
    "loss": Metric("", 4),
    "accuracy": Metric("%", 1, 100),
    "test_loss": Metric("", 4),
    "test_accuracy": Metric("%", 1, 100),
    "proof_loss": Metric("", 4),
    "updates_asked": Metric("", 0),
    "updates_done": Metric("", 0),
    "weights_changed": Metric("%", 1, 100),
    "frozen_kept": Metric("", 0),
    "frozen_asked": Metric("", 0),
    "examples_asked": Metric("", 0),
    "examples_done": Metric("", 0),
    "examples_declared": Metric("", 0),
    "examples_distinct": Metric("", 0),
    "steps_counted": Metric("", 0),
    "worker_clock_s": Metric("s", 2),
    "parent_clock_s": Metric("s", 2),
    "validation_batches": Metric("", 0),
    "vocabulary_words": Metric("words", 0),
    "latency_1_median_s": Metric("ms", 1, 1_000),
    "latency_1_p95_s": Metric("ms", 1, 1_000),
    "latency_16_median_s": Metric("ms", 1, 1_000),
    "latency_16_p95_s": Metric("ms", 1, 1_000),
    "few_samples_s": Metric("s", 2),
    "flop_per_s": Metric("TFLOP/s", 3, 1e-12),
    "matmul_1024_flop_per_s": Metric("TFLOP/s", 3, 1e-12),
    "matmul_2048_flop_per_s": Metric("TFLOP/s", 3, 1e-12),
    "matmul_4096_flop_per_s": Metric("TFLOP/s", 3, 1e-12),
    "matmul_8192_flop_per_s": Metric("TFLOP/s", 3, 1e-12),
    "matmul_study_003_flop_per_s": Metric("TFLOP/s", 3, 1e-12),
    "matmul_study_003_transposed_flop_per_s": Metric("TFLOP/s", 3, 1e-12),
    **{
        f"attention_{length}_{part}_flop_per_s": Metric("TFLOP/s", 3, 1e-12, name=name)
        for length in (512, 1_024, 2_048, 4_096, 8_192, 16_384)
        for part, name in (
            ("forward", message("metric.attention_forward", length=length)),
            ("both", message("metric.attention_both", length=length)),
        )
    },
    "bytes_per_s": Metric("GB/s", 1, 1e-9),
    "host_to_device_bytes_per_s": Metric("GB/s", 1, 1e-9),
    "device_to_host_bytes_per_s": Metric("GB/s", 1, 1e-9),
    "fcn_r_gradients_s": Metric("ms", 2, 1_000),
    "fcn_r_sum_s": Metric("ms", 2, 1_000),
    "sum_latency_s": Metric("ms", 3, 1_000),
    "images_per_s": Metric("", 0),
    "words_per_s": Metric("", 0),
    "tokens_per_s": Metric("", 0),
    "prefill_tokens_per_s": Metric("tokens/s", 0),
    "cooled_s": Metric("s", 0),
    "start_temperature_c": Metric("°C", 0),
    "peak_memory_bytes": Metric(is_memory=True),
    "settled_memory_bytes": Metric(is_memory=True),
    "peak_gpu_memory_bytes": Metric(is_memory=True),
    "peak_gpu_reserved_bytes": Metric(is_memory=True),
}
# Of the storage test; "tfrecord" only in runs from older versions.
STORAGE_CASES = (
    *("write", "preprocess"),
    *(f"{use}_{source}" for use in ("read", "train", "infer") for source in ("jpeg", "tfrecord", "cache")),
)
for _number in range(1, FOLDERS_LIMIT + 1):
    for _case in STORAGE_CASES:
        _of = {"number": _number, "case": message(f"storage_case.{_case}")}
        METRICS[f"folder{_number}_{_case}_images_per_s"] = Metric(
            "images/s", 0, name=message("metric.folder", **_of)
        )
        if _case in ("write", "preprocess"):
            METRICS[f"folder{_number}_{_case}_bytes_per_s"] = Metric(
                "MB/s", 1, 1e-6, name=message("metric.folder_data", **_of)
            )
for _number in range(2, FOLDERS_LIMIT + 1):
    for _case in STORAGE_CASES:
        _of = {"number": _number, "case": message(f"storage_case.{_case}")}
        METRICS[f"folder{_number}_{_case}_difference_pct"] = Metric(
            "%", 1, is_signed=True, name=message("metric.folder_difference", **_of)
        )
_ORDER = {key: number for number, key in enumerate(METRICS)}
# Components of an epoch's estimate, values that other views show, and those of runs from older versions.
_HIDDEN = (
    "epoch_rest_s",
    "outside_steps_s",
    "validation_asked",
    "validation_done",
    "operations_per_example",
    *(f"operations_{name}_pct" for name in ("float32", "float16", "bfloat16", "float64")),
    *(f"{name}_{end}" for name in ("flop_per_s", "bytes_per_s") for end in ("low", "high")),
)


def metric_label(key: str) -> str:
    """Return a metric's name; an unknown key is returned unchanged."""
    if key not in METRICS:
        return key
    if key in HEADLINES and key != "flop_per_s":  # the fastest of several products has its own name
        return HEADLINES[key].label
    return text(METRICS[key].name or message(f"metric.{key}"))


# Evidence for the verdict, which would only distract from a result.
CLOCKS = ("worker_clock_s", "parent_clock_s")


def metric_lines(metrics: Mapping[str, float | None]) -> list[tuple[str, str]]:
    """Return labels and formatted values in registry order, followed by those with unknown keys."""
    keys = sorted(metrics, key=lambda key: _ORDER.get(key, len(_ORDER)))
    return [(metric_label(key), format_metric(key, metrics[key])) for key in keys if key not in _HIDDEN]


def format_metric(key: str, value: float | None) -> str:
    """Format a value with its unit; "n/a" for None. Values with unknown keys have no unit."""
    if value is None:
        return "n/a"
    metric = METRICS.get(key, Metric("", 4))
    if metric.is_memory:
        return format_memory(value)
    sign = "+" if metric.is_signed else ""
    return f"{value * metric.scale:{sign}.{metric.digits}f} {metric.unit}".strip()
