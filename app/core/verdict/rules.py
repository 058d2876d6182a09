"""Whether a number can be trusted: a verdict with its reasons, from the stored record alone."""

import logging
import math
import statistics
from collections.abc import Iterator

from app.core.metrics import format_seconds
from app.core.records import DAMAGED, Run
from app.core.verdict.conditions import CAUTION_RULES, INVALID_RULES
from app.core.verdict.context import Evidence, Level, Rule, evidence_of
from app.core.verdict.notes import FACT_RULES, damage_sentence, short_text, spread_text
from workloads import CATALOGUE
from workloads.protocol import events

# Beyond what a quiet computer's steps wander, and the pass line of 3DMark's stress test and of Novabench's.
DRIFT_PCT = 3.0
# Thirds of ten steps: their medians stay within a percent where single steps jitter by two.
_DRIFT_STEPS_AT_LEAST = 30
# What Quick measures for.
INTERVAL_PCT = 2.0
# More than the precision of a Quick run, lost to something else than the network …
INTERRUPTED_TIME_PCT = 2.0
# … or so many steps that typical ones and held up ones are no longer told apart.
INTERRUPTED_STEPS_PCT = 5.0
# A desktop's pause of a tenth of a second is 2 % of it, and fewer than five looks at the machine fall into it.
SHORT_S = 5.0
_log = logging.getLogger(__name__)
_ORDER: dict[Level, int] = {"invalid": 0, "caution": 1, "fact": 2}


def judge(run: Run, *, is_over: bool = True) -> events.Judged:
    """Judge a run by its record; the worst reasons come first.

    Args:
        run: The record, as far as it goes.
        is_over: Whether the run has ended; if not, rules that only a finished run can break are left out.

    Returns:
        Always a verdict: a record that the rules fail on is invalid, with the code "not_judged".
    """
    try:
        return _judge(run, is_over=is_over)
    except Exception as error:  # noqa: BLE001 - one record that no rule foresaw must not hide all others
        _log.info("Run %s cannot be judged.", run.summary.id, exc_info=True)
        text = f"Judging it failed ({type(error).__name__}): an error of Epochmark itself."
        advice = "Report it with the end of Epochmark's log."
        reason = events.Reason(code="not_judged", level="invalid", text=text, advice=advice)
        return events.Judged(level="invalid", reasons=(reason,))


def _judge(run: Run, *, is_over: bool) -> events.Judged:
    evidence = evidence_of(run)
    found = [
        events.Reason(code=rule.code, level=rule.level, text=text, advice=rule.advice)
        for rule in RULES
        if (is_over or not rule.at_end) and (text := rule.find(evidence))
    ]
    reasons = sorted([*found, *_warnings(run)], key=lambda reason: _ORDER[reason.level])
    worst: Level = reasons[0].level if reasons else "fact"
    return events.Judged(level="valid" if worst == "fact" else worst, reasons=tuple(reasons))


def _warnings(run: Run) -> Iterator[events.Reason]:
    """Give what was warned of while it ran, each once."""
    said = dict.fromkeys((warning.code, warning.message) for warning in run.warnings)
    for code, message in said:
        if code != "loss_out_of_band":  # a rule of its own
            yield events.Reason(code=code, level="caution", text=message)


def _damaged(evidence: Evidence) -> str:
    damage = evidence.run.damage
    return damage_sentence(damage) if damage else ""


def _not_summarised(evidence: Evidence) -> str:
    run = evidence.run.summary
    return run.error_message or "" if run.error_code == "not_summarised" else ""


def _not_completed(evidence: Evidence) -> str:
    run = evidence.run.summary
    if run.status == DAMAGED:
        return ""
    if run.status in ("completed", "running") or (run.status == "cancelled" and run.value is not None):
        return ""
    return _ending(evidence)


def _cancelled(evidence: Evidence) -> str:
    run = evidence.run.summary
    return _ending(evidence) if run.status == "cancelled" and run.value is not None else ""


def _ending(evidence: Evidence) -> str:
    run = evidence.run.summary
    ended = "failed" if run.status == "failed" else f"was {run.status}"
    if run.preset != "standard":  # they end by time
        return f"The run {ended} before its end."
    return f"The run {ended} after {run.epochs_done} of {run.epochs} epochs."


def _running(evidence: Evidence) -> str:
    return "The run is not over." if evidence.run.summary.status == "running" else ""


