"""Telemetry: the computer's state while something runs."""
