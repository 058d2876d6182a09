"""Timing of training, and evidence that it really happened."""
