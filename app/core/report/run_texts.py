"""Describes computers, results, verdicts and advice as text, for the terminal and the window."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from app.core.analysis.comparability import engine_name, unusual_settings
from app.core.analysis.facts import fact_texts
from app.core.analysis.headline import half_interval_pct, is_even, result_amount, uncertainty
from app.core.analysis.position import position
from app.core.analysis.power import device_at_limit, is_gpu
from app.core.analysis.published import short_name
from app.core.analysis.shared_host import SHARED_HOST
from app.core.formats import format_installed_memory, format_seconds, rounded
from app.core.hardware.part_texts import split_virtualization
from app.core.messages import ENGLISH, Message, needs, sentence, text
from app.core.metrics import format_value
from app.core.plain_text import joined
from app.core.records import RunSummary
from app.core.redaction.private_texts import chosen_texts, hide, private_texts
from app.core.titles import cores_title, data_title, level_title, precision_title, workload_title
from app.core.verdict.conditions import CONDITIONS
from app.core.verdict.energy import energy_used
from app.core.verdict.judged_run import JudgedRun
from app.core.verdict.notes import share_of_peak, short_run
from workloads import CATALOGUE
from workloads.engines.registry import ENGINES, compiler_name, engine_title, is_included
from workloads.protocol import events
from workloads.protocol.machine import Machine

CONFIDENCE_PCT = 95.0
# Longer steps are shown in seconds, shorter ones in milliseconds.
LONG_STEP_S = 10.0
# A wider margin says only that too little was measured.
MEANINGFUL_PCT = 50.0
# Shorter durations are shown in seconds, longer ones in minutes.
_SHOWN_IN_S = 120.0


@dataclass(frozen=True, slots=True)
class Several:
    """The combined result of several runs, shown instead of a single run's result."""

    summary: RunSummary  # record that represents the runs
    level: Literal["valid", "caution", "invalid"]  # worst verdict of the runs
    badge: tuple[str, ...]  # verdict with the number of runs that have it, followed by shorter versions
    basis: str  # text that describes the basis of the headline


def error_advice(error_code: str | None, engine: str) -> str | None:
    """Return the advice for an error that ended a run; None for unknown codes."""
    # `start.py --repair` repairs packages in the app's own Python, but no other engines.
    in_own_python = engine in ENGINES and is_included(engine)
    if not in_own_python and f"advice.other_{error_code}" in ENGLISH:
        return sentence(f"advice.other_{error_code}", engine=engine_title(engine))
    return sentence(f"advice.{error_code}") if f"advice.{error_code}" in ENGLISH else None


def meaning_text(run: RunSummary) -> str:
    """Return the meaning of a result for networks if its workload isn't a network; "" otherwise."""
    workload = CATALOGUE.get(run.workload)
    return "" if workload is None or run.value is None else text(workload.meaning)


def machine_line(machine: Machine) -> str:
    """Describe a computer in one line: CPU, cores, memory, GPUs and system."""
    cores = cores_title(machine.physical_cores, machine.logical_cores)
    cpu_name = machine.cpu_name or sentence("result.unknown_cpu")
    parts = [cpu_name, cores, format_installed_memory(machine.memory_bytes)]
    parts += [gpu.name for gpu in machine.gpus]
    parts.append(machine.os_name)
    kind, container = virtualization(machine)
    virtual = kind
    if machine.virtual_machine:
        virtual = sentence("result.virtual_by", kind=kind) if kind else sentence("compare.virtual")
    inside = sentence("result.in_container", container=container) if container else None
    parts.append(", ".join(part for part in (virtual, inside) if part))
    return joined(parts)


def virtualization(machine: Machine) -> tuple[str | None, str | None]:
    """Split a virtualisation text into its virtual machine and container: "docker in Xen" is ("Xen", "docker")."""
    return split_virtualization(machine.virtualization)


def engine_line(engine: str, version: str | None, device: str | None, *, precision: str, jit: bool) -> str:
    """Describe the engine in one line: engine, device, precision and compiler."""
    return sentence(
        "result.engine_with_xla" if jit else "result.engine_without_xla",
        engine=engine_name(engine, version),
        device=device or sentence("result.unknown_device"),
        precision=precision,
        compiler=compiler_name(engine),
    )


