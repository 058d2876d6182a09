"""The A/B page: compares two configurations of a workload."""
