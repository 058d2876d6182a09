"""Judges whether a result is trustworthy: returns a verdict with reasons, based only on the stored record."""

import logging
import math
from collections.abc import Iterator

from msgspec.structs import replace

from app.core.analysis.estimator import PRECISION, WARMUP_S_AT_MOST, estimate_steps
from app.core.analysis.headline import half_interval_pct, interruptions, own_half_pct
from app.core.analysis.shared_host import BETWEEN_RUNS_HALF_PCT, SHARED_HOST
from app.core.analysis.stats import drift_pct
from app.core.analysis.student_t import CONFIDENCE
from app.core.analysis.timed_steps import steps_left_out
from app.core.messages import Message, message, text
from app.core.metrics import headline_kind
from app.core.records import DAMAGED, Run
from app.core.verdict.conditions import CAUTION_RULES, DISTURBANCES, INVALID_RULES
from app.core.verdict.context import Evidence, Level, Rule, evidence_of, reason, shared_part_of
from app.core.verdict.notes import DATA_RULES, FACT_RULES, above_peak, damaged, short_run, spread
from app.core.verdict.training_rules import TRAINING_RULES, applicable_proof
from workloads import CATALOGUE
from workloads.protocol import events

# Pass criterion of the stress tests of 3DMark and Novabench. Only a drift that certainly exceeds it counts.
DRIFT_PCT = 3.0
# Target of Quick, and the largest ± of a valid result.
INTERVAL_PCT = 100 * PRECISION
# Share of time lost to interruptions that exceeds the precision of a Quick run.
INTERRUPTED_TIME_PCT = 2.0
# With more interrupted steps, they can't be distinguished from typical ones.
INTERRUPTED_STEPS_PCT = 5.0
# In shorter measurements, a desktop's pause of 0.1 s exceeds 2 %, and there is little telemetry.
SHORT_S = 5.0
_INTERVAL_CONFIDENCE_PCT = 100 * CONFIDENCE
# Noise widens an interval equally on both sides; above this ratio of the sides, another cause is assumed.
_ONE_SIDED = 2.0
# Named after their causes, because short texts have room for only a few reasons.
_SYMPTOMS = frozenset({"uneven_steps", "drift", "spread", "interval_wide", "no_interval", "interruptions"})
_log = logging.getLogger(__name__)
_ORDER: dict[Level, int] = {"invalid": 0, "caution": 1, "fact": 2}


def judge(run: Run, *, is_over: bool = True) -> events.Judged:
    """Return the verdict on a run, based on its record, with the worst reasons first.

    While the run is in progress, rules for finished runs are skipped. If a rule raises an exception, the verdict
    is "invalid", with the code "not_judged".
    """
    try:
        return _judge(run, is_over=is_over)
    except Exception as error:  # noqa: BLE001 - one unexpected record must not hide the others
        _log.info("Run %s cannot be judged.", run.summary.id, exc_info=True)
        said = message("verdict.not_judged", kind=type(error).__name__)
        return events.Judged(
            level="invalid", reasons=(reason("not_judged", "invalid", said, "advice.report_log"),)
        )


def _judge(run: Run, *, is_over: bool) -> events.Judged:
    evidence = evidence_of(run)
    rules = (rule for rule in RULES if is_over or not rule.at_end)
    reasons_found = [broken for rule in rules if (broken := rule.reason(evidence)) is not None]
    reasons = [*reasons_found, *_warnings(run)]
    if any(each.code in DISTURBANCES for each in reasons):  # its advice is for the symptoms, too
        reasons = [replace(each, advice="", advised=None) if each.code in _SYMPTOMS else each for each in reasons]
    reasons.sort(key=lambda each: (_ORDER[each.level], each.level != "fact" and each.code in _SYMPTOMS))
    worst: Level = reasons[0].level if reasons else "fact"
    measured_s = evidence.measured_s if is_over else None
    return events.Judged(
        level="valid" if worst == "fact" else worst, reasons=tuple(reasons), measured_s=measured_s
    )


def _warnings(run: Run) -> Iterator[events.Reason]:
    for warning in {(each.code, each.message): each for each in run.warnings}.values():
        if warning.code != "loss_out_of_band":  # it has its own rule
            warning_text = text(warning.said) if warning.said is not None else warning.message
            yield events.Reason(code=warning.code, level="caution", text=warning_text, said=warning.said)


def _damaged(evidence: Evidence) -> Message | None:
    damage = evidence.run.damage
    return damaged(damage) if damage else None


def _not_summarised(evidence: Evidence) -> Message | None:
    run = evidence.run.summary
    return run.error_said if run.error_code == "not_summarised" else None


def _not_completed(evidence: Evidence) -> Message | None:
    is_over = evidence.run.summary.status not in ("completed", "running", DAMAGED)
    return _ending(evidence) if is_over and _cancelled(evidence) is None else None


