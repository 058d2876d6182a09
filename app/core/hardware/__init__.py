"""Detects this computer's components and its current state, on every system."""
