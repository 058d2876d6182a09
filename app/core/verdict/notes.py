"""What is to be known about a run's number beside how far it can be trusted: sentences without a threshold."""

from collections.abc import Iterable

from app.core.hardware.part_texts import split_virtualization
from app.core.metrics import format_seconds, format_time_left, format_value
from app.core.records import PeakShare, RunSummary
from app.core.verdict.context import Evidence, Rule
from app.core.verdict.energy import energy_text

_WSL = "wsl"  # as app.core.hardware.machine calls it
# Nine epochs that spread by 5 % leave their median uncertain by 4 % (95 %: 1.96 × 1.25 × 5 % / √9).
SPREAD_PCT = 5.0


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


def short_text(run: RunSummary) -> str:
    """Say that a run of cut epochs has no epoch time; "" for any other."""
    if run.metric != "seconds_per_epoch_s" or run.value is not None or None in (run.steps, run.step_median_s):
        return ""
    return f"A short run: {run.steps} of {run.steps_per_epoch} steps an epoch, so it has no epoch time."


def damage_sentence(damage: Iterable[str]) -> str:
    """Say in one sentence what of a record cannot be read."""
    return f"Part of the record cannot be read: {'; '.join(damage)}."


def spread_text(run: RunSummary, *, wide: bool) -> str:
    """Say how far the parts of the measurement differed.

    Args:
        run: The run.
        wide: Whether it is to be above the limit, or within it; "" if it is not, or where there are too few parts.
    """
    if run.spread_pct is None or (run.spread_pct > SPREAD_PCT) != wide:
        return ""
    of_epochs = run.basis != "estimate" and run.metric == "seconds_per_epoch_s"
    parts = "epochs after the first" if of_epochs else "parts of the measurement"
    text = f"The {parts} spread by {run.spread_pct:.1f} % (standard deviation)."
    if wide and of_epochs:
        text += " Above 5 %, even nine epochs fix their median to 4 % only: smaller differences say nothing."
    elif wide:
        text += " Differences smaller than that say nothing."
    return text


def _estimate(evidence: Evidence) -> str:
    told = "An estimate from timed steps: no whole epoch was run."
    run = evidence.run.summary
    return told if run.basis == "estimate" and run.value is not None else ""


def _data_source(source: str, sentence: str) -> Rule:
    def find(evidence: Evidence) -> str:
        generated = evidence.run.dataset is not None and evidence.run.dataset.name == "generated"
        return sentence if evidence.run.summary.data_source == source and not generated else ""

    return Rule(f"{source}_data", "fact", find)


def _generated_data(evidence: Evidence) -> str:
    dataset = evidence.run.dataset
    return "Its input is generated." if dataset is not None and dataset.name == "generated" else ""


def _virtual_by(evidence: Evidence) -> tuple[str | None, str | None]:
    return split_virtualization(evidence.run.machine.virtualization)


def _container(evidence: Evidence) -> str:
    _, container = _virtual_by(evidence)
    return f"Measured in a container ({container})." if container else ""


def _wsl(evidence: Evidence) -> str:
    kind, _ = _virtual_by(evidence)
    return "Measured in the Windows Subsystem for Linux." if kind == _WSL else ""


def _virtual_machine(evidence: Evidence) -> str:
    kind, _ = _virtual_by(evidence)
    if evidence.run.machine.virtual_machine is not True or kind == _WSL:
        return ""
    return "Measured in a virtual machine" + (f" ({kind})." if kind else ".")


# The share of the peak first, as a narrow view cuts the last ones.
FACT_RULES = (
    Rule("peak_share", "fact", lambda evidence: peak_text(evidence.run.peak)),
    Rule("estimate", "fact", _estimate),
    Rule("derived_epoch", "fact", lambda evidence: derived_epoch(evidence.run.summary)),
    Rule("energy", "fact", lambda evidence: energy_text(evidence.run.summary), at_end=True),
    Rule("spread", "fact", lambda evidence: spread_text(evidence.run.summary, wide=False), at_end=True),
    Rule("generated_data", "fact", _generated_data),
    _data_source("real", "Trained on real data."),
    _data_source("synthetic", "Trained on synthetic data of the same shapes and counts."),
    Rule("container", "fact", _container),
    Rule("wsl", "fact", _wsl),
    Rule("virtual_machine", "fact", _virtual_machine),
)