def _cancelled(evidence: Evidence) -> Message | None:
    run = evidence.run.summary
    return _ending(evidence) if run.status == "cancelled" and run.value is not None else None


def _ending(evidence: Evidence) -> Message:
    run = evidence.run.summary
    ended = run.status if run.status in ("failed", "cancelled", "interrupted") else "ended"
    if run.preset != "standard":  # limited by time
        return message(f"verdict.{ended}_early")
    return message(f"verdict.{ended}_after", epochs_done=run.epochs_done, epochs=run.epochs)


def _running(evidence: Evidence) -> Message | None:
    return message("verdict.running") if evidence.run.summary.status == "running" else None


def _demo(evidence: Evidence) -> Message | None:
    workload = CATALOGUE.get(evidence.run.summary.workload)
    return message("verdict.demo") if workload is not None and workload.is_demo else None


def _divided_cpu(evidence: Evidence) -> Message | None:
    run = evidence.run.summary
    count = run.device_count // run.machine_count
    return message("verdict.divided_cpu", count=count) if run.divides_cpu else None


def _steps_missing(evidence: Evidence) -> Message | None:
    run, done = evidence.run.summary, len(evidence.steps_s)
    workload = CATALOGUE.get(run.workload)
    if workload is None or not workload.counts_steps or run.status != "completed" or not done:
        return None  # without steps, none can be missing
    asked = run.epochs * (run.steps or run.steps_per_epoch)
    if run.preset == "standard" and done != asked:
        return message("verdict.steps_missing", done=done, asked=asked)
    # Other runs are limited by time. Missing steps are detected by the worker's own count or by gaps in the
    # record.
    stored = sum(len(block.durations_s) for block in evidence.run.steps if block.phase != "validate")
    counted = evidence.run.metrics.get("updates_asked")
    taken = stored + steps_left_out(evidence.run.steps) if counted is None else round(counted)
    return None if stored == taken else message("verdict.steps_missing", done=stored, asked=taken)


def _updates_missing(evidence: Evidence) -> Message | None:
    metrics = evidence.run.metrics
    done, asked = metrics.get("updates_done"), metrics.get("updates_asked")
    if done is None or done == asked:
        return None
    if asked is None:
        return message("verdict.updates_unknown", done=done)
    return message("verdict.updates_missing", done=done, asked=asked)


def _weights_unchanged(evidence: Evidence) -> Message | None:
    return message("verdict.weights_unchanged") if evidence.run.metrics.get("weights_changed") == 0 else None


def _loss_out_of_band(evidence: Evidence) -> Message | None:
    run = evidence.run.summary
    for warning in evidence.run.warnings:
        if warning.code == "loss_out_of_band":
            return warning.said or message("verdict.as_stored", text=warning.message)
    proof, loss = applicable_proof(run), evidence.run.metrics.get("proof_loss")
    band = proof.band(run.data_source or "", run.precision) if proof is not None else None
    if proof is None or loss is None or band is None or band[0] <= loss <= band[1]:
        return None
    return message("verdict.loss_out_of_band", steps=proof.steps, loss=loss, low=band[0], high=band[1])


def _loss_not_finite(evidence: Evidence) -> Message | None:
    if evidence.run.summary.error_code == "non_finite_loss":
        return message("verdict.diverged")
    losses = [(epoch.index, epoch.loss) for epoch in evidence.run.epochs]
    lost = [index for index, loss in losses if loss is None or not math.isfinite(loss)]
    if not lost or (len(lost) == len(losses) and all(loss is None for _, loss in losses)):
        return None  # no loss at all, because the workload doesn't report one
    return message("verdict.diverged_in_epoch", epoch=lost[0] + 1)


def _no_result(evidence: Evidence) -> Message | None:
    run = evidence.run.summary
    if run.value is not None or short_run(run) is not None:
        return None
    if run.metric == "seconds_per_epoch_s" and run.preset == "standard":
        return message("verdict.no_epoch")
    return message("verdict.nothing_measured" if run.step_median_s is None else "verdict.no_headline")


def _first_epoch(evidence: Evidence) -> Message | None:
    run = evidence.run.summary
    is_first = run.basis == "first_epoch" and run.value is not None
    return message("verdict.first_epoch") if is_first else None


def _short_run(evidence: Evidence) -> Message | None:
    run = evidence.run.summary
    if (short := short_run(run)) is not None:
        return short
    if run.value is None or evidence.measured_s is None or evidence.measured_s >= SHORT_S:
        return None
    half_pct = _own_half_pct(evidence) if run.basis == "estimate" else None
    is_known = half_pct is not None and _is_precise(half_pct)
    return None if is_known else message("verdict.short_run", measured_s=evidence.measured_s)


