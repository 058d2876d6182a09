"""Choose a workload, run it, watch it."""
