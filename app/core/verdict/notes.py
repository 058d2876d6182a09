"""Describes facts about a result that don't affect its verdict."""

import math
from collections.abc import Collection, Iterable, Sequence

import msgspec

from app.core.analysis.claims import limit_pct
from app.core.analysis.headline import uncertainty
from app.core.analysis.power import changed_limit, is_gpu
from app.core.formats import rounded
from app.core.hardware.part_texts import split_virtualization
from app.core.messages import Message, message
from app.core.metrics import format_value
from app.core.records import Exchange, PeakShare, Run, RunSummary
from app.core.verdict.boost import BURST
from app.core.verdict.context import FEW_STEPS, Evidence, Rule, gpu_index
from app.core.verdict.energy import energy_used
from workloads import CATALOGUE
from workloads.engines.registry import ENGINES
from workloads.protocol.spec import used_gpus
from workloads.settings import read_recorded

# Time services usually correct smaller offsets in one step, which is harmless.
CLOCK_STEP_S = 1.0
# Shown as 0.0000 TFLOP/s.
LITTLE_FLOP_PER_S = 5e7
_WSL = "wsl"  # as in app.core.hardware.machine
# With a spread of 5 %, the median of nine epochs has an uncertainty of 4 % (95 %: 1.96 × 1.25 × 5 % / √9).
SPREAD_PCT = 5.0
# Identical GPUs vary by 8 % on average (Sinha et al., Not All GPUs Are Created Equal, 2022).
SLOW_GPU_PCT = 90.0


def derived_epoch(run: RunSummary) -> Message | None:
    """Return the duration of an epoch if the headline is a different quantity; None if there are no epochs."""
    if run.metric == "seconds_per_epoch_s" or not run.samples_per_epoch:
        return None
    duration_s = run.seconds_per_epoch_s
    if duration_s is None and run.metric == "images_per_s" and run.value:
        duration_s = run.samples_per_epoch / run.value
    if duration_s is None:
        return None
    if run.value and (uncertain := uncertainty(run)) is not None:
        duration_s = rounded(duration_s, duration_s * uncertain / run.value)
    code = "note.epoch_takes_long" if duration_s >= 100 else "note.epoch_takes"
    return message(code, samples=run.samples_per_epoch, duration_s=duration_s)


def peak_share(share: PeakShare | None) -> Message | None:
    """Describe a run's share of the computer's measured peak; None if it is unknown or above the peak."""
    if share is None or (share.share_pct or 0.0) > 100:
        return None
    if share.reached_flop_per_s < LITTLE_FLOP_PER_S:
        return message("note.little_arithmetic")
    uncertain = share.reached_flop_per_s * (share.half_pct or 0.0) / 100
    reached = format_value("flop_per_s", rounded(share.reached_flop_per_s, uncertain))
    if share.share_pct is None:
        return message("note.no_peak", reached=reached)
    peak = format_value("flop_per_s", share.peak_flop_per_s)
    return message("note.peak_share", reached=reached, share_pct=share.share_pct, peak=peak)


def share_of_peak(run: Run) -> Message | None:
    """Return "31 % of this GPU's matrix peak", for lists of facts; None if there is no such share."""
    said = peak_share(run.peak)
    if said is None or said.code != "note.peak_share":
        return None
    device = "GPU" if is_gpu(run.summary) else "CPU"
    return message("note.share_of_peak", share_pct=said.arguments["share_pct"], device=device)


def above_peak(run: Run, *, certain: bool) -> Message | None:
    """Describe a speed above the device's peak, either one that it certainly can't reach or one that it may.

    Another algorithm, noise or a disturbed measurement of the peak may explain the latter.
    """
    share = run.peak
    peak = None if share is None else share.peak_flop_per_s or share.published_flop_per_s
    if share is None or peak is None or share.reached_flop_per_s <= peak:
        return None
    summary = run.summary
    most = math.inf if share.is_disturbed else max(peak, share.peak_high_flop_per_s or 0.0)
    most *= limit_pct(CATALOGUE.get(summary.workload), on_cpu=summary.device == "cpu") / 100
    if (share.reached_flop_per_s * (1 - (share.half_pct or 0.0) / 100) > most) != certain:
        return None
    reached, shown = (format_value("flop_per_s", each) for each in (share.reached_flop_per_s, peak))
    code = "verdict.above_peak" if share.peak_flop_per_s else "verdict.above_published_peak"
    return message(code, reached=reached, peak=shown)


