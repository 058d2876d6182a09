"""The current network that the first screen offers next to the standard one."""

import re
from functools import cache
from typing import Any

from app.core.analysis.published import comparable_rows
from app.core.engines.choices import Choice
from workloads import CATALOGUE
from workloads.protocol.machine import Machine
from workloads.protocol.spec import RunSpec

# In order of preference, with the settings of the published results: network, whether it needs a GPU, settings.
_OFFERS: tuple[tuple[str, bool, dict[str, Any]], ...] = (
    ("gpt_mini", True, {"precision": "mixed_float16"}),
    ("resnet50_224", False, {"batch_size": 56}),  # a quarter of the published batch size
    ("resnet50_224", False, {}),
)
# Share of the memory that a run may need. The rest is for the system and other programs.
_SHARE = 0.5


def current_network(choice: Choice, machine: Machine) -> RunSpec:
    """Return the spec of the first current network that fits into the memory of a device.

    The settings are similar enough to those of the published results for the run to be ranked with them. The last
    resort is returned even if it doesn't fit.
    """
    there_bytes = machine.memory_bytes if choice.gpu is None else choice.gpu.memory_bytes
    specs = [
        CATALOGUE[name].default_spec(engine=choice.engine, device=choice.device, **settings)
        for name, needs_gpu, settings in _OFFERS
        if choice.gpu is not None or not needs_gpu
    ]
    sizes = [CATALOGUE[spec.workload].memory_need_bytes(spec) or 0 for spec in specs]
    fitting = (spec for spec, size in zip(specs, sizes, strict=True) if size <= _SHARE * (there_bytes or 0))
    return next(fitting, specs[-1])


@cache
def newest_card(workload: str) -> str:
    """Return the newest consumer graphics card with a published result; "" if there is none."""
    names = {row.short_name for row in comparable_rows(workload)}
    return max((name for name in names if re.fullmatch(r"RTX \d{4}", name)), default="")


def current_card(workload: str) -> str:
    """Return the newest consumer graphics card with a published result, RTX 30 or newer; "" if there is none."""
    card = newest_card(workload)
    return card if card >= "RTX 3" else ""
