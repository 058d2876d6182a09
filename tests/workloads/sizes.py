"""Which networks take so long for a step, or to compile it, that tests have them take fewer."""

from workloads.training.training import Training

# Looking words up costs most of their operations, which are quick.
QUICK = {"lstm_ptb_32", "lstm_ptb_64"}
OPERATIONS, PARAMETERS = 2.5e8, 1.5e7


def is_large(workload: Training) -> bool:
    """Return whether a step of an example takes long; a table whose size depends on the data does, too."""
    operations, parameters = workload.operations_per_example or 0, workload.parameters_count
    is_small = operations < OPERATIONS and parameters is not None and parameters < PARAMETERS
    return not is_small and workload.id not in QUICK
