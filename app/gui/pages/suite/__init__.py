"""The Suite page, which runs a fixed list of tests that yields one score."""
