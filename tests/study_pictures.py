"""Studies and suites for pictures of their pages. Their figures are computed; nothing is run for them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from app.core.paths import Paths
from app.core.plans.study.axes import points
from app.core.plans.study.planning import make_plan
from app.core.plans.study.points import StudyResult
from app.core.plans.suite.definition import SUITE_1
from app.core.plans.suite.planning import plan_suite
from app.core.runs.runner import Runner
from app.core.storage.database import Database
from app.core.storage.groups import begin_group
from tests.build import Outcome, plan_preset, store_point, store_study
from tests.sure import sure
from workloads import CATALOGUE, STANDARD
from workloads.protocol.events import Epoch
from workloads.protocol.machine import Gpu, Machine
from workloads.protocol.spec import RunSpec

EPOCH_S = {"mnist_mlp": 2.1, "mnist_cnn": 21.0, "cifar10_cnn": 24.0, "imdb_fasttext": 60.0}
EPOCH_S |= {"imdb_bidirectional_lstm": 19.0, "text_generator_keras": 25.0}
# Speeds of a suite's parts, as factors of the reference machine's.
SUITE_FACTORS = (
    (1.02, 0.99, 1.01, 0.97, 1.04, 1.0, 1.01, 0.98),
    (0.93, 1.24, 0.71, 1.52, 0.64, 1.18, 1.27, 1.06),
    (1.31, 1.45, 0.88, 0.79, 1.62, 1.51, 1.39, 1.07),
)
KEYS = ("batch", "software", "precision", "devices", "phases", "sizing", "convergence", "power", "cost")


OWN_USD_PER_HOUR = 0.67
WITH_CARD: dict[str, Any] = {
    "device": "gpu:0",
    "device_name": "NVIDIA GeForce RTX 3090",
    "work_per_j": lambda spec: 50_000 / (sure(computed(spec)) * spec.settings["power_limit_w"]),
}


def curves(result: StudyResult) -> dict[int, tuple[Epoch, ...]]:
    """Return epochs in which large batches are quick and learn little."""
    epochs = {}
    for point in result.done:
        run, size = point.best_run, point.spec.batch_size
        if run is not None and point.value is not None:
            losses = [1.9 * number**-0.3 * size**0.03 for number in (1, 2, 3)]
            epochs[run.id] = tuple(
                Epoch(index=index, duration_s=point.value, train_s=point.value, loss=loss)
                for index, loss in enumerate(losses)
            )
    return epochs


def computed(spec: RunSpec) -> Outcome:
    """Return seconds, or images per second, that grow with batch and CPUs as they do on a desktop."""
    if spec.batch_size >= 1_024:
        return "out_of_memory"
    workload = CATALOGUE[spec.workload]
    batches = workload.batch_size * spec.device_count / spec.batch_size
    epoch_s: float = EPOCH_S.get(spec.workload, 22.0) * (0.6 + 0.4 * batches)
    epoch_s *= {"torch": 0.9, "jax": 1.1}.get(spec.engine, 1.0) / spec.device_count**0.92
    if limit_w := spec.settings.get("power_limit_w"):
        return 6.0 / (1 - 1.1 * (1 - float(limit_w) / 370) ** 2)
    if spec.workload == "resnet_50":
        return 400.0 * float(spec.device_count**0.95)
    if spec.device.startswith("gpu"):
        return 50_000 / (0.07 * epoch_s) if workload.metric == "images_per_s" else 0.12 * epoch_s
    cpus = spec.threads or int(spec.settings.get("cpus") or 8)
    epoch_s *= (8 / min(cpus, 8)) ** 0.9 * (1.07 if cpus > 8 else 1.0)
    epoch_s *= (1.25 if spec.onednn is False else 1.0) * (0.93 if spec.jit else 1.0)
    epoch_s *= {"float32": 1.0, "mixed_float16": 2.6, "mixed_bfloat16": 0.8}[spec.precision]
    return 50_000 / epoch_s if workload.metric == "images_per_s" else epoch_s


def store_studies(database: Database, paths: Paths, machine: Machine) -> Iterator[tuple[str, int]]:
    """Store a finished study of each kind, and one that was cut short; yield their names and numbers."""
    desktop = replace(machine, cpu_name="Desktop CPU, 8 cores", physical_cores=8, logical_cores=16)
    card = Gpu("NVIDIA GeForce RTX 3090", "nvidia", power_limit_w=370.0, power_default_w=370.0)
    runner, with_card = Runner(paths, desktop), Runner(paths, replace(desktop, gpus=(card,)))
    usual = CATALOGUE[STANDARD].default_spec("quick", device="cpu")
    specs = points(usual, {"threads": (1, 2, 4, 8, 16)})
    plan = make_plan(specs, ("threads",), runner, key="threads", rounds=1)
    yield "threads", store_study(database, desktop, plan, computed).group.id
    four = Runner(paths, replace(desktop, os_name="Linux 6.1", gpus=(card,) * 4))
    for key, workload in (("scaling", STANDARD), ("weak_scaling", "resnet_50")):
        plan = plan_preset(key, four, workloads=[workload], choice={"device": "gpu:0"})
        yield key, store_study(database, desktop, plan, computed).group.id
    for key in KEYS:
        plan = plan_preset(key, with_card if key == "power" else runner)
        columns = WITH_CARD if key == "power" else {}
        yield key, store_study(database, desktop, plan, computed, **columns).group.id
    plan = plan_preset("batch", runner)
    yield "cut-short", store_study(database, desktop, plan, computed, runs=3).group.id


def store_suite(
    database: Database, paths: Paths, machine: Machine, factors: Sequence[float], runs: int | None = None
) -> int:
    """Store a suite of which so many runs were made, its parts as many times as fast as the reference machine.

    The second round is 2 % slower.
    """
    plan = plan_suite(Runner(paths, machine), "tensorflow", "cpu")
    group_id = begin_group(database, plan)
    asked = [
        (part, times * speed) for times in (1, 0.98) for part, speed in zip(SUITE_1.parts, factors, strict=True)
    ]
    for planned, (part, factor) in list(zip(plan.runs(), asked, strict=True))[:runs]:
        value = part.reference / factor if part.metric.startswith("seconds_") else part.reference * factor
        store_point(database, machine, planned.spec, group_id, value, engine_version="2.21.0")
    return group_id
