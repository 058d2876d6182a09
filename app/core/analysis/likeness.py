"""Which published results a run is ranked with: those of the same arithmetic and a similar batch size."""

import re

from app.core.analysis.published import WITHOUT_TF32, PublishedRow
from app.core.records import RunSummary
from workloads import CATALOGUE
from workloads.settings import read_recorded

# Largest ratio between batch sizes that are still ranked together. The value is a judgement call.
_LIKE_BATCH_TIMES = 4
# By the precision of a row or of a run. Any other, such as 8-bit numbers, is never ranked.
_ARITHMETIC = {
    **dict.fromkeys(("", "fp32", "float32"), "float32"),
    "tf32": "tf32",
    **dict.fromkeys(("fp16", "mixed fp16", "amp_fp16", "mixed_float16"), "float16"),
    **dict.fromkeys(("bf16", "amp_bf16", "bf16/fp16", "mixed_bfloat16"), "bfloat16"),
}
# Networks hardly depend on which of these is used. Products may be many times as fast.
_ALIKE_IN_NETWORKS = {"tf32": "float32", "bfloat16": "float16"}
# Engines whose products use TensorFloat-32 unless told otherwise.
_TF32_BY_DEFAULT = ("tensorflow", "jax")
_NOT_NVIDIA = re.compile(r"AMD|Radeon|Apple|Intel")


def is_limit(workload: str) -> bool:
    """Return whether a workload tests the hardware itself, without a network."""
    return workload in CATALOGUE and CATALOGUE[workload].reports_headline


def arithmetic(run: RunSummary) -> str:
    """Return the arithmetic of a run's matrix products: float32, tf32, float16 or bfloat16."""
    kind, device = _ARITHMETIC.get(run.precision, run.precision), run.device_name or ""
    if kind != "float32" or not (run.device or "").startswith("gpu"):
        return kind
    asked = read_recorded(run.settings).get("tf32")
    uses_tf32 = run.engine in _TF32_BY_DEFAULT if asked is None else asked
    return "tf32" if uses_tf32 and not _NOT_NVIDIA.search(device) and not WITHOUT_TF32.search(device) else kind


def is_like_row(row: PublishedRow, precision: str, batch_size: int) -> bool:
    """Return whether a row may be ranked with a run of an arithmetic, or precision, and a batch size."""
    kinds = [_ARITHMETIC.get(each, each) for each in (row.precision, precision)]
    if not is_limit(row.workload):
        kinds = [_ALIKE_IN_NETWORKS.get(kind, kind) for kind in kinds]
    # Small batches don't keep a device busy.
    small, large = sorted((batch_size, row.batch_size or batch_size))
    return kinds[0] == kinds[1] and large <= _LIKE_BATCH_TIMES * small
