"""The range of losses after the first steps of honest training, for each workload.

Synthetic: measured with `python -m tests.benchmarks.proof` on a CPU with TensorFlow 2.21, on the twins and with
three seeds (two for networks whose step takes many seconds), and widened on each side by half their span and by a
twentieth. `unlearned` is where a learning rate of zero ends: a band around it doesn't show that a network learns,
nor does one after two steps.

Real: a twin is no measure of it. On real digits, networks learn much faster than on the twin (`mnist_mlp`: 0.44
against 1.9), on pictures in random colours more slowly. So each of these bands is wide: from half the lowest
honest loss to halfway between the highest one and a learning rate of zero, where that is apart on all data tried;
otherwise to well above both. `python -m tests.benchmarks.proof --real` measures what packages carry: real digits
and all of Fashion-MNIST. CIFAR-10, IMDb, Nietzsche, Penn Treebank and the flowers were not available where this
was measured: their bands rest on the twin and on other data (Fashion-MNIST in colour, other English prose).
"""

from workloads.workload import Proof

_SYNTHETIC = "Measured on a CPU with three seeds."
_DIGITS = "Measured with 4,000 of the real digits."
_CLOTHES = "Measured with the real images."
_OTHERS = "Not measured on the real data: a wide range around the losses on other data."


def _proof(
    steps: int,
    low: float,
    high: float,
    real: tuple[float, float, str] | None = None,
    *,
    unlearned: float | None = None,
) -> Proof:
    bands, origins = {"synthetic": (low, high)}, {"synthetic": _SYNTHETIC}
    if real is not None:
        bands["real"], origins["real"] = real[:2], real[2]
    return Proof(steps, bands, origins, unlearned)


PROOFS: dict[str, Proof] = {
    # Chance is 2.30, and mixed-up labels end at 2.32: however hard the pictures, learning ends below both.
    "cifar10_keras_cnn": _proof(100, 1.02, 1.80, (0.59, 2.28, _OTHERS), unlearned=2.34),
    "mnist_mlp": _proof(100, 1.78, 2.09, (0.21, 1.4, _DIGITS), unlearned=2.45),
    "mnist_cnn": _proof(100, 1.46, 1.92, (0.29, 1.47, _DIGITS), unlearned=2.31),
    "mnist_cnn_nodropout_adam": _proof(100, 0.778, 1.03, (0.17, 1.34, _DIGITS), unlearned=2.31),
    # It learns slowly, at a rate of 0.0001: on real pictures, 2.29 is honest and 2.31 is a rate of zero.
    "cifar10_cnn": _proof(780, 1.94, 2.16, (1.0, 2.4, _OTHERS), unlearned=2.31),
    # Chance is 0.69, and these steps hardly leave it.
    "imdb_fasttext_unigram": _proof(780, 0.639, 0.726, (0.3, 0.75, _OTHERS), unlearned=0.693),
    "imdb_fasttext": _proof(200, 0.658, 0.730, (0.3, 0.75, _OTHERS), unlearned=0.693),
    "imdb_bidirectional_lstm": _proof(100, 0.658, 0.729, (0.3, 0.75, _OTHERS), unlearned=0.693),
    "lstm_text_generation": _proof(100, 2.42, 3.43, (1.37, 3.61, _OTHERS), unlearned=4.04),
    "text_generator_keras": _proof(20, 3.55, 4.08, (1.89, 4.53, _OTHERS), unlearned=5.35),
    "fashion_mnist_cnn_412k": _proof(100, 1.67, 2.05, (0.55, 1.73, _CLOTHES), unlearned=2.34),
    "fcn_s": _proof(20, 16.6, 23.1, unlearned=36.9),
    # Its loss rises before it falls, differently for each seed: halfway to a learning rate of zero, which stays
    # below, and as far above.
    "fcn_r": _proof(50, 4.33, 10.0, (4.33, 11.0, _DIGITS), unlearned=2.59),
    "alexnet_s": _proof(20, 4.08, 5.55, unlearned=6.92),
    "alexnet_r": _proof(20, 2.18, 2.50, (1.1, 2.8, _OTHERS), unlearned=2.61),
    "googlenet": _proof(20, 10.4, 11.5, unlearned=11.1),
    "resnet_56": _proof(20, 1.93, 3.35, (1.1, 5.0, _OTHERS), unlearned=3.89),
    "lstm_ptb_32": _proof(20, 258.0, 286.0, (136.0, 300.0, _OTHERS), unlearned=295.0),
    "lstm_ptb_64": _proof(20, 510.0, 564.0, (268.0, 600.0, _OTHERS), unlearned=589.0),
    "ptb_lstm_mxnet": _proof(50, 172.0, 227.0, (95.0, 310.0, _OTHERS), unlearned=209.0),
    # Two steps only, which take half a minute: they reveal another network, or wrong numbers.
    "resnet_50_s": _proof(2, 6.99, 7.99),
    # Random tokens: chance is ln 16,384 = 9.70, and it stays there. That it learned shows in its weights.
    "gpt_mini": _proof(2, 9.31, 10.3),
    "gpt_tiny": _proof(2, 9.35, 10.4),
    "gpt_small": _proof(2, 9.35, 10.3),
    # Its rate rises slowly from zero: two steps leave it where it starts, on any text.
    "nanogpt_char": _proof(2, 3.95, 4.4, (3.9, 4.5, _OTHERS)),
    "vit_tiny_224": _proof(2, 6.41, 7.25),
    "resnet50_224": _proof(2, 6.46, 7.84),
    "convnext_tiny_224": _proof(2, 5.81, 6.85),
    "efficientnet_b0_224": _proof(2, 6.25, 6.93),
    "mobilenetv3_large_224": _proof(2, 6.53, 7.23),
    "fc_parametric": _proof(20, 2.64, 3.56, unlearned=6.94),
    "cnn_parametric": _proof(20, 5.91, 6.87, unlearned=7.15),
    "rnn_parametric": _proof(20, 6.56, 7.25, unlearned=6.91),
    "flowers_resnet50_331": _proof(2, 0.8, 6.0, (0.4, 9.0, _OTHERS)),
}
