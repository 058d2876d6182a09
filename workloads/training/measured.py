"""Measurements of networks in training, used in their declarations.

Losses of first steps, synthetic: measured with `python -m tests.benchmarks.proof` on a CPU with TensorFlow 2.21,
on the twins and with three seeds (two for networks whose step takes many seconds), and widened on each side by
half their span and by a twentieth. `unlearned` is the loss with a learning rate of zero. A band around it doesn't
show that a network learns, and neither does a band after two steps.

Real: bands for real data can't be derived from the twin. On real digits, networks learn much faster than on the
twin (`mnist_mlp`: 0.44 compared with 1.9); on pictures in random colours, they learn more slowly. So these bands
are wide: from half the lowest honest loss to halfway between the highest one and the loss with a learning rate of
zero, if that is distinct on all data tried; otherwise to well above both. `python -m tests.benchmarks.proof
--real` measures the data that packages include: real digits and all of Fashion-MNIST. CIFAR-10, IMDb, Nietzsche,
Penn Treebank and the flowers weren't available for the measurement; their bands are based on the twin and on other
data (Fashion-MNIST in colour, other English prose).

Memory: peak resident memory of the worker on a CPU, measured at two batch sizes with TensorFlow 2.21, PyTorch 2.13
and JAX 0.10, and interpolated linearly (`python -m tests.benchmarks.workloads`). At half the default batch size,
which wasn't used for the fit, four networks needed 0.91 to 1.04 times the predicted memory with PyTorch and JAX.
GPTs and timm's networks were measured only at small batch sizes, the larger of which was a quarter to three
eighths of the default, so their requirements at the default are extrapolated.

Operations: products and convolutions behind the gradients, with a multiplication and an addition as two, counted
in the graphs traced by TensorFlow 2.21 (`python -m tests.benchmarks.operations`). They depend on neither batch nor
precision. Only `ptb_lstm_mxnet` has no count because its sentences differ in length.
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
) -> Proof:
    """Return the range of losses after the first steps of honest training.

    Args:
        steps: Number of first steps whose mean loss is meant.
        low: Lowest on synthetic data.
        high: Highest on synthetic data.
        real: Lowest and highest on real data, and how they were measured; None if the network has no real data.
        unlearned: The same loss with a learning rate of zero, on synthetic data; None if unknown.
    """
    bands, origins = {"synthetic": (low, high)}, {"synthetic": _SYNTHETIC}
    if real is not None:
        bands["real"], origins["real"] = real[:2], real[2]
    return Proof(steps, bands, origins, unlearned)


def measured_memory(**engines: tuple[float, float]) -> Mapping[str, MemoryNeed]:
    """Return the memory requirements by engine, from MB at batch size 0 and MB per example."""
    return {
        name: MemoryNeed(base_bytes=round(base * 1e6), per_example_bytes=round(example * 1e6))
        for name, (base, example) in engines.items()
    }
