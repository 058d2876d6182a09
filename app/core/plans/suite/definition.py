"""The definitions of the suites. A definition never changes; any change gets a new number."""

from dataclasses import dataclass
from typing import Any, Literal

from app.core.errors import UsageError
from app.core.messages import Message, message, sentence
from app.core.titles import workload_title
from workloads import CATALOGUE
from workloads.protocol.spec import Precision, RunSpec
from workloads.workload import Workload

POINTS = 1_000.0  # points of the reference computer in each test
# Approximate duration of a test including process start, in seconds, measured on two cores.
RUN_S = 60.0
Purpose = Literal["training", "prediction", "arithmetic"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SuitePart:
    """One test of a suite."""

    workload: str  # id of the workload
    purpose: Purpose  # Purpose of the test. Training and prediction also have separate scores.
    reference: float  # headline of the reference computer in the workload's unit, worth 1,000 points
    batch_size: int | None = None  # fixed batch size; None for a workload without batches
    precision: Precision = "float32"  # fixed precision
    # Version of the workload at the time of the definition. Results from other versions score no points.
    workload_version: int = 1

    @property
    def title(self) -> str:
        workload = CATALOGUE[self.workload]
        if not workload.is_demo:
            return workload_title(self.workload)
        return sentence("suite.demo_part", title=workload.title, batch_size=self.batch_size)

    @property
    def metric(self) -> str:
        return CATALOGUE[self.workload].metric

    def is_of(self, spec: RunSpec) -> bool:
        same = (spec.workload, spec.precision) == (self.workload, self.precision)
        return same and self.batch_size in (None, spec.batch_size)

    def spec(self, *, engine: str, device: str, without_tf32: bool) -> RunSpec:
        """Return the spec of the test.

        Args:
            engine: Name of the engine.
            device: Device as in a spec, such as "cpu" or "gpu:0".
            without_tf32: Whether to disable TF32, which some engines would otherwise use for float32 matrix
                products on graphics cards.
        """
        workload: Workload = CATALOGUE[self.workload]
        choice: dict[str, Any] = {"engine": engine, "device": device, "precision": self.precision}
        if self.batch_size is not None:
            choice |= {"batch_size": self.batch_size, "data": "synthetic"}
        if without_tf32:
            choice |= {"settings": {"tf32": False}}
        return workload.default_spec("quick", **choice)


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """The definition of a suite."""

    number: int
    parts: tuple[SuitePart, ...]  # tests in the order in which they are run
    engine: str = "tensorflow"  # engine of the reference computer, and the default engine
    # Number of rounds of all tests. Several are needed because a slowdown of all tests varies between rounds.
    rounds: int = 2
    # Computer, software and date of the reference values.
    machine: Message
    software: str
    date: str


SUITE_1 = Definition(
    number=1,
    parts=(
        SuitePart(workload="cifar10_keras_cnn", purpose="training", batch_size=100, reference=45.4),
        SuitePart(workload="resnet_56", purpose="training", batch_size=128, reference=0.555),
        SuitePart(workload="mnist_mlp", purpose="training", batch_size=128, reference=2.80),
        SuitePart(workload="imdb_bidirectional_lstm", purpose="training", batch_size=32, reference=33.2),
        SuitePart(workload="gpt_mini", purpose="training", batch_size=4, reference=2_060.0),
        SuitePart(workload="vit_tiny_224", purpose="training", batch_size=16, reference=30.4),
        SuitePart(workload="resnet50_224_inference", purpose="prediction", batch_size=16, reference=37.5),
        SuitePart(workload="matmul", purpose="arithmetic", reference=4.35e11),
    ),
    # Medians of three consecutive suites within 22 minutes, without other load in the virtual machine. Its host is
    # shared: the CIFAR-10 CNN varied from 40.9 to 49.6 s in that time.
    machine=message("suite.reference_machine"),
    software="TensorFlow 2.21.0, float32",
    date="2026-11-23",
)
# Demonstrates a suite within seconds. Nothing is trained, and the verdict is always invalid.
DEMO = Definition(
    number=0,
    parts=(
        SuitePart(workload="demo", purpose="training", batch_size=50, reference=0.2),
        SuitePart(workload="demo", purpose="training", batch_size=100, reference=0.1),
        SuitePart(workload="demo", purpose="prediction", batch_size=200, reference=0.05),
    ),
    machine=message("suite.demo_machine"),
    software="",
    date="",
)
SUITES = {definition.number: definition for definition in (DEMO, SUITE_1)}
NEWEST = SUITE_1.number


def suite_name(number: int) -> str:
    return sentence("suite.name", number=number)


def definition_of(number: int) -> Definition:
    """Return the definition of a suite. Raises UsageError if this version doesn't include it."""
    if number not in SUITES:
        raise UsageError(message("suite.unknown", number=number))
    return SUITES[number]
