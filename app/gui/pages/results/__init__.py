"""The Results page: shows the history of runs."""