def _uneven_steps(evidence: Evidence) -> Message | None:
    run = evidence.run.summary
    is_part = run.metric == "words_per_s" and (run.steps is not None or run.preset == "quick")
    return message("verdict.uneven_steps") if is_part else None


def _drift(evidence: Evidence) -> Message | None:
    run = evidence.run.summary
    if run.preset == "sustained" and run.sustained_pct is not None:
        lost_pct = 100 - run.sustained_pct
        return message("verdict.not_sustained", lost_pct=lost_pct) if lost_pct > DRIFT_PCT else None
    if (drift := drift_pct(evidence.typical_s)) is None:
        return None
    longer_pct, uncertain_pct = drift
    if abs(longer_pct) - uncertain_pct <= DRIFT_PCT:
        return None
    change_pct = 100 / (1 + longer_pct / 100) - 100
    is_first_left_out = run.preset != "quick" and bool(evidence.timed_steps.later_s)
    part = message("verdict.after_first_epoch" if is_first_left_out else "verdict.after_warmup")
    if change_pct < 0:
        return message("verdict.slower", lost_pct=-change_pct, part=part)
    return message("verdict.faster", gained_pct=change_pct, part=part)


def _interval_wide(evidence: Evidence) -> Message | None:
    half_pct = _half_interval_pct(evidence)
    if evidence.run.summary.basis == "later_epochs" and (half_pct is None or not _is_confident(evidence)):
        # One rule for all presets: too few epochs have an interval of their steps.
        steps = evidence.timed_steps
        estimation = estimate_steps(steps.usual_s[steps.first_epoch_steps :], has_warmup=False)
        half_pct = None if estimation is None else estimation.half_pct
        if half_pct is None or _is_precise(half_pct) or shared_part_of(evidence) is not None:
            return None
        return message("verdict.interval_wide", half_pct=half_pct)
    if evidence.run.summary.basis not in ("estimate", "later_epochs") or half_pct is None:
        return None
    if not _is_uncertain_itself(evidence):
        return None
    return message(f"verdict.interval_wide{'_by_warmup' if _is_by_warmup(evidence) else ''}", half_pct=half_pct)


def _is_confident(evidence: Evidence) -> bool:
    return (evidence.run.summary.confidence_pct or 0.0) >= _INTERVAL_CONFIDENCE_PCT


def _is_uncertain_itself(evidence: Evidence) -> bool:
    """Return whether the run's own steps, rather than a shared host, cause most of an estimate's uncertainty."""
    own_pct = _own_half_pct(evidence)
    if own_pct is None or _is_precise(own_pct):
        return False
    is_shared = shared_part_of(evidence) is not None
    return not is_shared or own_pct >= BETWEEN_RUNS_HALF_PCT or _is_by_warmup(evidence)


def _shared_host(evidence: Evidence) -> Message | None:
    """Return a caution stating how much the next run may differ, unless the uncertainty of this run is larger."""
    part, run, half_pct = shared_part_of(evidence), evidence.run.summary, _half_interval_pct(evidence)
    if part is None or run.value is None or run.basis == "first_epoch":
        return None
    if half_pct is None and run.basis == "estimate":  # has its own caution
        return None
    if half_pct is None or not _is_confident(evidence):  # a range, from few epochs
        at_least_pct = max(half_pct or 0.0, BETWEEN_RUNS_HALF_PCT)
        return message("verdict.shared_at_least", half_pct=float(f"{at_least_pct:.1g}"))  # roughly
    if _is_precise(half_pct) or (run.basis == "estimate" and _is_uncertain_itself(evidence)):
        return None
    return message(f"verdict.shared_{part}", half_pct=half_pct)


def _own_half_pct(evidence: Evidence) -> float | None:
    if shared_part_of(evidence) is None:
        return _half_interval_pct(evidence)
    return own_half_pct(evidence.run, evidence.timed_steps)


def _is_by_warmup(evidence: Evidence) -> bool:
    """Return whether a long warm-up, rather than noise, has widened one side of the interval."""
    run = evidence.run.summary
    if run.value is None or run.value_low is None or run.value_high is None or not run.warmup_steps:
        return False
    warmup_s = math.fsum(evidence.timed_steps.usual_s[: run.warmup_steps])
    below, above = run.value - run.value_low, run.value_high - run.value
    slower, faster = (below, above) if headline_kind(run.metric).is_rate else (above, below)
    own = evidence.timed_steps.estimation()
    if _own_half_pct(evidence) != _half_interval_pct(evidence) and own is not None and own.low_s and own.high_s:
        slower, faster = own.high_s - own.step_s, own.step_s - own.low_s  # the shared host widens both ends
    return warmup_s > WARMUP_S_AT_MOST and slower > _ONE_SIDED * faster


