"""The A/B page, which compares two configurations of a workload."""
