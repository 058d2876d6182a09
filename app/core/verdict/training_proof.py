"""Describes the evidence that a run trained: losses, updates and weights, with the expected values."""

from collections.abc import Iterator

from app.core.messages import Message, message, sentence
from app.core.records import Run
from app.core.verdict.training_rules import applicable_proof, outside_steps


def proof_lines(run: Run) -> list[tuple[str, str]]:
    """Return the evidence as pairs of label and value; empty for runs without training."""
    metrics, lines = run.metrics, []
    if (loss := metrics.get("proof_loss")) is not None:
        lines.append((sentence("metric.loss"), sentence("proof.loss_text", loss=loss, band=_band(run))))
    if (done := metrics.get("updates_done")) is None and _says_what_is_counted(run):
        lines.append((sentence("proof.updates"), sentence("proof.not_counted")))
    if done is not None:
        asked = metrics.get("updates_asked") or 0.0
        lines.append((sentence("proof.updates"), sentence("proof.updates_of_steps", done=done, asked=asked)))
    if (changed := metrics.get("weights_changed")) is not None:
        lines.append((sentence("proof.output_layer"), sentence("proof.moved", share_pct=100 * changed)))
    if (kept := metrics.get("frozen_kept")) is not None:
        text = sentence("proof.frozen_kept", kept=kept, all=metrics.get("frozen_asked") or 0.0)
        lines.append((sentence("proof.frozen"), text))
    lines += _step_lines(run)
    accuracy = metrics.get("test_accuracy")
    if accuracy is not None:
        lines.append((sentence("metric.test_accuracy"), f"{100 * accuracy:.1f} %"))
    return lines


def _step_lines(run: Run) -> Iterator[tuple[str, str]]:
    metrics = run.metrics
    done, asked = metrics.get("examples_done"), metrics.get("examples_asked")
    if done is not None and asked is not None:
        yield sentence("proof.examples"), sentence("proof.examples_done", done=done, asked=asked)
    elif _says_what_is_counted(run):
        yield sentence("proof.examples"), sentence("proof.not_counted")
    yield from _distinct_line(run)
    if (validated := metrics.get("validation_done")) is not None:
        asked = metrics.get("validation_asked") or 0.0
        yield sentence("proof.validation"), sentence("proof.validation_done", done=validated, asked=asked)
    if run.model is not None and (operations := run.model.flops_per_example):
        code = "proof.operations" if operations >= run.model.parameters_count / 100 else "proof.lookups"
        yield sentence("headline.flop_per_s"), sentence(code, operations=operations, millions=operations / 1e6)
    if "outside_steps_s" in metrics:
        outside_s, timed_s, _ = outside_steps(run)
        share_pct = 100 * timed_s / (timed_s + outside_s) if timed_s else 0.0
        yield sentence("proof.steps"), sentence("proof.steps_share", share_pct=share_pct)
    worker_s, parent_s = metrics.get("worker_clock_s"), metrics.get("parent_clock_s")
    if worker_s is not None and parent_s is not None and done is not None:
        yield sentence("proof.clock"), sentence("proof.clocks", worker_s=worker_s, parent_s=parent_s)


def _says_what_is_counted(run: Run) -> bool:
    """Return whether a run's record states what was counted; False for runs from older versions."""
    return "steps_counted" in run.metrics


def _distinct_line(run: Run) -> Iterator[tuple[str, str]]:
    distinct, declared = (run.metrics.get(f"examples_{kind}") for kind in ("distinct", "declared"))
    if distinct is not None and declared is not None:
        text = sentence("proof.distinct_of", distinct=distinct, declared=declared)
        yield sentence("proof.data"), text
    elif _says_what_is_counted(run):
        yield sentence("proof.data"), sentence("proof.not_counted")


def _band(run: Run) -> Message:
    summary = run.summary
    proof = applicable_proof(summary)
    if proof is None:
        return message("proof.band_of_other_run")
    band = proof.band(summary.data_source or "", summary.precision)
    if band is None and summary.precision != "float32":
        return message("proof.band_of_other_run")
    if band is None:
        return message("proof.band_of_other_data", source=summary.data_source or "")
    origin = proof.origins.get(summary.data_source or "")
    code = "proof.band" if proof.shows_learning(summary.data_source or "") else "proof.band_of_guessing"
    return message(code, low=band[0], high=band[1], steps=proof.steps, origin=origin)
