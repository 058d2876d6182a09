"""Measures a network and prints the lines that its class declares.

    python -m tests.tools.declare WORKLOAD

Parameters and operations are counted with PyTorch, memory is measured on every installed engine, at the usual
batch size and at a quarter of it, and the losses with TensorFlow. Behind the lines stands the row for
`tests.tools.measurement_page`.
"""

import sys
import tempfile

from tests.sure import only, sure
from tests.tools import proof, workloads
from tests.tools.operations import lines
from workloads import CATALOGUE
from workloads.training.training import Training


def memory(workload: Training) -> str:
    """Return the line, fitted to the peaks at two batch sizes."""
    sizes = max(1, workload.batch_size // 4), workload.batch_size
    needs = []
    with tempfile.TemporaryDirectory() as home:
        runner, engines = workloads.prepared(home)
        for engine in engines:
            low, high = (sure(workloads.peak_bytes(runner, workload, engine, size)) / 1e6 for size in sizes)
            example = max(0.0, high - low) / max(1, sizes[1] - sizes[0])
            needs.append(f"{engine}=({round(low - sizes[0] * example, -1):.0f}, {example:.2g})")
    return f"memory_needs = measured_memory({', '.join(needs)})"


def main(name: str) -> None:
    workload = only(Training, CATALOGUE[name])
    (counted,) = lines("", name)
    # They decide how many steps the losses are measured for.
    workload.parameters_count = counted["parameters"]
    workload.operations_per_example = round(counted["operations"])
    print(f"parameters_count = {workload.parameters_count:_}")
    print(f"operations_per_example = {workload.operations_per_example:_}", flush=True)
    print(memory(workload), flush=True)
    if (losses := proof.summary(name)) is None:
        print("proof = None  # no run ended")
        return
    low, high = losses["band"]
    honest, apart = losses["honest"], [losses.get(kind) for kind in proof.CHEATS]
    unlearned, mixed_up = (None if loss is None else float(f"{loss:.3g}") for loss in apart)
    print(f"proof = first_losses({losses['steps']}, {low:g}, {high:g}, unlearned={unlearned})")
    print(f'    "{name}": (({min(honest):.3g}, {max(honest):.3g}), {mixed_up}),')


if __name__ == "__main__":
    main(*sys.argv[1:])
