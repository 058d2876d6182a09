"""The user's results next to published ones."""
