"""Decides which results are comparable, and describes their remaining differences."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from app.core.analysis.conversion import ROW_METRICS, converted
from app.core.analysis.power import other_limit
from app.core.analysis.published import PublishedRow, comparable_rows, row_variant
from app.core.external_results import ImportedResult
from app.core.messages import sentence, text
from app.core.metrics import headline_kind
from app.core.plain_text import joined
from app.core.records import FIELDS, Run, RunSummary
from app.core.titles import data_title, preset_title, switch_title, workload_title
from workloads import CATALOGUE
from workloads.engines.registry import compiler_name, compiles_always, engine_title
from workloads.settings import Setting, all_settings, read_recorded, text_without, unknown_recorded

# `differences` compares these settings by the device and data that were used.
_TOLD_APART = ("engine", "device", "gpus", "data")
_ALWAYS_SHOWN = ("engine", "device", "data", "batch_size", "precision")
_ROW_PRECISIONS = {
    "fp32": "float32",
    "fp16": "float16",
    "mixed fp16": "mixed_float16",
    "amp_fp16": "mixed_float16",
    "amp_bf16": "mixed_bfloat16",
}
# Reasons listed per device. A table with forty batch sizes would otherwise repeat one reason forty times.
_REASONS = 3


def run_refusal(run: RunSummary, other: RunSummary) -> str | None:
    """Explain why two runs aren't comparable; None if they are."""
    for name in (name for name, declared in FIELDS.items() if declared.must_match):
        mine, theirs = getattr(run, name), getattr(other, name)
        if mine != theirs:
            usual = sentence("compare.as_usual")
            return sentence(f"compare.other_{name}", theirs=theirs or usual, mine=mine or usual)
    for setting in _settings("must_match"):
        mine, theirs = recorded(run, setting), recorded(other, setting)
        if mine != theirs:
            return sentence("compare.other_setting", theirs=setting.phrase(theirs), mine=setting.phrase(mine))
    unknown, others = unknown_recorded(run.settings), unknown_recorded(other.settings)
    return None if unknown == others else sentence("compare.unknown_settings", settings=others or unknown)


def row_refusal(run: RunSummary, row: PublishedRow) -> str | None:
    """Explain why a run and a row can't be shown in the same chart; None if they can."""
    if converted(row, run.metric) is None:
        unit = headline_kind(ROW_METRICS.get(row.metric, row.metric)).unit
        return sentence("compare.published_otherwise", unit=unit)
    workload = CATALOGUE.get(row.workload)
    usual = workload.batch_size if workload is not None else run.batch_size
    stated = {
        "batch_size": row.batch_size or usual,
        "precision": _ROW_PRECISIONS.get(row.precision, row.precision or run.precision),
    }
    may_differ = workload.published_differ if workload is not None else frozenset[str]()
    alike = {name: value for name, value in stated.items() if name not in may_differ}
    alike["variant"] = run.variant if is_same_model(run, row) else row_variant(row)
    # Settings that have no column in the table have their default values.
    return run_refusal(run, replace(run, **alike, settings=""))  # type: ignore[arg-type]


def is_same_model(run: RunSummary, row: PublishedRow) -> bool:
    """Return whether a run's network is a row's, except for parameters in which published results may differ."""
    workload = CATALOGUE.get(row.workload)
    may_differ = workload.published_differ if workload is not None else ()
    return text_without(run.variant, *may_differ) == row_variant(row)


def imported_refusal(workload: str, run: RunSummary | None, result: RunSummary) -> str | None:
    """Explain why an imported result can't be shown in a workload's chart, next to a run; None if it can."""
    return run_refusal(usual_settings(workload, result) if run is None else run, result)


def left_out(run: RunSummary, *, with_several: bool = False) -> list[tuple[str, str]]:
    """Return the published results that can't be drawn next to the run, with the reasons.

    Devices with more than _REASONS excluded results get one entry: the first reason and a count of the rest.
    """
    reasons: dict[str, list[str]] = {}
    rows = comparable_rows(run.workload)
    has_models = any(row.variant for row in rows)
    for row in rows:
        if has_models and not is_same_model(run, row):
            continue
        if (with_several or not row.has_several) and (reason := row_refusal(run, row)):
            reasons.setdefault(row.short_name, []).append(reason)
    for name, several in reasons.items():
        if len(several) > _REASONS:
            reasons[name] = [sentence("compare.refused_several", reason=several[0], count=len(several) - 1)]
    return [(name, reason) for name, several in reasons.items() for reason in several]


def left_out_imports(
    workload: str, run: RunSummary | None, imported: Iterable[ImportedResult]
) -> list[tuple[str, str]]:
    """Return the imported results that can't be drawn, with the reasons."""
    reasons = ((result.label, imported_refusal(workload, run, result.summary)) for result in imported)
    return [(label, reason) for label, reason in reasons if reason is not None]


def usual_settings(workload: str, result: RunSummary) -> RunSummary:
    """Return a result with a workload's default settings, except for those in which published ones differ."""
    of_catalogue = CATALOGUE.get(workload)
    if of_catalogue is None:
        return replace(result, workload=workload, variant="", settings="")
    spec = of_catalogue.default_spec()
    stated = {"batch_size": spec.batch_size, "precision": spec.precision}
    alike = {name: value for name, value in stated.items() if name not in of_catalogue.published_differ}
    return replace(
        result,
        workload=workload,
        workload_version=of_catalogue.version,
        metric=of_catalogue.metric,
        samples_per_epoch=of_catalogue.samples_per_epoch,
        variant=of_catalogue.variant(spec),
        settings="",
        **alike,  # type: ignore[arg-type]
    )


