"""Runs while they happen: worker processes, sessions, plans, progress, estimates."""
