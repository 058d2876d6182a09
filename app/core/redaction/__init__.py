"""Keeps out of texts what identifies a computer or its owner."""
