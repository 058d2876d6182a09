"""What a comparison of engines runs: each workload with each engine that is there and can."""

import contextlib
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from app.core.errors import AppError, UsageError
from app.core.messages import Message, message
from app.core.runs.runner import Runner, checked_workload, known_workload
from workloads.engines.registry import ENGINES, compiles_always, engine_named, engine_title
from workloads.protocol.spec import Preset, RunSpec


def engine_specs(
    workloads: Sequence[str], preset: Preset, choice: Mapping[str, str | None], runner: Runner
) -> tuple[tuple[RunSpec, ...], tuple[Message, ...]]:
    """Return the specs, workload by workload, and why an engine is left out of one.

    Args:
        workloads: Their ids.
        preset: For all of them.
        choice: Further settings for all of them, as `Workload.default_spec` takes them.
        runner: Knows which engines are there.

    Raises:
        UsageError: A workload is unknown, or not even two engines can run any of them.
    """
    specs: list[RunSpec] = []
    refusals: list[Message] = []
    for name in dict.fromkeys(workloads):
        workload, able = known_workload(name), []
        for engine in ENGINES:
            spec = workload.default_spec(preset, engine=engine, **choice)
            try:
                runner.check(spec)
            except AppError as error:
                if runner.is_there(engine):
                    refusals.append(message("engines_table.left_out", workload=name, reason=error.said))
            else:
                able.append(spec)
        if len(able) > 1:
            specs += able
        elif able:
            only = engine_title(able[0].engine)
            refusals.append(message("engines_table.only_engine", workload=name, engine=only))
    if not specs:
        raise UsageError(message("engines_table.nothing_to_compare"), message("engines_table.install_one"))
    return tuple(specs), tuple(refusals)


def specs_with(spec: RunSpec, engines: Iterable[str]) -> tuple[RunSpec, ...]:
    """Return a run with each of these engines that can do it.

    All run on the CPU if that was chosen, else each on its best device. Settings that an engine doesn't have are
    left to it.
    """
    specs = []
    for name in engines:
        engine = engine_named(name)
        changed = msgspec.structs.replace(
            spec,
            engine=name,
            device="cpu" if spec.device == "cpu" else "auto",
            jit=engine.compiles_always or (spec.jit and not compiles_always(spec.engine)),
            onednn=spec.onednn if "onednn" in engine.settings else None,
        )
        with contextlib.suppress(UsageError):
            checked_workload(changed)
            specs.append(changed)
    return tuple(specs)
