"""Settings and data sets."""
