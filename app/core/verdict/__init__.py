"""How trustworthy a result is, and what limited the run: rules applied to its record."""
