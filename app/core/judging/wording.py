"""Sentences that terminal and window share: a machine, a result, how far it can be trusted, what to do next."""

import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from app.core.judging.compare import bars, engine_name, position, run_name
from app.core.keeping.export import chosen_texts, hide, private_texts
from app.core.metrics import format_bytes, format_seconds, format_time_left, format_value, headline_kind
from app.core.model import Machine, PeakShare, Run, RunSummary
from workloads import CATALOGUE

# For each workloads.events.ErrorCode what to do next.
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
# Nine epochs that spread by 5 % leave their median uncertain by 4 % (95 %: 1.96 × 1.25 × 5 % / √9).
SPREAD_CAUTION_PCT = 5.0
# As much as that, taken by the host from one run and perhaps not from the next.
STEAL_CAUTION_PCT = 5.0
_NEAREST_BARS = 5
# What app.core.machine.hardware calls containers; they say nothing about the machine that they run on.
_CONTAINERS = ("docker", "kubernetes", "lxc", "podman")
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


def machine_parts(machine: Machine) -> list[tuple[str, str]]:
    """Return the machine part by part, each with its label."""
    kind, container = virtualization(machine)
    virtual = {None: "n/a", True: "yes", False: "no"}[machine.virtual_machine]
    virtual += (f" ({kind})" if kind else "") + (f", in {container}" if container else "")
    parts = [
        ("processor", machine.cpu_name or "n/a"),
        ("cores", f"{machine.physical_cores or 'n/a'} physical, {machine.logical_cores or 'n/a'} logical"),
        ("memory", format_bytes(machine.memory_bytes)),
        ("system", f"{machine.os_name}, {machine.architecture}"),
        ("virtual machine", virtual),
        ("Python", machine.python_version),
    ]
    for gpu in machine.gpus:
        capability = f", compute capability {gpu.compute_capability}" if gpu.compute_capability else ""
        driver = f", driver {gpu.driver}" if gpu.driver else ""
        parts.append(("GPU", f"{gpu.name}, {format_bytes(gpu.memory_bytes)}{driver}{capability}"))
    if not machine.gpus:
        parts.append(("GPU", "none that NVIDIA's driver knows"))
    return parts


def virtualization(machine: Machine) -> tuple[str | None, str | None]:
    """Return what the machine is virtual by, and the container: "docker in Xen" is ("Xen", "docker")."""
    first, _, rest = (machine.virtualization or "").partition(" in ")
    return (rest or None, first) if first in _CONTAINERS else (machine.virtualization, None)


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
        short = f"A short run: {run.steps} of {run.steps_per_epoch} steps an epoch, so it has no epoch time."
        return "" if run.steps is None or run.step_median_s is None else short
    limits = f"{format_seconds(run.minimum_s)} to {format_seconds(run.maximum_s)}"
    spread = f" · spread {run.spread_pct:.1f} %" if run.spread_pct is not None else ""
    if run.basis == "estimate":
        return f"an estimate from timed steps, no whole epoch · {limits}{spread}"
    if run.basis == "first_epoch":
        return "the first and only epoch: starting up is in it"
    first = f" · first epoch {format_seconds(run.first_epoch_s)}"
    if run.epochs_done == 2:
        return f"epoch 2{first}"
    return f"median of epochs 2 to {run.epochs_done} · {limits}{spread}{first}"


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
    spread = f" · spread {run.spread_pct:.1f} %" if run.spread_pct is not None else ""
    return f"{basis} · {limits}{spread}"


def derived_epoch(run: RunSummary) -> str:
    """Say how long an epoch takes where another number is the headline; "" where the study knows no epoch."""
    if run.metric == "seconds_per_epoch_s" or not run.samples_per_epoch:
        return ""
    duration_s = run.seconds_per_epoch_s
    if duration_s is None and run.metric == "images_per_s" and run.value:
        duration_s = run.samples_per_epoch / run.value
    if duration_s is None:
        return ""
    told = format_time_left(duration_s) if duration_s >= 100 else f"{format_seconds(duration_s)} s"
    return f"An epoch of {run.samples_per_epoch:,} examples takes {told}."