def _demo(evidence: Evidence) -> str:
    workload = CATALOGUE.get(evidence.run.summary.workload)
    is_demo = workload is not None and workload.is_demo
    return "The demo does not train: its times say nothing about this computer." if is_demo else ""


def _steps_missing(evidence: Evidence) -> str:
    run, done = evidence.run.summary, len(evidence.steps_s)
    workload = CATALOGUE.get(run.workload)
    counts = workload is not None and workload.counts_steps
    asked = run.epochs * (run.steps or run.steps_per_epoch)
    if not counts or run.preset != "standard" or run.status != "completed" or done in (0, asked):
        return ""  # no step at all: a record that holds none
    return f"{done:,} steps are in the record where {asked:,} were asked for."


def _updates_missing(evidence: Evidence) -> str:
    metrics = evidence.run.metrics
    done, asked = metrics.get("updates_done"), metrics.get("updates_asked")
    if done is None or done == asked:
        return ""
    wanted = "an unknown number of" if asked is None else f"{asked:,.0f}"
    return f"The weights were updated {done:,.0f} times in {wanted} steps."


def _weights_unchanged(evidence: Evidence) -> str:
    unchanged = evidence.run.metrics.get("weights_changed") == 0
    return "The weights are what they were before the training." if unchanged else ""


def _loss_out_of_band(evidence: Evidence) -> str:
    run = evidence.run.summary
    warned = [warning.message for warning in evidence.run.warnings if warning.code == "loss_out_of_band"]
    if warned:
        return warned[0]
    workload, loss = CATALOGUE.get(run.workload), evidence.run.metrics.get("proof_loss")
    if workload is None or workload.proof is None or loss is None:
        return ""
    usual = (run.batch_size, run.variant, run.workload_version) == (workload.batch_size, "", workload.version)
    band = workload.proof.bands.get(run.data_source or "")
    if not usual or band is None or band[0] <= loss <= band[1]:
        return ""
    return (
        f"The mean loss of the first {workload.proof.steps} steps, {loss:.4g}, is outside of what is expected "
        f"({band[0]:g} to {band[1]:g}): the network may not have been trained as it should."
    )


def _loss_not_finite(evidence: Evidence) -> str:
    if evidence.run.summary.error_code == "non_finite_loss":
        return "The loss became no number: what ran was no training any more."
    losses = [(epoch.index, epoch.loss) for epoch in evidence.run.epochs]
    lost = [index for index, loss in losses if loss is None or not math.isfinite(loss)]
    if not lost or (len(lost) == len(losses) and all(loss is None for _, loss in losses)):
        return ""  # without any loss: a workload that has none
    return f"The loss of epoch {lost[0] + 1} is no number: what ran was no training any more."


def _no_result(evidence: Evidence) -> str:
    run = evidence.run.summary
    if run.value is not None or short_text(run):
        return ""
    return "No whole epoch was measured." if run.metric == "seconds_per_epoch_s" else "Nothing was measured."


def _first_epoch(evidence: Evidence) -> str:
    run = evidence.run.summary
    is_first = run.basis == "first_epoch" and run.value is not None
    return "The first and only epoch: starting up is in it." if is_first else ""


def _short_run(evidence: Evidence) -> str:
    run = evidence.run.summary
    half_pct = _half_interval_pct(evidence)
    if told := short_text(run):
        return told
    if run.value is None or evidence.measured_s is None or evidence.measured_s >= SHORT_S:
        return ""
    is_known = run.basis == "estimate" and half_pct is not None and half_pct <= INTERVAL_PCT
    return "" if is_known else f"Only {format_seconds(evidence.measured_s)} s were measured."


def _uneven_steps(evidence: Evidence) -> str:
    run = evidence.run.summary
    is_part = run.metric == "words_per_s" and (run.steps is not None or run.preset == "quick")
    return "Sentences differ in length: a part of an epoch may be 15 % off." if is_part else ""


