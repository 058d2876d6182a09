"""Choose a workload, run it, and watch it."""
