"""The suite: a fixed list of runs, and one score for all."""
