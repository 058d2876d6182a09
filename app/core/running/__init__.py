"""Runs while they happen: worker processes, sessions, what fits and how long it takes."""