def is_alike(run: RunSummary, other: RunSummary) -> bool:
    """Return whether two runs are comparable and also used the same engine, kind of device and settings."""
    kinds = {(each.engine, (each.device or "").partition(":")[0]) for each in (run, other)}
    return len(kinds) == 1 and run_refusal(run, other) is None and not _other_settings(run, other)


def recorded(run: RunSummary, setting: Setting) -> Any:
    """Return the recorded value of a run's setting, or the default if it wasn't recorded."""
    if hasattr(run, setting.name):
        return getattr(run, setting.name)
    return read_recorded(run.settings).get(setting.name, setting.default)


def differences(run: RunSummary, other: RunSummary) -> tuple[str, ...]:
    """Describe the properties in which `other` differs from a comparable run."""
    parts = [
        engine_name(other.engine, other.engine_version)
        if (run.engine, run.engine_version) != (other.engine, other.engine_version)
        else "",
        *_other_settings(run, other),
        data_title(other.data_source) if run.data_source != other.data_source else "",
        (other.device_name or (other.device or "").upper()) if _devices(run) != _devices(other) else "",
        other_limit(run, other),
        sentence("cli.side", side=other.side)
        if other.side and run.group_id == other.group_id and run.side != other.side
        else "",
        preset_title(other.preset) if run.preset != other.preset else "",
        _virtual(other) if run.virtual_machine != other.virtual_machine else "",
    ]
    return tuple(part for part in parts if part)


def _devices(run: RunSummary) -> tuple[Any, ...]:
    return run.device, run.device_name, read_recorded(run.settings).get("gpus")


def unusual_settings(run: RunSummary, *shown: str) -> list[str]:
    """Describe a run's non-default settings, except those in `shown` and those that are always shown."""
    shown = (*shown, *_ALWAYS_SHOWN)
    settings = (
        setting for setting in all_settings() if setting.comparability != "ignored" and setting.name not in shown
    )
    values = ((setting, recorded(run, setting)) for setting in settings)
    apart = [text(setting.phrase(value)) for setting, value in values if value != _usual(setting, run)]
    names = {setting.name for setting in all_settings()}
    return apart + [part for part in unknown_recorded(run.settings) if part.partition("=")[0] not in names]


def comparison_key(run: Run) -> list[tuple[str, str]]:
    """Return the properties that comparable results share, followed by those in which they may differ."""
    summary, environment = run.summary, run.environment
    samples = f"{summary.samples_per_epoch:,}" if summary.samples_per_epoch else sentence("compare.no_epoch")
    study = CATALOGUE[summary.workload].study_name if summary.workload in CATALOGUE else ""
    usual = sentence("compare.network_of_study", study=study) if study else sentence("compare.as_usual")
    lines = [
        (
            sentence("label.workload"),
            sentence(
                "compare.workload_version",
                workload=workload_title(summary.workload),
                version=summary.workload_version,
            ),
        ),
        (sentence("parameter_label.network"), summary.variant or usual),
        (sentence("compare.metric"), headline_kind(summary.metric).label),
        *(
            (text(setting.label), text(setting.label_value(recorded(summary, setting))))
            for setting in _settings("must_match")
        ),
        (sentence("compare.samples"), samples),
    ]
    code = "compare.with_xla" if summary.jit else "compare.without_xla"
    may_differ = [
        engine_name(summary.engine, summary.engine_version),
        f"Keras {environment.keras_version}" if environment is not None and environment.keras_version else "",
        sentence(code, compiler=compiler_name(summary.engine)),
        switch_title("onednn", environment.onednn if environment is not None else None),
        switch_title("tf32", environment.tf32 if environment is not None else None),
        *(
            text(setting.phrase(recorded(summary, setting)))
            for setting in _settings("noted")
            if setting.name not in (*_TOLD_APART, "jit", "onednn", "tf32")
        ),
        data_title(summary.data_source),
        sentence("compare.seed", seed=summary.seed),
    ]
    return [*lines, (sentence("compare.may_differ"), joined(may_differ))]


def engine_name(engine: str, version: str | None) -> str:
    return f"{engine_title(engine)} {version or ''}".strip()


def _settings(comparability: str) -> list[Setting]:
    return [setting for setting in all_settings() if setting.comparability == comparability]


def _other_settings(run: RunSummary, other: RunSummary) -> list[str]:
    settings = [setting for setting in _settings("noted") if setting.name not in _TOLD_APART]
    return [
        text(setting.phrase(theirs))
        for setting in settings
        if (theirs := recorded(other, setting)) != recorded(run, setting)
    ]


def _virtual(run: RunSummary) -> str:
    if run.virtual_machine is None:
        return ""
    return sentence("compare.virtual") if run.virtual_machine else sentence("compare.not_virtual")


def _usual(setting: Setting, run: RunSummary) -> Any:
    return True if setting.name == "jit" and compiles_always(run.engine) else setting.default