def _drift(evidence: Evidence) -> str:
    run, steps_s = evidence.run.summary, evidence.typical_s
    if run.preset == "sustained" and run.sustained_pct is not None:
        if run.sustained_pct >= 100 - DRIFT_PCT:
            return ""
        return f"It did not hold its speed: the last third ran at {run.sustained_pct:.1f} % of the first one's."
    if len(steps_s) < _DRIFT_STEPS_AT_LEAST:
        return ""
    third = len(steps_s) // 3
    # Medians, so that single interruptions do not count.
    first_s, last_s = statistics.median(steps_s[:third]), statistics.median(steps_s[-third:])
    speed_pct = 100 * first_s / last_s if last_s > 0 else 100.0
    if abs(speed_pct - 100) <= DRIFT_PCT:
        return ""
    return f"The speed drifted: the last third of the steps ran at {speed_pct:.1f} % of the first one's."


def _interval_wide(evidence: Evidence) -> str:
    half_pct = _half_interval_pct(evidence)
    if evidence.run.summary.basis != "estimate" or half_pct is None or half_pct <= INTERVAL_PCT:
        return ""
    return f"The estimate is known to ± {half_pct:.1f} % only."


def _half_interval_pct(evidence: Evidence) -> float | None:
    run = evidence.run.summary
    if run.value is None or run.value <= 0 or run.value_low is None or run.value_high is None:
        return None
    return 100 * (run.value_high - run.value_low) / 2 / run.value


def _interruptions(evidence: Evidence) -> str:
    run, steps = evidence.run.summary, len(evidence.steps_s)
    lost_s, held = run.interruptions_s or 0.0, run.interruptions or 0
    lost_pct = 100 * lost_s / evidence.measured_s if evidence.measured_s else 0.0
    held_pct = 100 * held / steps if steps else 0.0
    if lost_pct <= INTERRUPTED_TIME_PCT and held_pct <= INTERRUPTED_STEPS_PCT:
        return ""
    count = "1 step was" if held == 1 else f"{held:,} of {steps:,} steps were"
    return f"{count} held up, for {format_seconds(lost_s)} s in all ({lost_pct:.1f} % of the time)."


_AGAIN_IN_QUIET = "Close other programs and run it again."
RULES = (
    Rule(
        "damaged_record",
        "invalid",
        _damaged,
        "Run it again; `results export --format json` has what is left of this one.",
        at_end=True,
    ),
    Rule("not_summarised", "invalid", _not_summarised, "Report it with the end of Epochmark's log.", at_end=True),
    Rule(
        "not_completed", "invalid", _not_completed, "Do what its message advises, and run it again.", at_end=True
    ),
    Rule(
        "steps_missing",
        "invalid",
        _steps_missing,
        "Run it again; if it stays so, report it with its log.",
        at_end=True,
    ),
    Rule(
        "updates_missing",
        "invalid",
        _updates_missing,
        "Run it again with float32; if it stays so, report it with its log.",
        at_end=True,
    ),
    Rule(
        "weights_unchanged",
        "invalid",
        _weights_unchanged,
        "Run it again; if it stays so, test your memory and undo any overclocking.",
        at_end=True,
    ),
    Rule(
        "loss_out_of_band",
        "invalid",
        _loss_out_of_band,
        "Run it again with another seed; if it stays so, test your memory and undo any overclocking.",
    ),
    Rule(
        "loss_not_finite",
        "invalid",
        _loss_not_finite,
        "Run it again with float32 and another seed; if it stays so, test your memory and undo any overclocking.",
    ),
    *INVALID_RULES,
    Rule("demo", "invalid", _demo, "Run a workload that trains."),
    Rule("running", "caution", _running, at_end=True),
    Rule("cancelled", "caution", _cancelled, "Let it run to its end.", at_end=True),
    Rule(
        "no_result",
        "caution",
        _no_result,
        "Let it run until an epoch is over, or use the quick preset.",
        at_end=True,
    ),
    Rule("first_epoch", "caution", _first_epoch, "Train two epochs at least.", at_end=True),
    Rule("short_run", "caution", _short_run, "Train whole epochs, and more of them.", at_end=True),
    Rule("uneven_steps", "caution", _uneven_steps, "Train whole epochs."),
    Rule("drift", "caution", _drift, "Let it cool down, close other programs and run it again.", at_end=True),
    Rule(
        "spread",
        "caution",
        lambda evidence: spread_text(evidence.run.summary, wide=True),
        _AGAIN_IN_QUIET,
        at_end=True,
    ),
    Rule("interval_wide", "caution", _interval_wide, _AGAIN_IN_QUIET, at_end=True),
    Rule("interruptions", "caution", _interruptions, _AGAIN_IN_QUIET, at_end=True),
    *CAUTION_RULES,
    *FACT_RULES,
)
