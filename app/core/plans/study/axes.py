"""The axes of a study: settings of a run, parameters, workloads, or combinations of settings."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from app.core.errors import UsageError
from app.core.messages import Message, message, sentence, text
from app.core.runs.runner import known_workload
from app.core.titles import workload_title
from workloads import CATALOGUE
from workloads.engines.registry import compiles_always, engine_title
from workloads.protocol.errors import WorkloadError
from workloads.protocol.spec import Precision, RunSpec
from workloads.settings import Setting, Value, all_settings, settings_by_key
from workloads.workload import Workload

WORKLOAD, CONFIGURATION, FOLDERS = "workload", "configuration", "folders"
POWER_LIMIT, DEVICES = "power_limit_w", "devices"
AXES_LIMIT, POINTS_LIMIT = 2, 60
_SHOWN_LIMIT = 60


def read_axis(text: str, workload: Workload) -> tuple[str, tuple[Any, ...], tuple[Message, ...]]:
    """Parse a typed axis, such as "batch=16,32,64", into its name, its values and remarks.

    Duplicate values are removed, with a remark.

    Raises:
        UsageError: The axis doesn't exist, or a value is invalid.
    """
    key, equals, rest = text.partition("=")
    key, texts = key.strip(), [part.strip() for part in rest.split(",") if part.strip()]
    if not equals or not texts:
        raise UsageError(message("studies.bad_axis", text=repr(text[:_SHOWN_LIMIT])))
    kept = list(dict.fromkeys(texts))
    remarks = tuple(
        message("studies.value_twice", axis=key, value=value[:_SHOWN_LIMIT])
        for value in kept
        if texts.count(value) > 1
    )
    name, values = _values(key, kept, workload)
    if len(set(values)) < len(values):  # "1" and "01"
        values = tuple(dict.fromkeys(values))
    return name, values, remarks


def _values(key: str, texts: Sequence[str], workload: Workload) -> tuple[str, tuple[Any, ...]]:
    if key == WORKLOAD:
        return WORKLOAD, tuple(known_workload(text).id for text in texts)
    parameter = next((each for each in workload.parameters if each.name == key), None)
    try:
        if parameter is not None:
            return parameter.name, tuple(parameter.parse(text) for text in texts)
        if (setting := settings_by_key().get(key)) is not None:
            return setting.name, tuple(_typed(setting, key, text) for text in texts)
    except WorkloadError as error:
        raise UsageError(error.message) from error
    keys = [WORKLOAD, *settings_by_key(), *(each.name for each in workload.parameters)]
    raise UsageError(message("studies.unknown_axis", name=repr(key[:_SHOWN_LIMIT]), axes=keys))


def _typed(setting: Setting, key: str, text: str) -> Value:
    value = setting.parse(text, key)
    setting.check(value)
    return value


def points(spec: RunSpec, axes: Mapping[str, Sequence[Any]]) -> list[RunSpec]:
    """Return the specs of all combinations of values. Raises UsageError if there are too many.

    Args:
        spec: Spec with the common settings.
        axes: Values by axis name. A workload also sets its default batch size, epochs and parameters.
    """
    count = 1
    for values in axes.values():
        count *= len(values)
    if len(axes) > AXES_LIMIT or count > POINTS_LIMIT:
        said = message("studies.too_many_points", points=count, limit=POINTS_LIMIT, axes_limit=AXES_LIMIT)
        raise UsageError(said)
    combinations = itertools.product(*axes.values())
    return [with_values(spec, dict(zip(axes, values, strict=True))) for values in combinations]


def with_values(spec: RunSpec, values: Mapping[str, Any]) -> RunSpec:
    """Return a spec with changed values, given by axis name."""
    rest = dict(values)
    if WORKLOAD in rest:
        workload = CATALOGUE[rest.pop(WORKLOAD)]
        if workload.id != spec.workload:
            usual = workload.default_spec(spec.preset)
            spec = msgspec.structs.replace(
                spec,
                workload=workload.id,
                epochs=usual.epochs,
                steps=usual.steps,
                batch_size=usual.batch_size,
                precision=_precision(spec, workload),
                parameters=usual.parameters,
            )
    names = {setting.name for setting in all_settings()}
    fields = {name: value for name, value in rest.items() if name in RunSpec.__struct_fields__}
    extra = {name: value for name, value in rest.items() if name in names and name not in fields}
    if "engine" in fields and "jit" not in fields:  # some engines can only compile
        fields["jit"] = compiles_always(fields["engine"]) or (spec.jit and not compiles_always(spec.engine))
    own = {name: value for name, value in rest.items() if name not in names}
    settings = {name: value for name, value in (spec.settings | extra).items() if value is not None}
    return msgspec.structs.replace(spec, **fields, settings=settings, parameters=spec.parameters | own)


def _precision(spec: RunSpec, workload: Workload) -> Precision:
    """Return a spec's precision for another workload: its default, unless another one was chosen."""
    is_default = spec.precision == CATALOGUE[spec.workload].precision
    return workload.precision if is_default else spec.precision