def run_engine_line(run: RunSummary) -> str:
    """Describe a stored run's engine in one line, including non-default settings."""
    device = device_at_limit(run, run.device_name or run.device or sentence("result.unknown_device"))
    line = engine_line(
        run.engine, run.engine_version, device, precision=precision_title(run.precision), jit=run.jit
    )
    return joined([line, *unusual_settings(run, "jit")])


def headline(run: RunSummary, estimated_from: str = "") -> str:
    """Return a run's result in one or two lines. `estimated_from` is the result of `estimate_basis`."""
    note = headline_note(run, estimated_from=estimated_from)
    return value_line(run) + (f"\n{note}" if note else "")


def estimate_basis(judged: events.Judged) -> str:
    """Return the steps on which a judged estimate is based, as text; "" for other results."""
    said = next((reason.said for reason in judged.reasons if reason.code == "estimate"), None)
    if said is None:
        return ""
    code = "result.estimated_from" if said.code == "note.estimate" else "result.estimated_from_steps"
    return sentence(code, **said.arguments)


def headline_note(run: RunSummary, estimated_from: str = "") -> str:
    """Return a note about the basis of the headline; "" if there is nothing to add.

    Args:
        estimated_from: Result of `estimate_basis`.
    """
    if run.metric != "seconds_per_epoch_s":
        return _step_note(run)
    if run.value is None:
        return text(short_run(run))
    spread = _spread(run)
    interval = interval_text(run) or sentence("result.no_interval")
    if run.basis == "estimate":
        parts = [estimated_from or sentence("result.estimated"), interval, spread]
    elif run.basis == "first_epoch":
        return sentence("result.first_epoch_only")
    else:
        parts = [sentence("result.second_epoch"), interval]
        if run.epochs_done > 2:
            median = sentence("result.median_of_epochs", last=run.epochs_done)
            parts = [median, interval, spread]
        parts.append(sentence("result.first_epoch", duration=format_seconds(run.first_epoch_s)))
    return joined(parts)


def _spread(run: RunSummary) -> str:
    if run.spread_pct is None:
        return ""
    of_epochs = run.basis != "estimate" and run.metric == "seconds_per_epoch_s"
    code = "result.spread_of_epochs" if of_epochs else "result.spread_of_parts"
    return sentence(code, spread_pct=run.spread_pct)


def runs_note(runs: Sequence[RunSummary], summary: RunSummary) -> str:
    """Return a note about a median: the number of usable runs, the interval and the spread.

    Args:
        runs: Usable runs.
        summary: Record that represents the runs.
    """
    median = sentence("result.median_of_runs", count=len(runs))
    interval, between = interval_text(summary), ""
    if interval and summary.confidence_pct is not None and summary.confidence_pct < CONFIDENCE_PCT:
        low, high = (format_value(summary.metric, end) for end in (summary.value_low, summary.value_high))
        interval = sentence("group.interval", low=low, high=high, confidence_pct=summary.confidence_pct)
    if summary.spread_pct is not None:
        between = sentence("result.spread_between", spread_pct=summary.spread_pct)
    return joined((median, interval, between))


def rate_text(run: RunSummary) -> str:
    """Return the number of examples per second in a typical training step; "" without timed steps."""
    workload = CATALOGUE.get(run.workload)
    is_timed = run.metric == "seconds_per_epoch_s" and bool(run.step_median_s)
    if not is_timed or workload is None or not workload.trains or workload.is_demo:
        return ""
    return sentence("result.examples_per_second", examples_per_s=run.batch_size / (run.step_median_s or 1.0))


def interval_text(run: RunSummary) -> str:
    """Return the confidence interval of a headline as text; "" if there is none.

    If there are too few epochs for 95 %, the interval is shown as a range. If the run was disturbed, the text
    states that the interval is valid only for this run, because the result of the next run may well lie outside
    it.
    """
    if run.value is None or run.value_low is None or run.value_high is None:
        return ""
    digits = uncertainty(run)
    low, high = (format_value(run.metric, rounded(end, digits)) for end in (run.value_low, run.value_high))
    if run.confidence_pct is None or run.confidence_pct < 95:
        return sentence("result.range", low=low, high=high)
    half_pct = half_interval_pct(run.metric, run.value, run.value_low, run.value_high)
    if half_pct is None:
        return ""
    if half_pct > MEANINGFUL_PCT:
        return _observed(run)
    if not is_even(run.value, run.value_low, run.value_high):
        code = "result.uneven_interval_of_run" if _is_disturbed(run) else "result.uneven_interval"
        return sentence(code, low=low, high=high)
    code = "result.interval_of_run" if _is_disturbed(run) else "result.interval"
    return sentence(code, low=low, high=high, half_pct=half_pct)


