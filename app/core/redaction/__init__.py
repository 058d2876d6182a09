"""Removes anything that identifies a computer or its owner from texts."""
