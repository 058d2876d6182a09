"""Writes docs/workloads.md from the catalogue: python3 -m tests.workload_page. A test checks it."""

import textwrap
from collections.abc import Sequence

from app.core.analysis.published import comparable_rows
from app.core.formats import format_memory
from app.core.messages import text
from app.core.metrics import headline_kind
from tests.conftest import ROOT
from workloads import CATALOGUE
from workloads.networks.inference import Inference
from workloads.training.training import Training
from workloads.workload import STUDIES, Workload

COLUMNS = 115
PAGE = ROOT / "docs" / "workloads.md"
NAMES = {f"study_{number}": name for number, name in STUDIES.items()}
INTRODUCTION = """# Workloads

<!-- Made by tests/workload_page.py: change that, or the catalogue. -->

This page lists all workloads in the catalogue. `python3 start.py workloads` prints the list. *Other …* in the
window also shows what each workload needs on your computer.

"""
TODAY = """
Current networks aren't based on a study. For most of them, there are published results for cards up to
2026:

- `gpt_mini`, `gpt_tiny` and `gpt_small` are defined and timed as in Languini Kitchen, and `nanogpt_char` as in
  nanoGPT. Their headline is tokens per second. The GPTs read random tokens, from which nothing can be learned.
  Their loss is therefore always near ln 16,384 = 9.70.
- `vit_tiny_224`, `resnet50_224`, `convnext_tiny_224`, `efficientnet_b0_224` and `mobilenetv3_large_224` are
  defined and timed as in timm. Their headline is images per second.
- `fc_parametric`, `cnn_parametric` and `rnn_parametric` have adjustable depth and width, as in ParaDnn. For
  example, `study run --workload fc_parametric --axis width=256,1024,4096 --axis device=cpu,gpu:0` shows the width
  above which a GPU is faster than the CPU.
- `gpt_small_generation` generates text; see [Generation](#generation).

Nearly all published rows for these networks were measured with PyTorch and float16 autocast. They are shown next
to runs with any precision. Rows for image networks are also shown next to runs with any batch size. Each bar shows
its own precision and batch size.
"""
READING = """
How to read the tables:

- **An epoch** is defined as in the study. If epochs are shortened or don't exist, a run consists of rounds
  of steps. The first round is the warm-up.
- **Loss** is the expected range after the first whole epoch. It is based either on runs with the synthetic twin or
  on the loss of random guessing. If the loss of a run is outside this range, a warning is shown.
- **Memory** is the peak memory (resident set size) of the worker process at the default batch size, measured on a
  CPU with two cores. It includes the engine and the data; TensorFlow accounts for 0.6 GB. Longer runs may need a
  few percent more. On a GPU, memory requirements differ.
- **Published** is the number of published results for exactly or nearly the same workload.

Parameter counts are checked in every run.

"""
QUESTIONS = (
    (
        "004",
        "how fast are ordinary laptops and cards?",
        "`cifar10_keras_cnn`, the standard",
        "seconds per epoch",
    ),
    (
        "000",
        "are many cloud CPUs as good as a GPU?",
        "nine networks on MNIST, CIFAR-10 with augmentation, IMDb and Nietzsche",
        "seconds per epoch",
    ),
    (
        "003",
        "which deep-learning software is fastest?",
        "eight networks: FCN, AlexNet, ResNet, PTB LSTM; `matmul`, `host_to_device`",
        "seconds per mini-batch",
    ),
    (
        "001",
        "how much do CPU, memory and disks matter for a GPU?",
        "AlexNet, GoogLeNet, ResNet-50, VGG-16, Inception-v3, PTB LSTM; `storage`",
        "images or words per second",
    ),
    (
        "002",
        "GPU or TPU for a competition?",
        "Xception, ResNet-50, VGG-16 on 331 × 331 flower photos",
        "seconds per epoch",
    ),
)
DIFFERENCES = """
## Where they differ from their studies

- All networks run in Keras 3 with current engines, so the effects of a study's own software aren't reproduced.
- In each step, `fcn_s`, `alexnet_s`, `resnet_50_s` and the image networks from {study_001} read their
  single generated batch from the computer's memory. The TensorFlow scripts from {study_003} kept the batches
  of `alexnet_s` and `resnet_50_s` on the device.
- `cifar10_cnn` augments a whole batch of images at once, in one thread. The study's generator processed one image
  at a time.
- `lstm_text_generation` generates no text after training. The study's times didn't include this either.
- `lstm_ptb_*` look up words on the device. The study pinned this operation to the CPU.
- `ptb_lstm_mxnet` counts each sentence as 22 words (the average is 22.1), groups sentences of similar length into
  batches, and truncates sentences after 60 words. The result of a partial epoch can be off by up to 15 %, as a
  message points out.
- `resnet_50`, `vgg16` and `inception_v3` use gradient descent with a learning rate of 0.01 and a momentum of 0.9,
  because {study_001} doesn't state a solver. Weight decay is applied as in Keras, separately from the
  gradient.
- `fcn_s` has the three hidden layers that the study measured, although its paper describes four.
- The flower networks start from random weights instead of weights trained on ImageNet. This makes a download
  unnecessary and doesn't change the training time.
- `nanogpt_char` is trained on Nietzsche with 57 different characters instead of Shakespeare with 65. nanoGPT's
  figure of 10.65 million parameters doesn't include the 98,304 position parameters, which are counted here.
- With every engine, transformers compute attention as two products and a plain softmax in float32, without a fused
  kernel.
- `lstm=fused` is a single operation only on NVIDIA GPUs. On a CPU, only the activation of the gates differs.
"""
INFERENCE = """
## Inference

These workloads use untrained networks to predict on generated images, with a batch size of 64. They measure images
per second, and the latency (median and 95th percentile) for 1 image and for 16 images. The networks from
{study_002} also predict 160 images, 16 at a time.

"""
GENERATION = """
## Generation

`gpt_small_generation` reads a prompt of 128 random tokens and generates 128 tokens with a key-value cache, always
choosing the most likely token. Its headline is the number of tokens generated per second. The prompt-reading speed
is listed among its measurements. A batch size of 1 corresponds to a chat, and `--batch 8` to a small server. No
results have been published for these weights.
"""
MACHINE = """
These workloads test the hardware itself. `matmul` measures the computer's peak. Once it has been run, every
network whose operations can be counted reports its share of this peak. `storage --set folders=/one:/two` creates
JPEG files similar to ImageNet's in folders of your choice, packs them, and trains from them. With two folders, it
reports the difference between them as a percentage. The files are removed afterwards.

"""
TRAINING_HEAD = [
    "workload",
    "study",
    "headline",
    "parameters",
    "batch",
    "epochs",
    "an epoch",
    "loss",
    "memory",
    "published",
]


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")


