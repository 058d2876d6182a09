"""The doctor: explains why an engine doesn't use a GPU, and how to fix it."""
