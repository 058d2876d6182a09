"""Plans studies: which configurations are run and in how many rounds, and which are impossible."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from app.core.engines.choices import installed_engines
from app.core.errors import AppError, UsageError
from app.core.messages import message
from app.core.plans.study.axes import FOLDERS, POWER_LIMIT, points
from app.core.plans.study.kind import KIND
from app.core.plans.study.presets import PRESETS, StudyContext, StudyPreset
from app.core.records import Order, Plan, Refusal, Study
from app.core.runs.runner import Runner, known_workload
from workloads.engines.cpu_allowance import can_limit_cpus, visible_cpus
from workloads.protocol.parameters import folders_of
from workloads.protocol.spec import Preset, RunSpec

ROUNDS_LIMIT, RUNS_LIMIT = 20, 300
READING_ROUNDS = 2  # in one round, a drive briefly used by another program would look slow


def study_preset(key: str) -> StudyPreset:
    """Return a preset. Raises UsageError with the names of all presets if it doesn't exist."""
    if key not in PRESETS:
        raise UsageError(message("studies.unknown_preset", preset=repr(key[:60]), presets=list(PRESETS)))
    return PRESETS[key]


def plan_preset(
    key: str,
    runner: Runner,
    *,
    workloads: Sequence[str] = (),
    preset: Preset | None = None,
    rounds: int | None = None,
    choice: Mapping[str, Any] | None = None,
    folders: Sequence[str] = (),
) -> Plan:
    """Return the plan of a ready-made study.

    Args:
        key: Key of the study.
        runner: Runner that checks the specs.
        workloads: Workloads to run; () for the study's defaults.
        preset: Preset of each run; None for the study's default.
        rounds: Number of runs per configuration; None for the study's default.
        choice: Other settings of all configurations, as for `Workload.default_spec`.
        folders: Folders to read from, used as values of an additional axis; () if there are none.

    Raises:
        UsageError: The study or a workload doesn't exist, or this computer can't run any configuration.
    """
    study = study_preset(key)
    folders = [str(each) for text in folders for each in folders_of(text)]
    if folders and (not study.reading or any(name != study.reading for name in workloads)):
        reading = [each.key for each in PRESETS.values() if each.reading]
        raise UsageError(message("studies.reads_nothing", presets=reading, workload=study.reading or "storage"))
    names = [study.reading] if folders else list(dict.fromkeys(workloads or study.workloads))
    if len(names) > 1 and not study.takes_several:
        raise UsageError(message("studies.one_workload", preset=key))
    context = StudyContext(
        machine=runner.machine,
        installed=installed_engines(runner.paths),
        usable_cpus=visible_cpus() or 1,
        can_limit_cpus=can_limit_cpus(),
        preset=preset,
        choice=dict(choice or {}),
        folders=tuple(dict.fromkeys(folders)),
    )
    axes = (*study.axes, FOLDERS) if folders else study.axes
    if rounds is None:
        rounds = READING_ROUNDS if folders else study.rounds
    specs = study.build(context, [known_workload(name) for name in names])
    return make_plan(specs, axes, runner, key=key, rounds=rounds)


def preset_plans(runner: Runner) -> dict[str, Plan | AppError]:
    """Return the plans of all ready-made studies by key, or the reasons why no configuration can run."""
    plans: dict[str, Plan | AppError] = {}
    for key in PRESETS:
        try:
            plans[key] = plan_preset(key, runner)
        except AppError as error:
            plans[key] = error
    return plans


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
    # The user changes power limits by hand, so each is set once.
    order: Order = "in_turn" if POWER_LIMIT in axes else "shuffled"
    study = Study(preset=key, axes=tuple(axes), seed=seed, refused=tuple(refused))
    return Plan(kind=KIND, specs=tuple(able), rounds=rounds, order=order, survives_failures=True, study=study)
