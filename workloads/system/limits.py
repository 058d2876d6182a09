"""Measures the computer's limits: matrix products, memory, transfers to the GPU, and sums across devices."""

import contextlib
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from workloads.engines.engine import Engine
from workloads.engines.registry import engine_title
from workloads.engines.setup import check_gpu, report_memory, start_engine
from workloads.protocol import events
from workloads.protocol.errors import WorkloadError, bad_parameters
from workloads.protocol.messages import Message, message
from workloads.protocol.parameters import Parameter
from workloads.protocol.reporter import Reporter
from workloads.protocol.spec import Job, RunSpec
from workloads.training.medians import related_interval
from workloads.training.repeat import repeat
from workloads.workload import Workload

CASE_BUDGET_S = 4.0
CONFIDENCE_PCT = 95.0
CALLS_AT_LEAST = 6  # the minimum for an interval at this confidence level
SQUARE_SIZES = (1_024, 2_048, 4_096)
# Only with this size do the fastest cards reach their peak. In 16 bits, an RTX 5090 is 13 to 30 % faster than with
# 4,096, while most devices aren't faster at all.
LARGEST_SIZE = 8_192
# Two operands and the product, and the random numbers before they are converted, in float32.
LARGEST_BYTES = 4 * 4 * LARGEST_SIZE**2
# Study 003: the product in its large fully connected network. One library was three times slower if the second
# matrix was transposed.
ROWS, INNER, COLUMNS = 1_024, 26_752, 2_048
# Size of the gradients of study 003's FCN-R: 14,205,962 four-byte floats.
FCN_R_BYTES = 4 * 14_205_962
BANDWIDTH_BYTES = 256 * 2**20
# So small that only the time until an exchange begins counts.
LATENCY_BYTES = 4_096


class Limit(Workload):
    """A property of the computer, measured in several cases, without training."""

    kind = "limits"
    study = "003"
    epochs = 1
    steps = 20
    batch_size = 1
    samples_per_epoch = 0
    parameters: tuple[Parameter, ...] = ()
    has_epochs = False
    can_sustain = False
    reports_headline = True
    without: tuple[str, ...] = ("epochs", "batch_size", "jit", "precision")

    def measure(self, job: Job, engine: Engine, reporter: Reporter, dtype: str) -> None:
        """Measure and report. The headline is the metric named by the `metric` attribute."""
        raise NotImplementedError

    def check(self, spec: RunSpec) -> None:
        """Check the spec, and reject settings that have no effect, so that no result is labelled with them."""
        super().check(spec)
        usual = self.default_spec(spec.preset, engine=spec.engine)
        for name in self.without:
            if getattr(spec, name) != getattr(usual, name):
                label, value = message(f"setting.{name}"), str(getattr(usual, name))
                raise bad_parameters("limits.without_setting", workload=self.title, setting=label, usual=value)
        if spec.data == "real":
            raise bad_parameters("limits.no_data", workload=self.title)

    def run(self, job: Job, reporter: Reporter) -> None:
        reporter.phase("import")
        engine = start_engine(job.spec, reporter)
        check_gpu(engine, self.gpu_need(job.spec))
        import keras

        reporter.phase("data")
        dtype = str(keras.mixed_precision.dtype_policy().compute_dtype)
        self.measure(job, engine, reporter, dtype)
        report_memory(engine, reporter)
        reporter.phase("finish")


