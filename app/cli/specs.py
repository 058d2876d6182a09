"""Converts command-line options to specs."""

import argparse
import re
from collections import Counter
from typing import Any

import msgspec

from app.cli.values import quoted
from app.core.engines.choices import default_engine, installed_variant, numbered_gpus
from app.core.errors import UsageError
from app.core.hardware.machine import detect_machine
from app.core.messages import Message, message
from app.core.paths import Paths
from app.core.runs.runner import check_spec, known_workload
from app.core.settings import load_settings
from workloads.engines.registry import engine_title
from workloads.protocol import typed
from workloads.protocol.errors import WorkloadError
from workloads.protocol.spec import Preset, RunSpec
from workloads.settings import all_settings, gpu_settings
from workloads.workload import Workload

_DIGITS = 9
_GPU = re.compile(r"gpu:[0-9]{1,3}")


def make_spec(options: argparse.Namespace, paths: Paths) -> RunSpec:
    """Convert the options to a spec. Raises UsageError if a value is invalid."""
    workload = known_workload(options.workload)
    settings = load_settings(paths.settings)
    preset: Preset = "standard" if options.epochs or options.steps else "quick"
    asked = {"data": settings.data, "engine": default_engine(paths, workload.engines)} | _asked(options)
    if options.devices is not None:
        asked |= devices_asked(str(options.devices), str(asked["engine"]), paths)
    spec = workload.default_spec(
        options.preset or preset,
        **asked,
        duration_s=options.duration,
        parameters=_parameters(workload, options.settings),
    )
    # One device on each of several computers may be enough.
    if not getattr(options, "distributed", False) or spec.device_count >= workload.least_devices:
        check_spec(spec)  # its errors are clearer than the schema's below
    try:
        return typed.convert(msgspec.to_builtins(spec), RunSpec)
    except msgspec.ValidationError as error:
        raise UsageError(_schema_problem(spec, str(error))) from error


def _asked(options: argparse.Namespace) -> dict[str, Any]:
    given = (setting for setting in all_settings() if setting.flag and setting.name != "devices")
    values = {setting: getattr(options, setting.name) for setting in given}
    return {
        setting.name: setting.parse(value) if isinstance(value, str) else value
        for setting, value in values.items()
        if value is not None
    }


def devices_asked(text: str, engine: str, paths: Paths) -> dict[str, Any]:
    """Return the settings for an option's value: a number of devices, "all" GPUs of an engine, or a list of GPUs.

    Raises UsageError if it is none of these, or if a GPU is listed twice.
    """
    if text == "all":
        gpus = numbered_gpus(engine, installed_variant(paths, engine), detect_machine(data_folder=paths.datasets))
        if not gpus:
            raise UsageError(message("cli.no_gpus", engine=engine_title(engine)))
        return gpu_settings(gpus)
    if text.isascii() and text.isdecimal() and len(text) <= _DIGITS:
        return {"devices": int(text)}
    names = [part.strip() for part in text.split(",")]
    if not all(map(_GPU.fullmatch, names)):
        raise UsageError(message("cli.bad_devices", value=quoted(text)))
    numbers = Counter(int(name.removeprefix("gpu:")) for name in names)
    (number, times), *_ = numbers.most_common(1)
    if times > 1:
        raise UsageError(message("cli.gpu_twice", gpu=f"gpu:{number}"))
    return gpu_settings(numbers)


def _schema_problem(spec: RunSpec, problem: str) -> Message:
    """Rephrase msgspec's error in terms of the command-line option, if possible."""
    if "device" in problem:
        return message("cli.unknown_device", device=quoted(spec.device))
    if "duration_s" in problem:
        return message("cli.duration_out_of_range", duration_s=spec.duration_s)
    for setting in all_settings():
        limits, given = _limits().get(setting.name), setting.of(spec)
        if limits is not None and isinstance(given, int) and not limits[0] <= given <= limits[1]:
            least, most = limits
            return message("cli.number_out_of_range", option=setting.flag, least=least, most=most, given=given)
    return message("setting.out_of_range", problem=problem)


def _limits() -> dict[str, tuple[int, int]]:
    from msgspec.inspect import IntType, StructType, UnionType, type_info  # only after a mistake

    struct = type_info(RunSpec)
    assert isinstance(struct, StructType)
    limits = {}
    for field in struct.fields:
        for kind in field.type.types if isinstance(field.type, UnionType) else (field.type,):
            if isinstance(kind, IntType) and kind.ge is not None and kind.le is not None:
                limits[field.name] = (kind.ge, kind.le)
    return limits


def _parameters(workload: Workload, settings: list[str]) -> dict[str, Any]:
    declared = {parameter.name: parameter for parameter in workload.parameters}
    values = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise UsageError(message("cli.bad_setting", value=quoted(setting)))
        if name not in declared:
            raise UsageError(_unknown_parameter(workload, name))
        try:
            values[name] = declared[name].parse(text)
        except WorkloadError as error:
            raise UsageError(error.message) from error
    return values


def _unknown_parameter(workload: Workload, name: str) -> Message:
    names = [parameter.name for parameter in workload.parameters]
    if not names:
        return message("workload.no_parameters", workload=workload.id, name=quoted(name))
    return message("workload.other_parameters", workload=workload.id, name=quoted(name), known=names)
