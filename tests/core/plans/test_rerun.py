"""Whether stored runs can be repeated on this computer."""

from dataclasses import replace
from typing import Any

import pytest

from app.core.errors import UsageError
from app.core.messages import message
from app.core.paths import Paths
from app.core.plans.repeat import repeat_plan
from app.core.plans.rerun import check_again
from workloads import CATALOGUE
from workloads.protocol.machine import Gpu, Machine

CARD = Gpu("NVIDIA GeForce RTX 4070", "nvidia", compute_capability="8.9")


@pytest.mark.parametrize(
    ("changes", "missing"),
    [
        ({"device": "gpu:0", "devices": 2}, None),
        ({"device": "gpu:0", "devices": 2, "gpus": "0,2"}, None),
        ({"device": "gpu:0", "devices": 2, "gpus": "0,3"}, "GPU:3"),
        ({"device": "gpu:2", "devices": 2}, "GPU:3"),
        ({"device": "gpu:4"}, "GPU:4"),
        ({"device": "cpu", "devices": 4}, None),
        ({"devices": 2}, None),
    ],
)
def test_all_cards_of_the_run_are_needed(
    changes: dict[str, Any], missing: str | None, paths: Paths, machine: Machine
) -> None:
    plan = repeat_plan(CATALOGUE["mnist_mlp"].default_spec(**changes))
    three = replace(machine, os_name="Linux 6.1", architecture="x86_64", gpus=(CARD,) * 3)
    if missing is None:
        check_again(plan, paths, three)
        return
    with pytest.raises(UsageError) as caught:
        check_again(plan, paths, three)
    assert caught.value.message == message("again.no_device", engine="TensorFlow", device=missing)
