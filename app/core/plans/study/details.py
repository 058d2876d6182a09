"""Loads details of runs that some studies need in addition to summaries: epochs and limiting factors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.core.analysis.ab import is_usable
from app.core.plans.study.axes import FOLDERS
from app.core.plans.study.points import Point, StudyResult
from app.core.storage.database import Database
from app.core.storage.groups import metric_values
from app.core.storage.runs import load_runs
from app.core.verdict.bottleneck import explain
from workloads import CATALOGUE
from workloads.protocol.events import Epoch
from workloads.system.storage import CASES


@dataclass(frozen=True, slots=True)
class Details:
    """Details of the representative run of each configuration."""

    # Epochs by run id, for studies that show the progress of training.
    epochs: Mapping[int, Sequence[Epoch]] = field(default_factory=dict)
    # Text about the limiting factor by configuration name, for studies of sizes.
    limits: Mapping[str, str] = field(default_factory=dict)
    # Images per second by configuration name and case of the storage test, one value per run; empty unless the
    # study reads from folders.
    phases: Mapping[str, Mapping[str, Sequence[float]]] = field(default_factory=dict)


NO_DETAILS = Details()


def wants_epochs(result: StudyResult) -> bool:
    """Return whether a study shows the progress of training."""
    if result.experiment.curves != "if_any":
        return result.experiment.curves == "only"
    specs = [point.spec for point in result.done]
    return (
        len(result.workloads) == 1
        and bool(specs)
        and all(
            spec.preset == "standard" and spec.epochs > 1 and CATALOGUE[spec.workload].trains for spec in specs
        )
    )


def load_details(database: Database, result: StudyResult) -> Details:
    """Return the details required for a study's findings and charts; empty for most studies."""
    with_limits = result.experiment.explains_limits
    if not with_limits and not wants_epochs(result):
        return NO_DETAILS
    names = {best.id: point.name for point in result.done if (best := point.best_run) is not None}
    epochs: dict[int, Sequence[Epoch]] = {}
    limits: dict[str, str] = {}
    if FOLDERS in result.axes:
        return Details(phases={point.name: _cases(database, point) for point in result.done})
    for run in load_runs(database, names):
        if not with_limits:
            epochs[run.summary.id] = run.epochs
        elif (explanation := explain(run)) is not None:
            limits[names[run.summary.id]] = explanation.text
    return Details(epochs, limits)


def _cases(database: Database, point: Point) -> dict[str, tuple[float, ...]]:
    """Return each case's images per second in a configuration's usable runs. Each run uses one folder."""
    ids = [run.id for run in point.runs if is_usable(run)]
    rates = {case: metric_values(database, ids, f"folder1_{case}_images_per_s") for case in CASES}
    return {case: tuple(by_run.values()) for case, by_run in rates.items() if by_run}
