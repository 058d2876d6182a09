"""Evidence that a run really trained: losses, updates and weights, beside the expected values."""

from collections.abc import Iterator

from app.core.messages import Message, message, sentence
from app.core.records import Run
from app.core.verdict.training_rules import declared_operations, operation_shares_pct
from workloads import CATALOGUE


def proof_lines(run: Run) -> list[tuple[str, str]]:
    """Return the evidence as labels and texts; empty for runs that don't train."""
    metrics, lines = run.metrics, []
    if (loss := metrics.get("proof_loss")) is not None:
        lines.append((sentence("proof.loss"), sentence("proof.loss_text", loss=loss, band=_band(run))))
    if (done := metrics.get("updates_done")) is not None:
        asked = metrics.get("updates_asked") or 0.0
        code = "proof.one_update_each" if done == asked else "proof.updates_of_steps"
        updates = sentence(code, **({"done": done} if done == asked else {"done": done, "asked": asked}))
        lines.append((sentence("proof.updates"), updates))
    if (changed := metrics.get("weights_changed")) is not None:
        lines.append((sentence("proof.output_layer"), sentence("proof.moved", share_pct=100 * changed)))
    lines += _step_lines(run)
    accuracy = metrics.get("test_accuracy")
    if accuracy is not None:
        lines.append((sentence("proof.accuracy"), f"{100 * accuracy:.1f} %"))
    return lines


def _step_lines(run: Run) -> Iterator[tuple[str, str]]:
    """Yield what the steps did by the engine's account, and how long they took by two clocks."""
    metrics = run.metrics
    done, asked = metrics.get("examples_done"), metrics.get("examples_asked")
    if done is not None and asked is not None:
        yield sentence("proof.examples"), sentence("proof.examples_done", done=done, asked=asked)
    if (operations := metrics.get("operations_per_example")) is not None:
        declared = declared_operations(run.summary)
        code = "proof.operations_done" if declared is None else "proof.operations_of"
        of = {} if declared is None else {"declared_mflop": declared / 1e6}
        yield sentence("proof.operations"), sentence(code, done_mflop=operations / 1e6, **of)
    if shares := operation_shares_pct(metrics):
        texts = [sentence("proof.share", share_pct=share, number=number) for number, share in shares.items()]
        yield sentence("proof.precision"), ", ".join(texts)
    worker_s, parent_s = metrics.get("worker_clock_s"), metrics.get("parent_clock_s")
    if worker_s is not None and parent_s is not None and done is not None:
        yield sentence("proof.clock"), sentence("proof.clocks", worker_s=worker_s, parent_s=parent_s)


def _band(run: Run) -> Message:
    """Return the losses expected of an honest run, or why they are unknown."""
    summary = run.summary
    workload = CATALOGUE.get(summary.workload)
    proof = workload.proof if workload is not None else None
    usual = workload is not None and summary.batch_size == workload.batch_size and not summary.variant
    if proof is None or not usual:
        return message("proof.band_of_other_run")
    band = proof.bands.get(summary.data_source or "")
    if band is None:
        return message("proof.band_of_other_data", source=summary.data_source or "")
    origin = proof.origins.get(summary.data_source or "", "")
    return message("proof.band", low=band[0], high=band[1], steps=proof.steps, origin=origin)
