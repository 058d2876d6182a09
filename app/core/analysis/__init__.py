"""What raw durations come to, and how results compare: pure functions."""
