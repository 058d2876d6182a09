"""Counts the operations of networks' training steps with PyTorch: the numbers that workloads declare.

    python -m tests.tools.operations WORKLOAD …

It uses the PyTorch that the tests install. A multiplication and an addition count as two operations. In recurrent
layers, up to 8 % more than declared are counted: PyTorch computes gradients that no weight depends on.
"""

import json
import math
import sys
from dataclasses import replace
from typing import Any

from tests.sure import only
from tests.workloads.engines.engine_probe import started
from workloads import CATALOGUE
from workloads.training.training import Training

MODULE = "tests.tools.operations"
BATCH = 2


def counted(name: str) -> dict[str, Any]:
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    engine: Any = started("torch")
    workload = only(Training, CATALOGUE[name])
    spec = workload.default_spec(engine="torch", device="cpu", data="synthetic", batch_size=BATCH)
    feed = replace(workload.load(None, spec).cut(BATCH), validation=None)
    model = workload.build(spec)
    engine.compile(model, spec, **workload.compile_options(spec))
    data = feed.fit_arguments(engine, BATCH) | {"steps_per_epoch": None if feed.y is not None else 1, "verbose": 0}
    engine.fit(model, **data)  # the first time, Keras tries out the network as well
    own = {torch.ops.aten.convolution_backward: _gradients}
    with FlopCounterMode(display=False, custom_mapping=own) as counter:
        engine.fit(model, **data)
    operations = counter.get_total_flops() / BATCH
    return {
        "workload": name,
        "parameters": model.count_params(),
        "operations": operations,
        "declared": workload.operations_per_example,
    }


def _gradients(slopes: Any, _: Any, weights: Any, *others: Any, **__: Any) -> int:
    """Return the operations for a convolution's gradients, given shapes; PyTorch counts too many with groups."""
    wanted: list[bool] = others[-1]
    return int(2 * math.prod(slopes) * math.prod(weights[1:]) * sum(wanted[:2]))


def lines(engine: str, *names: str) -> list[dict[str, Any]]:
    """Count in this process if it is one that was started with PyTorch, else start one."""
    if engine == "torch":
        return [counted(name) for name in names]
    from app.core.paths import Paths  # not there beside an engine's packages
    from tests import real_engines

    folder = real_engines.installed()
    paths = Paths(folder.parent, folder.parent, folder.parent, engines_folder=folder)
    return real_engines.probe(MODULE, "torch", paths, *filter(None, (engine, *names)))


def main(engine: str, *names: str) -> None:
    for line in lines(engine, *names):
        sys.stdout.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
