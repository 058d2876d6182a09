"""Rules shared by all kinds of plans."""
