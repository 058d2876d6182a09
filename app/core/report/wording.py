"""Sentences that terminal and window share: a machine, a result, how far it can be trusted, what to do next."""

import re
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from app.core.analysis.compare import bars, engine_name, position, run_name
from app.core.hardware.part_texts import split_virtualization
from app.core.metrics import format_bytes, format_seconds, format_value, headline_kind
from app.core.records import Machine, Run, RunSummary
from app.core.report.export import chosen_texts, hide, private_texts
from app.core.verdict.energy import energy_text
from app.core.verdict.notes import derived_epoch, peak_text, short_text
from app.core.verdict.rules import judge
from workloads import CATALOGUE
from workloads.protocol import events

__all__ = [
    "ADVICE",
    "Note",
    "derived_epoch",
    "energy_text",
    "engine_line",
    "headline",
    "headline_note",
    "interval_text",
    "machine_line",
    "peak_text",
    "result_notes",
    "result_text",
    "round_name",
    "stored_machine",
    "verdict_line",
    "virtualization",
    "workload_title",
]

# For each workloads.protocol.events.ErrorCode what to do next.
ADVICE: dict[str, str] = {
    "out_of_memory": "Choose a smaller batch, or close other programs that use memory, and run it again.",
    "engine_missing": "Close Epochmark and run `python3 start.py --repair` in its folder.",
    "device_unavailable": (
        "Choose another device; on Linux, `python3 start.py --repair` installs what fits your graphics card."
    ),
    "data_missing": "Download or import the data set again, or choose synthetic data.",
    "bad_parameters": "Change the setting that the message names, and run it again.",
    "non_finite_loss": (
        "Run it again with float32 and another seed; if it stays so, test your memory and undo any overclocking."
    ),
    "internal": "Run it again; if it happens again, report it with the message and the run's log.",
    "crashed": "Close other programs and run it again; if it crashes again, use the CPU instead of the GPU.",
    "hung": "Run it again; if it hangs again, restart your computer, or use the CPU instead of the GPU.",
}
# For codes of app.core.verdict.rules whose own words do not tell; {} is the figure in percent.
_SHORT = {
    "cancelled": "cancelled early",
    "clock_step": "clock set during the run",
    "cpus_hidden": "not all processors",
    "demo": "no training",
    "drift": "speed drifted",
    "engine_changed": "engine changed by variables",
    "first_epoch": "first epoch only",
    "gpu_busy": "GPU {}busy",
    "gpu_memory_taken": "GPU memory taken",
    "gpu_not_used": "GPU not used",
    "host_device_differs": "not on the device that was asked for",
    "host_steal": "{}taken by the host",
    "interval_wide": "known to {}only",
    "loss_not_finite": "loss is no number",
    "loss_out_of_band": "loss outside of what is expected",
    "low_memory": "little memory free",
    "no_result": "nothing measured",
    "other_load": "{}other load",
    "power_saving": "power saving",
    "running": "not over",
    "spread": "{}spread",
    "steps_missing": "steps missing",
    "suspended": "slept during the run",
    "uneven_steps": "a part of an epoch",
    "updates_missing": "weights not updated in each step",
}
_NEAREST_BARS = 5
_UNKNOWN_MACHINE = {
    **dict.fromkeys(("cpu_name", "physical_cores", "logical_cores", "memory_bytes", "virtual_machine")),
    **dict.fromkeys(("os_name", "architecture", "python_version"), "n/a"),
}


@dataclass(frozen=True, slots=True)
class Note:
    """One thing to know about a number: a fact, or a caution where it may mislead."""

    kind: Literal["fact", "caution"]
    text: str


def stored_machine(stored: dict[str, Any]) -> Machine:
    """Return the machine as far as it is told: another version of Epochmark may know more or fewer parts."""
    gpus = [{"name": "unknown GPU", "vendor": "unknown"} | gpu for gpu in stored.get("gpus", ())]
    try:
        return msgspec.convert(_UNKNOWN_MACHINE | stored | {"gpus": gpus}, Machine)
    except msgspec.ValidationError:
        return msgspec.convert(_UNKNOWN_MACHINE, Machine)


