"""The Benchmark page, which sets up, runs and displays a workload."""
