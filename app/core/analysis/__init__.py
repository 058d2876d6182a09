"""Pure functions that turn raw durations into results and comparisons."""