def machine_line(machine: Machine) -> str:
    """Return the machine in one line: processor, cores, memory, GPUs, system."""
    cores = f"{machine.physical_cores or '?'} cores / {machine.logical_cores or '?'} threads"
    parts = [machine.cpu_name or "unknown processor", cores, format_bytes(machine.memory_bytes)]
    parts += [gpu.name for gpu in machine.gpus]
    parts.append(machine.os_name)
    kind, container = virtualization(machine)
    virtual = ("virtual machine" + (f" ({kind})" if kind else "")) if machine.virtual_machine else kind
    parts.append(", ".join(part for part in (virtual, f"in {container}" if container else None) if part))
    return " · ".join(part for part in parts if part)


def virtualization(machine: Machine) -> tuple[str | None, str | None]:
    """Return what the machine is virtual by, and the container: "docker in Xen" is ("Xen", "docker")."""
    return split_virtualization(machine.virtualization)


def engine_line(engine: str, version: str | None, device: str | None, *, precision: str, jit: bool) -> str:
    """Return what computes, in one line: engine, device, precision, compiler."""
    xla = "with XLA" if jit else "without XLA"
    return f"{engine_name(engine, version)} on {device or 'device n/a'} · {precision} · {xla}"


def headline(run: RunSummary) -> str:
    """Return a run's result in a line or two."""
    note = headline_note(run)
    return _value(run) + (f"\n{note}" if note else "")


def headline_note(run: RunSummary) -> str:
    """Return what the headline rests on, "" when there is nothing to say about it."""
    if run.metric != "seconds_per_epoch_s":
        return _step_note(run)
    if run.value is None:
        return short_text(run)
    spread = f"spread {run.spread_pct:.1f} %" if run.spread_pct is not None else ""
    mean = f"mean {format_value(run.metric, run.value_mean)}" if run.value_mean is not None else ""
    if run.basis == "estimate":
        parts = ["an estimate from timed steps", interval_text(run), mean, spread]
    elif run.basis == "first_epoch":
        return "the first and only epoch: starting up is in it"
    else:
        first = f"first epoch {format_seconds(run.first_epoch_s)}"
        several = [f"median of epochs 2 to {run.epochs_done}", interval_text(run), mean, spread]
        parts = [*(several if run.epochs_done > 2 else ["epoch 2"]), first]
    return " · ".join(part for part in parts if part)


def interval_text(run: RunSummary) -> str:
    """Return the confidence interval of a headline in words; "" where it has none.

    With too few epochs for 95 % it is the range of what was measured.
    """
    if run.value is None or run.value_low is None or run.value_high is None:
        return ""
    ends = f"{format_value(run.metric, run.value_low)} to {format_value(run.metric, run.value_high)}"
    if run.confidence_pct is None or run.confidence_pct < 95:
        return ends
    half_pct = 50 * (run.value_high - run.value_low) / run.value if run.value else 0.0
    return f"{ends} (95 %, ± {half_pct:.1f} %)"


def round_name(run: RunSummary) -> str:
    """Return what the parts of a run are: "epoch", or "round" where a workload only repeats steps."""
    workload = CATALOGUE.get(run.workload)
    return "round" if workload is not None and workload.steps is not None else "epoch"


def _step_note(run: RunSummary) -> str:
    """Return what a headline of steps rests on."""
    if run.minimum_s is None or run.maximum_s is None:
        return ""
    basis = {
        "estimate": "steps timed for a short while",
        "first_epoch": "steps right after the start",
    }.get(run.basis or "", f"steps after the first {round_name(run)}")
    limits = f"{1000 * run.minimum_s:,.1f} to {1000 * run.maximum_s:,.1f} ms a step"
    spread = f"spread {run.spread_pct:.1f} %" if run.spread_pct is not None else ""
    return " · ".join(part for part in (basis, interval_text(run), limits, spread) if part)


