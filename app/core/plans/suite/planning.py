"""Plans suites for this computer."""

from app.core.engines.choices import Choice, automatic_choice, device_choices, installed_engines
from app.core.errors import UsageError
from app.core.messages import message
from app.core.plans.suite.definition import NEWEST, Definition, definition_of
from app.core.records import Plan, Refusal, Suite
from app.core.runs.runner import Runner, check_engine_is_there
from workloads import CATALOGUE
from workloads.engines.registry import ENGINES

AUTO = "auto"


def plan_suite(runner: Runner, engine: str = AUTO, device: str = AUTO, number: int = NEWEST) -> Plan:
    """Return the plan of a suite. Tests that this computer can't run are listed with reasons.

    Args:
        runner: Runner that checks the specs.
        engine: Name of the engine for all tests; "auto" for the definition's engine or, if it isn't installed, the
            engine that is probably fastest.
        device: Device as in a spec; "auto" for a graphics card if the engine can use one, otherwise the CPU.
        number: Number of the suite.

    Raises:
        UsageError: The suite, engine or device doesn't exist, or this computer can't run any test.
    """
    definition = definition_of(number)
    chosen = _choice(definition, runner, engine, device)
    specs = [
        part.spec(engine=chosen.engine, device=chosen.device, without_tf32=chosen.device != "cpu")
        for part in definition.parts
    ]
    refusals: list[Refusal] = []
    for spec, part in zip(specs, definition.parts, strict=True):
        if CATALOGUE[part.workload].version != part.workload_version:
            refusals.append(Refusal(spec=spec, reason=message("suite.other_version")))
            continue
        try:
            runner.check(spec)
        except UsageError as error:
            refusals.append(Refusal(spec=spec, reason=error.message))
    refused = [refusal.spec for refusal in refusals]
    able = tuple(spec for spec in specs if spec not in refused)
    if not able:
        raise UsageError(message("suite.nothing_to_run", reason=refusals[0].reason))
    refused_parts = Suite(number=number, refused=tuple(refusals))
    return Plan(kind="suite", specs=able, rounds=definition.rounds, survives_failures=True, suite=refused_parts)


def _choice(definition: Definition, runner: Runner, engine: str, device: str) -> Choice:
    if engine != AUTO and engine not in ENGINES:
        raise UsageError(message("engine.unknown", engine=repr(engine[:40]), engines=list(ENGINES)))
    installed = installed_engines(runner.paths)
    if engine != AUTO:
        check_engine_is_there(engine, runner.paths)
    engines = None if engine == AUTO else (engine,)
    choices = device_choices(installed, runner.machine, engines)
    if device == AUTO:
        best = automatic_choice(choices, definition.engine)
        return best or Choice(definition.engine if engine == AUTO else engine, "cpu")
    usable = [choice for choice in choices if choice.device == device]
    best = automatic_choice(usable, definition.engine)
    if best is None:
        there = list(dict.fromkeys(choice.device for choice in choices))
        raise UsageError(message("suite.no_device", device=repr(device[:40]), devices=there))
    return best
