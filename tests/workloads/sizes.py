"""Which networks tests train, and for which of them a step takes so long that tests have them take fewer."""

from workloads import CATALOGUE
from workloads.training.training import Training

# Looking words up costs most of their operations, which are quick.
QUICK = {"lstm_ptb_32", "lstm_ptb_64"}
# Needs more memory than most computers have. `lora_probe` trains a small twin.
APART = {"lora_qwen3"}
OPERATIONS, PARAMETERS = 2.5e8, 1.5e7


def is_large(workload: Training) -> bool:
    """Return whether a step of an example takes long; a table whose size depends on the data does, too."""
    operations, parameters = workload.operations_per_example or 0, workload.parameters_count
    is_small = operations < OPERATIONS and parameters is not None and parameters < PARAMETERS
    return not is_small and workload.id not in QUICK


def networks() -> dict[str, Training]:
    """Return the networks that tests train in their own size, by id."""
    return {name: each for name, each in CATALOGUE.items() if isinstance(each, Training) and name not in APART}
