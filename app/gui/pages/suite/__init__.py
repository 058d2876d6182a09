"""The Suite page: a fixed list of runs with one score."""