def _half_interval_pct(evidence: Evidence) -> float | None:
    run = evidence.run.summary
    return half_interval_pct(run.metric, run.value, run.value_low, run.value_high)


def _is_precise(half_pct: float) -> bool:
    """Return whether the rounded uncertainty is within the target, so that a displayed value of 3.0 % passes."""
    return round(half_pct, 1) <= INTERVAL_PCT


def _interruptions(evidence: Evidence) -> Message | None:
    run, steps = evidence.run.summary, len(evidence.steps_s)
    lost_s, held = run.interruptions_s or 0.0, _held_up(evidence)
    lost_pct = 100 * lost_s / evidence.measured_s if evidence.measured_s else 0.0
    held_pct = 100 * held / steps if steps else 0.0
    if lost_pct <= INTERRUPTED_TIME_PCT and held_pct <= INTERRUPTED_STEPS_PCT:
        return None
    count = run.interruptions or 0
    return message("verdict.interruptions", count=count, held=held, steps=steps, lost_s=lost_s, lost_pct=lost_pct)


def _held_up(evidence: Evidence) -> int:
    # The record contains the number of interruptions, each of which may last several steps.
    run = evidence.run.summary
    if not run.interruptions or not evidence.timed_steps.usual_s:
        return 0
    return sum(each.steps for each in interruptions(run.preset, evidence.timed_steps))


def _no_interval(evidence: Evidence) -> Message | None:
    run = evidence.run.summary
    is_missing = run.basis == "estimate" and run.value is not None and None in (run.value_low, run.value_high)
    count = len(evidence.steps_s)
    return message("verdict.no_interval", count=count, steps=count) if is_missing else None


RULES = (
    Rule("damaged_record", "invalid", _damaged, "advice.damaged", at_end=True),
    Rule("not_summarised", "invalid", _not_summarised, "advice.report_log", at_end=True),
    Rule(
        "not_completed",
        "invalid",
        _not_completed,
        "advice.let_it_finish",
        at_end=True,
        instead=dict.fromkeys(("verdict.failed_early", "verdict.failed_after"), "advice.run_again"),
    ),
    Rule("steps_missing", "invalid", _steps_missing, "advice.internal", at_end=True),
    Rule("updates_missing", "invalid", _updates_missing, "advice.float32_or_report", at_end=True),
    *TRAINING_RULES,
    Rule("weights_unchanged", "invalid", _weights_unchanged, "advice.test_memory", at_end=True),
    Rule("loss_out_of_band", "invalid", _loss_out_of_band, "advice.other_seed"),
    Rule("loss_not_finite", "invalid", _loss_not_finite, "advice.non_finite_loss"),
    Rule("impossible", "invalid", lambda evidence: above_peak(evidence.run, certain=True), "advice.internal"),
    *INVALID_RULES,
    Rule("demo", "invalid", _demo, "advice.run_workload"),
    # Last, so that it comes first only in a run that is otherwise valid (app.core.analysis.ab).
    Rule("divided_cpu", "invalid", _divided_cpu, "advice.whole_cpu"),
    Rule("running", "caution", _running, at_end=True),
    Rule("cancelled", "caution", _cancelled, "advice.let_it_finish", at_end=True),
    Rule(
        "no_result",
        "caution",
        _no_result,
        "advice.let_it_finish",
        at_end=True,
        instead={"verdict.no_epoch": "advice.finish_an_epoch"},
    ),
    Rule("above_peak", "caution", lambda evidence: above_peak(evidence.run, certain=False), "advice.peak_again"),
    Rule("first_epoch", "caution", _first_epoch, "advice.two_epochs", at_end=True),
    Rule("short_run", "caution", _short_run, "advice.more_epochs", at_end=True),
    Rule("uneven_steps", "caution", _uneven_steps, "advice.whole_epochs"),
    Rule(
        "drift",
        "caution",
        _drift,
        "advice.cool_down_and_close",
        at_end=True,
        instead={"verdict.faster": "advice.wait_and_close"},  # not caused by heat
    ),
    Rule(
        "spread",
        "caution",
        lambda evidence: spread(evidence.run.summary, wide=True),
        "advice.quiet",
        at_end=True,
        alone="advice.varies",
    ),
    Rule(
        "interval_wide",
        "caution",
        _interval_wide,
        "advice.quiet",
        at_end=True,
        alone="advice.varies",
        instead={"verdict.interval_wide_by_warmup": "advice.whole_run"},  # closing other programs wouldn't help
    ),
    Rule(SHARED_HOST, "caution", _shared_host, "advice.varies", at_end=True),
    Rule("no_interval", "caution", _no_interval, "advice.more_epochs", at_end=True),
    Rule("interruptions", "caution", _interruptions, "advice.quiet", at_end=True, alone="advice.varies"),
    *CAUTION_RULES,
    *DATA_RULES,
    *FACT_RULES,
)
