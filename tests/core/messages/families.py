"""The families of codes that the program puts together, each with all that may stand for its star.

A family whose pattern begins with "?" may lack sentences, because the program looks first whether there is one.
"""

from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import get_args

from app.cli import arguments  # noqa: F401 - declares the commands
from app.cli.grammar import COMMANDS
from app.core.doctor import checks, diagnosis, nvml
from app.core.engines import folder, install
from app.core.exchange.sharing import TEXT_FORMS
from app.core.messages import ENGLISH
from app.core.metrics import HEADLINES, METRICS, STORAGE_CASES
from app.core.plans import verdicts
from app.core.plans.experiments import EXPERIMENTS, STUDIES
from app.core.plans.report import LAB_PAGE
from app.core.plans.study import axes, folder_findings, points
from app.core.plans.suite import score
from app.core.records import FIELDS
from app.core.report.formats.table_text import TABLE_FORMS
from app.core.result_file import record
from app.core.verdict.conditions import CONDITIONS
from app.core.verdict.rules import RULES
from workloads import CATALOGUE
from workloads.networks.inference import Inference
from workloads.protocol import events, spec
from workloads.protocol.parameters import Choice, Folders, Fraction, OnOff, Whole
from workloads.protocol.telemetry import GpuTelemetry, Telemetry
from workloads.settings import Device, Gpus, all_settings
from workloads.training.training import Counted
from workloads.workload import Kind

ERRORS = get_args(events.ErrorCode)
LEVELS = get_args(verdicts.VerdictLevel)
CODES = [rule.code for rule in RULES]
ENDED = ("failed", "cancelled", "interrupted", "ended")
SETTINGS = all_settings()
PARAMETERS = {parameter.name for workload in CATALOGUE.values() for parameter in workload.parameters}
OWN_TEXTS = [name for name, each in CATALOGUE.items() if not isinstance(each, Inference)]


def phrases() -> Iterator[str]:
    for setting in SETTINGS:
        kind = setting.kind
        words: tuple[str, ...] = ("auto",) if setting.default is None and setting.name != "gpus" else ()
        if isinstance(kind, OnOff) or (isinstance(kind, Choice) and kind.is_translated):
            words += kind.allowed()
        yield from (f"{setting.name}_{word}" for word in words)


def named() -> Iterator[str]:
    for setting in SETTINGS:
        if not isinstance(setting.kind, Device | OnOff):
            yield setting.name


