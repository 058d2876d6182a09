"""The Results page, which shows the history of runs."""
