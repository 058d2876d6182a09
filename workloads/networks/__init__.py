"""The networks, one file per family."""