def page() -> str:
    """Return the page's text."""
    training = [workload for workload in CATALOGUE.values() if isinstance(workload, Training)]
    others = [w for w in CATALOGUE.values() if w.kind in ("limits", "storage")]
    inference = [workload for workload in CATALOGUE.values() if isinstance(workload, Inference)]
    parts = [
        INTRODUCTION,
        _table(
            ("study", "question", "workloads", "headline"),
            [(f"{STUDIES[study]} (study {study})", *rest) for study, *rest in QUESTIONS],
        ),
        TODAY,
        READING,
        "## Training\n\n",
        _table(
            TRAINING_HEAD,
            [_training_row(workload) for workload in training],
        ),
        "\nThese settings change the network. Results are compared only if these settings are the same:\n\n",
        *(
            _wrapped(
                f"- `{workload.id}`: `--set {parameter.name}={_values(parameter.choices, parameter.maximum)}`. "
                f"{text(parameter.description)}"
            )
            for workload in training
            for parameter in workload.parameters
        ),
        DIFFERENCES.format(**NAMES),
        INFERENCE.format(**NAMES),
        _wrapped(", ".join(f"`{workload.id}`" for workload in inference), indent=""),
        GENERATION,
        "\n## The hardware\n",
        MACHINE,
        _table(
            ("workload", "study", "headline", "what it measures"),
            [(f"`{w.id}`", w.study_name or "–", headline_kind(w.metric).label, text(w.summary)) for w in others],
        ),
    ]
    return "".join(parts)


def _training_row(workload: Workload) -> tuple[str, ...]:
    memory_bytes = workload.memory_need_bytes(workload.default_spec())
    low, high = workload.loss_band or (None, None)
    return (
        f"`{workload.id}`",
        workload.study_name or "–",
        headline_kind(workload.metric).label,
        f"{workload.parameters_count:,}" if workload.parameters_count else "depends on vocabulary",
        str(workload.batch_size),
        str(workload.epochs),
        text(workload.epoch_text) if workload.epoch_text else "",
        "–" if high is None else f"{low:g} to {high:g}",
        format_memory(memory_bytes) if memory_bytes else "–",
        str(len(comparable_rows(workload.id))),
    )


def _wrapped(item: str, indent: str = "  ") -> str:
    lines = textwrap.wrap(item, COLUMNS, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines) + "\n"


def _values(choices: tuple[str, ...], maximum: float | None) -> str:
    return choices[-1] if choices else f"{maximum:g}" if maximum is not None else "off"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    main()
