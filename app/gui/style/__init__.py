"""Appearance: colours, fonts and icons."""
