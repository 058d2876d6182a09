"""Epochmark measures how fast this computer trains neural networks and compares it with others."""

__version__ = "0.3.0"
PROJECT_URL = ""  # address of the project, without a slash at the end; if "", features that need it are hidden
