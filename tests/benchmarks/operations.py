"""Counts the operations of each network's training step in its traced graph: the numbers of the registry.

    python -m tests.benchmarks.operations [WORKLOAD …] [--set NAME=VALUE …]    (all that train if none is named)

Nothing is trained: the step is traced for one batch of the data, each network in a process of its own.
"""

import json
import os
import subprocess
import sys
from typing import Any

from workloads import CATALOGUE
from workloads.engines.registry import engine_named
from workloads.engines.tensorflow_graph import matrix_operations
from workloads.training.flops import forward_flops
from workloads.training.training import Training


def main(names: list[str], settings: list[str]) -> None:
    """Print a line of JSON for each workload: its operations per example, by type of number."""
    for name in names or [each for each, workload in CATALOGUE.items() if isinstance(workload, Training)]:
        script = [sys.executable, "-m", "tests.benchmarks.operations", "--child", name, *settings]
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": "-1"}
        done = subprocess.run(script, env=environment, capture_output=True, text=True, check=False)
        print(done.stdout.strip() or f"{name}: {done.stderr.strip().splitlines()[-1]}", flush=True)


def counted(name: str, **changes: Any) -> dict[str, Any]:
    """Return the operations of one example of a workload's training step."""
    import keras
    import tensorflow as tf

    workload = CATALOGUE[name]
    assert isinstance(workload, Training)
    spec = workload.default_spec(device="cpu", data="synthetic", **changes)
    keras.mixed_precision.set_dtype_policy(spec.precision)
    model, graphs = workload.build(spec), []
    feed = workload.load(None, spec)
    model.compile(**workload.compile_options(spec))
    usual = model.optimizer.apply
    model.optimizer.build(model.trainable_variables)

    def apply(gradients: Any, *arguments: Any) -> Any:
        graphs.append(tf.compat.v1.get_default_graph())
        return usual(gradients, *arguments)

    model.optimizer.apply = apply
    arguments = feed.fit_arguments(engine_named(spec.engine), spec.batch_size)
    x, y = arguments["x"], arguments.get("y")
    if y is None:
        x, y = next(iter(x))
    kinds = tf.nest.map_structure(lambda part: tf.TensorSpec((None, *part.shape[1:]), part.dtype), (x, y))
    tf.function(model.train_step).get_concrete_function(kinds)
    operations = matrix_operations(graphs[-1], model.trainable_variables, spec.batch_size)
    each = {kind: count / spec.batch_size for kind, count in operations.items()}
    forward = forward_flops(model)
    passes = sum(each.values()) / forward if forward else None
    return {"workload": name, **changes, "operations": each, "forward": forward, "passes": passes}


if __name__ == "__main__":
    options = [each.removeprefix("--set=") for each in sys.argv[1:] if each.startswith("--set=")]
    chosen = [each for each in sys.argv[1:] if not each.startswith("--")]
    if sys.argv[1:2] == ["--child"]:
        values = dict(each.split("=") for each in options)
        own = {name: values.pop(name) for name in ("precision",) if name in values}
        print(json.dumps(counted(chosen[0], **own, **({"parameters": values} if values else {}))))
    else:
        main(chosen, [each for each in sys.argv[1:] if each.startswith("--set=")])
