"""Plans studies: which configurations are run and in how many rounds, and which are impossible."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from app.core.engines.choices import installed_engines
from app.core.errors import AppError, UsageError
from app.core.messages import message
from app.core.plans.report import PlanOptions
from app.core.plans.study.axes import FOLDERS, POWER_LIMIT, points
from app.core.plans.study.configurations import StudyContext
from app.core.plans.study.points import StudyExperiment
from app.core.records import Order, Plan, Refusal, Study
from app.core.runs.runner import Runner, known_workload
from workloads.engines.cpu_allowance import can_limit_cpus, visible_cpus
from workloads.protocol.parameters import folders_of
from workloads.protocol.spec import RunSpec

ROUNDS_LIMIT, RUNS_LIMIT = 20, 300
READING_ROUNDS = 2  # in one round, a drive briefly used by another program would look slow


def plan_study(experiment: StudyExperiment, runner: Runner, options: PlanOptions) -> Plan:
    """Return the plan of a ready-made study.

    Raises:
        UsageError: A workload doesn't exist, or this computer can't run any configuration.
    """
    assert experiment.configurations is not None
    folders = [str(folder) for text in options.folders for folder in folders_of(text)]
    reading = experiment.reading
    if folders and (not reading or any(name != reading for name in options.workloads)):
        raise UsageError(message("studies.reads_nothing", workload=reading or "storage"))
    names = [reading] if folders else list(dict.fromkeys(options.workloads or experiment.workloads))
    if len(names) > 1 and not experiment.takes_several:
        raise UsageError(message("studies.one_workload", preset=experiment.key))
    if experiment.is_own and not {*names} <= {*experiment.workloads}:
        raise UsageError(message("studies.own_workload", workloads=list(experiment.workloads)))
    context = StudyContext(
        machine=runner.machine,
        installed=installed_engines(runner.paths),
        usable_cpus=visible_cpus() or 1,
        can_limit_cpus=can_limit_cpus(),
        preset=options.preset or experiment.preset,
        choice=dict(options.choice),
        folders=tuple(dict.fromkeys(folders)),
    )
    axes = (*experiment.axes, FOLDERS) if folders else experiment.axes
    rounds = options.rounds
    if rounds is None:
        rounds = READING_ROUNDS if folders else experiment.rounds
    specs = experiment.configurations(context, [known_workload(name) for name in names])
    return make_plan(specs, axes, runner, key=experiment.key, rounds=rounds)


def plan_axes(spec: RunSpec, axes: Mapping[str, Sequence[Any]], runner: Runner, rounds: int = 1) -> Plan:
    """Return the plan of a study with custom axes.

    Args:
        spec: Spec with the common settings.
        axes: Values by axis name, as returned by `read_axis`.
        runner: Runner that checks the specs.
        rounds: Number of runs per configuration.

    Raises:
        UsageError: There are too many configurations, or this computer can run none of them.
    """
    return make_plan(points(spec, axes), tuple(axes), runner, key="", rounds=rounds)


def make_plan(specs: Sequence[RunSpec], axes: Sequence[str], runner: Runner, *, key: str, rounds: int) -> Plan:
    """Return the plan of the possible configurations. Impossible ones are listed with reasons."""
    able: list[RunSpec] = []
    refused: list[Refusal] = []
    for spec in {msgspec.json.encode(spec): spec for spec in specs}.values():
        try:
            able.append(runner.check(spec).spec)
        except AppError as error:
            refused.append(Refusal(spec=spec, reason=error.message))
    if not able:
        first = refused[0].reason if refused else None
        raise UsageError(message("studies.nothing_to_run", reason=first))
    if not 1 <= rounds <= ROUNDS_LIMIT or rounds * len(able) > RUNS_LIMIT:
        said = message("studies.too_many_runs", rounds=ROUNDS_LIMIT, runs=RUNS_LIMIT, asked=rounds * len(able))
        raise UsageError(said)
    seed = random.randrange(2**31)  # noqa: S311 - it shuffles runs
    # The user changes power limits by hand, so each is set once. The first sequence that is too long is the last.
    order: Order = "in_turn" if {POWER_LIMIT, "sequence"} & {*axes} else "shuffled"
    study = Study(preset=key, axes=tuple(axes), seed=seed, refused=tuple(refused))
    return Plan(kind="study", specs=tuple(able), rounds=rounds, order=order, survives_failures=True, study=study)
