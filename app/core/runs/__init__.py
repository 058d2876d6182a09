"""Runs in progress: worker processes, sessions, plans, progress and estimates."""