def peak_text(share: PeakShare | None) -> str:
    """Say what share of the machine's measured peak a run reached; "" where there is nothing to say."""
    if share is None:
        return ""
    reached = f"It computed {format_value('flop_per_s', share.reached_flop_per_s)} TFLOP/s"
    if share.share_pct is None:
        return f"{reached}; run `matmul` to learn which share of this machine's peak that is."
    peak = format_value("flop_per_s", share.peak_flop_per_s)
    if share.share_pct > 100:
        return (
            f"{reached}, more than matrix products did here ({peak}): run `matmul` again while nothing else runs."
        )
    return f"{reached}, {share.share_pct:.0f} % of the {peak} that matrix products reach here."


def result_notes(run: Run) -> list[Note]:
    """Return what the stored record alone says about how far the number can be trusted, cautions first."""
    notes = [*_notes_on_the_number(run.summary), *_notes_on_the_surroundings(run)]
    notes += [Note("caution", warning.message) for warning in run.warnings]
    # First of the facts, as a narrow view cuts the last ones.
    notes = [Note("fact", told), *notes] if (told := peak_text(run.peak)) else notes
    return sorted(notes, key=lambda note: note.kind != "caution")


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
    cautions = [note.text.rstrip(".") for note in result_notes(run) if note.kind == "caution"]
    told = [text for text in cautions if text.casefold() not in value.casefold()]
    lines = [
        f"{workload_title(summary)} · {summary.preset} · batch {summary.batch_size}",
        value,
        f"Machine: {machine_line(stored_machine(run.machine))}",
        f"Engine: {engine}",
        f"Data: {summary.data_source or 'n/a'}, seed {summary.seed}",
        position(summary) or "",
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


def _notes_on_the_number(run: RunSummary) -> Iterator[Note]:
    if run.status == "running":
        yield Note("caution", "The run is not over.")
    elif run.status != "completed":
        ended = "failed" if run.status == "failed" else f"was {run.status}"
        yield Note("caution", f"The run {ended} after {run.epochs_done} of {run.epochs} epochs.")
    if run.workload in CATALOGUE and CATALOGUE[run.workload].kind == "demo":
        yield Note("caution", "The demo does not train: its times say nothing about this computer.")
    if run.value is None:
        yield Note("caution", headline_note(run) or _value(run))
    elif run.basis == "estimate":
        yield Note("fact", "An estimate from timed steps: no whole epoch was run.")
    elif run.basis == "first_epoch":
        yield Note("caution", "The first and only epoch: starting up is in it.")
    if run.metric == "words_per_s" and (run.steps is not None or run.preset == "quick"):
        yield Note("caution", "Sentences differ in length: a part of an epoch may be 15 % off.")
    if told := derived_epoch(run):
        yield Note("fact", told)
    yield from _note_on_the_spread(run)


def _note_on_the_spread(run: RunSummary) -> Iterator[Note]:
    if run.spread_pct is None:
        return
    of_epochs = run.basis != "estimate" and run.metric == "seconds_per_epoch_s"
    parts = "epochs after the first" if of_epochs else "parts of the measurement"
    text = f"The {parts} spread by {run.spread_pct:.1f} % (standard deviation)."
    wide = run.spread_pct > SPREAD_CAUTION_PCT
    if wide and of_epochs:
        text += " Above 5 %, even nine epochs fix their median to 4 % only: smaller differences say nothing."
    elif wide:
        text += " Differences smaller than that say nothing."
    yield Note("caution" if wide else "fact", text)


def _notes_on_the_surroundings(run: Run) -> Iterator[Note]:
    steal_pct = [sample.telemetry.get("steal_pct") for sample in run.samples]
    known_pct = [value for value in steal_pct if value is not None]
    if known_pct and statistics.fmean(known_pct) > STEAL_CAUTION_PCT:
        text = f"The host took {statistics.fmean(known_pct):.0f} % of the processor time for other work."
        yield Note("caution", text)
    if (run.dataset or {}).get("name") == "generated":
        yield Note("fact", "Its input is generated.")
    elif run.summary.data_source == "real":
        yield Note("fact", "Trained on real data.")
    elif run.summary.data_source == "synthetic":
        yield Note("fact", "Trained on synthetic data of the same shapes and counts.")
    machine = stored_machine(run.machine)
    if machine.virtual_machine:
        kind, _ = virtualization(machine)
        yield Note("fact", "Measured in a virtual machine" + (f" ({kind})." if kind else "."))


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
