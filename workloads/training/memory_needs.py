"""How much memory each network needs in training, on each engine.

Peak resident memory of the worker on a CPU, measured at two batches with TensorFlow 2.21, PyTorch 2.13 and JAX
0.10: the line through both (`python -m tests.benchmarks.memory`). At half the usual batch, which the line wasn't
made from, four networks needed 0.91 to 1.04 times what it says with PyTorch and JAX. GPTs and timm's networks
were measured at small batches only, the larger one a quarter to three eighths of the usual one, so that their
needs there are an extrapolation.
"""

from workloads.workload import MemoryNeed


def _needs(**engines: tuple[float, float]) -> dict[str, MemoryNeed]:
    """Take, for each engine, MB at batch 0 and MB per example."""
    return {
        name: MemoryNeed(base_bytes=round(base * 1e6), per_example_bytes=round(example * 1e6))
        for name, (base, example) in engines.items()
    }


NEEDS: dict[str, dict[str, MemoryNeed]] = {
    "alexnet_s": _needs(tensorflow=(1300, 6.9), torch=(1000, 7.2), jax=(880, 19)),
    "alexnet_r": _needs(tensorflow=(1300, 0.48), torch=(1000, 0.71), jax=(1100, 1.3)),
    "cifar10_keras_cnn": _needs(tensorflow=(1400, 0.69), torch=(1200, 1.8), jax=(1200, 2.1)),
    "cifar10_cnn": _needs(tensorflow=(1700, 0.38), torch=(1200, 1.1), jax=(1300, 4)),
    "fcn_s": _needs(tensorflow=(1800, 0.62), torch=(2600, 1), jax=(2100, 1.1)),
    "fcn_r": _needs(tensorflow=(1200, 0.059), torch=(890, 0.051), jax=(990, 0)),
    "flowers_xception_331": _needs(tensorflow=(1600, 340), torch=(800, 800), jax=(1400, 410)),
    "flowers_resnet50_331": _needs(tensorflow=(1600, 260), torch=(1300, 600), jax=(1400, 340)),
    "flowers_vgg16_331": _needs(tensorflow=(990, 190), torch=(1100, 290), jax=(1000, 490)),
    "googlenet": _needs(tensorflow=(1000, 37), torch=(700, 93), jax=(1400, 92)),
    "alexnet_caffe": _needs(tensorflow=(1900, 9), torch=(1300, 17), jax=(1300, 29)),
    "vgg16": _needs(tensorflow=(3000, 62), torch=(2500, 130), jax=(2400, 210)),
    "inception_v3": _needs(tensorflow=(1300, 110), torch=(1000, 260), jax=(1700, 140)),
    "imdb_fasttext_unigram": _needs(tensorflow=(930, 0), torch=(700, 0), jax=(580, 0)),
    "imdb_fasttext": _needs(tensorflow=(2100, 0.22), torch=(1900, 0), jax=(1200, 0)),
    "imdb_bidirectional_lstm": _needs(tensorflow=(840, 0.92), torch=(500, 0), jax=(600, 1)),
    "mnist_mlp": _needs(tensorflow=(930, 0.011), torch=(610, 0), jax=(630, 0.26)),
    "mnist_cnn": _needs(tensorflow=(940, 0.62), torch=(630, 1.3), jax=(750, 2.3)),
    "mnist_cnn_nodropout_adam": _needs(tensorflow=(1000, 0.56), torch=(610, 1.7), jax=(680, 2.5)),
    "fashion_mnist_cnn_412k": _needs(tensorflow=(820, 0.71), torch=(580, 1.4), jax=(680, 2.1)),
    "lstm_text_generation": _needs(tensorflow=(1300, 0.36), torch=(870, 0.45), jax=(1000, 0)),
    "text_generator_keras": _needs(tensorflow=(970, 0.5), torch=(490, 0.32), jax=(720, 0)),
    "lstm_ptb_32": _needs(tensorflow=(930, 2), torch=(470, 6.3), jax=(550, 5.1)),
    "lstm_ptb_64": _needs(tensorflow=(770, 4), torch=(480, 13), jax=(530, 10)),
    "resnet_50_s": _needs(tensorflow=(1400, 110), torch=(820, 270), jax=(1200, 110)),
    "resnet_50": _needs(tensorflow=(1300, 86), torch=(930, 250), jax=(1200, 96)),
    "resnet_56": _needs(tensorflow=(1500, 4.6), torch=(1100, 14), jax=(1500, 4)),
    "ptb_lstm_mxnet": _needs(tensorflow=(860, 0.83), torch=(460, 6.6), jax=(670, 7.4)),
    "gpt_mini": _needs(tensorflow=(1430, 210), torch=(1120, 240), jax=(1040, 370)),
    "gpt_tiny": _needs(tensorflow=(1940, 300), torch=(1910, 250), jax=(1500, 470)),
    "gpt_small": _needs(tensorflow=(3120, 770), torch=(3360, 550), jax=(2460, 1070)),
    "nanogpt_char": _needs(tensorflow=(1100, 91), torch=(600, 117), jax=(780, 126)),
    "vit_tiny_224": _needs(tensorflow=(910, 64), torch=(440, 66), jax=(740, 76)),
    "resnet50_224": _needs(tensorflow=(1320, 101), torch=(840, 280), jax=(1250, 106)),
    "convnext_tiny_224": _needs(tensorflow=(1310, 203), torch=(920, 159), jax=(1350, 227)),
    "efficientnet_b0_224": _needs(tensorflow=(1130, 100), torch=(580, 164), jax=(1680, 181)),
    "mobilenetv3_large_224": _needs(tensorflow=(1080, 66), torch=(500, 112), jax=(1670, 72)),
    "gpt_small_generation": _needs(tensorflow=(1290, 28), torch=(940, 102), jax=(980, 18)),
    "fc_parametric": _needs(tensorflow=(1010, 0), torch=(650, 0.15), jax=(570, 0.38)),
    "cnn_parametric": _needs(tensorflow=(700, 10.7), torch=(440, 29), jax=(570, 13.2)),
    "rnn_parametric": _needs(tensorflow=(680, 1.2), torch=(390, 2.4), jax=(470, 1.7)),
}