class Matmul(Limit):
    """Matrix products, the main operation of neural networks."""

    fixed_duration_s = 30.0
    without = ("epochs", "batch_size", "jit")
    published_differ = frozenset({"precision"})

    id = "matmul"
    metric = "flop_per_s"
    source = "Shi, Wang, Xu, Chu, Benchmarking State-of-the-Art Deep Learning Software Tools, 2016 (study 003)"
    epoch_text = message("epoch_text.products")
    meaning = message("meaning.matmul")

    def measure(self, job: Job, engine: Engine, reporter: Reporter, dtype: str) -> None:
        """Multiply square matrices, study 003's matrices (also with the second one transposed), and the largest.

        The largest are left out if they don't fit in memory or in the time of a case.
        """
        cases = [(f"matmul_{size}_flop_per_s", size, size, size, False) for size in SQUARE_SIZES]
        cases.append(("matmul_study_003_flop_per_s", ROWS, INNER, COLUMNS, False))
        cases.append(("matmul_study_003_transposed_flop_per_s", ROWS, INNER, COLUMNS, True))
        steps = job.spec.steps or 20
        reporter.phase("measure", epochs=len(cases) + 1, total_steps=(len(cases) + 1) * steps)
        rates: list[Measured] = []

        def measure_case(key: str, rows: int, inner: int, columns: int, transposed: bool) -> None:
            call = engine.matmul_step(rows, inner, columns, dtype, transposed=transposed)
            rates.append(rate_of(2 * rows * inner * columns, typical_duration(reporter, call, len(rates), steps)))
            reporter.send(events.Metric(key=key, value=rates[-1].value))

        for case in cases:
            measure_case(*case)
        best = max(rates, key=lambda rate: rate.value)
        if fits_largest(best.value, None if job.spec.device.startswith("gpu") else _available_bytes()):
            with _unless_out_of_memory(engine):
                measure_case(f"matmul_{LARGEST_SIZE}_flop_per_s", *3 * (LARGEST_SIZE,), transposed=False)
        send_headline(reporter, self.metric, max(rates, key=lambda rate: rate.value))


def fits_largest(flop_per_s: float, available_bytes: int | None) -> bool:
    """Return whether the calls that the largest product needs fit in a case's time, and their matrices in memory.

    Args:
        flop_per_s: Speed of smaller products.
        available_bytes: The computer's available memory; None if unknown or if the product is computed elsewhere.
    """
    duration_s = (1 + CALLS_AT_LEAST) * 2 * LARGEST_SIZE**3 / flop_per_s
    return duration_s <= CASE_BUDGET_S and (available_bytes is None or available_bytes > LARGEST_BYTES)


def _available_bytes() -> int | None:
    try:
        import psutil  # may be missing from a worker's Python
    except ImportError:
        return None
    return int(psutil.virtual_memory().available)


@contextlib.contextmanager
def _unless_out_of_memory(engine: Engine) -> Iterator[None]:
    """Leave out what doesn't fit in the memory of a GPU that other programs use, too."""
    try:
        yield
    except Exception as error:
        if not engine.is_out_of_memory(error):
            raise


class MemoryBandwidth(Limit):
    """Read and write bandwidth of the device's memory."""

    fixed_duration_s = 5.0

    id = "memory_bandwidth"
    metric = "bytes_per_s"
    source = "McCalpin, Memory Bandwidth and Machine Balance, 1995 (STREAM)"
    epoch_text = message("epoch_text.sums")
    meaning = message("meaning.memory_bandwidth")
    study = ""

    def measure(self, job: Job, engine: Engine, reporter: Reporter, dtype: str) -> None:
        steps = job.spec.steps or self.steps
        reporter.phase("measure", epochs=1, total_steps=steps)
        typical = typical_duration(
            reporter, engine.add_step(BANDWIDTH_BYTES), 0, steps
        )  # in place, without allocating
        send_headline(reporter, self.metric, rate_of(3 * BANDWIDTH_BYTES, typical))


class HostToDevice(Limit):
    """Transfers between the computer's memory and the GPU, in both directions."""

    fixed_duration_s = 10.0

    id = "host_to_device"
    metric = "bytes_per_s"
    source = "Shi, Wang, Xu, Chu, Benchmarking State-of-the-Art Deep Learning Software Tools, 2016 (study 003)"
    epoch_text = message("epoch_text.transfers")
    meaning = message("meaning.host_to_device")

    def gpu_need(self, spec: RunSpec) -> Message | None:
        return message("limits.no_gpu", engine=engine_title(spec.engine))

    def measure(self, job: Job, engine: Engine, reporter: Reporter, dtype: str) -> None:
        to_gpu, from_gpu = engine.transfer_steps(BANDWIDTH_BYTES)
        steps = job.spec.steps or self.steps
        reporter.phase("measure", epochs=2, total_steps=2 * steps)
        sent = rate_of(BANDWIDTH_BYTES, typical_duration(reporter, to_gpu, 0, steps))
        back = rate_of(BANDWIDTH_BYTES, typical_duration(reporter, from_gpu, 1, steps))
        for key, value in (
            ("host_to_device_bytes_per_s", sent.value),
            ("device_to_host_bytes_per_s", back.value),
            ("fcn_r_gradients_s", FCN_R_BYTES / back.value),
        ):
            reporter.send(events.Metric(key=key, value=value))
        send_headline(reporter, self.metric, sent)


