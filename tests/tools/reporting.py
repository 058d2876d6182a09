"""What reporting costs a step: a finer comparison, for machines too noisy to compare whole runs.

    python -m tests.tools.reporting [EPOCHS] [WORKLOAD]

One real run (runner, database, monitor, worker) in which blocks of five steps are reported as always and blocks of
five steps are not reported at all, by turns A B B A. Neighbouring blocks meet the same disturbances.
"""

import statistics
import sys
import tempfile
import time
from typing import Any

from app.core.hardware.machine import detect_machine
from app.core.paths import Paths, default_paths
from app.core.runs.runner import Runner
from app.core.runs.worker_command import WorkerCommand, worker_command
from tests.conftest import ROOT
from tests.core.runs.running import start_run
from workloads import CATALOGUE, STANDARD
from workloads.protocol import events
from workloads.protocol.reporter import Reporter
from workloads.protocol.spec import RunSpec

BLOCK_STEPS = 5
WARMUP_STEPS = 20


def main(epochs: int = 2, workload_id: str = STANDARD) -> None:
    blocks: dict[str, list[float]] = {"reported_s": [], "bare_s": []}

    def listen(event: events.Event) -> None:
        if isinstance(event, events.Metric) and event.key in blocks and event.value is not None:
            blocks[event.key].append(event.value)
        if isinstance(event, events.Error):
            print(event.message, event.traceback)

    spec = CATALOGUE[workload_id].default_spec(epochs=epochs, data="synthetic", device="cpu")
    with tempfile.TemporaryDirectory() as home:
        paths = default_paths({"EPOCHMARK_HOME": home})
        paths.create()
        start_run(Runner(paths, detect_machine(), command=_command), spec, listen).wait()
    # An epoch may end between the two of a pair.
    ratios = [ours / bare for ours, bare in zip(*blocks.values(), strict=False)]
    error = 1.253 * statistics.stdev(ratios) / len(ratios) ** 0.5  # of a median, for normal noise
    low, middle, high = statistics.quantiles(ratios, n=4)
    print(f"{len(ratios)} pairs of {BLOCK_STEPS} steps: median ratio {middle:.4f} ± {error:.4f} (standard error)")
    step_s = statistics.median(blocks["bare_s"]) / BLOCK_STEPS
    print(f"quartiles {low:.4f} to {high:.4f}; a bare step takes {step_s:.4f} s")


def _command(spec: RunSpec, paths: Paths) -> WorkerCommand:
    code = "from tests.tools.reporting import be_worker; be_worker()"
    environment = worker_command(spec, paths).environment | {"PYTHONPATH": str(ROOT)}
    return WorkerCommand((sys.executable, "-P", "-c", code), environment)


def be_worker() -> None:
    """Be a worker whose callback reports every other block of steps."""
    from workloads.__main__ import start
    from workloads.training import training

    usual = vars(training)["stopwatch"]

    def alternating(reporter: Reporter, **options: Any) -> Any:
        return _alternating(usual(reporter, **options), reporter)

    vars(training)["stopwatch"] = alternating
    training._check_count = lambda *_: None  # half of the steps are not reported, on purpose
    training._evaluate = lambda *_: None
    start()


def _alternating(stopwatch: Any, reporter: Reporter) -> Any:
    report = stopwatch.on_train_batch_end
    block = {"start_s": 0.0}

    def on_train_batch_end(batch: int, logs: Any = None) -> None:
        number, position = divmod(batch, BLOCK_STEPS)
        reported = number % 4 in (0, 3)
        if reported:
            report(batch, logs)
        now_s = time.perf_counter()
        if position == BLOCK_STEPS - 1:
            if batch >= WARMUP_STEPS:
                key = "reported_s" if reported else "bare_s"
                reporter.send(events.Metric(key=key, value=now_s - block["start_s"]))
            block["start_s"] = time.perf_counter()

    stopwatch.on_train_batch_end = on_train_batch_end
    return stopwatch


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 2, *sys.argv[2:3])
