"""Measures the computer's state while a run is in progress."""