def axis_value(name: str, spec: RunSpec) -> Any:
    """Return a configuration's value on an axis; None if it is automatic or doesn't apply."""
    if name == WORKLOAD:
        return spec.workload
    setting = _setting(name)
    return setting.of(spec) if setting is not None else spec.parameters.get(name)


def _setting(name: str) -> Setting | None:
    return next((each for each in all_settings() if each.name == name), None)


def axis_title(name: str) -> str:
    """Return the title of an axis for charts and tables."""
    if name in (WORKLOAD, CONFIGURATION, FOLDERS):
        return sentence(f"studies.axis_{name}")
    setting = _setting(name)
    label = text(setting.label if setting is not None else message(f"parameter_label.{name}"))
    unit = setting.kind.unit if setting is not None else ""
    return sentence("studies.axis_with_unit", label=label, unit=unit) if unit else label


def axis_text(name: str, spec: RunSpec, specs: Iterable[RunSpec]) -> str:
    """Return a configuration's value on an axis, as text.

    Args:
        name: Name of the axis.
        spec: The configuration.
        specs: All configurations, because an axis of combinations shows only settings that differ.
    """
    if name == CONFIGURATION:
        return configuration_text(spec, specs)
    value = axis_value(name, spec)
    if name == WORKLOAD:
        return workload_title(value)
    if name == FOLDERS:  # folder names must not be shared
        folders = list(dict.fromkeys(str(axis_value(name, each)) for each in specs))
        return sentence("studies.folder", number=folders.index(str(value)) + 1 if str(value) in folders else 0)
    setting = _setting(name)
    if setting is None:
        return f"{value:,}" if type(value) is int else str(value)
    if name == "precision" and spec.settings.get("tf32"):
        return sentence("studies.with_tf32", precision=value)
    return text(setting.label_value(value) if setting.kind.is_number else setting.phrase(value))


def axis_phrase(name: str, spec: RunSpec) -> str:
    """Return a configuration's value on an axis as a phrase, such as "batch 64"; "" if the axis has no phrases."""
    setting = _setting(name)
    return text(setting.phrase(setting.of(spec))) if setting is not None else ""


def named_text(name: str, spec: RunSpec, shown: str) -> str:
    """Return a value with the name of its axis if it is only a number, such as "batch 64" or "Sequence 128"."""
    if not shown.replace(",", "").isdecimal():
        return shown
    return axis_phrase(name, spec) or sentence("studies.axis_value", axis=axis_title(name), value=shown)


def configuration_text(spec: RunSpec, specs: Iterable[RunSpec]) -> str:
    """Return a configuration's engine and the settings in which the configurations differ, as text."""
    others = [each for each in specs if each.workload == spec.workload]  # each workload has its default batch size
    apart = [
        setting for setting in all_settings() if len({repr(setting.of(each)) for each in (spec, *others)}) > 1
    ]
    words = [engine_title(spec.engine)]
    for setting in apart:
        value = setting.of(spec)
        if setting.name == "device" or (setting.name != "engine" and value not in (setting.default, None)):
            words.append(text(setting.phrase(value)))
    return " ".join(words)
