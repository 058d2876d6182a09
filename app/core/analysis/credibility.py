"""Compares the arithmetic that a result claims with what its device can do."""

import csv
import re
from collections import defaultdict
from dataclasses import replace
from functools import cache
from types import MappingProxyType

from app.core.paths import RESOURCES
from app.core.records import RunSummary
from workloads import CATALOGUE
from workloads.workload import Workload

# For convolutions with 3 × 3 kernels, Winograd's algorithm needs 2.25 times fewer multiplications (Lavin and Gray,
# Fast Algorithms for Convolutional Neural Networks, 2016). Published VGG-16 results reach 165 % of the peak.
WINOGRAD_PCT = 225.0
# Credible published results of other networks reach at most 67 % of the fastest published matrix product.
PUBLISHED_PCT = 75.0
_FORMATS = {"bf16": "16", "fp16": "16", "float16": "16", "tf32": "tf32", "fp32": "float32", "float32": "float32"}
# Speed of other arithmetic relative to 16-bit arithmetic, on cards that support it.
_TIMES_16_BIT = (("fp4", 4.0), ("fp8", 2.0))
# Operations per parameter and token: forward, and the gradients of activations and, except in LoRA, of weights.
_PASSES = {"full": 6, "lora": 4, "qlora": 4}
# Billions of parameters that multiply, which excludes tables of embeddings.
_PARAMETERS = MappingProxyType(
    {
        "qwen3_0_6b": 0.6,
        "qwen3_1_7b": 1.7,
        "qwen3_4b": 4.0,
        "qwen3_8b": 7.6,
        "qwen3_14b": 14.0,
        "qwen3_32b": 32.0,
        "qwen1_1_8b": 1.5,
        "qwen1_7b": 7.1,
        "qwen1_14b": 13.5,
        "qwen1_72b": 71.0,
        "qwen25_1_5b": 1.5,
        "qwen25_7b": 7.1,
        "qwen35_2b": 2.0,
        "llama1_7b": 6.6,
        "llama31_8b": 7.5,
        "llama31_70b": 69.5,
        "llama32_3b": 3.2,
        "llama33_70b": 69.5,
        "phi3_mini": 3.7,
        "mistral_7b": 7.1,
        "gemma2_9b": 9.2,
    }
)
_VENDOR = re.compile(r"\A(?:NVIDIA |AMD |Intel |Apple )?(?:GeForce )?")


def published_peak(device: str | None, precision: str) -> float | None:
    """Return the fastest matrix product published for a device, in FLOP/s; None if there is none.

    Args:
        device: Name of a GPU, with or without its vendor; None for a CPU.
        precision: Precision of a run or of a published result. For float32, TensorFloat-32 counts too, or 16-bit
            arithmetic, which is faster, if no product with TensorFloat-32 was published.
    """
    speeds = _peaks().get(_plain(device or ""), {})
    kinds = ("float32", "tf32" if "tf32" in speeds else "16") if "32" in precision else ("16",)
    peak = max((speeds[kind] for kind in kinds if kind in speeds), default=None)
    times = next((times for word, times in _TIMES_16_BIT if word in precision and "base" not in precision), 1.0)
    return None if peak is None else times * peak


def limit_pct(workload: Workload | None, *, on_cpu: bool = False) -> float:
    """Return the share of a device's peak that a network can't exceed, in percent."""
    return WINOGRAD_PCT if workload is not None and workload.counts_images and not on_cpu else 100.0


def with_credible_verdict(run: RunSummary) -> RunSummary:
    """Return a result from another computer, as invalid if it is too fast for its device or only for testing."""
    applies = {"impossible": not is_possible(run), "divided_cpu": run.divides_cpu}
    if not any(applies.values()):
        return run
    codes = (*(code for code in applies if applies[code]), *(run.reasons or "").split())
    return replace(run, verdict="invalid", reasons=" ".join(dict.fromkeys(codes)))


def is_possible(run: RunSummary) -> bool:
    """Return whether the fastest matrix product published for a result's device allows its speed.

    True if the operations or the device are unknown.
    """
    workload = CATALOGUE.get(run.workload)
    operations = workload.operations_per_example if workload is not None and not run.variant else None
    if workload is None or operations is None or not run.value or run.device == "cpu":
        return True
    examples_per_s = {
        "seconds_per_epoch_s": run.samples_per_epoch / run.value,
        "seconds_per_batch_s": run.batch_size / run.value,
    }.get(run.metric, run.value / workload.units_of(""))
    peak = published_peak(run.device_name, run.precision)
    most = limit_pct(workload) / 100 * (peak or 0.0) * run.device_count
    return not peak or operations * examples_per_s <= most


def claimed_flop_per_s(workload: str, metric: str, value: float, batch_size: int | None) -> float | None:
    """Return the arithmetic of a published result, in FLOP/s; None if it is unknown.

    Args:
        workload: One of the catalogue, or the fine-tuning of a language model, such as "lora_qwen3_8b".
        metric: Metric of the table of published results.
        value: In the unit of `metric`.
        batch_size: None if it isn't stated.
    """
    method, _, model = workload.partition("_")
    if method in _PASSES and model in _PARAMETERS and metric == "tokens_per_s":
        return _PASSES[method] * _PARAMETERS[model] * 1e9 * value
    declared = CATALOGUE.get(workload)
    if declared is None or declared.operations_per_example is None or value <= 0:
        return None
    batch = batch_size or declared.batch_size
    examples_per_s = {
        "images_per_s": value,
        "tokens_per_s": value / declared.units_of(""),
        "s_per_epoch": declared.samples_per_epoch / value,
        "s_per_minibatch": batch / value,
        "ms_per_step": 1_000 * batch / value,
    }.get(metric)
    return None if examples_per_s is None else declared.operations_per_example * examples_per_s


@cache
def _peaks() -> dict[str, dict[str, float]]:
    peaks: dict[str, dict[str, float]] = defaultdict(dict)
    with (RESOURCES / "reference" / "peaks.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            of_device, kind = peaks[_plain(row["device"])], _FORMATS.get(row["precision"], "16")
            of_device[kind] = max(float(row["flop_per_s"]), of_device.get(kind, 0.0))
    return dict(peaks)


def _plain(device: str) -> str:
    return _VENDOR.sub("", device).removesuffix(" GPU").casefold()
