"""Timing training, and proving that it really happened."""
