"""Results beside published ones."""