def _observed(run: RunSummary) -> str:
    """Return the range of the parts of a measurement that is too short for an interval."""
    if run.metric != "seconds_per_epoch_s" or run.minimum_s is None or run.maximum_s is None:
        return sentence("result.too_few")
    return sentence("result.observed", low=format_seconds(run.minimum_s), high=format_seconds(run.maximum_s))


def certainty_text(run: RunSummary) -> str:
    """Return the certainty of a headline: the margin of error (95 %), or a range or note if there is none."""
    if run.basis == "first_epoch":
        return sentence("short.first_epoch")
    half_pct = half_interval_pct(run.metric, run.value, run.value_low, run.value_high)
    if half_pct is None or run.confidence_pct is None or run.confidence_pct < CONFIDENCE_PCT:
        if run.basis == "estimate":
            return sentence("share.estimate_without_interval")
        return interval_text(run) or sentence("result.no_interval")
    if half_pct > MEANINGFUL_PCT or not is_even(run.value, run.value_low, run.value_high):
        interval = interval_text(run)
        return sentence("share.estimate_from", interval=interval) if run.basis == "estimate" else interval
    code = "share.estimate_within" if run.basis == "estimate" else "share.within"
    return sentence(code, half_pct=half_pct)


def _is_disturbed(run: RunSummary) -> bool:
    """Return whether a run was disturbed in a way that makes its interval invalid for other runs."""
    codes = {*(run.reasons or "").split()}
    return bool(codes & {condition.code for condition in CONDITIONS}) and SHARED_HOST not in codes


def round_name(run: RunSummary) -> str:
    """Return the name of a run's parts: "epoch", or "round" if the workload only repeats steps."""
    return sentence("result.round" if repeats_steps(run) else "result.epoch")


def repeats_steps(run: RunSummary) -> bool:
    """Return whether a run's workload only repeats steps and therefore has no epochs."""
    workload = CATALOGUE.get(run.workload)
    return workload is not None and workload.steps is not None


def _step_note(run: RunSummary) -> str:
    if run.minimum_s is None or run.maximum_s is None:
        return ""
    if run.basis == "estimate":
        basis = sentence("result.short_steps")
    elif run.basis == "first_epoch":
        basis = sentence("result.first_steps")
    else:
        basis = sentence("result.later_steps", part=round_name(run))
    limits = (
        sentence("result.step_range_s", low_s=run.minimum_s, high_s=run.maximum_s)
        if run.maximum_s >= LONG_STEP_S
        else sentence("result.step_range", low_ms=1000 * run.minimum_s, high_ms=1000 * run.maximum_s)
    )
    spread = _spread(run)
    return joined((basis, interval_text(run), limits, spread))


def verdict_line(judged: events.Judged) -> str:
    """Return a verdict with its worst reasons on one line, such as "Caution: on battery; 12 % other load"."""
    short, causes = level_title(judged.level), "; ".join(_causes(judged))
    return sentence("result.verdict_because", verdict=short, causes=causes) if causes else short


def measured_text(judged: events.Judged) -> str:
    """Return how long a valid result was measured, as text; "" for other results."""
    measured_s = judged.measured_s
    if judged.level != "valid" or measured_s is None or measured_s < 1:
        return ""
    if measured_s < _SHOWN_IN_S:
        return sentence("short.valid_for_s", duration_s=measured_s)
    return sentence("short.valid_for_min", duration_min=measured_s / 60)


def verdict_chip(judged: events.Judged) -> tuple[str, ...]:
    """Return a verdict with its first cause, such as "Caution: computer was busy", then without it."""
    short = level_title(judged.level)
    code = next((reason.code for reason in judged.reasons if reason.level == judged.level), None)
    if judged.level == "valid" or code is None:
        return (short,)
    return sentence("result.verdict_because", verdict=short, causes=plain_reason(code)), short


