"""Inference with the studies' networks: measures throughput with a large batch and latency with small ones."""

import statistics
import time
from collections.abc import Callable
from typing import Any

from workloads.engines.setup import check_gpu, report_memory, start_engine
from workloads.protocol import events
from workloads.protocol.errors import WorkloadError, bad_parameters
from workloads.protocol.messages import Message, message
from workloads.protocol.reporter import Reporter
from workloads.protocol.spec import Job, RunSpec
from workloads.training.flops import forward_flops
from workloads.training.repeat import repeat
from workloads.training.training import Training, count_differs
from workloads.workload import MemoryNeed, Workload

# By engine: bytes without a network, number of copies of the weights (loading rearranges them), and the divisor of
# the training memory per example. For fourteen networks at batch size 64, the estimates range from half the
# measured peak to a sixth above it (`python -m tests.tools.workloads`). They tend to be low, because a run
# that fits must not be rejected.
NEEDS = {"tensorflow": (600_000_000, 3, 8), "torch": (400_000_000, 2, 3), "jax": (350_000_000, 1, 8)}
LATENCY_BATCHES = (1, 16)
LATENCY_CALLS = 50
LATENCY_CALLS_AT_LEAST = 5
LATENCY_BUDGET_S = 10.0
WARMUP_CALLS = 2
QUICK_BUDGET_S, SUSTAINED_S = 40.0, 600.0
CALLS_LIMIT = 10**9
STEPS_AT_LEAST = 4
# As in study 002, whose notebook predicts 160 images in batches of 16.
FEW_SAMPLES, FEW_BATCH = 160, 16


Predict = Callable[[Any], None]


