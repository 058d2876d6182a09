"""Epochmark measures how fast this computer trains neural networks and compares it with others."""

__version__ = "0.2.0"