def _exchange(exchange: Exchange | None) -> Message | None:
    if exchange is None:
        return None
    if exchange.duration_s is None:
        return message("note.no_exchange", gradients_bytes=exchange.gradients_bytes)
    return message(
        "note.exchange",
        gradients_bytes=exchange.gradients_bytes,
        duration_ms=1000 * exchange.duration_s,
        step_ms=1000 * exchange.step_s,
        speed=format_value("bytes_per_s", exchange.bytes_per_s),
    )


def power_limit(run: RunSummary) -> Message | None:
    """Describe a changed power limit in a note, not a caution, because the owner chose it; None if unchanged."""
    at = changed_limit(run)
    return None if at is None else message("note.power_limit", **at.arguments)


def short_run(run: RunSummary) -> Message | None:
    """Return a note if a run of shortened epochs has no epoch time; None for other runs."""
    if run.metric != "seconds_per_epoch_s" or run.value is not None or None in (run.steps, run.step_median_s):
        return None
    return message("note.short_run", steps=run.steps, steps_per_epoch=run.steps_per_epoch)


def damaged(damage: Iterable[str]) -> Message:
    return message("note.damaged", parts=list(damage))


def spread(run: RunSummary, *, wide: bool) -> Message | None:
    """Describe the spread of the measurement if it is above the limit (wide) or within it; None otherwise."""
    if run.spread_pct is None or (run.spread_pct > SPREAD_PCT) != wide:
        return None
    of_epochs = run.basis != "estimate" and run.metric == "seconds_per_epoch_s"
    code = "verdict.spread_of_epochs" if of_epochs else "verdict.spread_of_parts"
    return message(code, spread_pct=run.spread_pct)


def _estimate(evidence: Evidence) -> Message | None:
    run = evidence.run.summary
    if run.basis != "estimate" or run.value is None:
        return None
    count = evidence.estimated_steps
    if 0 < count < FEW_STEPS:
        return message("note.estimate_of_steps", count=count)
    return message("note.estimate", measured_s=evidence.measured_s)


def _unequal_gpus(evidence: Evidence) -> Message | None:
    numbers = _gpu_numbers(evidence.run)
    slowest = _slowest_gpu(evidence.run, numbers)
    if slowest is not None:
        return message("note.slow_gpu", index=slowest[0], share_pct=slowest[1])
    names = list(dict.fromkeys(_gpu_names(evidence.run, numbers).values()))
    return message("note.unequal_gpus", names=names) if len(names) > 1 else None


def _gpu_numbers(run: Run) -> Sequence[int]:
    count, first = run.summary.device_count // run.summary.machine_count, gpu_index(run.summary.device or "")
    if count == 1 or first is None:
        return ()
    return used_gpus(first, count, read_recorded(run.summary.settings).get("gpus"))


def _gpu_names(run: Run, numbers: Collection[int]) -> dict[int, str]:
    """Return the names of GPUs by their numbers; empty if an environment variable hides and renumbers GPUs."""
    environment = run.environment
    if environment is None or "CUDA_VISIBLE_DEVICES" in (environment.variables or ()):
        return {}
    vendor = next((gpu.vendor for gpu in run.machine.gpus if gpu.name == environment.device_name), None)
    of_vendor = [gpu.name for gpu in run.machine.gpus if gpu.vendor == vendor]
    return {index: name for index, name in enumerate(of_vendor) if index in numbers}


def _slowest_gpu(run: Run, numbers: Sequence[int]) -> tuple[int, float] | None:
    """Return the number of a slow GPU, and its speed as a percentage of the fastest GPU's.

    None if no GPU is slow, if their speeds are unknown, or if the run doesn't train.
    """
    workload = CATALOGUE.get(run.summary.workload)
    speeds = run.environment.device_flop_per_s if run.environment is not None else None
    if speeds is None or len(speeds) != len(numbers) or workload is None or not workload.trains:
        return None
    share_pct = 100 * min(speeds) / max(speeds)
    return (numbers[speeds.index(min(speeds))], share_pct) if share_pct < SLOW_GPU_PCT else None