def plain_reason(code: str) -> str:
    return sentence(f"plain.{code}") if f"plain.{code}" in ENGLISH else reason_name(code)


def verdict_for_text(judged: events.Judged, *more: str) -> str:
    """Return a verdict with its causes and details as a line of text to post."""
    causes = joined(("; ".join(_causes(judged)), *more))
    if not causes:
        return sentence("result.text_verdict", verdict=verdict_line(judged))
    return sentence("result.text_verdict_because", verdict=level_title(judged.level), causes=causes)


def _causes(judged: events.Judged) -> list[str]:
    return list(dict.fromkeys(_few_words(reason) for reason in judged.reasons if reason.level == judged.level))


def _few_words(reason: events.Reason) -> str:
    said = reason.said
    given = said.arguments if said is not None else {}
    arguments = {name: value for name, value in given.items() if value is not None}
    short = f"short.{said.code}" if said is not None else ""
    if short in ENGLISH and needs(short) <= arguments.keys():
        return text(Message(short, arguments))
    return reason_name(reason.code)


def reason_name(code: str) -> str:
    """Return the short text for the code of a reason, without a number."""
    short = f"short.{code}"
    return sentence(short) if short in ENGLISH and not needs(short) else code.replace("_", " ")


def result_text(run: JudgedRun, several: Several | None = None) -> str:
    """Return a result as about eight lines of plain text for posting, without user, computer or folder names."""
    summary = run.summary if several is None else several.summary
    note, verdict = "", verdict_for_text(run.verdict)
    if several is not None:
        note, verdict = several.basis, sentence("result.text_verdict", verdict=level_title(several.level))
    lines = [
        _title_line(summary),
        run.position if several is None else position(summary) or "",
        text(share_of_peak(run.run)) if several is None else "",
        verdict,
        # Result files and pictures don't contain the kind of virtual machine or container either.
        sentence("result.text_machine", machine=machine_line(replace(run.run.machine, virtualization=None))),
        sentence("result.text_engine", engine=run_engine_line(summary)),
        sentence("result.text_measured", note=note) if note else "",
        _trained_on(summary),
        run.bottleneck,
        text(energy_used(summary)),
        *fact_texts(summary),
        made_by(summary.app_version, summary.started_at),
    ]
    private = chosen_texts([run.run.spec]) | private_texts()
    return "".join(f"{hide(' '.join(line.split()), private)}\n" for line in lines if line)


def _trained_on(run: RunSummary) -> str:
    data = data_title(run.data_source)
    return (
        sentence("result.text_data", data=data, seed=run.seed)
        if data
        else sentence("result.text_seed", seed=run.seed)
    )


def made_by(version: str, moment: str) -> str:
    """Return the last line of a text, which contains the version and, unless `moment` is "", the date."""
    if not moment:
        return sentence("share.version", version=version)
    return sentence("result.text_footer", version=version, date=moment[:10])


def _title_line(run: RunSummary) -> str:
    parts = [workload_title(run.workload), sentence("share.batch", batch_size=run.batch_size)]
    parts.append(precision_title(run.precision))
    unknown = sentence("result.unknown_device")
    name = short_name(run.device_name or run.device or unknown) if is_gpu(run) else (run.device or unknown).upper()
    parts.append(device_at_limit(run, name))
    values = (value_line(run), certainty_text(run)) if run.value is not None else (value_line(run),)
    return joined((*values, ", ".join(parts)))


def value_line(run: RunSummary) -> str:
    """Return a run's result with its unit, or the duration of a step or the reason if there is none."""
    if run.value is not None:
        value = result_amount(run)
        return sentence("result.about", value=value) if run.basis == "estimate" else value
    if run.steps is None or run.step_median_s is None or run.metric != "seconds_per_epoch_s":
        needs_epoch = run.metric == "seconds_per_epoch_s" and run.preset == "standard"
        return sentence("verdict.no_epoch" if needs_epoch else "verdict.nothing_measured")
    examples_per_s = run.batch_size / run.step_median_s
    if run.step_median_s >= LONG_STEP_S:
        return sentence("result.step_rate_s", step_s=run.step_median_s, examples_per_s=examples_per_s)
    return sentence("result.step_rate", step_ms=run.step_median_s * 1000, examples_per_s=examples_per_s)
