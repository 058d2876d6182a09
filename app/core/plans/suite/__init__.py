"""The suite: a fixed list of runs with one total score."""
