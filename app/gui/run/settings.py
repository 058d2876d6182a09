"""What every workload can be asked for, declared like the parameters of its own."""

from typing import get_args

from app.core.runs.sequence import REPEATS_LIMIT
from workloads.protocol.spec import Precision
from workloads.workload import Parameter, Workload

NAMES = {
    "jit": "Compile with XLA",
    "onednn": "oneDNN",
    "threads": "Threads (0: automatic)",
    "batch_size": "Batch size",
}
ONEDNN: dict[str, bool | None] = {"automatic": None, "on": True, "off": False}


def common_settings(workload: Workload) -> tuple[Parameter, ...]:
    """Return the settings, with limits and defaults as the workload has them."""
    samples = workload.samples_per_epoch or 2**20
    return (
        Parameter("epochs", "int", workload.epochs, "Whole epochs of a Standard run.", minimum=1, maximum=100_000),
        Parameter(
            "steps",
            "int",
            workload.steps or 0,
            "Cut each epoch to so many; 0: whole epochs.",
            minimum=0,
        ),
        Parameter("batch_size", "int", workload.batch_size, "Examples per step.", minimum=1, maximum=samples),
        Parameter("precision", "choice", "float32", "Of the numbers.", choices=get_args(Precision)),
        Parameter("jit", "bool", False, "Let XLA compile the training step; the studies ran without it."),
        Parameter("onednn", "choice", "automatic", "Kernels for the processor.", choices=tuple(ONEDNN)),
        Parameter("threads", "int", 0, "Threads inside one operation.", minimum=0, maximum=4096),
        Parameter("seed", "int", 0, "Of weights, order and synthetic data.", minimum=0),
        Parameter("repeat", "int", 1, "Runs, each in a fresh process.", minimum=1, maximum=REPEATS_LIMIT),
    )
