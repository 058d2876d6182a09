"""Removes from texts anything that identifies a computer or its owner."""
