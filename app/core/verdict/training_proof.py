"""What shows that a run really trained: losses, updates and weights, told with what they should be."""

from app.core.records import Run
from workloads import CATALOGUE


def proof_lines(run: Run) -> list[tuple[str, str]]:
    """Return what is known, as labels and texts; nothing for runs that do not train."""
    metrics, lines = run.metrics, []
    if (loss := metrics.get("proof_loss")) is not None:
        lines.append(("Loss", f"{loss:.4g} on average in the first steps; {_band_text(run)}"))
    if (done := metrics.get("updates_done")) is not None:
        asked = metrics.get("updates_asked") or 0.0
        told = "one for each step" if done == asked else f"in {asked:,.0f} steps"
        lines.append(("Updates of the weights", f"{done:,.0f}, {told}"))
    if (changed := metrics.get("weights_changed")) is not None:
        lines.append(("Output layer", f"moved by {100 * changed:.3g} % of its length"))
    accuracy = metrics.get("test_accuracy")
    if accuracy is not None:
        lines.append(("Test accuracy", f"{100 * accuracy:.1f} %"))
    return lines


def _band_text(run: Run) -> str:
    """Say between which losses an honest run lies, or why that is not known."""
    summary = run.summary
    workload = CATALOGUE.get(summary.workload)
    proof = workload.proof if workload is not None else None
    usual = workload is not None and summary.batch_size == workload.batch_size and not summary.variant
    if proof is None or not usual:
        return "what it should be is not known for this batch, or this network"
    band = proof.bands.get(summary.data_source or "")
    if band is None:
        return f"what it should be on {summary.data_source or 'this'} data is not known"
    return f"{band[0]:g} to {band[1]:g} is expected after {proof.steps}. {proof.origin}"
