"""The Benchmark page: sets up, runs and displays a workload."""
