"""The arithmetic that a published result claims, and the share of a device's peak that it can't exceed."""

from types import MappingProxyType

from workloads import CATALOGUE
from workloads.workload import Workload

# For convolutions with 3 × 3 kernels, Winograd's algorithm needs 2.25 times fewer multiplications (Lavin and Gray,
# Fast Algorithms for Convolutional Neural Networks, 2016). Published VGG-16 results reach 165 % of the peak.
WINOGRAD_PCT = 225.0
# Credible published results of other networks reach at most 67 % of the fastest published matrix product.
PUBLISHED_PCT = 75.0
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


def limit_pct(workload: Workload | None, *, on_cpu: bool = False) -> float:
    """Return the share of a device's peak that a network can't exceed, in percent."""
    return WINOGRAD_PCT if workload is not None and workload.counts_images and not on_cpu else 100.0


def claimed_flop_per_s(
    workload: str, metric: str, value: float, batch_size: int | None, variant: str = ""
) -> float | None:
    """Return the arithmetic of a published result, in FLOP/s; None if it is unknown.

    Args:
        workload: One of the catalogue, or the fine-tuning of a language model, such as "lora_qwen3_8b".
        metric: Metric of the table of published results.
        value: In the unit of `metric`.
        batch_size: None if it isn't stated.
        variant: As in workloads.workload.Workload.variant.
    """
    method, _, model = workload.partition("_")
    if method in _PASSES and model in _PARAMETERS and metric == "tokens_per_s":
        return _PASSES[method] * _PARAMETERS[model] * 1e9 * value
    declared = CATALOGUE.get(workload)
    operations = None if declared is None else declared.operations_for(variant)
    if declared is None or operations is None or value <= 0:
        return None
    batch = batch_size or declared.batch_size
    examples_per_s = {
        "images_per_s": value,
        "tokens_per_s": value / declared.units_of(variant),
        "s_per_epoch": declared.samples_per_epoch / value,
        "s_per_minibatch": batch / value,
        "ms_per_step": 1_000 * batch / value,
    }.get(metric)
    return None if examples_per_s is None else operations * examples_per_s
