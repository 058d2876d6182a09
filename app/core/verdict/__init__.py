"""How far a number can be trusted, and what limited the run: rules over its record."""
