"""What measuring costs: seconds per epoch under Epochmark over the same fit run bare, pair by pair.

    python -m tests.benchmarks.harness [PAIRS] [STEPS]

A real run (runner, database, monitor) starts a worker that trains one and the same network by turns: bare, with
a callback that only looks at the clock twice an epoch, and under Epochmark's callback and event stream. Turns
are ordered A B B A, so that drift hits both alike.
"""

import statistics
import sys
import tempfile
from typing import Any

from app.core.engines import WorkerCommand, worker_command
from app.core.hardware import detect_machine
from app.core.paths import Paths, default_paths
from app.core.runner import Runner
from tests.conftest import ROOT
from workloads import CATALOGUE, events
from workloads.reporter import Reporter
from workloads.spec import RunSpec


def main(pairs: int = 10, steps: int = 60) -> None:
    """Print the ratio of each pair and their median."""
    with tempfile.TemporaryDirectory() as home:
        paths = default_paths({"EPOCHMARK_HOME": home})
        paths.create()
        metrics: list[tuple[str, float]] = []

        def listen(event: events.Event) -> None:
            if isinstance(event, events.Metric) and event.value is not None:
                metrics.append((event.key, event.value))
            if isinstance(event, events.Error):
                print(event.message, event.traceback)

        spec = CATALOGUE["cifar10_keras_cnn"].default_spec(
            epochs=pairs, steps=steps, data="synthetic", device="cpu"
        )
        Runner(paths, detect_machine(), command=_command).start(spec, listen).wait()
    bare = [value for key, value in metrics if key == "bare_s"]
    ours = [value for key, value in metrics if key == "epochmark_s"]
    ratios = [mine / theirs for mine, theirs in zip(ours, bare, strict=True)]
    for mine, theirs, ratio in zip(ours, bare, ratios, strict=True):
        print(f"epochmark {mine:7.3f} s   bare {theirs:7.3f} s   ratio {ratio:.4f}")
    low, _, high = statistics.quantiles(ratios, n=4)
    print(f"{len(ratios)} pairs of {steps} steps: median ratio {statistics.median(ratios):.4f}")
    print(f"quartiles {low:.4f} to {high:.4f}, ratio of sums {sum(ours) / sum(bare):.4f}")


def _command(spec: RunSpec, paths: Paths) -> WorkerCommand:
    clean = worker_command(spec, paths)
    code = "import tests.benchmarks.harness as harness; harness.be_worker()"
    return WorkerCommand((sys.executable, "-P", "-c", code), clean.environment | {"PYTHONPATH": str(ROOT)})


def be_worker() -> None:
    """Be a worker whose standard workload trains by turns."""
    from workloads import training
    from workloads.__main__ import start

    training._measure_epochs = _measure_by_turns
    training._evaluate = lambda *_: None
    start()


def _measure_by_turns(workload: Any, spec: RunSpec, model: Any, arrays: Any, reporter: Reporter) -> None:
    from workloads import training

    def ours() -> float:
        from tests.benchmarks.harness import Listening

        listening = Listening(reporter)
        training._fit(workload, spec, model, arrays, training._callback(listening), epochs=1, steps=spec.steps)
        return listening.duration_s

    def bare() -> float:
        return _bare_fit(workload, spec, model, arrays)

    ours(), bare()  # tracing and first allocations
    reporter.phase("measure", epochs=2 * spec.epochs, total_steps=2 * spec.epochs * (spec.steps or 0))
    turns = {"epochmark_s": ours, "bare_s": bare}
    for pair in range(spec.epochs):
        for key in turns if pair % 2 else reversed(turns):
            reporter.send(events.Metric(key=key, value=turns[key]()))


class Listening(Reporter):
    """The real reporter on the real stream, which also keeps the epoch's duration."""

    def __init__(self, reporter: Reporter) -> None:
        self.__dict__.update(reporter.__dict__)
        self._send = reporter.send
        self.send = self._keep
        self.duration_s = 0.0

    def _keep(self, event: events.Event) -> None:
        if isinstance(event, events.Epoch):
            self.duration_s = event.duration_s
            return  # its number would repeat: the epoch itself is no result here
        self._send(event)


def _bare_fit(workload: Any, spec: RunSpec, model: Any, arrays: Any) -> float:
    """Fit as the study's script does, on plain arrays, with a clock around the epoch."""
    import time

    from keras.callbacks import Callback

    class Clock(Callback):  # type: ignore[misc] # Keras ships no types
        begin_s = end_s = 0.0

        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            self.begin_s = time.perf_counter()

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            self.end_s = time.perf_counter()

    clock = Clock()
    count = workload.validation_samples
    model.fit(
        arrays.x_train,
        arrays.y_train,
        batch_size=spec.batch_size,
        epochs=1,
        steps_per_epoch=spec.steps,
        validation_data=(arrays.x_test[:count], arrays.y_test[:count]),
        callbacks=[clock],
        verbose=0,
    )
    return clock.end_s - clock.begin_s


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
