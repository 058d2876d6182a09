"""Every network with real TensorFlow: that it is the published one, and that it learns. One process for all."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.child import told_by
from tests.workloads.sizes import is_large, networks

# Compiling some thirty networks takes its time on a busy machine.
pytestmark = [pytest.mark.engine, pytest.mark.timeout(600)]


@dataclass(frozen=True)
class Published:
    """What the sources say of a network, and what its layers then cost.

    Attributes:
        parameters: None where they depend on the data.
        trained: Parameters that are trained, where not all are.
        operations_m: Millions of operations of a forward pass, a multiplication and an addition as two.
        activations: Its activation functions, where it is deep.
    """

    parameters: int | None
    input: tuple[int | None, ...]
    output: tuple[int | None, ...]
    operations_m: float | None
    activations: dict[str, int] | None = None
    trained: int | None = None
    outputs: int = 1


_PTB = "Embedding 256 / LSTM 256 tanh sigmoid / LSTM 256 tanh sigmoid / Dense 10000"
_DIGITS = "Conv2D 32 3 relu / Conv2D 64 3 relu / MaxPooling2D 2 / Flatten / Dense 128 relu / Dense 10 softmax"
_PICTURES = (224, 224, 3)
_PHOTOS = (331, 331, 3)
PUBLISHED = {
    "cifar10_keras_cnn": Published(1_337_002, (32, 32, 3), (10,), 79.4),
    "mnist_mlp": Published(669_706, (784,), (10,), 1.34),
    "mnist_cnn": Published(1_199_882, (28, 28, 1), (10,), 24.0),
    "mnist_cnn_nodropout_adam": Published(1_199_882, (28, 28, 1), (10,), 24.0),
    "cifar10_cnn": Published(1_250_858, (32, 32, 3), (10,), 41.5),
    "imdb_fasttext": Published(None, (400,), (1,), 0.0001),
    "imdb_fasttext_unigram": Published(1_000_051, (400,), (1,), 0.0001),
    "imdb_bidirectional_lstm": Published(2_658_945, (100,), (1,), 19.7),
    "lstm_text_generation": Published(102_585, (40, 57), (57,), 7.59),
    "text_generator_keras": Published(458_430, (40,), (57,), 18.0, trained=456_894, outputs=2),
    "fashion_mnist_cnn_412k": Published(412_778, (28, 28, 1), (10,), 4.42),
    "fcn_s": Published(117_997_696, (26_752,), (26_752,), 236),
    "fcn_r": Published(14_205_962, (784,), (10,), 28.4),
    "alexnet_s": Published(62_378_344, _PICTURES, (1_000,), 2_270),
    "alexnet_r": Published(85_098, (32, 32, 3), (10,), 21.5),
    "resnet_50_s": Published(25_610_152, _PICTURES, (1_000,), 7_716, {"relu": 49}, trained=25_557_032),
    "resnet_56": Published(857_082, (32, 32, 3), (10,), 251, {"relu": 55}, trained=853_018),
    "lstm_ptb_32": Published(6_180_624, (32,), (32, 10_000), 231),
    "lstm_ptb_64": Published(6_180_624, (64,), (64, 10_000), 462),
    "alexnet_caffe": Published(60_965_224, (227, 227, 3), (1_000,), 1_449),
    "googlenet": Published(13_378_280, _PICTURES, (1_000,), 3_182, {"relu": 61}, outputs=3),
    "resnet_50": Published(25_610_152, _PICTURES, (1_000,), 7_716, {"relu": 49}, trained=25_557_032),
    "vgg16": Published(138_357_544, _PICTURES, (1_000,), 30_941, {"relu": 15}),
    "inception_v3": Published(23_851_784, (299, 299, 3), (1_000,), 11_426, {"relu": 94}, trained=23_817_352),
    "ptb_lstm_mxnet": Published(4_651_600, (None,), (None, 10_000), None),
    "flowers_xception_331": Published(
        20_871_725, _PHOTOS, (5,), 20_437, {"relu": 35, "softmax": 1}, trained=20_817_197
    ),
    "flowers_resnet50_331": Published(
        23_597_957, _PHOTOS, (5,), 17_589, {"relu": 49, "softmax": 1}, trained=23_544_837
    ),
    "flowers_vgg16_331": Published(14_717_253, _PHOTOS, (5,), 65_822, {"relu": 13, "softmax": 1}),
    # Each matrix meets 512 tokens; each block's attention has two more products of 512 × 512 × heads × size.
    "gpt_mini": Published(27_549_696, (512,), (512, 16_384), 20_401, {"gelu": 4}),
    "gpt_tiny": Published(53_912_064, (512,), (512, 16_384), 45_097, {"gelu": 4}),
    "gpt_small": Published(110_615_040, (512,), (512, 16_384), 109_522, {"gelu": 12}),
    "nanogpt_char": Published(10_742_016, (256,), (256, 57), 6_051, {"exact_gelu": 6}),
    # timm counts 1.26, 4.11, 4.47, 0.40 and 0.22 billion multiplications.
    "vit_tiny_224": Published(5_717_416, _PICTURES, (1_000,), 2_507, {"exact_gelu": 12}),
    "resnet50_224": Published(25_610_152, _PICTURES, (1_000,), 8_178, {"relu": 49}, trained=25_557_032),
    "convnext_tiny_224": Published(28_589_128, _PICTURES, (1_000,), 8_911, {"exact_gelu": 18}),
    "efficientnet_b0_224": Published(
        5_330_564, _PICTURES, (1_000,), 771.6, {"silu": 49, "sigmoid": 16}, trained=5_288_548
    ),
    "mobilenetv3_large_224": Published(
        5_507_432, _PICTURES, (1_000,), 433.2, {"hard_silu": 21, "relu": 19, "hard_sigmoid": 8}, trained=5_483_032
    ),
    "fc_parametric": Published(18_736_104, (2_000,), (1_000,), 37.45, {"relu": 4}),
    "cnn_parametric": Published(826_568, (64, 64, 3), (1_000,), 846.2, {"relu": 13}, trained=824_328),
    "rnn_parametric": Published(1_563_624, (32,), (32, 1_000), 83.5),
}
# Of the others, the layers in order.
LAYERS = {
    "cifar10_keras_cnn": (
        "Conv2D 32 3 / Conv2D 32 3 / MaxPooling2D 2 / Conv2D 64 3 / Conv2D 64 3 / MaxPooling2D 2 / Conv2D 128 3 "
        "/ Conv2D 128 3 / Flatten / Dropout 0.3 / Dense 128 relu / Dense 10 softmax"
    ),
    "mnist_mlp": "Dense 512 relu / Dropout 0.2 / Dense 512 relu / Dropout 0.2 / Dense 10 softmax",
    "mnist_cnn": (
        "Conv2D 32 3 relu / Conv2D 64 3 relu / MaxPooling2D 2 / Dropout 0.25 / Flatten / Dense 128 relu / "
        "Dropout 0.5 / Dense 10 softmax"
    ),
    "mnist_cnn_nodropout_adam": _DIGITS,
    "cifar10_cnn": (
        "Conv2D 32 3 relu / Conv2D 32 3 relu / MaxPooling2D 2 / Dropout 0.25 / Conv2D 64 3 relu / Conv2D 64 3 "
        "relu / MaxPooling2D 2 / Dropout 0.25 / Flatten / Dense 512 relu / Dropout 0.5 / Dense 10 softmax"
    ),
    "imdb_fasttext": "Embedding 50 / GlobalAveragePooling1D / Dense 1 sigmoid",
    "imdb_fasttext_unigram": "Embedding 50 / GlobalAveragePooling1D / Dense 1 sigmoid",
    "imdb_bidirectional_lstm": ("Embedding 128 / two LSTM 64 tanh hard_sigmoid / Dropout 0.5 / Dense 1 sigmoid"),
    "lstm_text_generation": "LSTM 128 tanh hard_sigmoid / Dense 57 softmax",
    "text_generator_keras": (
        "InputLayer / Embedding 300 / LSTM 128 tanh hard_sigmoid / Dense 512 / BatchNormalization / Activation "
        "relu / Dense 256 / BatchNormalization / Activation relu / Dense 57 softmax / Dense 57 softmax"
    ),
    "fashion_mnist_cnn_412k": (
        "Conv2D 64 2 relu / MaxPooling2D 2 / Dropout 0.3 / Conv2D 32 2 relu / MaxPooling2D 2 / Dropout 0.3 / "
        "Flatten / Dense 256 relu / Dropout 0.5 / Dense 10 softmax"
    ),
    "fcn_s": "Dense 2048 sigmoid / Dense 2048 sigmoid / Dense 2048 sigmoid / Dense 26752",
    "fcn_r": "Dense 2048 sigmoid / Dense 4096 sigmoid / Dense 1024 sigmoid / Dense 10",
    "alexnet_s": (
        "ZeroPadding2D / Conv2D 96 11 relu / MaxPooling2D 3 / Conv2D 256 5 relu / MaxPooling2D 3 / Conv2D 384 3 "
        "relu / Conv2D 384 3 relu / Conv2D 256 3 relu / MaxPooling2D 3 / Flatten / Dense 4096 relu / Dense 4096 "
        "relu / Dense 1000"
    ),
    "alexnet_r": (
        "Conv2D 32 5 / MaxPooling2D 3 / Activation relu / Conv2D 32 5 / MaxPooling2D 3 / Activation relu / "
        "Conv2D 64 5 / Activation relu / AveragePooling2D 3 / Flatten / Dense 10"
    ),
    "lstm_ptb_32": _PTB,
    "lstm_ptb_64": _PTB,
    "alexnet_caffe": (
        "InputLayer / Conv2D 96 11 relu / ResponseNormalisation / MaxPooling2D 3 / Conv2D 128 5 relu / Conv2D "
        "128 5 relu / Concatenate / ResponseNormalisation / MaxPooling2D 3 / Conv2D 384 3 relu / Conv2D 192 3 "
        "relu / Conv2D 192 3 relu / Concatenate / Conv2D 128 3 relu / Conv2D 128 3 relu / Concatenate / "
        "MaxPooling2D 3 / Flatten / Dense 4096 relu / Dropout 0.5 / Dense 4096 relu / Dropout 0.5 / Dense 1000"
    ),
    "ptb_lstm_mxnet": "Embedding 200 / LSTM 200 tanh sigmoid / LSTM 200 tanh sigmoid / Dense 10000",
    "rnn_parametric": "Embedding 256 / LSTM 256 tanh sigmoid / LSTM 256 tanh sigmoid / Dense 1000",
}
# Its learning rate is made for batches of 1,024: on 16 examples its loss first rises.
RESTLESS = {"fcn_r"}
TRAINED = networks()
LEARNING = [name for name, workload in TRAINED.items() if not is_large(workload)]
Seen = dict[str, dict[str, Any]]


def probe(*part: str) -> Seen:
    said = told_by("-m", "tests.workloads.networks.network_probe", *part, hides_gpus=False)
    lines = [json.loads(line) for line in said.splitlines()]
    return {line.pop("id"): line for line in lines}


@pytest.fixture(scope="module")
def seen(request: pytest.FixtureRequest) -> Seen:
    """What one process saw of all that is asked about; the larger networks take minutes."""
    tests = [test for test in request.session.items if test.path == request.path]
    return probe("small") | (probe("large") if any(test.get_closest_marker("long") for test in tests) else {})


def marked(names: Iterable[str]) -> list[Any]:
    """Return the names as parameters, marked where a network takes long."""
    return [pytest.param(name, marks=pytest.mark.long if is_large(TRAINED[name]) else ()) for name in names]


@pytest.fixture(scope="module")
def longer() -> Seen:
    return probe("longer")


@pytest.mark.parametrize("name", marked(TRAINED))
def test_the_network_is_as_it_declares(seen: Seen, name: str) -> None:
    workload = TRAINED[name]
    assert workload.parameters_count in (None, seen[name]["parameters"])
    if workload.operations_per_example is not None:
        assert seen[name]["training_flops"] == workload.operations_per_example


@pytest.mark.parametrize("name", marked(PUBLISHED))
def test_the_network_is_the_published_one(seen: Seen, name: str) -> None:
    found, published = seen[name], PUBLISHED[name]
    if published.parameters is not None:
        assert found["parameters"] == published.parameters
    assert found["trained"] == (published.trained or found["parameters"])
    assert tuple(found["input"]) == published.input
    assert [tuple(shape[1:]) for shape in found["output"]] == [published.output] * published.outputs
    if published.activations is None:
        assert found["outline"] == LAYERS[name]
    else:
        assert found["activations"] == published.activations
    if published.operations_m is None:
        assert found["flops"] is None
    else:
        assert found["flops"] / 1e6 == pytest.approx(published.operations_m, rel=0.005)


@pytest.mark.parametrize("name", marked(TRAINED))
def test_a_step_makes_the_loss_smaller(seen: Seen, name: str) -> None:
    before, after = seen[name]["losses"]
    # JSON has the words NaN and Infinity, too; a comparison with either is false.
    assert 0 < after < before < 100 * 6


@pytest.mark.long
@pytest.mark.parametrize("name", LEARNING)
def test_the_network_learns(longer: Seen, name: str) -> None:
    losses = longer[name]["losses"]
    assert all(0 < loss < 100 * 6 for loss in losses)
    if name not in RESTLESS:
        assert losses[-1] < losses[0] * (1 if name == "ptb_lstm_mxnet" else 0.98)


@pytest.mark.parametrize("name", ["lstm_ptb_32", "lstm_ptb_64"])
def test_a_stateful_network_is_reset_at_the_start_of_an_epoch(seen: Seen, name: str) -> None:
    before, after = seen[name]["memory"]
    assert before > 0
    assert after == 0
