"""Timing training, and proving that it is real."""
