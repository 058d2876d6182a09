"""The Suite page: runs a fixed list of tests and computes one score."""
