"""Appearance: colours, type, icons."""
