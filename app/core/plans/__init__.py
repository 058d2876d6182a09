"""Plans, and the rules shared by all kinds of plans."""