class Inference(Workload):
    """The network of a training workload, untrained, because the weights don't affect the speed."""

    kind = "image"
    metric = "images_per_s"
    epochs = 3
    steps = 20
    samples_per_epoch = 0
    batch_size = 64
    counts_steps = True
    steps_alike = True

    def __init__(self, training: Training) -> None:
        self._training = training
        self.id = f"{training.id}_inference"
        self.study = training.study
        self.source = training.source
        self.epoch_text = message("epoch_text.predictions", batches=self.steps)
        self.published_differ = training.published_differ
        self.parameters_count = training.inference_parameters_count or training.parameters_count

    @property
    def title(self) -> Message:
        """The network's title, labelled as inference."""
        return message("title.inference", training=self._training.title)

    @property
    def summary(self) -> Message:
        return message("summary.inference", training=self._training.title)

    def after_steps_s(self, example_s: float) -> float:
        """Return the approximate duration of the latency tests, from the time per image in a large batch."""
        calls_s = sum(min(LATENCY_CALLS * size * example_s, LATENCY_BUDGET_S) for size in LATENCY_BATCHES)
        return calls_s + (FEW_SAMPLES * example_s if self.study == "002" else 0.0)

    def check(self, spec: RunSpec) -> None:
        """Check the spec, and reject real data, because there is none."""
        super().check(spec)
        if spec.data == "real":
            raise bad_parameters("inference.no_real_data", workload=self.id)

    def memory_need(self, engine: str) -> MemoryNeed | None:
        """Return the memory needed for inference with an engine; None if it was never measured."""
        training = self._training.memory_need(engine)
        if training is None or engine not in NEEDS:
            return None
        base_bytes, copies, share = NEEDS[engine]
        weights_bytes = 4 * copies * (self.parameters_count or 0)
        return MemoryNeed(base_bytes + weights_bytes, training.per_example_bytes // share)

    def gpu_need(self, spec: RunSpec) -> Message | None:
        """Explain why the network requires a GPU with this engine; None if it doesn't."""
        return self._training.gpu_need(spec)

    def run(self, job: Job, reporter: Reporter) -> None:
        """Measure throughput, then latencies."""
        import numpy as np

        spec = job.spec
        reporter.phase("import")
        engine = start_engine(spec, reporter)
        check_gpu(engine, self.gpu_need(spec))
        reporter.phase("build")
        model = self._training.build_for_inference(spec)
        engine.compile(model, spec)
        count, operations = model.count_params(), forward_flops(model)
        if self.parameters_count not in (None, count):
            raise WorkloadError("internal", count_differs("parameters", count, self.parameters_count or 0))
        reporter.send(events.Model(parameters_count=count, flops_per_example=operations))
        reporter.phase("data")
        shape = tuple(model.input_shape[1:])
        # Floats in 0..1, identical in all NumPy versions. Generated image by image, because the raw numbers need
        # twice as much memory.
        bits = np.random.PCG64(spec.seed)
        images = np.empty((spec.batch_size, *shape), np.float32)
        for image in images:
            image[:] = (bits.random_raw(image.size) >> np.uint64(40)).reshape(shape) / np.float64(2**24)
        reporter.send(events.Dataset(name="generated", source="synthetic", samples=len(images), shape=shape))

        def predict(batch: Any) -> None:
            engine.predict_batch(model, batch)

        self._measure_throughput(spec, predict, images, reporter)
        if spec.measure_s is None:
            self._measure_latency(predict, images, reporter)
        report_memory(engine, reporter)
        reporter.phase("finish")

    def _measure_throughput(self, spec: RunSpec, predict: Predict, images: Any, reporter: Reporter) -> None:
        steps = spec.steps or self.steps

        def call() -> None:
            predict(images)

        if spec.preset == "standard":
            reporter.phase("measure", epochs=spec.epochs, total_steps=spec.epochs * steps)
            for index in range(spec.epochs):
                repeat(reporter, call, index=index, steps=steps)
                reporter.epoch_end()
            return
        budget_s = spec.measure_s or spec.duration_s
        budget_s = budget_s or (QUICK_BUDGET_S if spec.preset == "quick" else SUSTAINED_S)
        reporter.phase("measure", budget_s=budget_s)
        at_least = 2 if spec.measure_s else STEPS_AT_LEAST
        repeat(reporter, call, index=0, steps=CALLS_LIMIT, budget_s=budget_s, steps_at_least=at_least)
        reporter.flush()

    def _measure_latency(self, predict: Predict, images: Any, reporter: Reporter) -> None:
        reporter.phase("evaluate")
        for batch_size in LATENCY_BATCHES:
            durations_s = _latencies(predict, _batch(images, batch_size), reporter)
            median_s = statistics.median(durations_s)
            slow_s = statistics.quantiles(durations_s, n=20, method="inclusive")[-1]  # the 95th percentile
            reporter.send(events.Metric(key=f"latency_{batch_size}_median_s", value=median_s))
            reporter.send(events.Metric(key=f"latency_{batch_size}_p95_s", value=slow_s))
        if self.study == "002":
            few = _batch(images, FEW_BATCH)
            start_s = time.perf_counter()
            for _ in range(FEW_SAMPLES // FEW_BATCH):
                predict(few)
                reporter.check_cancel()
            reporter.send(events.Metric(key="few_samples_s", value=time.perf_counter() - start_s))


def _latencies(predict: Predict, images: Any, reporter: Reporter) -> list[float]:
    for _ in range(WARMUP_CALLS):
        predict(images)
    durations_s: list[float] = []
    begin_s = time.perf_counter()
    while len(durations_s) < LATENCY_CALLS:
        reporter.check_cancel()
        start_s = time.perf_counter()
        predict(images)
        end_s = time.perf_counter()
        durations_s.append(end_s - start_s)
        if end_s - begin_s > LATENCY_BUDGET_S and len(durations_s) >= LATENCY_CALLS_AT_LEAST:
            break
    return durations_s


def _batch(images: Any, size: int) -> Any:
    """Return `size` images, repeating them if there aren't enough."""
    import numpy as np

    return np.resize(images, (size, *images.shape[1:]))
