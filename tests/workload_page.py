"""Writes docs/workloads.md from the catalogue: python3 -m tests.workload_page. A test says when it is old."""

from collections.abc import Sequence

from app.core.judging.reference import comparable_rows
from app.core.metrics import format_bytes, headline_kind
from tests.conftest import ROOT
from workloads import CATALOGUE
from workloads.inference import Inference
from workloads.training import Training
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
