"""A worker as in runs, but with a small `fcn_r`: what is done on several devices is the same.

python -m tests.workloads.engines.small_worker
"""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.workloads.engines.compiled import KEPT
from workloads import CATALOGUE
from workloads.__main__ import start
from workloads.networks.fcn import FcnR
from workloads.protocol.spec import RunSpec
from workloads.training.feed import Feed

UNITS = 32, 64, 16
CHECKED = 300


class SmallFcnR(FcnR):
    """Narrower layers, with few images to validate and to test."""

    predicted_examples = 20
    parameters_count = 785 * 32 + 33 * 64 + 65 * 16 + 17 * 10

    def build(self, spec: RunSpec) -> Any:
        from keras import Sequential, initializers, layers

        start = {"kernel_initializer": initializers.TruncatedNormal(stddev=0.1)}
        hidden = [layers.Dense(units, activation="sigmoid", **start) for units in UNITS]
        return Sequential([layers.Input((784,)), *hidden, layers.Dense(10, **start)])

    def load(self, file: Path | None, spec: RunSpec) -> Feed:
        feed = super().load(file, spec)
        x, y = feed.validation
        few = (x[:CHECKED], y[:CHECKED])
        return replace(feed, validation=few, test=few, validation_samples=CHECKED)


if __name__ == "__main__":
    os.environ |= KEPT
    CATALOGUE["fcn_r"] = SmallFcnR()
    start()
