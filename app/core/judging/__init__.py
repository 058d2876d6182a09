"""What durations come to, and how they compare."""
