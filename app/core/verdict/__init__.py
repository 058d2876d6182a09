"""Determines how trustworthy a result is and what limited the run, based on the run's record."""