def _several_computers(evidence: Evidence) -> Message | None:
    count = evidence.run.summary.machine_count
    return message("note.several_computers", count=count) if count > 1 else None


def _clock_step(evidence: Evidence) -> Message | None:
    set_s = sum(map(abs, evidence.telemetry.values("clock_step_s")))
    return message("note.clock_step", set_s=set_s) if set_s > CLOCK_STEP_S else None


def _is_generated(evidence: Evidence) -> bool:
    return evidence.run.dataset is not None and evidence.run.dataset.name == "generated"


def _data_source(source: str) -> Rule:
    def find(evidence: Evidence) -> Message | None:
        is_stated = evidence.run.summary.data_source == source and not _is_generated(evidence)
        return message(f"note.{source}_data") if is_stated else None

    return Rule(f"{source}_data", "fact", find)


def _synthetic_instead(evidence: Evidence) -> Message | None:
    asked, source = evidence.run.spec.data, evidence.run.summary.data_source
    if asked != "real" or source != "synthetic":
        return None
    return message("verdict.synthetic_instead")


def _generated_data(evidence: Evidence) -> Message | None:
    return message("note.generated_data") if _is_generated(evidence) else None


def _attention(evidence: Evidence) -> Message | None:
    """Return a note if attention was computed in another way than in the published definition."""
    run, workload = evidence.run, CATALOGUE.get(evidence.run.summary.workload)
    if workload is None or workload.attention is None or run.spec.engine not in ENGINES:
        return None
    if run.summary.workload_version != workload.version:  # its definition was another one
        return None
    spec = msgspec.structs.replace(run.spec, device=run.summary.device or run.spec.device)
    used = workload.attention_of(spec)
    return None if used == workload.attention else message(f"note.{used}_attention")


def _virtual_machine(evidence: Evidence) -> Message | None:
    kind, _ = split_virtualization(evidence.run.machine.virtualization)
    if evidence.run.machine.virtual_machine is not True or kind == _WSL:
        return None
    return message("note.virtual_machine_by", kind=kind) if kind else message("note.virtual_machine")


def _container(evidence: Evidence) -> Message | None:
    _, container = split_virtualization(evidence.run.machine.virtualization)
    return message("note.container", container=container) if container else None


def _wsl(evidence: Evidence) -> Message | None:
    kind, _ = split_virtualization(evidence.run.machine.virtualization)
    return message("note.wsl") if kind == _WSL else None


DATA_RULES = (Rule("synthetic_instead", "caution", _synthetic_instead, "advice.synthetic_instead"),)
# Share of peak comes first, because narrow views cut off the last facts.
FACT_RULES = (
    Rule("peak_share", "fact", lambda evidence: peak_share(evidence.run.peak)),
    Rule("power_limit", "fact", lambda evidence: power_limit(evidence.run.summary), at_end=True),
    Rule("attention", "fact", _attention),
    Rule("exchange", "fact", lambda evidence: _exchange(evidence.run.exchange)),
    Rule("unequal_gpus", "fact", _unequal_gpus, instead={"note.slow_gpu": "advice.slow_gpu"}),
    # Durations are measured with a clock that is never set.
    Rule("clock_step", "fact", _clock_step),
    Rule("several_computers", "fact", _several_computers),
    Rule("estimate", "fact", _estimate),
    BURST,
    Rule("derived_epoch", "fact", lambda evidence: derived_epoch(evidence.run.summary)),
    Rule("energy", "fact", lambda evidence: energy_used(evidence.run.summary), at_end=True),
    Rule("spread", "fact", lambda evidence: spread(evidence.run.summary, wide=False), at_end=True),
    Rule("generated_data", "fact", _generated_data),
    _data_source("real"),
    _data_source("synthetic"),
    Rule("container", "fact", _container),
    Rule("wsl", "fact", _wsl),
    Rule("virtual_machine", "fact", _virtual_machine),
)
