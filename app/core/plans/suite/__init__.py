"""The suite: a fixed list of tests with a total score."""
