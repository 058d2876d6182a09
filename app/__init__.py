"""Epochmark: how fast this computer trains neural networks, and how it compares."""

__version__ = "0.2.0"
