"""This computer's parts, and what it is doing right now, on every system."""
