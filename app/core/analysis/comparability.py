"""Like with like: in what two results must agree to be drawn together, and in what they may differ."""

from app.core.metrics import headline_kind
from app.core.records import Run, RunSummary

# Names of RunSummary's fields, and what stands before their values where they differ.
KEY = (
    ("workload", ""),
    ("workload_version", "workload version "),
    ("metric", ""),
    ("variant", "network "),
    ("batch_size", "batch "),
    ("precision", ""),
    ("samples_per_epoch", "samples per epoch "),
)


def run_refusal(run: RunSummary, other: RunSummary) -> str | None:
    """Say why two runs must not be drawn together, or return None."""
    for name, label in KEY:
        mine, theirs = getattr(run, name), getattr(other, name)
        if mine != theirs:
            return f"{label}{theirs or 'as usual'}, not {mine or 'as usual'}"
    return None


def comparison_key(run: Run) -> list[tuple[str, str]]:
    """Return in what another result must agree with this one, and at last in what it may differ."""
    summary, environment = run.summary, run.environment or {}
    samples = f"{summary.samples_per_epoch:,}" if summary.samples_per_epoch else "no epoch"
    lines = [
        ("Workload", f"{summary.workload}, version {summary.workload_version}"),
        ("Network", summary.variant or "as the study has it"),
        ("Measured", headline_kind(summary.metric).label),
        ("Batch size", str(summary.batch_size)),
        ("Precision", summary.precision),
        ("Samples per epoch", samples),
    ]
    may_differ = [
        _engine(summary),
        f"Keras {environment['keras_version']}" if environment.get("keras_version") else "",
        "with XLA" if summary.jit else "without XLA",
        _switch("oneDNN", environment.get("onednn")),
        _switch("TF32", environment.get("tf32")),
        f"{summary.threads} threads" if summary.threads else "threads automatic",
        f"{summary.data_source} data" if summary.data_source else "",
        f"seed {summary.seed}",
    ]
    return [*lines, ("May differ", " · ".join(part for part in may_differ if part))]


def _engine(run: RunSummary) -> str:
    name = "TensorFlow" if run.engine == "tensorflow" else run.engine
    return f"{name} {run.engine_version or ''}".strip()


def _switch(name: str, is_on: bool | None) -> str:
    return "" if is_on is None else f"{name} {'on' if is_on else 'off'}"


def differences(run: RunSummary, other: RunSummary) -> tuple[str, ...]:
    """Return in which fields that may differ another run does, as it has them."""
    found = [
        _engine(other) if (run.engine, run.engine_version) != (other.engine, other.engine_version) else "",
        ("XLA" if other.jit else "without XLA") if run.jit != other.jit else "",
        (f"{other.threads} threads" if other.threads else "threads automatic")
        if run.threads != other.threads
        else "",
        f"{other.data_source} data" if other.data_source and run.data_source != other.data_source else "",
        (other.device_name or (other.device or "").upper())
        if (run.device, run.device_name) != (other.device, other.device_name)
        else "",
        f"side {other.side}" if other.side and run.group_id == other.group_id and run.side != other.side else "",
        other.preset if run.preset != other.preset else "",
        ("virtual machine" if other.virtual_machine else "no virtual machine")
        if other.virtual_machine is not None and run.virtual_machine != other.virtual_machine
        else "",
    ]
    return tuple(part for part in found if part)
