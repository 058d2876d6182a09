"""What the first screen offers next to the standard network: a question about the card, or a current network."""

import re
from functools import cache
from typing import Any

from app.core.analysis.band import band
from app.core.analysis.likeness import is_like_row
from app.core.analysis.published import comparable_rows
from app.core.engines.choices import Choice
from workloads import CATALOGUE
from workloads.protocol.machine import Machine
from workloads.protocol.spec import RunSpec

# In order of preference, with the settings of the published results: network, whether it needs a GPU, settings.
_OFFERS: tuple[tuple[str, bool, dict[str, Any]], ...] = (
    # A quarter of what the largest cards were published with: for cards of 80 GB, whose peers these are.
    ("resnet50_224", True, {"precision": "mixed_float16", "batch_size": 320}),
    ("gpt_mini", True, {"precision": "mixed_float16"}),
    ("resnet50_224", False, {"batch_size": 56}),  # a quarter of the published batch size
    ("resnet50_224", False, {}),
)
# Share of the memory that a run may need. The rest is for the system and other programs.
_SHARE = 0.5
_MUCH_FASTER = 1.5
# Where several computers with the same card are known, the question is whether this one is normal.
_IS_NORMAL: dict[str, Any] = {"precision": "mixed_float16"}


def current_network(choice: Choice, machine: Machine) -> RunSpec:
    """Return the spec of the matrix products for a well-known card, otherwise of a current network that fits.

    The settings are similar enough to those of the published results for the run to be ranked with them. The last
    resort is returned even if it doesn't fit in the memory of the device.
    """
    if choice.gpu is not None and band("matmul", choice.gpu.name, _IS_NORMAL["precision"]) is not None:
        return CATALOGUE["matmul"].default_spec(engine=choice.engine, device=choice.device, **_IS_NORMAL)
    there_bytes = machine.memory_bytes if choice.gpu is None else choice.gpu.memory_bytes
    specs = [
        CATALOGUE[name].default_spec(engine=choice.engine, device=choice.device, **settings)
        for name, needs_gpu, settings in _OFFERS
        if choice.gpu is not None or not needs_gpu
    ]
    sizes = [CATALOGUE[spec.workload].memory_need_bytes(spec) or 0 for spec in specs]
    fitting = (spec for spec, size in zip(specs, sizes, strict=True) if size <= _SHARE * (there_bytes or 0))
    return next(fitting, specs[-1])


def peers(spec: RunSpec) -> tuple[int, str]:
    """Return the number of graphics cards with which a spec's run is ranked, and the name of the one to mention.

    This is the fastest one, or the newest consumer card unless that is much slower, because it is better known.
    """
    fastest: dict[str, float] = {}
    for row in comparable_rows(spec.workload):
        is_like = is_like_row(row, spec.precision, spec.batch_size)
        if is_like and row.hardware_kind == "gpu" and not row.has_several:
            fastest[row.short_name] = max(row.value, fastest.get(row.short_name, 0.0))
    best = max(fastest, key=lambda name: fastest[name], default="")
    newest = newest_card(spec.workload)
    return len(fastest), newest if fastest.get(newest, 0.0) * _MUCH_FASTER > fastest.get(best, 0.0) else best


@cache
def newest_card(workload: str) -> str:
    """Return the newest consumer graphics card with a published result; "" if there is none."""
    names = {row.short_name for row in comparable_rows(workload)}
    return max((name for name in names if re.fullmatch(r"RTX \d{4}", name)), default="")
