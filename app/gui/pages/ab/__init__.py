"""Two ways to run the same workload, and which is faster."""
