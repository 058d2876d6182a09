"""The networks, one module per family."""
