"""Charts and bars, for live and stored runs."""
