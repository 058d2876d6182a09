"""From raw durations to results and comparisons: pure functions."""