def result_notes(run: Run) -> list[Note]:
    """Return what the stored record alone says about how far the number can be trusted, cautions first."""
    return [Note("fact" if reason.level == "fact" else "caution", reason.text) for reason in judge(run).reasons]


def verdict_line(judged: events.Judged) -> str:
    """Return a verdict and its worst reasons in one line: "Caution: on battery; 12 % other load"."""
    told = dict.fromkeys(_few_words(reason) for reason in judged.reasons if reason.level == judged.level)
    return judged.level.capitalize() + (f": {'; '.join(told)}" if told else "")


def _few_words(reason: events.Reason) -> str:
    """Return a reason in a few words; those of its code where they say enough, or are all that is known."""
    if reason.code not in _SHORT:
        return reason.code.replace("_", " ")
    figure = re.search(r"(± )?\d[\d,.]* ?%", reason.text)
    return _SHORT[reason.code].format(f"{figure[0]} " if figure else "").strip()


def result_text(run: Run) -> str:
    """Return a result as plain text, for forums: nothing in it names the user, the computer or a folder."""
    summary = run.summary
    private = chosen_texts([run.spec]) | private_texts()
    engine = engine_line(
        summary.engine,
        summary.engine_version,
        summary.device_name or summary.device,
        precision=summary.precision,
        jit=summary.jit,
    )
    note = headline_note(summary)
    value = _value(summary) + (f" ({note})" if note else "")
    verdict = judge(run)
    level, _, words = verdict_line(verdict).partition(": ")
    cautions = [reason.text.rstrip(".") for reason in verdict.reasons if reason.level != "fact"]
    told = [text for text in cautions if text.casefold() not in value.casefold()]
    lines = [
        f"{workload_title(summary)} · {summary.preset} · batch {summary.batch_size}",
        value,
        f"Verdict: {level.lower()}" + (f" ({words})" if words else ""),
        f"Machine: {machine_line(stored_machine(run.machine))}",
        f"Engine: {engine}",
        f"Data: {summary.data_source or 'n/a'}, seed {summary.seed}",
        position(summary) or "",
        run.limit,
        energy_text(summary),
        *(f"Note: {hide(' '.join(text.split()), private)}." for text in told),
        *_bar_lines(summary),
        f"Epochmark {summary.app_version}, run on {summary.started_at[:10]}",
    ]
    return "\n".join(line for line in lines if line) + "\n"


def workload_title(run: RunSummary) -> str:
    """Return the title of a run's workload, or its name when this version does not know it."""
    return CATALOGUE[run.workload].title if run.workload in CATALOGUE else run.workload


def _value(run: RunSummary) -> str:
    if run.value is not None:
        about = "about " if run.basis == "estimate" else ""
        return f"{about}{format_value(run.metric, run.value)} {headline_kind(run.metric).unit}"
    if run.steps is None or run.step_median_s is None or run.metric != "seconds_per_epoch_s":
        return "No whole epoch was measured." if run.metric == "seconds_per_epoch_s" else "Nothing was measured."
    rate = run.batch_size / run.step_median_s
    return f"{run.step_median_s * 1000:.1f} ms per step, {rate:,.0f} examples per second"


def _bar_lines(run: RunSummary) -> list[str]:
    """Return the nearest bars, fastest first, a line each; published values keep their year."""
    chart = bars(run.workload, run) if run.value is not None else []
    if len(chart) < 2:
        return []
    at = [bar.kind for bar in chart].index("you")
    start = max(0, min(at - _NEAREST_BARS // 2, len(chart) - _NEAREST_BARS))
    lines = []
    for bar in chart[start : start + _NEAREST_BARS]:
        name = f"{run_name(run)} (this run)" if bar.kind == "you" else f"{bar.name} ({bar.remarks[0]})"
        lines.append(f"  {name}  {bar.text} {headline_kind(bar.metric).short_unit}")
    return lines
