"""Previews the fields of a result before it is shared, and removes those that the user excludes."""

import json
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from app.core.analysis.comparability import engine_name, unusual_settings
from app.core.analysis.credibility import with_credible_verdict
from app.core.analysis.facts import fact_texts
from app.core.analysis.power import is_gpu, limit_text
from app.core.errors import UsageError
from app.core.formats import format_gpu_memory, format_installed_memory
from app.core.messages import ENGLISH, message, sentence
from app.core.metrics import amount_text, format_value
from app.core.plain_text import joined, one_line
from app.core.records import FIELDS
from app.core.report.run_texts import plain_reason
from app.core.result_file.canonical import sealed, without_durations
from app.core.result_file.record import Gpu, Result, ResultSection
from app.core.result_file.short_form import UNKNOWN_VERSION, is_of_code
from app.core.result_file.summary import summary_of
from app.core.titles import cores_title, data_title, level_title, preset_title, switch_title, workload_title
from workloads.datasets import DATASETS

_Remove = Callable[[Result], Result]
_Section = TypeVar("_Section", bound=ResultSection)


@dataclass(frozen=True, slots=True)
class Field:
    """One field as shown in a preview."""

    name: str  # name of the field, as used by `without`
    label: str  # label for display
    text: str  # the field's value as text
    removable: bool  # whether the field can be excluded


def preview(result: Result) -> list[Field]:
    """Return each field that has a value, in reading order: what was measured, how fast, and on what."""
    fields = []
    for name, (label, words, without_it) in _FIELDS.items():
        text = words(result)
        if text:
            fields.append(Field(name, sentence(label), text, without_it is not None))
    return fields


def leaves(result: Result) -> list[tuple[str, str]]:
    """Return each value in a result with its path, such as "spec.epochs", as JSON or plain text."""
    return list(_leaves(msgspec.to_builtins(result), ""))