class AllReduce(Limit):
    """Sums across devices, as used to combine the gradients in each training step."""

    fixed_duration_s = 15.0

    id = "all_reduce"
    metric = "bytes_per_s"
    source = "NVIDIA, Performance reported by NCCL tests (bus bandwidth)"
    epoch_text = message("epoch_text.all_reduce")
    meaning = message("meaning.all_reduce")
    study = ""
    least_devices = 2

    def measure(self, job: Job, engine: Engine, reporter: Reporter, dtype: str) -> None:
        """Add large arrays for the bandwidth, a study's gradients, and small arrays for the latency.

        The bandwidth is the array's size in bytes divided by the duration, times 2 (n - 1) / n for n devices. This
        is the rate at which each device sends and receives if the work is shared equally, so it doesn't depend on
        the number of devices.
        """
        count, steps = job.spec.device_count, job.spec.steps or self.steps
        sizes_bytes = {"bytes_per_s": BANDWIDTH_BYTES, "fcn_r_sum_s": FCN_R_BYTES, "sum_latency_s": LATENCY_BYTES}
        reporter.phase("measure", epochs=len(sizes_bytes), total_steps=len(sizes_bytes) * steps)
        for index, (key, size_bytes) in enumerate(sizes_bytes.items()):
            step = engine.all_reduce_step(size_bytes)
            call = partial(_checked, step, count)

            def lead(key: str = key, size_bytes: int = size_bytes, index: int = index, call: Any = call) -> None:
                typical = typical_duration(reporter, call, index, steps, engine.agreed)
                if key == self.metric:
                    send_headline(reporter, key, rate_of(2 * (count - 1) / count * size_bytes, typical))
                else:
                    reporter.send(events.Metric(key=key, value=typical.value))

            engine.together(call, lead)


def _checked(step: Callable[[], float], count: int) -> None:
    """Add arrays once. Raises WorkloadError if not all devices took part."""
    if (added := step()) != count:
        raise WorkloadError("device_unavailable", message("limits.devices_missing", count=count, added=added))


@dataclass(frozen=True, slots=True)
class Measured:
    """A median duration in seconds, or work per second, with its 95 % interval; None after too few calls."""

    value: float
    low: float | None
    high: float | None


def typical_duration(
    reporter: Reporter, call: Callable[[], object], index: int, steps: int, agreed: Callable[[bool], bool] = bool
) -> Measured:
    """Return the typical duration of a call in seconds, after one that isn't timed."""
    call()
    durations_s = repeat(
        reporter,
        call,
        index=index,
        steps=steps,
        budget_s=CASE_BUDGET_S,
        steps_at_least=CALLS_AT_LEAST,
        agreed=agreed,
    )
    reporter.flush()
    low_s, high_s, confidence_pct = related_interval(durations_s)
    is_certain = confidence_pct is not None and confidence_pct >= CONFIDENCE_PCT
    return Measured(statistics.median(durations_s), *((low_s, high_s) if is_certain else (None, None)))


def rate_of(work: float, typical: Measured) -> Measured:
    low, high = (None if end_s is None else work / end_s for end_s in (typical.high, typical.low))
    return Measured(work / typical.value, low, high)


def send_headline(reporter: Reporter, metric: str, rate: Measured) -> None:
    for key, value in ((metric, rate.value), (f"{metric}_low", rate.low), (f"{metric}_high", rate.high)):
        if value is not None:
            reporter.send(events.Metric(key=key, value=value))
