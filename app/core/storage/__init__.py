"""The database of runs, groups and imported results."""
