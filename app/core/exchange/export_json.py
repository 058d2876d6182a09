"""Reads Epochmark's JSON exports, converting each run to the result that its result file would contain."""

import msgspec

from app.core.records import Finite, Run, RunSummary
from app.core.report.formats.export_format import FORMAT_VERSION
from app.core.report.result_records import fitting_result
from app.core.result_file.canonical import UnfitError, decode_problem
from app.core.result_file.record import RESULTS_LIMIT, Result
from workloads.protocol import events, typed
from workloads.protocol.machine import Machine
from workloads.protocol.spec import ParameterValue, RunSpec
from workloads.protocol.telemetry import Telemetry


class _File(msgspec.Struct):
    format_version: int
    runs: list[msgspec.Raw]


class _Spec(msgspec.Struct):
    """The fields that aren't in the row. Fields from other versions are ignored."""

    parameters: dict[str, ParameterValue] = {}


class _Moment(msgspec.Struct):
    t_s: events.Duration


class _Parts(msgspec.Struct):
    """The parts of an exported run, in addition to its row."""

    spec: _Spec
    machine: Machine
    environment: events.Environment | None = None
    dataset: events.Dataset | None = None
    metrics: dict[str, Finite | None] = {}
    epoch_records: tuple[events.Epoch, ...] = ()
    step_records: tuple[events.Steps, ...] = ()
    telemetry: tuple[msgspec.Raw, ...] = ()


def read(content: bytes) -> tuple[Result, ...]:
    """Return the results of an export, skipping runs without a result. Raises UnfitError."""
    try:
        whole = typed.decode(content, _File)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise decode_problem(error) from error
    if whole.format_version != FORMAT_VERSION:
        raise UnfitError("exchange.unknown_version", version=whole.format_version, newest=FORMAT_VERSION)
    if len(whole.runs) > RESULTS_LIMIT:
        raise UnfitError("exchange.too_many_runs", limit=RESULTS_LIMIT)
    results = (_result(number, raw) for number, raw in enumerate(whole.runs, 1))
    return tuple(result for result in results if result is not None)


def _result(number: int, raw: msgspec.Raw) -> Result | None:
    try:
        summary = typed.decode(raw, RunSummary)
        if summary.value is None:
            return None
        parts = typed.decode(raw, _Parts)
        telemetry = tuple(_telemetry(each) for each in parts.telemetry)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        problem = decode_problem(error).problem
        raise UnfitError("exchange.in_run", number=number, problem=problem) from error
    run = Run(
        summary=summary,
        spec=RunSpec(workload=summary.workload, parameters=parts.spec.parameters),
        machine=parts.machine,
        environment=parts.environment,
        dataset=parts.dataset,
        model=None,
        epochs=parts.epoch_records,
        steps=tuple(block for block in parts.step_records if block.durations_s),
        metrics=parts.metrics,
        warnings=(),
        telemetry=telemetry,
    )
    try:
        return fitting_result(run, private={})  # redacted when it was exported
    except UnfitError as error:
        raise UnfitError("exchange.in_run", number=number, problem=error.problem) from error


def _telemetry(raw: msgspec.Raw) -> events.TelemetryEvent:
    moment = typed.decode(raw, _Moment)
    return events.TelemetryEvent(t_s=moment.t_s, telemetry=typed.decode(raw, Telemetry))
