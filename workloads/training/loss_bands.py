"""The range of losses after the first steps of honest training, for each workload.

Measured with `python -m tests.benchmarks.proof` on a CPU with TensorFlow 2.21, on the synthetic twins and with
three seeds (two for networks whose step takes many seconds), and widened on each side by half their span and by a
twentieth. docs/measurement.md shows where a learning rate of zero and mixed-up labels end. There are no bands for
real data, which was not available where they were measured.
"""

from workloads.workload import Proof

ORIGIN = "Found with three seeds on a processor."


def _proof(steps: int, low: float, high: float) -> Proof:
    return Proof(steps, {"synthetic": (low, high)}, ORIGIN)


PROOFS: dict[str, Proof] = {
    "cifar10_keras_cnn": _proof(100, 1.02, 1.80),
    "mnist_mlp": _proof(100, 1.78, 2.09),
    "mnist_cnn": _proof(100, 1.46, 1.92),
    "mnist_cnn_nodropout_adam": _proof(100, 0.778, 1.03),
    # It learns slowly, at a rate of 0.0001.
    "cifar10_cnn": _proof(780, 1.94, 2.16),
    "imdb_fasttext_unigram": _proof(780, 0.639, 0.726),
    "imdb_fasttext": _proof(200, 0.658, 0.730),
    "imdb_bidirectional_lstm": _proof(100, 0.658, 0.729),
    "lstm_text_generation": _proof(100, 2.42, 3.43),
    "text_generator_keras": _proof(20, 3.55, 4.08),
    "fashion_mnist_cnn_412k": _proof(100, 1.67, 2.05),
    "fcn_s": _proof(20, 16.6, 23.1),
    # Its loss rises before it falls, differently for each seed: halfway to a learning rate of zero, and as far
    # above.
    "fcn_r": _proof(50, 4.33, 10.0),
    "alexnet_s": _proof(20, 4.08, 5.55),
    "alexnet_r": _proof(20, 2.18, 2.50),
    "googlenet": _proof(20, 10.4, 11.5),
    "resnet_56": _proof(20, 1.93, 3.35),
    "lstm_ptb_32": _proof(20, 258.0, 286.0),
    "lstm_ptb_64": _proof(20, 510.0, 564.0),
    "ptb_lstm_mxnet": _proof(50, 172.0, 227.0),
    # Two steps only, which take half a minute: they reveal another network, or wrong numbers.
    "resnet_50_s": _proof(2, 6.99, 7.99),
    "flowers_resnet50_331": _proof(2, 0.8, 6.0),
}
