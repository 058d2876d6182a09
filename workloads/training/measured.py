"""Measurements of networks during training, for use in the workloads' declarations.

Losses of the first steps on synthetic data: measured on the twins with `python -m tests.tools.proof`, on a
CPU with TensorFlow 2.21 and three seeds (two for networks whose steps take many seconds). Each side of a range was
widened by half the range and by 5 %. `unlearned` is the loss with a learning rate of zero. A band that includes it
isn't evidence of learning, and neither is a band after only two steps. Bands of other precisions were measured in
the same way, with two or three seeds and each engine that supports them on a CPU. Losses of float16 are higher,
because its loss scale skips the first updates. Where nothing was measured, the loss isn't judged.

Losses on real data: these bands can't be derived from the twin. On real digits, networks learn much faster than on
the twin (`mnist_mlp`: 0.44 compared with 1.9); on images in random colours, they learn more slowly. Therefore,
these bands are wide. Each band starts at half the lowest plausible loss, and ends halfway between the highest
plausible loss and the loss at a learning rate of zero if the two are clearly apart on all data tested, otherwise
well above both. `python -m tests.tools.proof --real` measures the data included in packages: real digits and
all of Fashion-MNIST. CIFAR-10, IMDb, Nietzsche and the Penn Treebank weren't available; their bands
are based on their twins and on other data (Fashion-MNIST in colour, other English prose).

Memory: peak resident memory of the worker on a CPU, measured at two batch sizes with TensorFlow 2.21, PyTorch 2.13
and JAX 0.10, and interpolated linearly (`python -m tests.tools.workloads`). At half the default batch size,
which wasn't used for the fit, four networks needed 0.91 to 1.04 times the predicted memory with PyTorch and JAX.
The largest batch sizes at which GPTs and timm's networks were measured are only a quarter to three eighths of the
default, so their requirements at the default batch size are extrapolated.

Operations: products and convolutions that the gradients depend on, with a multiplication and an addition as two
operations (`python -m tests.tools.operations`). The counts don't depend on the batch size or the precision. Only
`ptb_lstm_mxnet` has no count, because its sentences vary in length.
"""

from collections.abc import Mapping

from workloads.protocol.messages import Message, message
from workloads.workload import MemoryNeed, Proof

_SYNTHETIC = message("proof.measured_synthetic")
REAL_DIGITS = message("proof.measured_digits", images=4_000)
REAL_CLOTHES = message("proof.measured_images")
OTHER_DATA = message("proof.measured_other_data")


def first_losses(
    steps: int,
    low: float,
    high: float,
    *,
    real: tuple[float, float, Message] | None = None,
    unlearned: float | None = None,
    **of_precisions: tuple[float, float],
) -> Proof:
    """Return the range of losses after the first steps of genuine training.

    Args:
        steps: Number of first steps to average the loss over.
        low: Lowest mean loss on synthetic data.
        high: Highest mean loss on synthetic data.
        real: Lowest and highest mean loss on real data, and how they were measured; None if there is no real data.
        unlearned: Mean loss on synthetic data with a learning rate of zero; None if unknown.
        of_precisions: Lowest and highest mean loss on synthetic data by precision, other than float32.
    """
    bands, origins = {"synthetic": (low, high)}, {"synthetic": _SYNTHETIC}
    if real is not None:
        bands["real"], origins["real"] = real[:2], real[2]
    return Proof(steps, bands, origins, unlearned, of_precisions)


def measured_memory(**engines: tuple[float, float]) -> Mapping[str, MemoryNeed]:
    """Return the memory requirements by engine, given MB at batch size 0 and MB per example."""
    return {
        name: MemoryNeed(base_bytes=round(base * 1e6), per_example_bytes=round(example * 1e6))
        for name, (base, example) in engines.items()
    }