FAMILIES: dict[str, Iterable[str]] = {
    "*_charged": ("part.on_battery", "part.on_mains"),
    "*_kind": ("part.virtual_yes", "part.virtual_no"),
    "?advice.*": ERRORS,
    "?advice.other_*": ERRORS,
    "bottleneck.*": ("cores_idle", "cpu_waits"),
    "cli.engine_state.*": get_args(folder.State),
    "cli.found_*": ("caution", "invalid"),
    "column.*": ("loss", "accuracy", "val_loss", "val_accuracy"),
    "compare.other_*": [name for name, field in FIELDS.items() if field.must_match],
    "database.*": ("too_new", "too_old"),
    "doctor.device_*": [state.replace(" ", "_") for state in get_args(diagnosis.State)],
    "doctor.driver_state_*": sorted(set(get_args(nvml.NvmlState)) - {"no_answer"}),
    "doctor.step_*": checks.STEPS,
    "engines.phase.*": get_args(install.Phase),
    "?examples.*": [name.replace(" ", "_") for name in COMMANDS],
    "fact.*": [name for name, field in FIELDS.items() if field.telemetry],
    "group.kind_*": {experiment.stored_kind for experiment in EXPERIMENTS.values()},
    "hardware_page.*": ("parts", "live", "doctor"),
    "headline.*": HEADLINES,
    "band.*": ("above", "below"),
    "band.near_*": ("above", "below"),
    "headline_short.*": HEADLINES,
    "headline_unit.*": [key for key, line in HEADLINES.items() if line.has_unit or key.startswith("seconds_")],
    "help.*": {part for name in COMMANDS for part in (name.replace(" ", "_"), name.split()[0])},
    # Every option of every command is looked at by tests/cli/test_arguments.py.
    "?help.*_*": [code.removeprefix("help.") for code in ENGLISH if code.startswith("help.")],
    "help.ab_*": ("a", "b"),
    "help.ab_label_*": ("a", "b"),
    "lab.question_*": ["own", *(key for key, experiment in EXPERIMENTS.items() if experiment.page == LAB_PAGE)],
    "level.*": (*LEVELS, "fact"),
    "metric.*": [key for key, metric in METRICS.items() if metric.name is None and key not in HEADLINES]
    + ["flop_per_s"],
    "note.*_attention": ("fused", "plain"),
    "note.*_data": ("real", "synthetic"),
    "note.energy_of_*": ("cpu", "gpu"),
    "parameter.not_*": [kind.name for kind in (Choice, Folders, Fraction, Gpus, OnOff, Whole)],
    "parameter_label.*": (*PARAMETERS, "repeat", "all_engines"),
    "part.*": (
        *("system", "virtual_machine", "bios", "python", "cpu", "cores", "base_clock", "boost_clock", "caches"),
        *("instruction_sets", "memory", "memory_speed", "gpu", "disk", "power_plan", "power_source"),
        *("cpu_power", "cpu_temperature"),
    ),
    "part.gpu_*": ("architecture", "driver", "power_limit", "link", "display"),
    "part.virtual_*": ("yes", "no"),
    "phase.*": sorted(set(get_args(events.PhaseName)) - {"measure"}),
    "?plain.*": CODES,
    "preflight.*": [condition.code for condition in CONDITIONS],
    "preflight.*_named": ("other_load", "cpu_pressure"),
    "preset.*": get_args(spec.Preset),
    "results_page.source_*": ("own", "imported", "all"),
    "setting.*": [setting.name for setting in SETTINGS],
    "setting_help.*": [setting.name for setting in SETTINGS],
    "setting_value.*": list(named()),
    "setting_value.*_*": list(phrases()),
    "setting_value.data_*": (*get_args(spec.DataChoice), "generated"),
    "setting_value.device_*": ("auto", "cpu"),
    "setting_zero.*": [setting.name for setting in SETTINGS if setting.kind.zero],
    "settings.theme_*": ("system", "light", "dark"),
    "share_dialog.form_*": TEXT_FORMS,
    "?short.*": [code.removeprefix("short.") for code in ENGLISH if code.startswith("short.")],
    "status.*": (*get_args(record.Status), "running", "damaged"),
    "storage_case.*": STORAGE_CASES,
    "studies.*": ("failed", "refused", "skipped"),
    "studies.against_*": ("cost", "speed"),
    "studies.axis_*": (axes.WORKLOAD, axes.CONFIGURATION, axes.FOLDERS),
    "studies.badge_*": LEVELS,
    "studies.chart_relative_*": ("cost", "speed"),
    "studies.phase_*": folder_findings.PHASES,
    "studies.relative_*": ("cost", "speed"),
    "studies.state_*": sorted(set(get_args(points.State)) - {"done"}),
    "studies.title_*": (*STUDIES, "own"),
    "suite.column_*": ("part", "points", "interval", "result", "verdict"),
    "suite.state_*": get_args(score.State),
    "summary.*": OWN_TEXTS,
    "table_form.*": TABLE_FORMS,
    "?telemetry.*": [field.name for field in fields(Telemetry)],
    "?telemetry.gpu_*": [field.name for field in fields(GpuTelemetry)],
    "throttle.*": ("power_cap", "hardware_slowdown", "thermal", "power_brake"),
    "title.*": OWN_TEXTS,
    "training.other_*": get_args(Counted),
    "?value.*": ("auto", "on", "off", *get_args(spec.Precision)),
    "verdict.*": [condition.code for condition in CONDITIONS if condition.in_records],
    "verdict.*_after": ENDED,
    "verdict.*_early": ENDED,
    "verdict.interval_wide*": ("", "_by_warmup"),
    "verdict.shared_*": ("cpu", "waiting_gpu", "gpu_slice"),
    "verdict_dialog.*": LEVELS,
    "workloads.kind_*": get_args(Kind),
}


def members(pattern: str) -> list[str]:
    """Return the codes of a family."""
    plain = pattern.removeprefix("?").replace("*_*", "*") if pattern.endswith("*_*") else pattern.removeprefix("?")
    return [plain.replace("*", each) for each in FAMILIES[pattern]]
