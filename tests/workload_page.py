"""Writes docs/workloads.md from the catalogue: python3 -m tests.workload_page. A test says when it is old."""

from collections.abc import Sequence

from app.core.analysis.published import comparable_rows
from app.core.metrics import format_bytes, headline_kind
from tests.conftest import ROOT
from workloads import CATALOGUE
from workloads.networks.inference import Inference
from workloads.training.training import Training
from workloads.workload import Workload

PAGE = ROOT / "docs" / "workloads.md"
INTRODUCTION = """# Workloads

What can be run, as the catalogue declares it. `python3 start.py workloads` lists the same; the window's
*All …* has it with what each takes on your computer.

- **An epoch** is what the study called so. Where it is cut or does not exist, a run consists of rounds of
  steps, of which the first warms up.
- **Loss** is between these values after the first whole epoch, by runs on the synthetic twin or by what
  follows from guessing; outside of it a run warns.
- **Memory** is the peak of the worker process at the usual batch, measured on a processor with two cores
  (resident set, engine and data included; 0.6 GB of it are TensorFlow). Longer runs may take some percent
  more. On a graphics card the engine takes other amounts.
- **Published** counts the measurements in the reference table that are exactly or nearly this workload.

"""
DIFFERENCES = """
## Where they differ from their studies

- Everything runs in Keras 3 on TensorFlow 2, so what a study's own software made slow or fast is not repeated.
- `fcn_s`, `alexnet_s`, `resnet_50_s` and study 001's image networks get their one generated batch from the
  computer's memory in each step; study 003's TensorFlow scripts kept those of `alexnet_s` and `resnet_50_s` on the
  device.
- `cifar10_cnn` varies a whole batch of images at once, in one thread; the study's generator went image by image.
- `lstm_text_generation` writes no text after the training, which was not in the study's times either.
- `lstm_ptb_*` look words up on the device; the study pinned this to the processor.
- `ptb_lstm_mxnet` counts 22 words a sentence (22.1 on average), batches sentences of similar length, and cuts
  those beyond 60 words. A part of an epoch may be some 15 % off, and says so.
- `resnet_50`, `vgg16` and `inception_v3` use gradient descent at 0.01 with momentum 0.9; study 001 states no
  solver. Weight decay is Keras', apart from the gradient.
- `fcn_s` has the three hidden layers that were measured; its paper says four.
- The flowers' networks begin with random weights instead of ImageNet's: nothing is downloaded, and the time is
  the same.
- `lstm=fused` is one operation on NVIDIA GPUs only. On a processor only the activation of the gates differs.
"""
INFERENCE = """
## Inference

Untrained networks on generated images, batch 64: images per second, and the latency (median, and the time
that 95 of 100 stay within) of 1 and of 16 images; study 002's also predict 160 images, 16 at a time.

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
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


def page() -> str:
    """Return the page's text."""
    training = [workload for workload in CATALOGUE.values() if isinstance(workload, Training)]
    others = [w for w in CATALOGUE.values() if not isinstance(w, Training | Inference) and w.kind != "demo"]
    inference = [workload for workload in CATALOGUE.values() if isinstance(workload, Inference)]
    parts = [
        INTRODUCTION,
        "## Training\n\n",
        _table(
            TRAINING_HEAD,
            [_training_row(workload) for workload in training],
        ),
        "\nSettings that make another network, which is compared with its like only:\n\n",
        *(
            f"- `{workload.id}`: `--set {parameter.name}={_values(parameter.choices, parameter.maximum)}`. "
            f"{parameter.description}.\n"
            for workload in training
            for parameter in workload.parameters
        ),
        DIFFERENCES,
        INFERENCE,
        ", ".join(f"`{workload.id}`" for workload in inference) + "\n",
        "\n## The machine\n\n",
        _table(
            ("workload", "study", "headline", "what it measures"),
            [
                (f"`{w.id}`", w.study or "–", headline_kind(w.metric).label, w.summary.replace("\n", " "))
                for w in others
            ],
        ),
    ]
    return "".join(parts)


def _training_row(workload: Workload) -> tuple[str, ...]:
    memory_bytes = workload.memory_need_bytes(workload.default_spec())
    low, high = workload.loss_band or (None, None)
    return (
        f"`{workload.id}`",
        workload.study or "–",
        headline_kind(workload.metric).label,
        f"{workload.parameters_count:,}" if workload.parameters_count else "by its vocabulary",
        str(workload.batch_size),
        str(workload.epochs),
        workload.epoch_text,
        "–" if high is None else f"{low:g} to {high:g}",
        format_bytes(memory_bytes) if memory_bytes else "–",
        str(len(comparable_rows(workload.id))),
    )


def _values(choices: tuple[str, ...], maximum: float | None) -> str:
    return choices[-1] if choices else f"{maximum:g}" if maximum is not None else "off"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    main()
