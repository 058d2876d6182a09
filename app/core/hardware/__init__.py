"""Detects this computer's components and its current state, on every system.

Names that mean the same everywhere: `root` is the folder that contains Linux's proc, sys, etc, run and usr ("/",
except in tests). `clock` returns monotonic time in seconds. `own_pids` are the run's own processes, or None if
unknown. `places` are indices of GPUs in the system's order. `elapsed_s` is the time since the previous read.
"""
