"""Writes docs/workloads.md from the catalogue: python3 -m tests.workload_page. A test checks it."""

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

PAGE = ROOT / "docs" / "workloads.md"
NAMES = {f"study_{number}": name for number, name in STUDIES.items()}
INTRODUCTION = """# Workloads

<!-- Made by tests/workload_page.py: change that, or the catalogue. -->

All workloads in the catalogue. `python3 start.py workloads` prints the list; *Browse …* in the window
also shows what each workload needs on your computer.

"""
TODAY = """
Today's networks repeat no study, and have published results of cards up to 2026:

- `gpt_mini`, `gpt_tiny` and `gpt_small` as Languini Kitchen defines and times them, `nanogpt_char` as nanoGPT:
  tokens per second. The GPTs read random tokens, from which nothing can be learned: their loss stays near
  ln 16,384 = 9.70.
- `vit_tiny_224`, `resnet50_224`, `convnext_tiny_224`, `efficientnet_b0_224` and
  `mobilenetv3_large_224` as timm defines them: images per second.
- `fc_parametric`, `cnn_parametric` and `rnn_parametric` are as deep and as wide as you like, after ParaDnn:
  `study run --workload fc_parametric --axis width=256,1024,4096 --axis device=cpu,gpu:0` shows from which width on
  a card is faster.
- `gpt_small_generation` writes text, see below.

Published rows of these networks are nearly all of PyTorch with float16 autocast. They stand beside a run of any
precision, and those of images beside any batch; each bar says its own.
"""
READING = """
How to read the tables:

- **An epoch** is what the study called one. Where it is cut short or doesn't exist, a run consists of rounds of
  steps; the first round is warm-up.
- **Loss** is the expected range after the first whole epoch, from runs on the synthetic twin or from the loss
  of guessing; a run outside it shows a warning.
- **Memory** is the peak of the worker process at the usual batch size, measured on a CPU with two cores
  (resident set, including engine and data; TensorFlow takes 0.6 GB of it). Longer runs may take a few percent
  more. On a GPU, the needs differ.
- **Published** is the number of published results for exactly or nearly this workload.

Parameter counts are checked in every run. Networks that the study started from trained weights start from
random ones here: nothing is downloaded, and the time is the same.

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
        "MNIST, CIFAR-10 with augmentation, IMDb, Nietzsche: nine networks",
        "seconds per epoch",
    ),
    (
        "003",
        "which deep-learning software is fastest?",
        "FCN, AlexNet, ResNet, PTB LSTM: eight networks; `matmul`, `host_to_device`",
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
        "Xception, ResNet-50, VGG-16 on 331 × 331 flowers",
        "seconds per epoch",
    ),
)
DIFFERENCES = """
## Where they differ from their studies

- Everything runs in Keras 3 on TensorFlow 2, so the effects of a study's own software are not reproduced.
- `fcn_s`, `alexnet_s`, `resnet_50_s` and the image networks of {study_001} get their one generated batch from
  the computer's memory in each step; the TensorFlow scripts of {study_003} kept those of `alexnet_s` and
  `resnet_50_s` on the device.
- `cifar10_cnn` augments a whole batch of images at once, in one thread; the study's generator went image by image.
- `lstm_text_generation` generates no text after training, which the study's times didn't include either.
- `lstm_ptb_*` look words up on the device; the study pinned this to the CPU.
- `ptb_lstm_mxnet` counts 22 words a sentence (22.1 on average), batches sentences of similar length, and cuts
  those beyond 60 words. A partial epoch can be off by up to 15 %, and says so.
- `resnet_50`, `vgg16` and `inception_v3` use gradient descent at 0.01 with momentum 0.9; {study_001}
  states no solver. Weight decay is Keras', apart from the gradient.
- `fcn_s` has the three hidden layers that the study measured; its paper says four.
- The flower networks start from random weights instead of ImageNet's: nothing is downloaded, and the time is
  the same.
- `nanogpt_char` reads Nietzsche in 57 characters instead of Shakespeare in 65. nanoGPT's 10.65 million parameters
  leave out the 98,304 of the positions, which are counted here.
- Transformers compute attention as two products and a plain softmax in float32, with every engine: no fused
  kernel.
- `lstm=fused` is one operation on NVIDIA GPUs only. On a CPU, only the activation of the gates differs.
"""
INFERENCE = """
## Inference

Untrained networks on generated images, batch 64: images per second, and the latency (median and 95th
percentile) of 1 and of 16 images; those of {study_002} also predict 160 images, 16 at a time.

"""
GENERATION = """
## Generation

`gpt_small_generation` reads a prompt of 128 random tokens and writes 128, always the likeliest, with a key-value
cache: its headline is the tokens per second of writing; reading the prompt is among its measurements. Batch 1 is
a chat, `--batch 8` a small server. Nobody has published results of these weights.
"""
MACHINE = """
These test the hardware itself. Once `matmul` has run, every network whose operations can be
counted reports its share of that peak. `storage --set folders=/one:/two` makes ImageNet-like JPEG files in
folders of your choice, packs them, and trains from them; two folders give the difference in percent. The files
are removed afterwards.

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
            ("study", "what it asked", "workloads", "headline"),
            [(f"{STUDIES[study]} (study {study})", *rest) for study, *rest in QUESTIONS],
        ),
        TODAY,
        READING,
        "## Training\n\n",
        _table(
            TRAINING_HEAD,
            [_training_row(workload) for workload in training],
        ),
        "\nThese settings change the network; results are compared only with others of the same setting:\n\n",
        *(
            f"- `{workload.id}`: `--set {parameter.name}={_values(parameter.choices, parameter.maximum)}`. "
            f"{parameter.description}.\n"
            for workload in training
            for parameter in workload.parameters
        ),
        DIFFERENCES.format(**NAMES),
        INFERENCE.format(**NAMES),
        ", ".join(f"`{workload.id}`" for workload in inference) + "\n",
        GENERATION,
        "\n## The machine\n",
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


def _values(choices: tuple[str, ...], maximum: float | None) -> str:
    return choices[-1] if choices else f"{maximum:g}" if maximum is not None else "off"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    main()