def _leaves(plain: object, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(plain, dict):
        for name, value in plain.items():
            yield from _leaves(value, f"{place}.{name}" if place else name)
    elif isinstance(plain, list | tuple):
        for number, value in enumerate(plain):
            yield from _leaves(value, f"{place}[{number}]")
    else:
        yield place, plain if isinstance(plain, str) else json.dumps(plain)


def without(result: Result, names: Collection[str]) -> Result:
    """Return a result without the named fields, with a new digest.

    Raises:
        UsageError: A field can't be excluded or doesn't exist.
    """
    for name in names:
        result = check_removable(name)(result)
    return sealed(result)


def check_removable(name: str) -> Callable[[Result], Result]:
    """Return the function that removes a field. Raises UsageError if it can't be excluded or doesn't exist."""
    remove = _FIELDS[name][2] if name in _FIELDS else None
    if remove is None:
        removable = [each for each, row in _FIELDS.items() if row[2] is not None]
        raise UsageError(
            message("exchange.not_removable", name=one_line(name, 40)),
            message("exchange.choose_removable", names=removable),
        )
    return remove


def _excluding(name: str, *machine: str, telemetry: str = "") -> _Remove:
    """Return a function that removes a field of the preview: all fields of a run that are declared as its part.

    Args:
        machine: Further fields of the computer to remove.
        telemetry: Part of the names of the telemetry to remove; "" for none.
    """
    names = {field for field, declared in FIELDS.items() if declared.private == name}

    def remove(result: Result) -> Result:
        statistics = result.statistics
        kept = {fact: value for fact, value in (statistics.facts or {}).items() if fact not in names}
        changes: dict[str, Any] = {"facts": kept or None}
        if _used(result) == name:
            changes |= {"power_limit_w": None, "power_default_w": None}
        sections: dict[str, Any] = {
            "machine": _blanked(result.machine, {*names, *machine}),
            "statistics": msgspec.structs.replace(statistics, **changes),
        }
        if telemetry and result.telemetry is not None:
            left = {key: value for key, value in result.telemetry.items() if telemetry not in key}
            sections["telemetry"] = left or None
        return msgspec.structs.replace(_blanked(result, names), **sections)

    return remove


def _blanked(section: _Section, names: Collection[str]) -> _Section:
    own = [name for name in section.__struct_fields__ if name in names]
    return msgspec.structs.replace(section, **dict.fromkeys(own))


def _without_cores(result: Result) -> Result:
    """Remove the core counts, and also the run's CPUs and threads, because these reveal the core counts."""
    environment = msgspec.structs.replace(result.environment, visible_cpus=None, intra_op_threads=None)
    return _excluding("cores")(msgspec.structs.replace(result, environment=environment))


def _without_telemetry(result: Result) -> Result:
    return msgspec.structs.replace(result, telemetry=None)


def _workload(result: Result) -> str:
    spec = result.spec
    title = workload_title(spec.workload)
    return sentence("compare.workload_version", workload=title, version=spec.workload_version)


def _settings(result: Result) -> str:
    spec = result.spec
    parameters = (f"{name}={value}" for name, value in (spec.parameters or {}).items())
    settings = unusual_settings(summary_of(result))
    batch = sentence("share.batch", batch_size=spec.batch_size)
    seed = sentence("compare.seed", seed=spec.seed)
    return joined((preset_title(spec.preset), batch, spec.precision, *settings, *parameters, seed))


def _value(result: Result) -> str:
    numbers = result.statistics
    value = amount_text(numbers.metric, numbers.value)
    if numbers.low is None or numbers.high is None:
        return value
    low, high = (format_value(numbers.metric, end) for end in (numbers.low, numbers.high))
    return sentence("exchange.value_within", value=value, low=low, high=high)


def _verdict(result: Result) -> str:
    summary = with_credible_verdict(summary_of(result))
    if summary.verdict is None:
        return ""
    reasons = "; ".join(dict.fromkeys(map(plain_reason, (summary.reasons or "").split())))
    level = level_title(summary.verdict)
    return sentence("result.verdict_because", verdict=level, causes=reasons) if reasons else level


def _engine(result: Result) -> str:
    environment = result.environment
    keras = f"Keras {environment.keras_version}" if environment.keras_version else ""
    name = engine_name(environment.engine, environment.engine_version)
    switches = (switch_title("tf32", environment.tf32), switch_title("onednn", environment.onednn))
    return joined((name, keras, (environment.device or "").upper(), *switches))


def _gpus(result: Result) -> str:
    machine = result.machine
    named = [_gpu(gpu) for gpu in machine.gpus or ()]
    return joined(dict.fromkeys(filter(None, (machine.device_name, _limit(result, "gpu"), *named))))


def _cpu(result: Result) -> str:
    return joined((result.machine.cpu_name, _limit(result, "cpu")))


def _limit(result: Result, kind: str) -> str:
    return limit_text(summary_of(result)) if _used(result) == kind else ""


def _used(result: Result) -> str:
    return "gpu" if is_gpu(summary_of(result)) else "cpu"


def _gpu(gpu: Gpu) -> str:
    memory = format_gpu_memory(gpu.memory_bytes) if gpu.memory_bytes else ""
    driver = sentence("exchange.driver", driver=gpu.driver) if gpu.driver else ""
    return ", ".join(part for part in (gpu.name, memory, driver) if part)


def _cores(result: Result) -> str:
    machine = result.machine
    if machine.physical_cores is None and machine.logical_cores is None:
        return ""
    cores = cores_title(machine.physical_cores, machine.logical_cores)
    usable = result.environment.visible_cpus
    return cores if usable is None else sentence("exchange.cores_usable", cores=cores, count=usable)


def _memory(result: Result) -> str:
    memory_bytes = result.machine.memory_bytes
    return format_installed_memory(memory_bytes) if memory_bytes else ""


def _virtual(result: Result) -> str:
    return sentence("compare.virtual") if result.machine.virtual_machine else ""


def _data(result: Result) -> str:
    dataset = result.dataset
    if dataset is None:
        return ""
    title = DATASETS[dataset.name].SOURCE.title if dataset.name in DATASETS else dataset.name
    return joined((title, data_title(dataset.source)))


def _date(result: Result) -> str:
    return (result.started_at or "").replace("T", " ").removesuffix("Z")


def _system(result: Result) -> str:
    return joined((result.machine.os_name, result.machine.architecture))


def _epochs(result: Result) -> str:
    return sentence("exchange.epochs", count=len(result.epochs)) if result.epochs else ""


def _steps(result: Result) -> str:
    steps = result.steps
    return "" if steps is None or steps.durations_s is None else sentence("exchange.steps", count=steps.count)


def _telemetry(result: Result) -> str:
    names = [_telemetry_name(name) for name in result.telemetry or ()]
    return sentence("exchange.telemetry", names=names) if names else ""


def _telemetry_name(name: str) -> str:
    """Return the display name of a curve: "GPU 0 power" for "gpu0_power_w". Unknown names are unchanged."""
    gpu, _, key = name.removeprefix("gpu").partition("_")
    if name.startswith("gpu") and gpu.isdigit() and f"telemetry.gpu_{key}" in ENGLISH:
        return sentence(f"telemetry.gpu_{key}", gpu=gpu)
    return sentence(f"telemetry.{name}") if f"telemetry.{name}" in ENGLISH else name


def _program(result: Result) -> str:
    return f"Epochmark {UNKNOWN_VERSION if is_of_code(result.app_version) else result.app_version}"


# By name: label, function for the text, and function for the removal (None if the field can't be excluded).
_FIELDS: dict[str, tuple[str, Callable[[Result], str], _Remove | None]] = {
    "workload": ("label.workload", _workload, None),
    "settings": ("page.settings", _settings, None),
    "value": ("heading.result", _value, None),
    "verdict": ("heading.verdict", _verdict, None),
    "engine": ("heading.software", _engine, None),
    "data": ("setting.data", _data, None),
    "cpu": ("part.cpu", _cpu, _excluding("cpu")),
    "cores": ("part.cores", _cores, _without_cores),
    "memory": ("part.memory", _memory, _excluding("memory", telemetry="memory_")),
    "gpu": ("field.gpu", _gpus, _excluding("gpu", "gpus", telemetry="gpu")),
    "system": ("part.system", _system, _excluding("system", "architecture")),
    "facts": ("field.facts", lambda result: joined(fact_texts(summary_of(result))), None),
    "virtual": ("part.virtual_machine", _virtual, None),
    "date": ("field.date", _date, _excluding("date")),
    "comment": ("results_page.comment", lambda result: result.comment or "", _excluding("comment")),
    "epochs": ("setting.epochs", _epochs, None),
    "steps": ("setting.steps", _steps, without_durations),
    "telemetry": ("exchange.readings", _telemetry, _without_telemetry),
    "version": ("field.version", _program, None),
}
FIELD_NAMES = tuple(_FIELDS)
